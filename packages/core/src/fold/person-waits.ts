// How long runs and teams have waited for a person. Their deadlines stop during that time (D-63).
// P1. Time is measured by the task's own clock (task-state.ts).
// P2. If several calls wait at once, the time counts once.
// P3. These functions change the map that they get, like the fold of the task.

interface PersonWait {
  /** The calls that wait now. */
  readonly calls: Set<string>
  sinceMs: number
  totalMs: number
}

/** The waits, by run id and by team run id. */
export type PersonWaits = Map<string, PersonWait>

/** A run and its team; `null` for the root. */
interface OfRun {
  readonly runId: string
  readonly teamRunId: string | null
}

export interface OfCall extends OfRun {
  readonly callId: string
}

/** Notes that a call of the run begins to wait. */
export function waitBegan(waits: PersonWaits, of: OfCall, atMs: number): void {
  for (const id of idsOf(of)) {
    const wait = waits.get(id) ?? { calls: new Set<string>(), sinceMs: atMs, totalMs: 0 }
    if (wait.calls.size === 0) wait.sinceMs = atMs
    wait.calls.add(keyOf(of))
    waits.set(id, wait)
  }
}

/** Notes that a call stops waiting: it was decided, or its run no longer needs it. */
export function waitEnded(waits: PersonWaits, of: OfCall, atMs: number): void {
  for (const id of idsOf(of)) end(waits.get(id), keyOf(of), atMs)
}

/** Notes the end of a run: none of its calls waits any more. */
export function waitsOver(waits: PersonWaits, of: OfRun, atMs: number): void {
  for (const call of [...(waits.get(of.runId)?.calls ?? [])]) for (const id of idsOf(of)) end(waits.get(id), call, atMs)
}

/**
 * How long a run or a team run has waited so far, in milliseconds.
 *
 * @param id the id of a run or of a team run
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
const idsOf = ({ runId, teamRunId }: OfRun): string[] => (teamRunId === null ? [runId] : [runId, teamRunId])
