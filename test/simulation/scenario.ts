// What happens in a simulated world, as plain data that a seed gives: daemons, tasks, faults. A scenario that
// is made smaller by hand, or by shrink.ts, is a scenario too.
import type { Plan } from './loop.ts'
import { type Random, randomOf } from './random.ts'

export interface TaskOf {
  readonly id: string
  /** `null`: a session of its own name. */
  readonly session: string | null
  readonly atMs: number
  readonly plan: Plan
  /** The same id is submitted twice at once. */
  readonly twice: 'same' | 'other_session' | null
  readonly cancelAtMs: number | null
  /** When a person decides, after the submission; `null`: when everything else is done. */
  readonly decideAtMs: number | null
  readonly approved: boolean
  /** When it is steered, after the submission. Each text is sent twice. */
  readonly steerAtMs: readonly number[]
}

export const faultKinds = [
  'crash',
  'stop',
  'cut_requests',
  'cut_answers',
  'lose_commands',
  'lose_answers',
  'lose_hints',
  'fail_reads',
  'stale_reads',
  'double_deliveries',
  'lose_queue',
  'recreate_consumer',
  'clock',
  'lag_read_model',
  'away_read_model',
  'lie_gone',
  'lie_silent',
  'drain',
  'lose_thread',
] as const
export type FaultKind = (typeof faultKinds)[number]

/** Those that put a daemon out of action: others do its work. */
const lasting: ReadonlySet<FaultKind> = new Set(['crash', 'stop', 'cut_requests', 'cut_answers', 'drain'])

export interface Fault {
  readonly kind: FaultKind
  /** The place of the daemon it befalls. */
  readonly daemon: number
  /** After so many events of this daemon. */
  readonly afterSteps: number
  readonly forMs: number
  /** It lasts until all that can end without this daemon has ended. */
  readonly lasts: boolean
  readonly probability: number
}

export interface Scenario {
  readonly seed: number
  readonly leaseMs: number
  readonly daemons: readonly { readonly tasksMax: number; readonly offsetMs: number }[]
  readonly tasks: readonly TaskOf[]
  readonly faults: readonly Fault[]
  /** How long a message may be under way, at the worst. */
  readonly slowMs: number
}

const dayMs = 86_400_000

export function scenarioOf(seed: number): Scenario {
  const scenario = unsteeredOf(seed)
  if (seed % 7 === 4) return ofClients(scenario)
  return seed % 7 === 2 ? steeredOf(scenario, randomOf(seed, 'steers')) : scenario
}

/** In one of seven worlds tasks wait for their clients where they wait for a person in the others. */
const ofClients = (scenario: Scenario): Scenario => ({
  ...scenario,
  tasks: scenario.tasks.map((task) =>
    task.plan.approval ? { ...task, plan: { ...task.plan, approval: false, client: true } } : task,
  ),
})

/**
 * In one of seven worlds tasks are steered. Its numbers are its own, so that the other worlds stay as they
 * are.
 */
function steeredOf(scenario: Scenario, random: Random): Scenario {
  const times = (): number[] =>
    Array.from({ length: random.int(4) }, () =>
      random.pick([random.int(600), random.int(6_000), 900 + random.int(800)]),
    )
  return { ...scenario, tasks: scenario.tasks.map((task) => ({ ...task, steerAtMs: times() })) }
}

function unsteeredOf(seed: number): Scenario {
  const random = randomOf(seed, 'scenario')
  const shape = random.int(100)
  if (shape < 12) return plainOf(seed, random, [])
  if (shape < 27)
    return plainOf(seed, random, [{ ...faultOf(random, 2), kind: random.pick(takenOver), lasts: true }])
  if (shape < 42) return hungOf(seed, random)
  const daemons = Array.from({ length: random.pick([1, 2, 2, 3]) }, () => ({
    tasksMax: 1 + random.int(3),
    offsetMs: random.chance(0.15) ? random.pick([-1, 1]) * (dayMs + 3_600_000) : 0,
  }))
  const tasks = tasksOf(random, { countMax: 8, waiting: 0.2 })
  const faults = Array.from({ length: random.pick([0, 1, 1, 2, 2, 3, 4]) }, () =>
    faultOf(random, daemons.length),
  )
  return {
    seed,
    leaseMs: random.pick([5_000, 5_000, 20_000, 90_000]),
    daemons,
    tasks,
    faults,
    slowMs: random.chance(0.2) ? 2_000 : 0,
  }
}

