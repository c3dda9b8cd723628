// The simulation of daemons finds the faults it is there for. Each is put back into the sources that the
// schedules run.
import { describe, expect, it } from 'vitest'
import { exploreApart } from '../simulation/explore-apart.ts'
import { simMutations } from '../simulation/mutations.ts'
import { scenarioOf } from '../simulation/scenario.ts'
import { shrink } from '../simulation/shrink.ts'

const timeoutMs = 300_000

describe('the simulation', () => {
  it.each(simMutations.filter(({ issue, from }) => issue !== null || from !== undefined))(
    'finds out when it is so: $fault',
    async ({ name, from = 1 }) => {
      const { failures } = await exploreApart({
        from,
        schedules: 3_000,
        without: name,
        signal: new AbortController().signal,
      })
      expect(failures).toHaveLength(1)
    },
    timeoutMs,
  )

  it('makes a failing schedule smaller', async () => {
    // Room for nobody breaks a rule in every schedule.
    const scenario = { ...scenarioOf(3), daemons: [{ tasksMax: 0, offsetMs: 0 }] }
    const smaller = await shrink(scenario, 'nothing stands still', { runsMax: 60 })
    expect(smaller.tasks).toHaveLength(1)
    expect(smaller.faults).toEqual([])
  })
})
