// Loads a task from its log: the whole log, verified, and its fold. @beaver/core reads logs (read-log.ts).
import { BeaverError, type BlobStore, type Clock, type LogId, pause } from '@beaver/core'
import { foldTask, type TaskState } from '@beaver/core/fold'
import {
  type Entry,
  type Journal,
  type LogHead,
  LogReader,
  type RecordedEvent,
  revisionAfter,
  type SignatureJudge,
} from '@beaver/core/journal'

import { clientKey } from './client-answers.ts'
import { waitKey } from './task-approvals.ts'

const readTriesMax = 8
/** The pause before the second read. Each further pause is longer by the same time. */
const readPauseMs = 20

export interface LoadedTask {
  readonly events: readonly RecordedEvent[]
  readonly state: TaskState
  readonly head: LogHead
  /** The revision that the next append expects. */
  readonly revision: number
  /** The revision of the first entry: the task's place in its session. */
  readonly acceptedRevision: number
  /** When calls asked a person or the client, by the journal's clock, keyed by `waitKey` or `clientKey`. */
  readonly askedAtMs: ReadonlyMap<string, number>
  /** The file with the entries between the first and the last one; `null` if the journal has all of them. */
  readonly archive: string | null
  /** How many messages in the log are no records, because no daemon wrote them. */
  readonly foreign: number
}

/** @throws {BeaverError} `corrupt_journal`, `untrusted_record`, `blob_missing`, `blob_corrupt` */
export async function loadTask(
  log: LogId,
  ports: {
    journal: Pick<Journal, 'last' | 'read'> & SignatureJudge
    blobs: Pick<BlobStore, 'get'>
    clock?: Clock
  },
): Promise<LoadedTask> {
  return taskOf(log, await readWhole(log, ports), ports)
}

/**
 * Reads a log at least up to its last entry. A run that resumes from a stale read would ask the model and
 * call tools again, and its writes would not be refused. The log and its last entry are requested at once,
 * because a daemon that starts after a crash loads hundreds of tasks.
 *
 * @param of.clock for pauses between reads. Absent: there are none
 */
async function readWhole(
  log: LogId,
  { journal, clock }: { journal: Pick<Journal, 'last' | 'read'>; clock?: Clock },
): Promise<readonly Entry[]> {
  const [last, first] = await Promise.all([journal.last(log), journal.read(log)])
  let entries = first
  for (let tries = 1; (entries.at(-1)?.revision ?? 0) < (last?.revision ?? 0); tries++) {
    if (tries === readTriesMax)
      throw new BeaverError(
        'unreachable',
        `The log of task ${log.task} is read without its last entry, ${readTriesMax} times.`,
      )
    // A replica that was away needs time to catch up.
    if (clock !== undefined) await pause(clock, readPauseMs * tries, new AbortController().signal)
    entries = await journal.read(log)
  }
  return entries
}

/** Folds the entries of a task's log. @throws {BeaverError} as `loadTask` */
export async function taskOf(
  log: LogId,
  entries: readonly Entry[],
  { journal, blobs }: { journal: SignatureJudge; blobs: Pick<BlobStore, 'get'> },
): Promise<LoadedTask> {
  const reader = new LogReader(log, blobs, { judge: journal })
  const events: RecordedEvent[] = []
  const askedAtMs = new Map<string, number>()
  for (const entry of entries) {
    for await (const event of reader.events(entry)) {
      if (event.type === 'approval_requested')
        askedAtMs.set(waitKey(event.runId ?? '', event.data.call_id), entry.timeMs)
      if (event.type === 'question_asked')
        askedAtMs.set(waitKey(event.runId ?? '', event.data.call_id, event.data.question_index), entry.timeMs)
      if (event.type === 'client_call_requested')
        askedAtMs.set(clientKey(event.runId ?? '', event.data.call_id), entry.timeMs)
      events.push(event)
    }
  }
  const { head, foreign } = reader
  const archive = reader.archived?.file ?? null
  return {
    events,
    state: foldTask(events),
    head,
    revision: revisionAfter(entries),
    acceptedRevision: entries[0]?.revision ?? 0,
    askedAtMs,
    archive,
    foreign,
  }
}

/** The events of one run, in order. */
export function eventsOfRun(events: readonly RecordedEvent[], runId: string): RecordedEvent[] {
  return events.filter((event) => event.runId === runId)
}