/** Faults after which others take the daemon's tasks over. */
const takenOver = ['crash', 'stop', 'cut_requests', 'cut_answers'] as const

/**
 * Room for everything, and at most one fault: whatever is due begins at once, and can be held to that
 * (prompt.ts).
 */
function plainOf(seed: number, random: Random, faults: readonly Fault[]): Scenario {
  const tasks = tasksOf(random, { countMax: 3, waiting: 0.4 })
  const daemons = Array.from({ length: 2 + random.int(2) }, () => ({ tasksMax: tasks.length, offsetMs: 0 }))
  return { seed, leaseMs: random.pick([5_000, 90_000]), daemons, tasks, faults, slowMs: 0 }
}

/**
 * A daemon hangs or is cut off while its tasks work and wait, and something else happens to them meanwhile.
 */
function hungOf(seed: number, random: Random): Scenario {
  const hung = {
    ...faultOf(random, 2),
    kind: random.pick(['stop', 'cut_requests', 'cut_answers'] as const),
    forMs: random.pick([8_000, 30_000]),
  }
  const other = {
    ...faultOf(random, 2),
    kind: random.pick([
      'lose_queue',
      'lose_queue',
      'recreate_consumer',
      'crash',
      'double_deliveries',
    ] as const),
  }
  const tasks = tasksOf(random, { countMax: 3, waiting: 0.6 })
  const daemons = [1, 2].map(() => ({ tasksMax: 1 + random.int(3), offsetMs: 0 }))
  return {
    seed,
    leaseMs: random.pick([5_000, 90_000]),
    daemons,
    tasks,
    faults: [hung, { ...other, probability: 1 }],
    slowMs: 0,
  }
}

/** @param of.waiting how often a task waits for a person */
function tasksOf(random: Random, { countMax, waiting }: { countMax: number; waiting: number }): TaskOf[] {
  const count = Math.min(countMax, random.pick([1, 1, 1, 1, 2, 2, 2, 3, 3, random.pick([4, 5, 6, 8])]))
  const sessions = random.chance(0.5) ? [null] : [null, 's1', 's1', 's2']
  const withinMs = random.pick([20, 20, 600, 4_000])
  return Array.from({ length: count }, (_, i) => {
    const kind = random.int(10)
    const twice = random.int(12)
    return {
      id: `t${i + 1}`,
      session: random.pick(sessions),
      atMs: random.int(withinMs),
      plan: {
        steps: kind === 0 ? 2 : random.int(2),
        approval: false,
        pauseMs: 0,
        ...(kind === 9 ? { pauseMs: 1_000 + random.int(15_000) } : {}),
        ...(random.chance(waiting) ? { approval: true, steps: 1, pauseMs: 0 } : {}),
      },
      twice: twice === 0 ? ('same' as const) : twice === 1 ? ('other_session' as const) : null,
      cancelAtMs: random.chance(0.08) ? random.int(3_000) : null,
      // Mostly about when the task is suspended.
      decideAtMs: random.chance(0.6) ? random.pick([random.int(6_000), 900 + random.int(800)]) : null,
      approved: random.chance(0.7),
      steerAtMs: [],
    }
  })
}

function faultOf(random: Random, daemons: number): Fault {
  const kind = random.chance(0.35)
    ? random.pick(['crash', 'crash', 'stop'] as const)
    : random.pick(faultKinds)
  return {
    kind,
    daemon: random.int(daemons),
    // Small numbers are where the most begins.
    afterSteps: random.chance(0.5) ? random.int(30) : random.int(100),
    forMs: random.pick([50, 500, 3_000, 8_000, 30_000]),
    lasts: random.chance(0.3) && lasting.has(kind),
    probability: random.pick([0.1, 0.5, 1]),
  }
}
