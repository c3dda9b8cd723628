// Reading the journal without writing it: the entries of a log, the tasks of a session. What a client needs, and natsJournal too.
// J1. In order, a page at a time: as much is held as one page. J2. Served by any replica: what was written a moment ago may be missing.
import { type Entry, type LogId, type SessionId, sessionId, type TaskId } from '@beaver/core'
import { JetStreamApiError, JetStreamError, type JetStreamManager, jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/nats-core'
import { z } from 'zod'
import { type Page, readPage, StreamAbsent } from './direct-read.ts'
import { logOf, type Subjects } from './subjects.ts'

/** The entry that says in which session a task is. */
export const taskIdEntry = z.object({ session: sessionId })

export interface JournalReader {
  /** The tasks of a session in the order they were accepted. */
  tasks(tenant: string, session: SessionId): AsyncGenerator<TaskId>
  entries(log: LogId): AsyncGenerator<Entry>
  first(log: LogId): Promise<Entry | null>
  /** Never stale. */
  last(log: LogId): Promise<Entry | null>
  /** Where the log of a task is, by its id alone; `null` when there is none. */
  find(tenant: string, task: string): Promise<LogId | null>
  /** The newest task of a session; `null` when there is none. */
  newest(tenant: string, session: SessionId): Promise<TaskId | null>
}

/** Creates nothing: a journal that is not there has no entries. */
export async function journalReader(nc: NatsConnection, subjects: Subjects): Promise<JournalReader> {
  const { stream } = subjects
  const jsm = await jetstreamManager(nc, { checkAPI: false, timeout: 10_000 })
  const newest = (tenant: string, session: SessionId): Promise<Found | null> =>
    storedMessageOf(jsm, stream, { last_by_subj: subjects.sessionAccepted(tenant, session) })
  return {
    async *tasks(tenant, session) {
      for await (const { subject } of messagesOf(nc, stream, subjects.sessionAccepted(tenant, session))) yield logOf(subject).task
    },
    entries: (log) => entriesOf(nc, subjects, log),
    first: (log) => storedMessageOf(jsm, stream, { last_by_subj: subjects.accepted(log) }),
    last: (log) => lastEntry(jsm, subjects, log),
    async newest(tenant, session) {
      const last = await newest(tenant, session)
      return last === null ? null : logOf(last.subject).task
    },
    find: (tenant, task) => findLog(jsm, subjects, tenant, task),
  }
}

/** Where the log of a task is, by its id alone; `null` when there is none. */
export async function findLog(jsm: JetStreamManager, subjects: Subjects, tenant: string, task: string): Promise<LogId | null> {
  const claim = await storedMessageOf(jsm, subjects.stream, { last_by_subj: subjects.taskIdClaims(tenant, task) })
  if (claim === null) return null
  const session = claim.subject === subjects.taskId(tenant, task) ? taskIdEntry.parse(JSON.parse(Buffer.from(claim.payload).toString())).session : task
  return { tenant, session, task } as LogId
}

/** The last entry of a log. Asked of the stream's leader. */
export const lastEntry = (jsm: JetStreamManager, subjects: Subjects, log: LogId): Promise<Entry | null> =>
  storedMessageOf(jsm, subjects.stream, { last_by_subj: subjects.log(log) })

/** An entry, and under which subject it was found. */
export interface Found extends Entry {
  readonly subject: string
}

/** The last message of a subject, or the first from a sequence on. Asked of the stream's leader. */
export async function storedMessageOf(
  jsm: JetStreamManager,
  stream: string,
  which: { last_by_subj: string } | { seq: number; next_by_subj: string },
): Promise<Found | null> {
  try {
    const message = await jsm.streams.getMessage(stream, which)
    return message === null ? null : { subject: message.subject, revision: message.seq, payload: message.data, timeMs: Date.parse(message.timestamp) }
  } catch (error) {
    if (isNotFound(error)) return null
    throw error
  }
}

const pageMax = 500

/** The entries of a log, in order. Each of its subjects is named exactly: for a pattern the server looks through all subjects. */
export async function* entriesOf(nc: NatsConnection, subjects: Subjects, log: LogId): AsyncGenerator<Found> {
  yield* messagesOf(nc, subjects.stream, subjects.accepted(log))
  yield* messagesOf(nc, subjects.stream, subjects.events(log))
}

/** Every message of a subject, in order. Of a stream that does not exist there is none. */
async function* messagesOf(nc: NatsConnection, stream: string, subject: string): AsyncGenerator<Found> {
  for (let from = 1; ;) {
    const page = await readPage(nc, stream, { from, subject, messagesMax: pageMax }).catch(absentIsEmpty)
    for (const found of page.messages) {
      yield { subject: found.subject, revision: found.sequence, payload: found.payload, timeMs: Date.parse(found.time) }
      from = found.sequence + 1
    }
    if (!page.more) return
  }
}

function absentIsEmpty(error: unknown): Page {
  if (error instanceof StreamAbsent) return { messages: [], more: false }
  throw error
}

/** No such message, or no such stream. */
export const isNotFound = (error: unknown): boolean =>
  (error instanceof JetStreamApiError && (error.code === 10_037 || error.code === 10_059)) ||
  (error instanceof JetStreamError && 'code' in error && error.code === 404)
