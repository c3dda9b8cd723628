import type { Skill } from '@beaver/agent'
import { expect, it } from 'vitest'
import { KeptSkills } from './shard.ts'

const skill = (name: string): Skill => ({ name, description: 'd', body: 'b' }) as Skill

/** The thread's side: what it keeps, and how often something was sent to it. */
function thread() {
  const kept = new Map<number, readonly Skill[]>()
  const seen = { sent: 0, kept }
  const skills = new KeptSkills({
    keepSkills: (number, list) => (seen.sent++, void kept.set(number, list)),
    forgetSkills: (number) => void kept.delete(number),
  })
  return { seen, skills }
}

it('sends the skills of a workspace once, whichever list they are in', () => {
  const { seen, skills } = thread()
  const [one, two] = [skill('one'), skill('two')]
  const first = skills.numberOf([one, two])
  expect(skills.numberOf([one, two])).toBe(first)
  expect([seen.sent, seen.kept.get(first)]).toEqual([1, [one, two]])
})

it('sends changed skills under another number, and a loop that has the old ones keeps their number', () => {
  const { seen, skills } = thread()
  const [one, two] = [skill('one'), skill('two')]
  const first = skills.numberOf([one, two])
  const second = skills.numberOf([one, skill('two')])
  expect(second).not.toBe(first)
  expect([skills.numberOf([one]), skills.numberOf([one, two])]).toEqual([second + 1, first])
  expect(seen.sent).toBe(3)
})

it('keeps the skills of twenty workspaces, and forgets those that were not used for longest', () => {
  const { seen, skills } = thread()
  const lists = Array.from({ length: 21 }, (_, i) => [skill(`skill-${i}`)])
  const numbers = lists.slice(0, 20).map((list) => skills.numberOf(list))
  skills.numberOf(lists[0] as Skill[])
  const last = skills.numberOf(lists[20] as Skill[])
  expect([...seen.kept.keys()].toSorted((a, b) => a - b)).toEqual([
    ...numbers.filter((number) => number !== numbers[1]),
    last,
  ])
  expect(skills.numberOf(lists[1] as Skill[])).toBeGreaterThan(last)
})
