// The Journal port on JetStream. One stream, one subject per task, one message per entry; an append of several is one batch.
// J1. The fence is `Nats-Expected-Last-Subject-Sequence`; no `Nats-Msg-Id` (a duplicate id would hide a refused write).
// J2. A task's first entry and its place in the session are one atomic batch (see docs/decisions/0003).
// J3. `last` asks the stream's leader; `read` may be served by a follower, and a stale read only leads to a refused write.
import { type Append, type Journal, type LogId, type SessionId, taskId } from '@beaver/core'
import { JetStreamApiError, JetStreamError, type JetStreamManager, jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/nats-core'
import { z } from 'zod'
import { type GroupCommit, groupCommit, type Write } from './group-commit.ts'
import { ensureJournalStream } from './stream.ts'
import { logOf, type Subjects } from './subjects.ts'

/** What stands at a session's tail: which task was accepted. */
export const acceptance = z.object({ tenant: z.string(), session: z.string(), task: taskId })

export interface NatsJournal extends Journal {
  /** Resolves when every write has its outcome. */
  settled(): Promise<void>
}

export async function natsJournal(nc: NatsConnection, subjects: Subjects): Promise<NatsJournal> {
  const jsm = await ensureJournalStream(nc, subjects)
  const lastMessage = (subject: string) => lastOf(jsm, subjects.stream, subject)
  const commits: GroupCommit = groupCommit(nc, lastMessage)
  /** The fence stands at the first message of a subject: the server takes those that follow it in the same batch after it. */
  const writes = ({ log, expectedRevision, payloads }: Append): Write[] =>
    payloads.map((payload, i) => ({ subject: subjects.journal(log), expectedSequence: i === 0 ? expectedRevision : null, payload }))

  return {
    async append(append) {
      const outcome = await commits.write(writes(append))
      return outcome.kind === 'stored' ? { kind: 'appended', revision: outcome.lastSequence } : { kind: 'fenced' }
    },
    async accept(first, tail) {
      const { tenant, session, task } = first.log
      const place = {
        subject: subjects.accepted(tenant, session),
        expectedSequence: tail.revision,
        payload: Buffer.from(JSON.stringify({ tenant, session, task })),
      }
      const outcome = await commits.write([...writes(first), place])
      if (outcome.kind === 'stored') return { kind: 'accepted', revision: outcome.lastSequence - 1 }
      return (await lastMessage(subjects.journal(first.log))) === null ? { kind: 'tail_moved' } : { kind: 'task_exists' }
    },
    async sessionTail(tenant: string, session: SessionId) {
      const last = await lastMessage(subjects.accepted(tenant, session))
      if (last === null) return { task: null, revision: 0 }
      return { task: acceptance.parse(JSON.parse(Buffer.from(last.payload).toString())).task, revision: last.sequence }
    },
    async last(log) {
      const last = await lastMessage(subjects.journal(log))
      return last === null ? null : { revision: last.sequence, payload: last.payload }
    },
    read: (log: LogId) => readSubject(jsm, subjects.stream, subjects.journal(log)),
    settled: () => commits.settled(),
  }
}

const isNotFound = (error: unknown): boolean =>
  (error instanceof JetStreamApiError && error.code === 10_037) || (error instanceof JetStreamError && 'code' in error && error.code === 404)

async function lastOf(jsm: JetStreamManager, stream: string, subject: string): Promise<{ sequence: number; payload: Uint8Array } | null> {
  try {
    const message = await jsm.streams.getMessage(stream, { last_by_subj: subject })
    return message === null ? null : { sequence: message.seq, payload: message.data }
  } catch (error) {
    if (isNotFound(error)) return null
    throw error
  }
}

const readBatchMax = 500

/** Every message of a subject, in order. */
async function readSubject(jsm: JetStreamManager, stream: string, subject: string): Promise<{ revision: number; payload: Uint8Array }[]> {
  const entries: { revision: number; payload: Uint8Array }[] = []
  for (let from = 1; ;) {
    let came = 0
    try {
      for await (const message of await jsm.direct.getBatch(stream, { seq: from, batch: readBatchMax, next_by_subj: subject })) {
        entries.push({ revision: message.seq, payload: message.data })
        from = message.seq + 1
        came++
      }
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
    if (came < readBatchMax) return entries
  }
}

/** Where a task's log is, by the task's id alone; `null` when there is none. */
export async function findTask(nc: NatsConnection, subjects: Subjects, tenant: string, task: string): Promise<LogId | null> {
  const jsm = await jetstreamManager(nc, { checkAPI: false })
  try {
    const message = await jsm.streams.getMessage(subjects.stream, { last_by_subj: subjects.taskAnySession(tenant, task) })
    return message === null ? null : logOf(message.subject)
  } catch (error) {
    if (isNotFound(error)) return null
    throw error
  }
}
