// Compares the checkpoints of the system log with the tree. A checkpoint that does not fit is kept with its
// fault. It never stops the projector. A checkpoint whose entry no projector signed which the operator trusts
// is a fault, and does not count. `beaver audit verify` also verifies the note itself. The verdict depends on
// the journal alone: the tree at the size of the checkpoint never changes.
import { type MerkleTree, readCheckpoint, type TreeHead } from '@beaver/core/journal'
import { tables } from '../store/schema.ts'
import type { Sql } from '../store/sql.ts'
import { insert } from '../store/table.ts'
import type { SystemMessage } from './fold-system.ts'
import { journalTree } from './grow-tree.ts'

interface Recorded {
  readonly sequence: number
  readonly record_index: number
  readonly time: string
  readonly data: string | null
  readonly untrusted: string | null
}

/** Judges the checkpoints among messages that are stored and in the tree already. */
export function judgeCheckpoints(sql: Sql, messages: readonly SystemMessage[]): void {
  for (const { sequence, name } of messages) {
    if (name !== 'checkpoints') continue
    const made = sql.all<Recorded>(
      "select sequence, record_index, time, data, untrusted from system_events where sequence = ? and type = 'checkpoint_made'",
      [sequence],
    )
    for (const each of made) {
      const { note } = (JSON.parse(each.data ?? '{}') ?? {}) as { readonly note?: unknown }
      const text = typeof note === 'string' ? note : ''
      const head = readCheckpoint(text)
      const fault =
        untrustedFault(each) ??
        (head === null ? 'It is not a checkpoint.' : checkpointFault(sql, head, sequence))
      insert(sql, tables.signed_checkpoints, {
        sequence,
        record_index: each.record_index,
        time: each.time,
        size: head?.size ?? 0,
        note: text,
        fault,
      })
    }
  }
}

const untrustedFault = ({ untrusted }: Recorded): string | null =>
  untrusted === null ? null : `It is not from a projector that the operator trusts: ${untrusted}.`

/**
 * Why a checkpoint does not fit the tree; `null` if it fits.
 *
 * @param before the checkpoint was written as this message, so it counts only earlier ones. Default: it may
 * count all.
 */
export function checkpointFault(
  sql: Sql,
  { origin, size, root }: TreeHead,
  before = Number.MAX_SAFE_INTEGER,
): string | null {
  const own = originOf(sql)
  if (origin !== own) return `It belongs to another journal: ${origin} instead of ${own}.`
  const { tree, size: present, leafOf } = journalTree(sql)
  const most = Math.min(present, leafOf(before) ?? present)
  if (size > most)
    return `It counts ${size} messages, and the journal had ${most}. The end of the journal was lost or replaced.`
  return sameRoot(tree, size, root)
    ? null
    : `The first ${size} messages of the journal are not those that it counts. Somebody changed the journal.`
}

const sameRoot = (tree: MerkleTree, size: number, root: Uint8Array): boolean =>
  Buffer.from(tree.root(size)).equals(root)

/** The origin of this journal's checkpoints: the identity of its stream. */
export function originOf(sql: Sql): string {
  return sql.get<{ stream: string }>('select stream from checkpoint')?.stream ?? ''
}

/** What the next checkpoint says, and whether it says more than the last one that fits. */
export function nextCheckpoint(sql: Sql): TreeHead & { readonly isNews: boolean } {
  const { tree, size, leafOf } = journalTree(sql)
  const last =
    sql.get<{ size: number }>(
      'select size from signed_checkpoints where fault is null order by size desc limit 1',
    )?.size ?? 0
  const newest = sql.all<{ sequence: number }>(
    "select distinct sequence from system_events where name = 'checkpoints' order by sequence desc limit ?",
    [ownMessagesMax],
  )
  const own = newest.filter(({ sequence }) => (leafOf(sequence) ?? -1) >= last).length
  return { origin: originOf(sql), size, root: tree.root(size), isNews: size - last > own }
}

/**
 * Checkpoints are messages themselves. So many of them are looked at; more of them after the last one that
 * fits count as news.
 */
const ownMessagesMax = 16
