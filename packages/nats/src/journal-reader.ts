// Reads the journal and does not write it: the entries of a log, and the tasks of a session. At most one page
// is held. Pages (`entries`, `entriesAfter`, `tasks`) may come from any replica, so a message that was just written may be
// missing. The stream's leader answers all other questions, so their answers are never stale.
import { type LogId, type SessionId, sessionId, type TaskId } from '@beaver/core'
import { type Entry, foreignFault, type SessionTail } from '@beaver/core/journal'
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/nats-core'
import { z } from 'zod'
import { type Page, readPage, type StoredMessage, StreamAbsent } from './direct-read.ts'
import { type Found, storedMessageOf } from './leader-read.ts'
import type { Subjects } from './subjects.ts'

/** The entry that says to which session a task belongs. */
const taskIdEntry = z.object({ session: sessionId })

export interface JournalReader {
  /** The tasks of a session, in the order in which they were accepted. */
  tasks(tenant: string, session: SessionId): AsyncGenerator<TaskId>
  entries(log: LogId): AsyncGenerator<Entry>
  /** The entries after the one with this revision. */
  entriesAfter(log: LogId, revision: number): AsyncGenerator<Entry>
  /** The entry of the log with this revision, or `null` if the log has none. */
  at(log: LogId, revision: number): Promise<Entry | null>
  first(log: LogId): Promise<Entry | null>
  last(log: LogId): Promise<Entry | null>
  /** Finds the log of a task by its id alone. Returns `null` if there is none. */
  find(tenant: string, task: string): Promise<LogId | null>
  /** The newest task of a session, or `null` if there is none. */
  newest(tenant: string, session: SessionId): Promise<TaskId | null>
}

/** Creates nothing. A journal that does not exist has no entries. */
export async function journalReader(nc: NatsConnection, subjects: Subjects): Promise<JournalReader> {
  const { stream } = subjects
  const jsm = await jetstreamManager(nc, { checkAPI: false, timeout: 10_000 })
  return {
    async *tasks(tenant, session) {
      for await (const found of messagesOf(nc, stream, subjects.sessionAccepted(tenant, session))) {
        const task = acceptedBy(subjects, found)
        if (task !== null) yield task
      }
    },
    entries: (log) => entriesOf(nc, jsm, subjects, log),
    entriesAfter: (log, revision) => messagesOf(nc, stream, subjects.events(log), { from: revision + 1 }),
    async at(log, revision) {
      const entry = await storedMessageOf(jsm, stream, { seq: revision })
      const isOfLog = entry !== null && [subjects.accepted(log), subjects.events(log)].includes(entry.subject)
      return isOfLog ? entry : null
    },
    first: (log) => firstEntry(jsm, subjects, log),
    last: (log) => lastEntry(jsm, subjects, log),
    newest: async (tenant, session) => (await tailOf(nc, jsm, subjects, { tenant, session })).task,
    find: (tenant, task) => findLog(jsm, subjects, tenant, task),
  }
}

export async function findLog(
  jsm: JetStreamManager,
  subjects: Subjects,
  tenant: string,
  task: string,
): Promise<LogId | null> {
  const claim = await storedMessageOf(jsm, subjects.stream, {
    last_by_subj: subjects.taskIdClaims(tenant, task),
  })
  if (claim === null) return null
  const own = { tenant, session: task as string, task } as LogId
  // Each form fences the other, so the message that was stored first decides. A later one is a stranger's.
  const [named, accepted] = await Promise.all(
    [subjects.taskId(tenant, task), subjects.accepted(own)].map((subject) =>
      firstOf(jsm, subjects.stream, subject),
    ),
  )
  return logClaimedBy(own, named ?? null, accepted ?? null)
}

/** The log of an id, from the entry that claims it for another session and from its own first entry. */
function logClaimedBy(
  own: LogId,
  named: Pick<Found, 'revision' | 'payload'> | null,
  accepted: Pick<Found, 'revision'> | null,
): LogId {
  const session =
    named === null || (accepted !== null && accepted.revision < named.revision)
      ? null
      : sessionIn(named.payload)
  return session === null ? own : { ...own, session }
}

function sessionIn(payload: Uint8Array): SessionId | null {
  try {
    return taskIdEntry.safeParse(JSON.parse(Buffer.from(payload).toString())).data?.session ?? null
  } catch {
    return null // It is a stranger's message.
  }
}

