// Reading the journal without writing it: the entries of a log, the tasks of a session. What a client needs, and natsJournal too.
// J1. In order, a page at a time: as much is held as one page. J2. Served by any replica: what was written a moment ago may be missing.
import { type Entry, type LogId, type SessionId, type TaskId, taskId } from '@beaver/core'
import { JetStreamApiError, JetStreamError, type JetStreamManager, jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/nats-core'
import { z } from 'zod'
import type { Subjects } from './subjects.ts'

/** What stands at a session's tail: which task was accepted. */
export const acceptance = z.object({ tenant: z.string(), session: z.string(), task: taskId })

export interface JournalReader {
  /** The tasks of a session in the order they were accepted. */
  tasks(tenant: string, session: SessionId): AsyncGenerator<TaskId>
  entries(log: LogId): AsyncGenerator<Entry>
  first(log: LogId): Promise<Entry | null>
  /** Never stale. */
  last(log: LogId): Promise<Entry | null>
  /** The newest task of a session; `null` when there is none. */
  newest(tenant: string, session: SessionId): Promise<TaskId | null>
}

/** Creates nothing: a journal that is not there has no entries. */
export async function journalReader(nc: NatsConnection, subjects: Subjects): Promise<JournalReader> {
  const { stream } = subjects
  const jsm = await jetstreamManager(nc, { checkAPI: false, timeout: 10_000 })
  const taskOf = (payload: Uint8Array): TaskId => acceptance.parse(JSON.parse(Buffer.from(payload).toString())).task
  const newest = (tenant: string, session: SessionId): Promise<Entry | null> => entryOf(jsm, stream, { last_by_subj: subjects.accepted(tenant, session) })
  return {
    async *tasks(tenant, session) {
      if ((await newest(tenant, session)) === null) return // and of a stream that is not there no page can be asked for
      for await (const { payload } of entriesOf(jsm, stream, subjects.accepted(tenant, session))) yield taskOf(payload)
    },
    entries: (log) => entriesOf(jsm, stream, subjects.journal(log)),
    first: (log) => entryOf(jsm, stream, { seq: 1, next_by_subj: subjects.journal(log) }),
    last: (log) => entryOf(jsm, stream, { last_by_subj: subjects.journal(log) }),
    async newest(tenant, session) {
      const last = await newest(tenant, session)
      return last === null ? null : taskOf(last.payload)
    },
  }
}

/** The last message of a subject, or the first from a sequence on. Asked of the stream's leader. */
export async function entryOf(
  jsm: JetStreamManager,
  stream: string,
  which: { last_by_subj: string } | { seq: number; next_by_subj: string },
): Promise<Entry | null> {
  try {
    const message = await jsm.streams.getMessage(stream, which)
    return message === null ? null : { revision: message.seq, payload: message.data }
  } catch (error) {
    if (isNotFound(error)) return null
    throw error
  }
}

const pageMax = 500
/** A server ends a page early at some number of bytes, 64 MiB unless configured: a page this large may not be the last. */
const pageBytesSure = 8 * 1024 * 1024

/** Every message of a subject, in order. */
export async function* entriesOf(jsm: JetStreamManager, stream: string, subject: string): AsyncGenerator<Entry> {
  for (let from = 1; ;) {
    const page: Entry[] = []
    let bytes = 0
    try {
      for await (const message of await jsm.direct.getBatch(stream, { seq: from, batch: pageMax, next_by_subj: subject })) {
        page.push({ revision: message.seq, payload: message.data })
        bytes += message.data.length
      }
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
    yield* page
    if (page.length === 0 || (page.length < pageMax && bytes < pageBytesSure)) return
    from = (page.at(-1) as Entry).revision + 1
  }
}

/** No such message, or no such stream. */
export const isNotFound = (error: unknown): boolean =>
  (error instanceof JetStreamApiError && (error.code === 10_037 || error.code === 10_059)) ||
  (error instanceof JetStreamError && 'code' in error && error.code === 404)
