// A session read back: the journal is the session, nothing else holds it (SE-01). Asks no daemon; `search` asks the projector.
// S1. Tasks in the order they were accepted, the events of each in theirs, every record verified as `watch` does.
// S2. Read as it is asked for: a page of the journal is held, never the session. S3. A session nobody used is empty, not an error.
import {
  type BlobStore,
  exchangeOf,
  historyBound,
  type LogId,
  LogReader,
  type LogSource,
  readPastTask,
  type RecordedEvent,
  type SessionId,
  sessionId,
  type SessionSearchHit,
  visibleEventTypes,
  visibleHistory,
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
   * Of the newest `tasksMax` tasks (default 20, at most 1,000), while they have at most `charsMax` characters together (default 100,000).
   * @throws {BeaverError} as above
   */
  getVisibleHistory(sessionId: string, options?: { tasksMax?: number; charsMax?: number }): Promise<readonly SessionMessage[]>
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

  const store: Pick<BlobStore, 'get'> = { get: async (sha256) => (await blobs()).get(sha256) }

  async function* eventsOf(log: LogId, reader: JournalReader): AsyncGenerator<RecordedEvent> {
    const records = new LogReader(log, store)
    for await (const entry of reader.entries(log)) yield* records.events(entry)
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
    async getVisibleHistory(id, { tasksMax = historyBound.tasksMax, charsMax = historyBound.charsMax } = {}) {
      const session = parsed(id)
      const reader = await journalReader(nc, subjects)
      const source: LogSource = { first: (log) => reader.first(log), last: (log) => reader.last(log), read: (log) => reader.entries(log) }
      const exchanges = await visibleHistory(
        await reader.newest(tenant, session),
        async (task) => {
          const past = await readPastTask({ tenant, session, task }, source, store)
          return past === null ? null : exchangeOf(past)
        },
        { tasksMax: Math.min(tasksMax, historyTasksMax), charsMax },
      )
      return exchanges.flatMap(({ task, said, saidAt, answered, answeredAt }): SessionMessage[] => [
        { task_id: task, role: 'user', content: said, at: saidAt },
        { task_id: task, role: 'assistant', content: answered, at: answeredAt },
      ])
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
