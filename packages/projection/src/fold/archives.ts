// Archives: what the read model does with messages that were moved to an archive; @beaver/core knows which
// (journal/archived.ts). An archived message changes no row even while it is still in the journal, so the
// rows do not depend on the progress of the deletion. Its leaf is in the tree, so the tree and its roots are
// those of the whole journal. A message at its place with another content or another log breaks its task.
import type { LogId } from '@beaver/core'
import { type ArchivedLeaf, ArchivedMessages, type JournalLeaf } from '@beaver/core/journal'
import { hash } from 'node:crypto'
import type { Sql } from '../store/sql.ts'
import type { Finding, JournalMessage } from './intake.ts'

/** What was archived. */
export interface Archives {
  /** As it is known now. */
  readonly archived: () => ArchivedMessages
  /** The subject of all entries of a log but the first one. */
  readonly subjectOf: (log: LogId) => string
}

/** Nothing is archived. */
export const noArchives: Archives = { archived: () => new ArchivedMessages('', []), subjectOf: () => '' }

/** What is wrong with a message that is not the one that was archived, although an event names its place. */
export const notArchived = (sequence: number): Finding => ({
  kind: 'chain',
  message: `message ${sequence} of the journal is not the one that was archived`,
})

/** The messages without those that are archived. */
export function withoutArchived(
  messages: readonly JournalMessage[],
  { archived }: Archives,
): JournalMessage[] {
  const known = archived()
  return messages.filter(({ sequence, log, payload }) => {
    const archivedMessage = known.size === 0 ? null : known.at(sequence)
    if (archivedMessage === null || log === null || archivedMessage.payloadSha256 !== hash('sha256', payload))
      return true
    return (
      archivedMessage.log.tenant !== log.tenant ||
      archivedMessage.log.session !== log.session ||
      archivedMessage.log.task !== log.task
    )
  })
}

/** The leaves after `before`, in order, with those of archived messages that are not there any more. */
export function withArchivedLeaves(
  before: number,
  stored: readonly JournalLeaf[],
  { archived, subjectOf }: Archives,
): (JournalLeaf | ArchivedLeaf)[] {
  const known = archived()
  const fresh = stored.filter(({ sequence }) => sequence > before)
  if (known.size === 0) return fresh
  const leaves: (JournalLeaf | ArchivedLeaf)[] = []
  let last = before
  for (const leaf of fresh) {
    for (let sequence = last + 1; sequence < leaf.sequence; sequence++) {
      const archivedMessage = known.at(sequence)
      if (archivedMessage !== null)
        leaves.push({
          sequence,
          subject: subjectOf(archivedMessage.log),
          payloadSha256: archivedMessage.payloadSha256,
        })
    }
    leaves.push(leaf)
    last = leaf.sequence
  }
  return leaves
}

/**
 * Whether the read model has rows of messages that were archived after it read them. A broken log may have
 * others at their places.
 */
export function remembersArchived(sql: Sql, { archived }: Archives): boolean {
  const text = `select distinct sequence from tasks join events using (task_key)
    where tenant = ? and session_id = ? and task_id = ? and chain_ok = 1 and taskseq > ? and taskseq <= ?`
  const known = archived()
  for (const { log, after, end } of known.gaps()) {
    const rows = sql.all<{ sequence: number }>(text, [
      log.tenant,
      log.session,
      log.task,
      after.taskseq,
      end.taskseq,
    ])
    if (rows.some(({ sequence }) => known.has(sequence))) return true
  }
  return false
}
