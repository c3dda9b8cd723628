// A look at the journal that knows archives. A missing message counts as archived only if a signed event
// names it and the server says that this very message is gone.
import { BeaverError } from '@beaver/core'
import { ArchivedMessages, readKeyRing, RemovalLog } from '@beaver/core/journal'
import type { NatsConnection } from '@nats-io/nats-core'
import type { JournalLook } from './journal-judge.ts'
import { lookAt, lookAtDeleted } from './stream-pulse.ts'
import type { Subjects } from './subjects.ts'
import { systemLogReader } from './system-log.ts'

interface Archives {
  readonly subjects: Subjects
  /** What was moved from the journal to archives, as signed events say now. Default: nothing. */
  readonly archived?: (() => Promise<ArchivedMessages>) | undefined
}

/** What the record of a journal says, for a command that reads it. */
export function archivesOf(nc: NatsConnection, subjects: Subjects): Archives {
  const log = systemLogReader(nc, subjects)
  const removals = new RemovalLog(subjects.tenant, log, () =>
    readKeyRing({ log, namespace: subjects.stream }),
  )
  return { subjects, archived: async () => (await removals.now()).archived }
}

/**
 * What was archived. A reader that knows another operator trusts no archive: missing messages count as harm.
 */
export async function archivedNow({ subjects, archived }: Archives): Promise<ArchivedMessages> {
  const none = new ArchivedMessages(subjects.tenant, [])
  if (archived === undefined) return none
  return await archived().catch((error: unknown) => {
    if (error instanceof BeaverError && error.code === 'operator_changed') return none
    throw error
  })
}

/** A look that says how many of the missing messages are in an archive; `null` if nobody answered. */
export async function lookWithArchived(nc: NatsConnection, archives: Archives): Promise<JournalLook | null> {
  const archived = await archivedNow(archives)
  if (archived.size === 0) {
    const look = await lookAt(nc, archives.subjects.stream)
    return look.kind === 'there' ? look : null
  }
  const { look, deleted } = await lookAtDeleted(nc, archives.subjects.stream)
  return look.kind === 'there'
    ? { ...look, archived: deleted.filter((sequence) => archived.has(sequence)).length }
    : null
}
