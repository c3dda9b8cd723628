// A session read back: the journal is the session, nothing else holds it (SE-01). Asks no daemon; `search` asks the projector.
// S1. Tasks in the order they were accepted, the events of each in theirs, every record verified as `watch` does.
// S2. Read as it is asked for: a page of the journal is held, never the session. S3. A session nobody used is empty, not an error.
import {
  BeaverError,
  type BlobStore,
  blobOf,
  chainFault,
  emptyHead,
  type Entry,
  headAfter,
  isTerminalTaskEvent,
  type LogHead,
  type LogId,
  openRecord,
  type RecordedEvent,
  type SessionId,
  sessionId,
  type SessionSearchHit,
  splitBatch,
  type TaskResult,
  visibleAnswer,
  visibleEventTypes,
  type WireRecord,
} from '@beaver/core'
import { type JournalReader, journalReader, natsSessionSearch, parseRequest, type Subjects } from '@beaver/nats'
import type { NatsConnection } from '@nats-io/nats-core'

/** `hidden`: for the record only; no prompt and no transcript shows it (SE-07). */
export type SessionEvent = RecordedEvent & { readonly task_id: string; readonly hidden: boolean }

export interface SessionMessage {
  readonly task_id: string
  readonly role: 'user' | 'assistant'
  readonly content: string
  /** ISO 8601. */
  readonly at: string
}

export interface SearchOptions {
  /** 1 to 50; default 10. */
  readonly limit?: number
  /** A session to leave out; default: none. */
  readonly exceptSession?: string
}

export interface Sessions {
  /** All events of the session so far. Stop reading when you have enough. @throws {BeaverError} `invalid_arguments`, `corrupt_journal`, `blob_missing` */
  getEventRecords(sessionId: string): AsyncGenerator<SessionEvent>
  /** Those of one run. @throws {BeaverError} as above */
  getRunEventRecords(sessionId: string, runId: string): AsyncGenerator<SessionEvent>
  /** In the order they started, workers' runs too. @throws {BeaverError} as above */
  listRunIds(sessionId: string): Promise<readonly string[]>
  /**
   * What was asked and what was answered in the end, or why there was no answer, oldest first: as the next task is told it.
   * Of the newest `tasksMax` tasks (default 20, at most 1,000). @throws {BeaverError} as above
   */
  getVisibleHistory(sessionId: string, options?: { tasksMax?: number }): Promise<readonly SessionMessage[]>
  /** In all sessions of the tenant, best first. @throws {BeaverError} `no_daemon` when no projector runs, `timeout` */
  search(query: string, options?: SearchOptions): Promise<readonly SessionSearchHit[]>
}

const historyTasksMax = 1_000

