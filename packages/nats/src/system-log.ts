// The SystemLog port on JetStream. A system log is one subject of the journal stream. Each entry is one message.
// S1. The fence, and the write after an unknown outcome, are those of the logs of tasks (group-commit.ts).
// S2. All reads ask for what the stream's leader has stored, except `read`, which may be served by a follower: a stale read only leads to a
//     refused write.
import type { Entry, SystemLog } from '@beaver/core'
import type { NatsConnection } from '@nats-io/nats-core'
import { groupCommit } from './group-commit.ts'
import { isNotFound, messagesOf, storedMessageOf } from './journal-reader.ts'
import { ensureJournalStream } from './stream.ts'
import type { Subjects } from './subjects.ts'

/** Makes the journal stream if it does not exist. */
export async function natsSystemLog(nc: NatsConnection, subjects: Subjects): Promise<SystemLog> {
  const jsm = await ensureJournalStream(nc, subjects)
  const lastOf = (subject: string): Promise<Entry | null> => storedMessageOf(jsm, subjects.stream, { last_by_subj: subject })
  const commits = groupCommit(nc, {
    name: subjects.stream,
    async lastMessage(subject) {
      const found = await lastOf(subject)
      return found === null ? null : { sequence: found.revision, payload: found.payload }
    },
    exists: () =>
      jsm.streams.info(subjects.stream).then(
        () => true,
        (error: unknown) => {
          if (isNotFound(error)) return false
          throw error
        },
      ),
  })
  return {
    async append({ name, expectedRevision, payload, signature }) {
      const subject = subjects.system(name)
      const outcome = await commits.write({ writes: [{ subject, expectedSequence: expectedRevision, payload, signature }], touches: [subject] })
      return outcome.kind === 'stored' ? { kind: 'appended', revision: outcome.lastSequence } : { kind: 'fenced' }
    },
    async read(name) {
      const entries: Entry[] = []
      for await (const { revision, payload, timeMs, signature } of messagesOf(nc, subjects.stream, subjects.system(name)))
        entries.push({ revision, payload, timeMs, signature })
      return entries
    },
    last: (name) => lastOf(subjects.system(name)),
  }
}
