// The skill a worker gets for its `skill_query` (D-40): found by words, the best one or none. Pure.
// Q1. At least half of the query's words stand in the skill's name and description; of equals the first. Q2. Chinese, Japanese
//     and Korean are compared by pairs of characters. Q3. A skill that guides a team is for a root: no worker gets it.
import type { Skill } from './skill.ts'

const shareMin = 0.5

export function assembleSkill(query: string, skills: readonly Skill[]): Skill | null {
  const wanted = wordsOf(query)
  if (wanted.size === 0) return null
  let best: { skill: Skill; share: number } | null = null
  for (const skill of skills) {
    if (skill.guidance !== null) continue
    const held = wordsOf(`${skill.name.replaceAll(/[-_]/g, ' ')} ${skill.description}`)
    const share = [...wanted].filter((word) => held.has(word)).length / wanted.size
    if (share >= shareMin && share > (best?.share ?? 0)) best = { skill, share }
  }
  return best?.skill ?? null
}

const filler = new Set(['a', 'an', 'and', 'for', 'from', 'in', 'of', 'on', 'or', 'the', 'to', 'with'])

function wordsOf(text: string): Set<string> {
  const words = new Set<string>()
  for (const [run] of text
    .normalize('NFKC')
    .toLowerCase()
    .matchAll(/[\p{L}\p{N}]+/gu)) {
    for (const part of run.split(/([\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]+)/u)) {
      if (/^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u.test(part)) for (const pair of pairsOf(part)) words.add(pair)
      else if (part !== '' && !filler.has(part)) words.add(part.length > 3 ? part.replace(/s$/, '') : part)
    }
  }
  return words
}

function pairsOf(text: string): string[] {
  const characters = [...text]
  return characters.length === 1 ? characters : characters.slice(1).map((character, i) => `${characters[i]}${character}`)
}
