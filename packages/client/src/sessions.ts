// Reads a session from the journal, which is the only place that stores it (SE-01); only `search` asks the
// projector. Tasks come in the order of their acceptance, each with its events in order, and every record and
// signature is verified. At most one page of the journal is in memory. A session without tasks is empty, not
// an error.
import { type LogId, type SessionId, sessionId, type SessionSearchHit, visibleEventTypes } from '@beaver/core'
import {
  exchangeOf,
  type HistoryBound,
  historyBound,
  LogReader,
  type LogSource,
  readPastTask,
  type RecordedEvent,
  visibleHistory,
} from '@beaver/core/journal'
import type { QueryInput, QueryOutput } from '@beaver/contracts'
import { type JournalReader, journalReader, parseRequest, type Subjects } from '@beaver/nats'
import type { NatsConnection } from '@nats-io/nats-core'
import { whilePresent } from './present-nats.ts'
import type { JudgedReading } from './task-events.ts'

/**
 * An event of a session. `hidden` events are for the record only, never for prompts or transcripts (SE-07).
 */
export type SessionEvent = RecordedEvent & { readonly task_id: string; readonly hidden: boolean }

/** A message of the visible history. */
export interface SessionMessage {
  readonly task_id: string
  readonly role: 'user' | 'assistant'
  readonly content: string
  /** ISO 8601. */
  readonly at: string
}

/** Bounds of a search in sessions. */
export interface SearchOptions {
  /** The most hits, from 1 to 50. Default: 10. */
  readonly limit?: number
  /** A session to leave out. Default: none. */
  readonly exceptSession?: string
  /** Only sessions of this user; `null`: only those without a user. Default: all sessions of the tenant. */
  readonly userId?: string | null
}

/**
 * The sessions of a tenant.
 *
 * @example
 * const types: string[] = []
 * for await (const event of beaver.sessions.getEventRecords(session_id)) types.push(event.type)
 * types.at(-1) // => 'task_completed'
 */
export interface Sessions {
  /**
   * All events of the session so far. Stop the iteration when you have enough. For an archived task, the
   * journal has only the first and the last entry, and `taskseq` shows the gap. The query `task` tells in
   * `archive` where the others are.
   *
   * @throws {BeaverError} `invalid_arguments`, `corrupt_journal`, `untrusted_record`, `operator_changed`,
   * `blob_missing`, `blob_corrupt`
   */
  getEventRecords(sessionId: string): AsyncGenerator<SessionEvent>
  /**
   * The events of one run. Events that a retry copied are not repeated.
   *
   * @throws {BeaverError} the codes of `getEventRecords`
   */
  getRunEventRecords(sessionId: string, runId: string): AsyncGenerator<SessionEvent>
  /**
   * The ids of all runs, also of workers, in the order of their starts.
   *
   * @throws {BeaverError} the codes of `getEventRecords`
   */
  listRunIds(sessionId: string): Promise<readonly string[]>
  /**
   * The visible history, oldest first, as the next task gets it: each question, and its final answer or the
   * reason why there is none. It contains the newest tasks within `tasksMax` (default 20, at most 1,000) and
   * within `charsMax` characters together (default 100,000).
   *
   * @throws {BeaverError} the codes of `getEventRecords`
   */
  getVisibleHistory(
    sessionId: string,
    options?: { tasksMax?: number; charsMax?: number },
  ): Promise<readonly SessionMessage[]>
  /**
   * Searches all sessions of the tenant. The newest hit is first. The request is repeated for up to 20 s if
   * no answer comes.
   *
   * @throws {BeaverError} `no_daemon` if no projector runs; `timeout`; `unreachable`; `invalid_arguments`
   */
  search(query: string, options?: SearchOptions): Promise<readonly SessionSearchHit[]>
}

const historyTasksMax = 1_000

type AskSearch = (input: QueryInput<'session_search'>) => Promise<QueryOutput<'session_search'>>

export function sessionsOn(
  nc: NatsConnection,
  subjects: Subjects,
  { blobs, judge, watchMs }: JudgedReading,
  ask: AskSearch,
): Sessions {
  const { tenant } = subjects
  const present = <Item>(read: () => AsyncGenerator<Item>): AsyncGenerator<Item> =>
    whilePresent(nc, watchMs, new AbortController().signal, read)
  const parsed = (id: string): SessionId => parseRequest(sessionId, id, 'session id')

  const eventsOfSession = (id: string): AsyncGenerator<SessionEvent> => present(() => readSession(id))

  async function* readSession(id: string): AsyncGenerator<SessionEvent> {
    const session = parsed(id)
    const reader = await journalReader(nc, subjects)
    for await (const task of reader.tasks(tenant, session)) {
      for await (const event of eventsOf({ tenant, session, task }, reader))
        yield { ...event, task_id: task, hidden: !visibleEventTypes.has(event.type) }
    }
  }

  async function* eventsOf(log: LogId, reader: JournalReader): AsyncGenerator<RecordedEvent> {
    const records = new LogReader(log, blobs, { judge })
    for await (const entry of reader.entries(log)) yield* records.events(entry)
  }

  async function* readHistory(
    session: SessionId,
    { tasksMax, charsMax }: HistoryBound,
  ): AsyncGenerator<readonly SessionMessage[]> {
    const reader = await journalReader(nc, subjects)
    const source: LogSource = {
      ...judge,
      first: (log) => reader.first(log),
      last: (log) => reader.last(log),
      read: (log) => reader.entries(log),
    }
    const exchanges = await visibleHistory(
      await reader.newest(tenant, session),
      async (task) => {
        const past = await readPastTask({ tenant, session, task }, source, blobs)
        return past === null ? null : exchangeOf(past)
      },
      { tasksMax: Math.min(tasksMax, historyTasksMax), charsMax },
    )
    yield exchanges.flatMap(({ task, given = [], said, saidAt, answered, answeredAt }): SessionMessage[] => [
      ...given.map((message) => ({ task_id: task, ...message, at: saidAt })),
      { task_id: task, role: 'user', content: said, at: saidAt },
      { task_id: task, role: 'assistant', content: answered, at: answeredAt },
    ])
  }

  return {
    getEventRecords: eventsOfSession,
    async *getRunEventRecords(id, runId) {
      // A run continues in a retry of its task.
      for await (const event of originals(eventsOfSession(id))) if (event.runId === runId) yield event
    },
    async listRunIds(id) {
      const runs: string[] = []
      for await (const event of originals(eventsOfSession(id)))
        if (event.type === 'run_started') runs.push(event.data.run_id)
      return runs
    },
    async getVisibleHistory(id, { tasksMax = historyBound.tasksMax, charsMax = historyBound.charsMax } = {}) {
      const session = parsed(id)
      for await (const messages of present(() => readHistory(session, { tasksMax, charsMax })))
        return messages
      return []
    },
    search: async (query, { limit = 10, exceptSession, userId } = {}) =>
      (
        await ask({
          tenant,
          user_id: userId,
          query,
          limit,
          session_id: exceptSession,
          include_current: exceptSession === undefined,
        })
      ).hits,
  }
}

/** The events without those that a retry copied from the task that it retries. */
async function* originals(events: AsyncIterable<SessionEvent>): AsyncGenerator<SessionEvent> {
  let copiedTo = { task: '', taskseq: 0 }
  for await (const event of events) {
    if (event.type === 'task_log_copied')
      copiedTo = { task: event.task_id, taskseq: event.taskseq + event.data.events }
    else if (event.task_id !== copiedTo.task || event.taskseq > copiedTo.taskseq) yield event
  }
}
