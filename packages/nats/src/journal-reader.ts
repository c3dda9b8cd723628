// Reads the journal and does not write it: the entries of a log, and the tasks of a session. Clients use it, and natsJournal does too.
// J1. Messages come in order, page by page. At most one page is held.
// J2. Pages (`entries`, `tasks`) may come from any replica, so a message that was written a moment ago may be missing. All other questions
//     go to the stream's leader, and their answers are never stale.
import { type Entry, type LogId, type SessionId, sessionId, type TaskId } from '@beaver/core'
import { JetStreamApiError, JetStreamError, type JetStreamManager, jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/nats-core'
import { z } from 'zod'
import { type Page, readPage, StreamAbsent } from './direct-read.ts'
import { signatureIn } from './publish-batch.ts'
import { logOf, type Subjects } from './subjects.ts'

/** The entry that says to which session a task belongs. */
export const taskIdEntry = z.object({ session: sessionId })

export interface JournalReader {
  /** The tasks of a session, in the order in which they were accepted. */
  tasks(tenant: string, session: SessionId): AsyncGenerator<TaskId>
  entries(log: LogId): AsyncGenerator<Entry>
  first(log: LogId): Promise<Entry | null>
  last(log: LogId): Promise<Entry | null>
  /** Finds the log of a task by the task's id alone. Returns `null` if there is none. */
  find(tenant: string, task: string): Promise<LogId | null>
  /** The newest task of a session, or `null` if there is none. */
  newest(tenant: string, session: SessionId): Promise<TaskId | null>
}

/** Creates nothing. A journal that does not exist has no entries. */
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

/** Finds the log of a task by the task's id alone. Returns `null` if there is none. Asks the stream's leader. */
export async function findLog(jsm: JetStreamManager, subjects: Subjects, tenant: string, task: string): Promise<LogId | null> {
  const claim = await storedMessageOf(jsm, subjects.stream, { last_by_subj: subjects.taskIdClaims(tenant, task) })
  if (claim === null) return null
  const session = claim.subject === subjects.taskId(tenant, task) ? taskIdEntry.parse(JSON.parse(Buffer.from(claim.payload).toString())).session : task
  return { tenant, session, task } as LogId
}

/** The last entry of a log. Asks the stream's leader. */
export const lastEntry = (jsm: JetStreamManager, subjects: Subjects, log: LogId): Promise<Entry | null> =>
  storedMessageOf(jsm, subjects.stream, { last_by_subj: subjects.log(log) })

/** An entry, with the subject under which it was found. */
export interface Found extends Entry {
  readonly subject: string
}

/** The last message of a subject, or the first one from a sequence on. Asks the stream's leader. */
export async function storedMessageOf(
  jsm: JetStreamManager,
  stream: string,
  which: { last_by_subj: string } | { seq: number; next_by_subj: string },
): Promise<Found | null> {
  try {
    const message = await jsm.streams.getMessage(stream, which)
    if (message === null) return null
    const { subject, seq: revision, data: payload, timestamp, header } = message
    return { subject, revision, payload, timeMs: Date.parse(timestamp), signature: signatureIn(header) }
  } catch (error) {
    if (isNotFound(error)) return null
    throw error
  }
}

const pageMax = 500

/** The entries of a log, in order. Each subject is named exactly, because for a pattern the server looks through all subjects. */
export async function* entriesOf(nc: NatsConnection, subjects: Subjects, log: LogId): AsyncGenerator<Found> {
  yield* messagesOf(nc, subjects.stream, subjects.accepted(log))
  yield* messagesOf(nc, subjects.stream, subjects.events(log))
}

/** Every message of a subject, in order. A stream that does not exist has none. */
export async function* messagesOf(nc: NatsConnection, stream: string, subject: string): AsyncGenerator<Found> {
  for (let from = 1; ;) {
    const page = await readPage(nc, stream, { from, subject, messagesMax: pageMax }).catch(absentIsEmpty)
    for (const found of page.messages) {
      const { subject: foundSubject, sequence: revision, payload, time, signature } = found
      yield { subject: foundSubject, revision, payload, timeMs: Date.parse(time), signature }
      from = found.sequence + 1
    }
    if (!page.more) return
  }
}

function absentIsEmpty(error: unknown): Page {
  if (error instanceof StreamAbsent) return { messages: [], more: false }
  throw error
}

/** Whether the error says that the message or the stream does not exist. */
export const isNotFound = (error: unknown): boolean =>
  (error instanceof JetStreamApiError && (error.code === 10_037 || error.code === 10_059)) ||
  (error instanceof JetStreamError && 'code' in error && error.code === 404)
