// The Journal port on JetStream. One stream, one subject per task, one message per entry; an append of several is one batch.
// J1. The fence is `Nats-Expected-Last-Subject-Sequence`; no `Nats-Msg-Id` (a duplicate id would hide a refused write).
// J2. A task's first entry and its place in the session are one atomic batch (see docs/decisions/0003).
// J3. `first` and `last` ask the stream's leader; `read` may be served by a follower, and a stale read only leads to a refused write.
import type { Append, Entry, Journal, LogId, SessionId } from '@beaver/core'
import { jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/nats-core'
import { type GroupCommit, groupCommit, type Write } from './group-commit.ts'
import { acceptance, entriesOf, entryOf, isNotFound } from './journal-reader.ts'
import { ensureJournalStream } from './stream.ts'
import { logOf, type Subjects } from './subjects.ts'

export interface NatsJournal extends Journal {
  /** Resolves when every write has its outcome. */
  settled(): Promise<void>
}

export async function natsJournal(nc: NatsConnection, subjects: Subjects): Promise<NatsJournal> {
  const jsm = await ensureJournalStream(nc, subjects)
  const lastMessage = async (subject: string) => {
    const entry = await entryOf(jsm, subjects.stream, { last_by_subj: subject })
    return entry === null ? null : { sequence: entry.revision, payload: entry.payload }
  }
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
    first: (log) => entryOf(jsm, subjects.stream, { seq: 1, next_by_subj: subjects.journal(log) }),
    last: (log) => entryOf(jsm, subjects.stream, { last_by_subj: subjects.journal(log) }),
    async read(log) {
      const entries: Entry[] = []
      for await (const entry of entriesOf(jsm, subjects.stream, subjects.journal(log))) entries.push(entry)
      return entries
    },
    settled: () => commits.settled(),
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