export function sessionsOn(nc: NatsConnection, subjects: Subjects, tenant: string, blobs: () => Promise<BlobStore>): Sessions {
  const parsed = (id: string): SessionId => parseRequest(sessionId, id, 'session id')

  async function* eventsOfSession(id: string): AsyncGenerator<SessionEvent> {
    const session = parsed(id)
    const reader = await journalReader(nc, subjects)
    for await (const task of reader.tasks(tenant, session)) {
      for await (const event of eventsOf({ tenant, session, task }, reader)) yield { ...event, task_id: task, hidden: !visibleEventTypes.has(event.type) }
    }
  }

  async function* eventsOf(log: LogId, reader: JournalReader): AsyncGenerator<RecordedEvent> {
    let head = emptyHead
    for await (const entry of reader.entries(log)) {
      for (const record of verified(log, entry, head)) {
        head = headAfter(record)
        yield await opened(record)
      }
    }
  }

  async function opened(record: WireRecord): Promise<RecordedEvent> {
    const blob = blobOf(record)
    return openRecord(record, blob === null ? undefined : Buffer.from(await (await blobs()).get(blob)).toString())
  }

  /** The request and its answer, from the two ends of the task's log. */
  async function exchange(
    log: LogId,
    { first, last, reader }: { first: Entry; last: Entry; reader: JournalReader },
  ): Promise<{ before: string | null; retryOf: string | null; messages: SessionMessage[] }> {
    const [beginning] = verified(log, first, emptyHead)
    const submitted = await opened(beginning as WireRecord)
    if (submitted.type !== 'task_submitted') throw new BeaverError('corrupt_journal', `The log of task ${log.task} begins with ${submitted.type}.`)
    const { previous_task_id: before, request } = submitted.data
    const end = await ended(log, last, reader)
    const answer = end === null ? '' : visibleAnswer(end.data as TaskResult)
    const said: SessionMessage = { task_id: log.task, role: 'user', content: request.text, at: submitted.time }
    return {
      before,
      retryOf: request.retry_of ?? null,
      messages: end === null || answer === '' ? [] : [said, { task_id: log.task, role: 'assistant', content: answer, at: end.time }],
    }
  }

  /** How the task ended, mostly its last event; `null` when it has not. */
  async function ended(log: LogId, last: Entry, reader: JournalReader): Promise<RecordedEvent | null> {
    const [next] = splitBatch(last.payload) as [WireRecord]
    const newest = await opened(verified(log, last, { taskseq: next.taskseq - 1, epoch: next.epoch, hash: next.prevhash }).at(-1) as WireRecord)
    if (isTerminalTaskEvent(newest.type)) return newest
    // Open, or something was written after its end.
    for await (const event of eventsOf(log, reader)) if (isTerminalTaskEvent(event.type)) return event
    return null
  }

  return {
    getEventRecords: eventsOfSession,
    async *getRunEventRecords(id, runId) {
      // A run goes on in a retry of its task: what was copied there is not told twice.
      for await (const event of originals(eventsOfSession(id))) if (event.runId === runId) yield event
    },
    async listRunIds(id) {
      const runs: string[] = []
      for await (const event of originals(eventsOfSession(id))) if (event.type === 'run_started') runs.push(event.data.run_id)
      return runs
    },
    async getVisibleHistory(id, { tasksMax = 20 } = {}) {
      const session = parsed(id)
      const reader = await journalReader(nc, subjects)
      const exchanges: SessionMessage[][] = []
      let task: string | null = await reader.newest(tenant, session)
      const retried = new Set<string>()
      for (let read = 0; task !== null && read < Math.min(tasksMax, historyTasksMax); read++) {
        const log = { tenant, session, task } as LogId
        const [first, last] = await Promise.all([reader.first(log), reader.last(log)])
        if (first === null || last === null) break
        const { before, retryOf, messages } = await exchange(log, { first, last, reader })
        if (retryOf !== null) retried.add(retryOf)
        // A task that was retried is told by its retry alone.
        if (!retried.has(task)) exchanges.unshift(messages)
        task = before
      }
      return exchanges.flat()
    },
    search: (query, { limit = 10, exceptSession = '' } = {}) =>
      natsSessionSearch(nc, subjects).search(tenant, { query, limit, session: exceptSession, includeCurrent: exceptSession === '' }),
  }
}

/** Leaves out what a retry copied from the task it retries. */
async function* originals(events: AsyncIterable<SessionEvent>): AsyncGenerator<SessionEvent> {
  let copiedTo = { task: '', taskseq: 0 }
  for await (const event of events) {
    if (event.type === 'task_log_copied') copiedTo = { task: event.task_id, taskseq: event.taskseq + event.data.events }
    else if (event.task_id !== copiedTo.task || event.taskseq > copiedTo.taskseq) yield event
  }
}

/** The records of an entry, which follow `from`. */
function verified(log: LogId, entry: Entry, from: LogHead): WireRecord[] {
  let head = from
  const records = splitBatch(entry.payload)
  for (const record of records) {
    const fault = chainFault(head, record) ?? (record.subject === log.task ? null : `event ${record.taskseq} is one of task ${record.subject}`)
    if (fault !== null) throw new BeaverError('corrupt_journal', `The log of task ${log.task} is broken: ${fault}.`)
    head = headAfter(record)
  }
  return records
}
