// For how long runs and teams have waited for a person: their deadlines stop meanwhile (D-63).
// P1. Time is the task's own clock: it passes while a daemon drives the task. P2. Waits of several calls at once count once.
// P3. Like the task's state it is owned by whoever folds.

interface PersonWait {
  /** Calls that wait now. */
  readonly calls: Set<string>
  sinceMs: number
  totalMs: number
}

/** By run id and by team run id. */
export type PersonWaits = Map<string, PersonWait>

/** A run, and its team; `null` for a root. */
interface OfRun {
  readonly runId: string
  readonly teamRunId: string | null
}

export interface OfCall extends OfRun {
  readonly callId: string
}

/** A call of the run waits from now on. */
export function waitBegan(waits: PersonWaits, of: OfCall, atMs: number): void {
  for (const id of idsOf(of)) {
    const wait = waits.get(id) ?? { calls: new Set<string>(), sinceMs: atMs, totalMs: 0 }
    if (wait.calls.size === 0) wait.sinceMs = atMs
    wait.calls.add(keyOf(of))
    waits.set(id, wait)
  }
}

/** It was decided, or nobody waits for it any more. */
export function waitEnded(waits: PersonWaits, of: OfCall, atMs: number): void {
  for (const id of idsOf(of)) end(waits.get(id), keyOf(of), atMs)
}

/** The run is over: nothing of it waits. */
export function waitsOver(waits: PersonWaits, of: OfRun, atMs: number): void {
  for (const call of [...(waits.get(of.runId)?.calls ?? [])]) for (const id of idsOf(of)) end(waits.get(id), call, atMs)
}

/** @param id of a run or of a team run */
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
