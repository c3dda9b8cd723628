// Decides what a daemon does with a task; writes nothing. A task starts after the task before it in its
// session has ended (D-47). A task that waits is left alone until its alarm, a wake, or a write to its log
// (D-64).
// L3. A task whose log does not verify counts as ended for the tasks after it: nobody drives it any more.
import { type BlobStore, isTerminalTaskEvent, type LogId, type TaskId } from '@beaver/core'
import { type Delivery, headBefore, type Journal, LogReader, newestRecord } from '@beaver/core/journal'
import { isUnverified } from './final-faults.ts'
import { type LoadedTask, loadTask } from './load-task.ts'

export type Assessment =
  /** There is no such task. */
  | { readonly kind: 'nothing' }
  | { readonly kind: 'ended'; readonly loaded: LoadedTask }
  /** The session's earlier task has not ended. Its end wakes this one. */
  | { readonly kind: 'follows'; readonly previous: TaskId }
  /** It waits; its alarm goes off in `delayMs`. */
  | { readonly kind: 'waits'; readonly delayMs: number }
  | { readonly kind: 'due'; readonly loaded: LoadedTask }

export interface AssessPorts {
  readonly journal: Journal
  readonly blobs: BlobStore
}

/** @param known the task, if it is already loaded @throws {BeaverError} `corrupt_journal`, `blob_missing` */
export async function assessTask(
  log: LogId,
  cause: Delivery['cause'],
  known: LoadedTask | null,
  ports: AssessPorts,
): Promise<Assessment> {
  const loaded = known ?? (await loadTask(log, ports))
  const { state, head } = loaded
  if (state.submitted === null) return { kind: 'nothing' }
  if (state.ended !== null) return { kind: 'ended', loaded }
  const previous = state.submitted.previous_task_id
  // A task that was claimed once is past this check.
  if (previous !== null && head.epoch === 0 && !(await hasEnded({ ...log, task: previous }, cause, ports)))
    return { kind: 'follows', previous }
  if (state.suspended !== null && state.cancelReason === null && cause !== 'alarm') {
    const delayMs = Date.parse(state.suspended.until) - ports.journal.now()
    if (delayMs > 0) return { kind: 'waits', delayMs }
  }
  return { kind: 'due', loaded }
}

async function hasEnded(log: LogId, cause: Delivery['cause'], ports: AssessPorts): Promise<boolean> {
  const { journal, blobs } = ports
  const last = await journal.last(log)
  if (last === null) return true
  const isForeign = newestRecord(last) === null
  try {
    if (!isForeign) {
      const events = await new LogReader(log, blobs, { from: headBefore(last), judge: journal }).read(last)
      if (isTerminalTaskEvent(events.at(-1)?.type ?? '')) return true
      // Read the whole log only with a reason: a stranger wrote to it, or somebody woke this task although
      // the earlier one has no end.
      if (cause === 'accepted') return false
    }
    const { state } = await loadTask(log, ports)
    return state.submitted === null || state.ended !== null
  } catch (error) {
    if (isUnverified(error)) return true // L3
    throw error
  }
}
