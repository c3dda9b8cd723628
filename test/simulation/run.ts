// One schedule: a world is built from a scenario, runs under its faults, then without them, and is judged.
// The same scenario gives the same events. Without faults everything that is due is done within `restMsMax`.
// In the end every task has ended, every daemon drains, and nothing ticks on.
import { judgePromptness } from './prompt.ts'
import type { Scenario } from './scenario.ts'
import type { Violation } from './watch.ts'
import { World } from './world.ts'

export interface Verdict {
  readonly violations: readonly Violation[]
  /** Events of the world. */
  readonly steps: number
  readonly virtualMs: number
  readonly zombies: number
  readonly trace: readonly string[]
}

const faultsMsMax = 60_000
const restMsMax = 60_000
const endMsMax = 60_000
const drainMsMax = 60_000
const stepsMax = 30_000

export async function runSchedule(
  scenario: Scenario,
  { tracing = false }: { tracing?: boolean } = {},
): Promise<Verdict> {
  const world = new World(scenario, tracing)
  const { watch, scheduler } = world
  const begun = scheduler.now()
  const until = async (over: () => boolean, withinMs: number): Promise<boolean> => {
    const last = scheduler.now() + withinMs
    while (!over()) {
      if (scheduler.steps > stepsMax) {
        watch.broken('nothing stands still', `the world does not come to rest in ${stepsMax} events`)
        return false
      }
      if (!(await scheduler.step(last))) return over()
      world.look()
    }
    return true
  }

  world.begin()
  await until(() => world.submitted && world.faultsOver && world.atRest, faultsMsMax)
  world.endFaults({ all: false })
  if (!(await until(() => world.submitted && world.atRest, restMsMax))) world.standStill('without faults')
  else if (!(await until(() => world.idle, restMsMax))) world.holdSlots()
  judgePromptness(scenario, { watch, blows: world.blows, untilMs: scheduler.now() })
  world.endFaults({ all: true })
  world.decideAll()
  if (!(await until(() => world.ended, endMsMax))) world.standStill('after every decision')
  await until(() => false, 500)
  if (watch.violations.length === 0) {
    const drained = world.drain()
    if (!(await until(() => drained.every((each) => each.over), drainMsMax)))
      for (const { id, over } of drained) if (!over) watch.broken('a daemon drains', `${id} does not`)
    await until(() => world.living.every(({ life }) => life.timers === 0), 20_000)
    for (const { id, life } of world.living)
      if (life.timers > 0) watch.broken('no timers are left', `${life.timers} timers of ${id} are left`)
  }
  return {
    violations: watch.violations,
    steps: scheduler.steps,
    virtualMs: scheduler.now() - begun,
    zombies: watch.zombies,
    trace: world.trace,
  }
}
