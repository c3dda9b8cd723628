// Reading a task's log back: split, verified against its chain, blobs fetched, folded.
import {
  BeaverError,
  type BlobStore,
  blobOf,
  chainFault,
  emptyHead,
  foldTask,
  headAfter,
  type Journal,
  type LogHead,
  type LogId,
  openRecord,
  type RecordedEvent,
  splitBatch,
  type TaskState,
} from '@beaver/core'

export interface LoadedTask {
  readonly events: readonly RecordedEvent[]
  readonly state: TaskState
  readonly head: LogHead
  readonly revision: number
}

/** @throws {BeaverError} `corrupt_journal`, `blob_missing` */
export async function loadTask(log: LogId, ports: { journal: Journal; blobs: BlobStore }): Promise<LoadedTask> {
  // A task nobody has worked on yet is one entry: the last is the whole.
  const last = await ports.journal.last(log)
  const whole = last !== null && splitBatch(last.payload)[0]?.taskseq === 1
  const entries = last === null ? [] : whole ? [last] : await ports.journal.read(log)
  const events: RecordedEvent[] = []
  let head = emptyHead
  for (const entry of entries) {
    for (const record of splitBatch(entry.payload)) {
      const fault = chainFault(head, record)
      if (fault !== null) throw new BeaverError('corrupt_journal', `The log of task ${log.task} is broken: ${fault}.`)
      const blob = blobOf(record)
      events.push(openRecord(record, blob === null ? undefined : Buffer.from(await ports.blobs.get(blob)).toString()))
      head = headAfter(record)
    }
  }
  const state = foldTask(events)
  const of = state.submitted
  if (of !== null && (of.task_id !== log.task || of.session_id !== log.session || of.tenant !== log.tenant)) {
    throw new BeaverError('corrupt_journal', `The log of task ${log.task} holds the events of task ${of.task_id}.`)
  }
  return { events, state, head, revision: entries.at(-1)?.revision ?? 0 }
}

/** A task of which only its first entry is known, by this daemon that wrote it; `null` when it must be read: its data is a blob. */
export function taskFrom(first: Uint8Array, revision: number): LoadedTask | null {
  const [record] = splitBatch(first)
  if (record === undefined || record.dataref !== undefined) return null
  const events = [openRecord(record)]
  return { events, state: foldTask(events), head: headAfter(record), revision }
}

/** The events of one run, in order. */
export function eventsOfRun(events: readonly RecordedEvent[], runId: string): RecordedEvent[] {
  return events.filter((event) => event.runId === runId)
}
