// How long runs, teams and the whole task have waited for a person or for the client. Deadlines and the time of work of a budget
// stop during that time (D-63), which the task's own clock measures (task-state.ts). Calls that wait at once
// count once.

interface PersonWait {
  /** The calls that wait now. */
  readonly calls: Set<string>
  sinceMs: number
  totalMs: number
}

/** The waits, by run id and by team run id, and under `wholeTask` those of all runs. */
export type PersonWaits = Map<string, PersonWait>

/** The id under which the whole task waits while any of its runs does. */
export const wholeTask = ''

/** A run and its team; `null` for the root. */
interface OfRun {
  readonly runId: string
  readonly teamRunId: string | null
}

export interface OfCall extends OfRun {
  readonly callId: string
}

/**
 * Notes that a call of the run begins to wait.
 *
 * @example
 * const waits: PersonWaits = new Map()
 * waitBegan(waits, { runId: 'run_1', teamRunId: null, callId: 'call_1' }, 1_000)
 * waitedMs(waits, 'run_1', 4_000) // => 3_000
 */
export function waitBegan(waits: PersonWaits, of: OfCall, atMs: number): void {
  for (const id of idsOf(of)) {
    const wait = waits.get(id) ?? { calls: new Set<string>(), sinceMs: atMs, totalMs: 0 }
    if (wait.calls.size === 0) wait.sinceMs = atMs
    wait.calls.add(keyOf(of))
    waits.set(id, wait)
  }
}

/**
 * Notes that a call stops waiting: it was decided, or its run no longer needs it.
 *
 * @example
 * const waits: PersonWaits = new Map()
 * const call = { runId: 'run_1', teamRunId: null, callId: 'call_1' }
 * waitBegan(waits, call, 1_000)
 * waitEnded(waits, call, 2_000)
 * waitedMs(waits, 'run_1', 9_000) // => 1_000
 */
export function waitEnded(waits: PersonWaits, of: OfCall, atMs: number): void {
  for (const id of idsOf(of)) end(waits.get(id), keyOf(of), atMs)
}

/**
 * Notes the end of a run: none of its calls waits any more.
 *
 * @example
 * const waits: PersonWaits = new Map()
 * waitBegan(waits, { runId: 'run_1', teamRunId: 'team_1', callId: 'call_1' }, 1_000)
 * waitsOver(waits, { runId: 'run_1', teamRunId: 'team_1' }, 3_000)
 * waitedMs(waits, 'team_1', 9_000) // => 2_000
 */
export function waitsOver(waits: PersonWaits, of: OfRun, atMs: number): void {
  for (const call of [...(waits.get(of.runId)?.calls ?? [])])
    for (const id of idsOf(of)) end(waits.get(id), call, atMs)
}

/**
 * How long a run, a team run or the whole task has waited so far, in milliseconds.
 *
 * @param id the id of a run or of a team run, or `wholeTask`
 * @example
 * waitedMs(new Map(), 'run_1', 4_000) // => 0
 */
export function waitedMs(waits: PersonWaits, id: string, atMs: number): number {
  const wait = waits.get(id)
  if (wait === undefined) return 0
  return wait.totalMs + (wait.calls.size > 0 ? Math.max(0, atMs - wait.sinceMs) : 0)
}

function end(wait: PersonWait | undefined, call: string, atMs: number): void {
  if (wait?.calls.delete(call) !== true || wait.calls.size > 0) return
  wait.totalMs += Math.max(0, atMs - wait.sinceMs)
}

const keyOf = ({ runId, callId }: OfCall): string => `${runId} ${callId}`
const idsOf = ({ runId, teamRunId }: OfRun): string[] =>
  teamRunId === null ? [runId, wholeTask] : [runId, teamRunId, wholeTask]
