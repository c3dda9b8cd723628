// The skill a worker gets for its `skill_query` where no model is asked (D-40): found by words, the best one or none. Pure.
// Q1. At least half of the query's words stand in the skill's name and description; of equals the first.
// Q2. A skill that guides a team is for a root: no worker gets it. Q3. Nor one that models may not invoke.
import { recallByWords } from './recall.ts'
import type { Skill } from './skill.ts'

const shareMin = 0.5

export function assembleSkill(query: string, skills: readonly Skill[]): Skill | null {
  const open = skills.filter((skill) => skill.modelInvocable && skill.guidance === null)
  return recallByWords(query, open, { oneWord: 'any' }).find(({ share }) => share >= shareMin)?.skill ?? null
}
