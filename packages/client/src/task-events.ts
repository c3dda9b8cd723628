// Reads the events of a task from the journal. Each record and each signature is verified.
// E1. A reader that has the events up to a place reads on from there, if the read model knows the hash of the
// event at this place: the chain continues from this hash. In any doubt, the log is read from event 1. Doubts
// are: no projector answers, the chain of the task does not hold, or the journal has another record there. So
// a read model that is behind, or is built again, costs time only.
import type { QueryInput, QueryOutput } from '@beaver/contracts'
import { isTerminalTaskEvent, type LogId } from '@beaver/core'
import {
  emptyHead,
  type Entry,
  foreignFault,
  headBefore,
  type LogHead,
  LogReader,
  type RecordedEvent,
  splitBatch,
} from '@beaver/core/journal'
import { followJournal, followLog, journalReader, type RecordReading, type Subjects } from '@beaver/nats'
import type { NatsConnection } from '@nats-io/nats-core'
import { whilePresent } from './present-nats.ts'

/** How a client reads logs, and how long NATS may be away, in milliseconds. */
export interface JudgedReading extends RecordReading {
  readonly watchMs: number
}

/** `after`: the place in the log of the last event that the reader has. 0: none. */
export interface TaskEvents {
  /** The events so far. */
  read(taskId: string, after: number): AsyncGenerator<RecordedEvent>
  /** The events so far, and then new ones until the terminal one. It waits for a task that does not exist yet. */
  watch(taskId: string, after: number, signal: AbortSignal): AsyncGenerator<RecordedEvent>
  /** The event at a place in the log; `null` if the journal does not have it. */
  at(taskId: string, taskseq: number): Promise<RecordedEvent | null>
}

/** Asks the read model. It may fail at once: then the log is read from event 1. */
export type AskEvents = (input: QueryInput<'events'>) => Promise<QueryOutput<'events'>>

export function taskEventsIn(
  nc: NatsConnection,
  subjects: Subjects,
  { blobs, judge, watchMs, ask }: JudgedReading & { readonly ask: AskEvents },
): TaskEvents {
  const { tenant } = subjects
  const never = new AbortController().signal
  const readerOf = (log: LogId, place: Place | null): LogReader =>
    new LogReader(log, blobs, { judge, from: place?.head ?? emptyHead })
  const placeAt = (taskId: string, taskseq: number): Promise<Place | null> =>
    taskseq < 1 ? Promise.resolve(null) : trustedPlace(nc, subjects, { ask, taskId, taskseq })

  async function* read(taskId: string, after: number): AsyncGenerator<RecordedEvent> {
    const journal = await journalReader(nc, subjects)
    const place = await placeAt(taskId, after)
    const log = place?.log ?? (await journal.find(tenant, taskId))
    if (log === null) return
    const records = readerOf(log, place)
    for await (const entry of place === null ? journal.entries(log) : entriesFrom(place))
      for await (const event of records.events(entry)) if (event.taskseq > after) yield event

    async function* entriesFrom({ entry }: Place): AsyncGenerator<Entry> {
      yield entry
      yield* journal.entriesAfter(log as LogId, entry.revision)
    }
  }

  async function* watch(taskId: string, after: number, signal: AbortSignal): AsyncGenerator<RecordedEvent> {
    const place = await placeAt(taskId, after)
    let records: LogReader | null = null
    for await (const { messages } of place === null
      ? followLog(nc, subjects, { tenant, task: taskId, signal })
      : followJournal(nc, subjects, { log: place.log, from: place.entry.revision, signal }))
      for (const message of messages) {
        records ??= readerOf(message.log, place)
        for await (const event of records.events({ ...message, revision: message.sequence })) {
          if (event.taskseq > after) yield event
          if (isTerminalTaskEvent(event.type)) return
        }
      }
  }

  async function* one(taskId: string, taskseq: number): AsyncGenerator<RecordedEvent> {
    const place = taskseq === 1 ? await beginning(taskId) : await placeAt(taskId, taskseq)
    for await (const event of place === null
      ? read(taskId, 0)
      : readerOf(place.log, place).events(place.entry)) {
      if (event.taskseq === taskseq) yield event
      if (event.taskseq >= taskseq) return
    }
  }

  /** The first entry of a log needs no trusted hash: nothing is before it. */
  async function beginning(taskId: string): Promise<Place | null> {
    const journal = await journalReader(nc, subjects)
    const log = await journal.find(tenant, taskId)
    const entry = log === null ? null : await journal.first(log)
    return log === null || entry === null ? null : { log, entry, head: emptyHead }
  }

  return {
    read: (taskId, after) => whilePresent(nc, watchMs, never, () => read(taskId, after)),
    watch: (taskId, after, signal) =>
      whilePresent(nc, watchMs, signal, (within) => watch(taskId, after, within)),
    async at(taskId, taskseq) {
      for await (const event of whilePresent(nc, watchMs, never, () => one(taskId, taskseq))) return event
      return null
    },
  }
}

/** An entry from which a log can be read: the first one, or one that has an event with a trusted hash. */
interface Place {
  readonly log: LogId
  readonly entry: Entry
  /** The head of the log before the entry. */
  readonly head: LogHead
}

/**
 * The entry that has an event, if the read model knows the event and the journal has it with the same hash
 * (E1). A reader that begins with this entry verifies its records up to this hash.
 */
async function trustedPlace(
  nc: NatsConnection,
  subjects: Subjects,
  { ask, taskId, taskseq }: { readonly ask: AskEvents; readonly taskId: string; readonly taskseq: number },
): Promise<Place | null> {
  const { tenant } = subjects
  try {
    const known = await ask({ task_id: taskId, tenant, after: taskseq - 1, limit: 1 })
    const [event] = known.events
    if (!known.chain_ok || known.task_id !== taskId || event?.taskseq !== taskseq) return null
    const journal = await journalReader(nc, subjects)
    const log = await journal.find(tenant, taskId)
    if (log === null || log.session !== known.session_id) return null
    const entry = await journal.at(log, event.sequence)
    if (entry === null || foreignFault(entry) !== null) return null
    const isThere = splitBatch(entry.payload).some(
      (record) => record.taskseq === taskseq && record.hash === event.hash,
    )
    return isThere ? { log, entry, head: headBefore(entry) } : null
  } catch {
    return null // If the journal cannot be read, the read from event 1 says so.
  }
}
