// Reading a task's log back: split, verified against its chain, blobs fetched, folded.
import {
  BeaverError,
  type BlobStore,
  blobOf,
  chainFault,
  emptyHead,
  type Entry,
  foldTask,
  headAfter,
  type Journal,
  type LogHead,
  type LogId,
  openRecord,
  type RecordedEvent,
  revisionAfter,
  splitBatch,
  type TaskState,
} from '@beaver/core'

const readTriesMax = 5

export interface LoadedTask {
  readonly events: readonly RecordedEvent[]
  readonly state: TaskState
  readonly head: LogHead
  /** What the next append expects. */
  readonly revision: number
  /** Of the first entry: the task's place in its session. */
  readonly acceptedRevision: number
  /** When calls asked for an approval, by the journal's clock: `<run> <call>`. */
  readonly askedAtMs: ReadonlyMap<string, number>
}

/** @throws {BeaverError} `corrupt_journal`, `blob_missing` */
export async function loadTask(log: LogId, ports: { journal: Pick<Journal, 'last' | 'read'>; blobs: BlobStore }): Promise<LoadedTask> {
  // A task nobody has worked on yet is one entry: the last is the whole.
  const last = await ports.journal.last(log)
  const whole = last !== null && splitBatch(last.payload)[0]?.taskseq === 1
  return taskOf(log, last === null ? [] : whole ? [last] : await readUpTo(last, log, ports.journal), ports)
}

/**
 * Reads a log at least up to its last entry. A read may be stale, and a run that is taken up from a stale one asks the model and calls
 * tools again: its writes are not refused, because the log of this claim knows what it wrote.
 */
async function readUpTo(last: Entry, log: LogId, journal: Pick<Journal, 'read'>): Promise<readonly Entry[]> {
  for (let tries = 0; tries < readTriesMax; tries++) {
    const entries = await journal.read(log)
    if ((entries.at(-1)?.revision ?? 0) >= last.revision) return entries
  }
  throw new BeaverError('unreachable', `The log of task ${log.task} is read without its last entry, ${readTriesMax} times.`)
}

/** The task that these entries are the log of. @throws {BeaverError} as `loadTask` */
export async function taskOf(log: LogId, entries: readonly Entry[], { blobs }: { blobs: BlobStore }): Promise<LoadedTask> {
  const events: RecordedEvent[] = []
  const askedAtMs = new Map<string, number>()
  let head = emptyHead
  for (const entry of entries) {
    for (const record of splitBatch(entry.payload)) {
      const fault = chainFault(head, record)
      if (fault !== null) throw new BeaverError('corrupt_journal', `The log of task ${log.task} is broken: ${fault}.`)
      const blob = blobOf(record)
      const event = openRecord(record, blob === null ? undefined : Buffer.from(await blobs.get(blob)).toString())
      if (event.type === 'approval_requested') askedAtMs.set(`${event.runId} ${event.data.call_id}`, entry.timeMs)
      events.push(event)
      head = headAfter(record)
    }
  }
  const state = foldTask(events)
  const of = state.submitted
  if (of !== null && (of.task_id !== log.task || of.session_id !== log.session || of.tenant !== log.tenant)) {
    throw new BeaverError('corrupt_journal', `The log of task ${log.task} holds the events of task ${of.task_id}.`)
  }
  return { events, state, head, revision: revisionAfter(entries), acceptedRevision: entries[0]?.revision ?? 0, askedAtMs }
}

/** The events of one run, in order. */
export function eventsOfRun(events: readonly RecordedEvent[], runId: string): RecordedEvent[] {
  return events.filter((event) => event.runId === runId)
}
