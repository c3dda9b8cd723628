// Finds the skill for a worker's `skill_query` if no model is asked (D-40): the best match by words, or none.
// Pure. At least half of the query's words are in the skill's name and description. Of equal matches, the
// first wins. A skill that guides a team is for a root: no worker gets it. No worker gets a skill that models
// may not invoke.
import { recallByWords } from './recall.ts'
import type { Skill } from './skill.ts'

const shareMin = 0.5

export function assembleSkill(query: string, skills: readonly Skill[]): Skill | null {
  const open = skills.filter((skill) => skill.modelInvocable && skill.guidance === null)
  return recallByWords(query, open, { oneWord: 'any' }).find(({ share }) => share >= shareMin)?.skill ?? null
}
