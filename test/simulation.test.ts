// The simulation of daemons: whatever the order of things and whatever fails, its rules hold; and it finds the faults it is there for.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../scripts/lib/layout.mjs'
import { exploreApart } from './simulation/explore-apart.ts'
import { explain } from './simulation/explore.ts'
import { simMutations } from './simulation/mutations.ts'
import { runSchedule } from './simulation/run.ts'
import { scenarioOf } from './simulation/scenario.ts'
import { shrink } from './simulation/shrink.ts'

/** `pnpm simulate` runs more, beginning with a fresh seed. */
const schedules = 4_000
const timeoutMs = 300_000

/** Seeds that broke a rule before their fault was mended. */
const seedsOfFaults = [250, 377, 1_070, 1_503, 10_414, 640_970_700, 641_090_593, 641_288_460]

describe('simulated daemons', () => {
  it(
    `keep every rule in ${schedules} schedules`,
    async ({ signal }) => {
      const halves = [1, 1 + schedules / 2].map((from) => exploreApart({ from, schedules: schedules / 2, signal }))
      const explored = await Promise.all(halves)
      const [failure] = explored.flatMap(({ failures }) => failures)
      expect(failure === undefined ? null : await explain(failure)).toBe(null)
      expect(explored.reduce((sum, each) => sum + each.schedules, 0)).toBe(schedules)
    },
    timeoutMs,
  )

  it('do the same again for the same seed, to the event', async () => {
    for (const seed of [...seedsOfFaults, 7]) {
      const [first, second] = [await runSchedule(scenarioOf(seed), { tracing: true }), await runSchedule(scenarioOf(seed), { tracing: true })]
      expect(second).toEqual(first)
      expect(first.trace.length).toBeGreaterThan(5)
    }
  })

  it('keep every rule where a rule was broken once', async () => {
    for (const seed of seedsOfFaults) expect((await runSchedule(scenarioOf(seed))).violations).toEqual([])
  })
})

describe('the simulation', () => {
  it.each(simMutations.filter(({ issue }) => issue !== null))(
    'finds out when it is so: $fault',
    async ({ name, from = 1 }) => {
      const { failures } = await exploreApart({ from, schedules: 3_000, without: name, signal: new AbortController().signal })
      expect(failures).toHaveLength(1)
    },
    timeoutMs,
  )

  it('makes each of its edits at one place', () => {
    for (const { name, file, snippet } of simMutations) {
      const times = readFileSync(join(root, file), 'utf8').split(snippet).length - 1
      expect({ name, times }).toEqual({ name, times: 1 })
    }
  })

  it('makes a failing schedule smaller', async () => {
    // Room for nobody breaks a rule in every schedule.
    const scenario = { ...scenarioOf(3), daemons: [{ tasksMax: 0, offsetMs: 0 }] }
    const smaller = await shrink(scenario, 'nothing stands still', { runsMax: 60 })
    expect(smaller.tasks).toHaveLength(1)
    expect(smaller.faults).toEqual([])
  })
})
