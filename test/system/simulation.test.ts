// The simulation of daemons, in short: whatever the order of things and whatever fails, its rules hold.
// test/campaign/simulation.test.ts shows that it finds faults, and `pnpm simulate` runs more schedules,
// beginning with a fresh seed.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../../scripts/lib/layout.mjs'
import { exploreApart } from '../simulation/explore-apart.ts'
import { explain } from '../simulation/explore.ts'
import { simMutations } from '../simulation/mutations.ts'
import { runSchedule } from '../simulation/run.ts'
import { scenarioOf } from '../simulation/scenario.ts'

const schedules = 1_000

/** Seeds that broke a rule before their fault was mended. */
const seedsOfFaults = [250, 377, 1_070, 1_503, 10_414, 640_970_700, 641_090_593, 641_288_460]

describe('simulated daemons', () => {
  it(`keep every rule in ${schedules} schedules`, async ({ signal }) => {
    const { schedules: ran, failures } = await exploreApart({ from: 1, schedules, signal })
    expect(failures[0] === undefined ? null : await explain(failures[0])).toBe(null)
    expect(ran).toBe(schedules)
  })

  it('do the same again for the same seed, to the event', async () => {
    for (const seed of [...seedsOfFaults, 7]) {
      const [first, second] = [
        await runSchedule(scenarioOf(seed), { tracing: true }),
        await runSchedule(scenarioOf(seed), { tracing: true }),
      ]
      expect(second).toEqual(first)
      expect(first.trace.length).toBeGreaterThan(5)
    }
  })

  it('keep every rule where a rule was broken once', async () => {
    for (const seed of seedsOfFaults) expect((await runSchedule(scenarioOf(seed))).violations).toEqual([])
  })
})

it('the faults that the simulation is checked with each change one place of the sources', () => {
  for (const { name, file, snippet } of simMutations) {
    const times = readFileSync(join(root, file), 'utf8').split(snippet).length - 1
    expect({ name, times }).toEqual({ name, times: 1 })
  }
})