/** The first entry of a log. Only one message of this subject is an entry; strangers may publish more. */
export const firstEntry = (jsm: JetStreamManager, subjects: Subjects, log: LogId): Promise<Found | null> =>
  firstOf(jsm, subjects.stream, subjects.accepted(log))

const firstOf = (jsm: JetStreamManager, stream: string, subject: string): Promise<Found | null> =>
  storedMessageOf(jsm, stream, { seq: 1, next_by_subj: subject })

export async function lastEntry(
  jsm: JetStreamManager,
  subjects: Subjects,
  log: LogId,
): Promise<Entry | null> {
  return (
    (await storedMessageOf(jsm, subjects.stream, { last_by_subj: subjects.events(log) })) ??
    firstEntry(jsm, subjects, log)
  )
}

/** The newest task of a session, and the revision of the last message that takes a place in the session. */
export async function tailOf(
  nc: NatsConnection,
  jsm: JetStreamManager,
  subjects: Subjects,
  place: { tenant: string; session: SessionId },
): Promise<SessionTail> {
  const subject = subjects.sessionAccepted(place.tenant, place.session)
  const last = await storedMessageOf(jsm, subjects.stream, { last_by_subj: subject })
  if (last === null) return { task: null, revision: 0 }
  const { revision } = last
  let task = acceptedBy(subjects, last)
  // Only a stranger's message has no task: then the newest task is further back.
  if (task === null)
    for await (const found of messagesOf(nc, subjects.stream, subject))
      task = acceptedBy(subjects, found) ?? task
  return { task, revision }
}

/** The task that was accepted after `revision` in the same session; `null` if there is none. */
export async function taskAfter(
  jsm: JetStreamManager,
  subjects: Subjects,
  { tenant, session }: LogId,
  revision: number,
): Promise<TaskId | null> {
  for (let seq = revision + 1; ;) {
    const found = await storedMessageOf(jsm, subjects.stream, {
      seq,
      next_by_subj: subjects.sessionAccepted(tenant, session),
    })
    if (found === null) return null
    const task = acceptedBy(subjects, found)
    if (task !== null) return task
    seq = found.revision + 1
  }
}

/**
 * The task that a message accepts; `null` for a stranger's message, without records or on another subject.
 */
function acceptedBy(subjects: Subjects, { subject, payload }: Found): TaskId | null {
  const log = subjects.entryLog(subject)
  return log === null || foreignFault({ payload }) !== null ? null : log.task
}

const pageMax = 500

/**
 * The entries of a log, in order, as far as a replica has them: the last ones may be missing, but none in
 * between. Each subject is named exactly, because for a pattern the server looks through all subjects.
 */
export async function* entriesOf(
  nc: NatsConnection,
  jsm: JetStreamManager,
  subjects: Subjects,
  log: LogId,
): AsyncGenerator<Found> {
  const { stream } = subjects
  const events = subjects.events(log)
  const [accepted, later] = await Promise.all([
    pageOf(nc, stream, subjects.accepted(log), 1, 1),
    pageOf(nc, stream, events, 1),
  ])
  const [begun] = accepted.messages
  if (begun !== undefined) yield found(begun)
  else if (later.messages.length > 0) {
    // The replica that was asked may be behind. Only the leader knows that there is no first entry.
    const first = await firstEntry(jsm, subjects, log)
    if (first !== null) yield first
  }
  yield* messagesOf(nc, stream, events, { first: later })
}

/**
 * Every message of a subject, in order. A stream that does not exist has none.
 *
 * @param options `from`: the first sequence to read. `first`: the first page, if it was read already
 */
export async function* messagesOf(
  nc: NatsConnection,
  stream: string,
  subject: string,
  { from = 1, first = null }: { from?: number; first?: Page | null } = {},
): AsyncGenerator<Found> {
  for (let page = first; ; page = null) {
    const { messages, more } = page ?? (await pageOf(nc, stream, subject, from))
    for (const message of messages) {
      yield found(message)
      from = message.sequence + 1
    }
    if (!more) return
  }
}

const pageOf = (
  nc: NatsConnection,
  stream: string,
  subject: string,
  from: number,
  messagesMax = pageMax,
): Promise<Page> => readPage(nc, stream, { from, subject, messagesMax }).catch(absentIsEmpty)

function found({ subject, sequence, payload, time, signature }: StoredMessage): Found {
  return { subject, revision: sequence, payload, timeMs: Date.parse(time), signature }
}

function absentIsEmpty(error: unknown): Page {
  if (error instanceof StreamAbsent) return { messages: [], more: false }
  throw error
}
