// Many schedules, one after the other, from a seed on; and what is told about one that breaks a rule.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { runSchedule, type Verdict } from './run.ts'
import { type Scenario, scenarioOf } from './scenario.ts'
import { shrink } from './shrink.ts'
import type { Violation } from './watch.ts'

export interface Failure {
  readonly seed: number
  readonly violations: readonly Violation[]
}

export interface Explored {
  readonly schedules: number
  readonly steps: number
  readonly virtualMs: number
  readonly zombies: number
  readonly failures: readonly Failure[]
}

export interface ExploreOptions {
  readonly from: number
  readonly schedules: number
  /** Real time it may take, in milliseconds. */
  readonly msMax?: number
  /** Stops after so many that fail. Default 1. */
  readonly failuresMax?: number
  readonly onProgress?: (soFar: Explored) => void
  /** A failure is told when it is found: what remains of a soak may take an hour. */
  readonly onFailure?: (failure: Failure) => void
  /** Ends after the schedule that is under way. */
  readonly signal?: AbortSignal
}

const progressEvery = 5_000
/** A schedule takes no turn of the event loop, so that signals are heard only between schedules. */
const turnEvery = 100

export async function explore({
  from,
  schedules,
  msMax = Infinity,
  failuresMax = 1,
  onProgress,
  onFailure,
  signal,
}: ExploreOptions): Promise<Explored> {
  const until = performance.now() + msMax
  const failures: Failure[] = []
  let [run, steps, virtualMs, zombies] = [0, 0, 0, 0]
  const soFar = (): Explored => ({ schedules: run, steps, virtualMs, zombies, failures })
  while (
    run < schedules &&
    failures.length < failuresMax &&
    performance.now() < until &&
    signal?.aborted !== true
  ) {
    const seed = from + run
    const verdict = await runSchedule(scenarioOf(seed))
    run++
    steps += verdict.steps
    virtualMs += verdict.virtualMs
    zombies += verdict.zombies
    if (verdict.violations.length > 0) {
      const failure = { seed, violations: verdict.violations }
      failures.push(failure)
      onFailure?.(failure)
    }
    if (run % progressEvery === 0) onProgress?.(soFar())
    if (run % turnEvery === 0) await nextTurn()
  }
  return soFar()
}

/** The smallest scenario that was found for a failure, and what happens in it. */
export async function explain({ seed, violations }: Failure): Promise<string> {
  const rule = violations[0]?.rule
  if (rule === undefined) throw new Error(`The schedule of seed ${seed} breaks no rule.`)
  const smallest = await shrink(scenarioOf(seed), rule)
  const verdict = await runSchedule(smallest, { tracing: true })
  return [`seed ${seed}: ${rule}`, '', ...told(smallest), '', ...traceOf(verdict)].join('\n')
}

const linesMax = 400

function traceOf({ trace }: Verdict): string[] {
  if (trace.length <= linesMax) return [...trace]
  return [
    ...trace.slice(0, linesMax / 2),
    `… ${trace.length - linesMax} lines …`,
    ...trace.slice(-linesMax / 2),
  ]
}

function told({ leaseMs, slowMs, daemons, tasks, faults }: Scenario): string[] {
  return [
    `lease ${leaseMs} ms${slowMs > 0 ? `, messages take up to ${slowMs} ms` : ''}`,
    ...daemons.map((each, i) => `daemon d${i + 1} ${JSON.stringify(each)}`),
    ...tasks.map((each) => `task ${JSON.stringify(each)}`),
    ...faults.map((each) => `fault ${JSON.stringify({ ...each, daemon: `d${each.daemon + 1}` })}`),
  ]
}
