import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { virtualClock } from '@beaver/testing'
import { expect, it, onTestFinished } from 'vitest'
import type { LoadDiagnostic } from '../load-diagnostic.ts'
import { workspaceSkills } from './workspace-skills.ts'

function workspace(): string {
  const folder = mkdtempSync(join(tmpdir(), 'beaver-workspace-skills-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

function write(
  folder: string,
  name: string,
  text = `---\nname: ${name}\ndescription: Describes ${name}.\n---\nDo it.`,
): void {
  mkdirSync(join(folder, 'skills', name), { recursive: true })
  writeFileSync(join(folder, 'skills', name, 'SKILL.md'), text)
}

function begin(clock = virtualClock()) {
  const told: LoadDiagnostic[] = []
  return {
    told,
    skillsIn: workspaceSkills({
      clock,
      reserved: () => false,
      tell: (diagnostic) => void told.push(diagnostic),
    }),
  }
}

it('tells once what is broken, however many runs of a team begin at the same moment', async () => {
  const folder = workspace()
  write(folder, 'tides')
  write(folder, 'broken', 'no front matter')
  const { told, skillsIn } = begin()
  const found = await Promise.all(Array.from({ length: 100 }, () => skillsIn(folder)))
  expect(found.map((skills) => skills.map(({ name }) => name))).toEqual(found.map(() => ['tides']))
  expect(told.map(({ file }) => file)).toEqual([join(folder, 'skills', 'broken', 'SKILL.md')])
})

it('looks again when a tenth of a second is over', async () => {
  const folder = workspace()
  const clock = virtualClock()
  const { skillsIn } = begin(clock)
  const names = async (): Promise<string[]> => (await skillsIn(folder)).map(({ name }) => name)
  expect(await names()).toEqual([])
  write(folder, 'tides')
  clock.advance(99)
  expect(await names()).toEqual([])
  clock.advance(1)
  expect(await names()).toEqual(['tides'])
})

it('does not tell again what is still broken when another skill changes', async () => {
  const folder = workspace()
  write(folder, 'broken', 'no front matter')
  const { told, skillsIn } = begin()
  await skillsIn(folder)
  write(folder, 'tides')
  expect((await skillsIn(folder, { now: true })).map(({ name }) => name)).toEqual(['tides'])
  expect(told).toHaveLength(1)
})

it('gives those who ask for now what was there when they asked, also while an earlier look is under way', async () => {
  const folder = workspace()
  for (let i = 0; i < 50; i++) write(folder, `skill-${i}`)
  const { skillsIn } = begin()
  const earlier = [skillsIn(folder), skillsIn(folder)]
  write(folder, 'late')
  expect((await skillsIn(folder, { now: true })).some(({ name }) => name === 'late')).toBe(true)
  await Promise.all(earlier)
})

it('gives at most two million characters of skills, because they travel with each run, and says what it leaves out', async () => {
  const folder = workspace()
  for (const name of ['a', 'b', 'c', 'd'])
    write(folder, name, `---\nname: ${name}\ndescription: Describes ${name}.\n---\n${'x'.repeat(800_000)}`)
  const { told, skillsIn } = begin()
  expect((await skillsIn(folder)).map(({ name }) => name)).toEqual(['a', 'b'])
  expect(told.map(({ message }) => message)).toEqual([
    'Its skills are too many or too long. Beaver uses 2 of 4: the first ones, at most 100 with 2000000 characters in all.',
  ])
})
