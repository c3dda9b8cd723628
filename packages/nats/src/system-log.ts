// The SystemLog port on JetStream: one subject of the journal stream for each system log, one message for
// each entry. Fences and repeated writes are those of task logs (group-commit.ts). The leader of the stream
// says what the last entry is, so no read is stale.
import { BeaverError } from '@beaver/core'
import type { Entry, SystemLog } from '@beaver/core/journal'
import type { NatsConnection } from '@nats-io/nats-core'
import { jetstreamManager } from '@nats-io/jetstream'
import { GroupCommit } from './group-commit.ts'
import { messagesOf } from './journal-reader.ts'
import { storedMessageOf, streamExists } from './leader-read.ts'
import { ensureJournalStream } from './stream.ts'
import type { StreamPlace } from './stream-place.ts'
import type { Subjects } from './subjects.ts'

const readTriesMax = 20

/** Reads system logs, and creates nothing. A journal that does not exist has no entries. */
export function systemLogReader(nc: NatsConnection, subjects: Subjects): Pick<SystemLog, 'read' | 'last'> {
  const last: SystemLog['last'] = async (name) => {
    const jsm = await jetstreamManager(nc, { checkAPI: false, timeout: 10_000 })
    return storedMessageOf(jsm, subjects.stream, { last_by_subj: subjects.system(name) })
  }
  return {
    last,
    async read(name) {
      const end = (await last(name))?.revision ?? 0
      for (let tries = 0; tries < readTriesMax; tries++) {
        const entries: Entry[] = []
        for await (const { revision, payload, timeMs, signature } of messagesOf(
          nc,
          subjects.stream,
          subjects.system(name),
        ))
          entries.push({ revision, payload, timeMs, signature })
        if ((entries.at(-1)?.revision ?? 0) >= end) return entries
      }
      throw new BeaverError(
        'unreachable',
        `The system log ${name} was read without its last entry, ${readTriesMax} times.`,
      )
    },
  }
}

/** Makes the journal stream at this place if it does not exist. */
export async function natsSystemLog(
  nc: NatsConnection,
  subjects: Subjects,
  place: StreamPlace = {},
): Promise<SystemLog> {
  const jsm = await ensureJournalStream(nc, subjects, place)
  const commits = new GroupCommit(nc, {
    name: subjects.stream,
    async lastMessage(subject) {
      const found = await storedMessageOf(jsm, subjects.stream, { last_by_subj: subject })
      return found === null ? null : { sequence: found.revision, payload: found.payload }
    },
    exists: () => streamExists(jsm, subjects.stream),
  })
  return {
    async append({ name, expectedRevision, payload, signature }) {
      const subject = subjects.system(name)
      const outcome = await commits.write({
        writes: [{ subject, expectedSequence: expectedRevision, payload, signature }],
        touches: [subject],
      })
      return outcome.kind === 'stored'
        ? { kind: 'appended', revision: outcome.lastSequence }
        : { kind: 'fenced' }
    },
    ...systemLogReader(nc, subjects),
  }
}
