// Recall: finds the skills that a text may be about, before a model is asked; without a candidate no model is
// called. It compares words; vectors are given.
// R2. Whether a skill is a candidate depends only on the text and on that skill. The rarity of a word among
// all skills only orders the candidates.
import { comparedWords } from '@beaver/core'
import type { Skill } from './skill.ts'

/** How many skills a model chooses from, at most. */
export const candidatesMax = 8

/** The share of the compared words that must be found. */
const shareMin = 1 / 3
/**
 * A single word counts only if it is in the skill's name: many descriptions contain words such as "second" or
 * "count".
 */
const nameShareMin = 1 / 2
/** A skill with fewer words than this is too short for a share of its own words. */
const skillWordsMin = 8
/** A task of many pages is not read to its end. */
const wordsMax = 2_000
/** Below this similarity, texts have nothing in common, whatever the model. */
const similarityMin = 0.2

export interface Recalled {
  readonly skill: Skill
  /** From 0 to 1, where 1 is best. */
  readonly score: number
  /** The share of the text's words that the skill has. */
  readonly share: number
}

/**
 * The skills that share words with a text, best first, at most `candidatesMax`.
 *
 * The compared words are the text's, or the skill's if it has fewer. A skill is a candidate in three cases:
 * the text has two of its words and a third of the compared words; or the one word found is in the skill's
 * name and makes up half of the text; or the text has all words of a name of several words.
 *
 * @param options `oneWord`: whether a text of one word, such as a query, matches a skill only by its name.
 * Default: `of_name`.
 */
export function recallByWords(
  text: string,
  skills: readonly Skill[],
  options: { readonly oneWord: 'of_name' | 'any' } = { oneWord: 'of_name' },
): Recalled[] {
  const wanted = wordsOf(text)
  if (wanted.size === 0) return []
  const known = skills.map((skill) => ({ skill, ...wordsOfSkill(skill) }))
  const about = known.flatMap(({ skill, name, all }) => {
    const found = [...wanted].filter((word) => all.has(word))
    const share = found.length / wanted.size
    const whole = options.oneWord === 'any' && share === 1
    return found.length > 0 && (whole || isAbout(wanted, { found, name, all, share }))
      ? [{ skill, found, share }]
      : []
  })
  if (about.length === 0) return []
  const weights = new Map(
    [...wanted].map((word) => [word, weightOf(known.filter(({ all }) => all.has(word)).length)]),
  )
  const weight = sum(wanted, weights)
  return about
    .map(({ skill, found, share }): Recalled => ({
      skill,
      score: rounded(sum(found, weights) / weight),
      share,
    }))
    .toSorted((a, b) => b.score - a.score)
    .slice(0, candidatesMax)

  function weightOf(skillsWithIt: number): number {
    return Math.log(1 + known.length / (skillsWithIt || known.length))
  }
}

function isAbout(
  wanted: ReadonlySet<string>,
  {
    found,
    name,
    all,
    share,
  }: { found: readonly string[]; name: ReadonlySet<string>; all: ReadonlySet<string>; share: number },
): boolean {
  if (found.length === 1) return share >= nameShareMin && name.has(found[0] as string)
  if (name.size > 1 && [...name].every((word) => wanted.has(word))) return true
  return (
    found.length > 1 && found.length / Math.min(wanted.size, Math.max(all.size, skillWordsMin)) >= shareMin
  )
}

/** The skills whose vectors are nearest to the text's, best first, at most `candidatesMax`. */
export function recallByVectors(
  text: readonly number[],
  skills: readonly { readonly skill: Skill; readonly vector: readonly number[] }[],
): Recalled[] {
  return skills
    .map(({ skill, vector }) => ({ skill, score: rounded(cosine(text, vector)), share: 0 }))
    .filter(({ score }) => score >= similarityMin)
    .toSorted((a, b) => b.score - a.score)
    .slice(0, candidatesMax)
}

/** From -1 to 1. It is 0 if one of the vectors has no direction. */
export function cosine(a: readonly number[], b: readonly number[]): number {
  let dot = 0
  let squaresA = 0
  let squaresB = 0
  for (const [i, x] of a.entries()) {
    const y = b[i] ?? 0
    dot += x * y
    squaresA += x * x
    squaresB += y * y
  }
  const length = Math.sqrt(squaresA) * Math.sqrt(squaresB)
  return length === 0 ? 0 : dot / length
}

interface SkillWords {
  readonly name: ReadonlySet<string>
  readonly all: ReadonlySet<string>
}

/** A cache: skills do not change, and each task is compared with all of them. */
const skillWords = new WeakMap<Skill, SkillWords>()

function wordsOfSkill(skill: Skill): SkillWords {
  const known = skillWords.get(skill)
  if (known !== undefined) return known
  const name = skill.name.replaceAll(/[-_]/g, ' ')
  const words = { name: wordsOf(name), all: wordsOf(`${name} ${skill.description}`) }
  skillWords.set(skill, words)
  return words
}

const rounded = (score: number): number => Math.round(score * 10_000) / 10_000

function sum(words: Iterable<string>, weights: ReadonlyMap<string, number>): number {
  let total = 0
  for (const word of words) total += weights.get(word) ?? 0
  return total
}

/**
 * Common words of the language, and words that are in every description ("Use it when the user asks …"), in
 * the form in which they are compared.
 */
const filler = new Set(
  comparedWords(
    'a about all also am an and any are as ask at be been but by can could did do does each for from get had has have help how i if in into is it its just like ' +
      'many may me more most much my need no not now of on one or other our out please shall should skill so some task than that the their them then there these ' +
      'they this those to too up us use used user using very want was we were what when where which who why will with would you your',
  ),
)

/** The words of a text that are compared. */
function wordsOf(text: string): Set<string> {
  const words = new Set<string>()
  for (const word of comparedWords(text)) {
    if (words.size >= wordsMax) break
    if (!filler.has(word)) words.add(word)
  }
  return words
}
