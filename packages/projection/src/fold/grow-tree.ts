// Grows the tree over the journal with each batch, and reads it back. The arithmetic of the tree belongs to
// @beaver/core (tree/). The rows depend on the messages alone, so a rebuild gives the same tree and the same
// roots. A leaf and the rows of its message are written in one transaction.
import {
  appendLeaves,
  type JournalLeaf,
  journalLeaves,
  MerkleTree,
  type TileStore,
} from '@beaver/core/journal'
import { type Archives, noArchives, withArchivedLeaves } from './archives.ts'
import { tables } from '../store/schema.ts'
import type { Sql } from '../store/sql.ts'
import { insert, put } from '../store/table.ts'

interface Gap {
  readonly sequence: number
  readonly missing: number
}

/** The tree as it is now, for reading. */
export interface JournalTree {
  readonly tree: MerkleTree
  readonly size: number
  /** The leaf of a message; `null` if the tree has no message of that number. */
  leafOf(sequence: number): number | null
}

/**
 * Appends the leaves of messages, and of archived messages between them. Those that are in the tree already
 * are skipped.
 */
export function growTree(sql: Sql, messages: readonly JournalLeaf[], archives: Archives = noArchives): void {
  const before = lastMessage(sql)
  const fresh = withArchivedLeaves(before, messages, archives)
  if (fresh.length === 0) return
  let missing = missingUpTo(sql, before)
  const size = before - missing
  let last = before
  for (const { sequence } of fresh) {
    if (sequence !== last + 1) {
      missing += sequence - last - 1
      insert(sql, tables.tree_gaps, { sequence, missing })
    }
    last = sequence
  }
  appendLeaves(tilesOf(sql), size, journalLeaves(fresh))
  put(sql, tables.tree, { sequence: last })
}

export function journalTree(sql: Sql): JournalTree {
  const last = lastMessage(sql)
  return {
    tree: new MerkleTree(tilesOf(sql)),
    size: last - missingUpTo(sql, last),
    leafOf(sequence) {
      if (sequence < 1 || sequence > last) return null
      const missing = missingUpTo(sql, sequence)
      const gap = sql.get<Gap>(
        'select sequence, missing from tree_gaps where sequence > ? order by sequence limit 1',
        [sequence],
      )
      // The numbers that are missing before a message are those right before it.
      if (gap !== undefined && sequence >= gap.sequence - (gap.missing - missing)) return null
      return sequence - 1 - missing
    },
  }
}

/** The number of the last message in the tree, or 0. */
const lastMessage = (sql: Sql): number =>
  sql.get<{ sequence: number }>('select sequence from tree')?.sequence ?? 0

/** How many numbers up to this one belong to no message. */
function missingUpTo(sql: Sql, sequence: number): number {
  return (
    sql.get<Gap>(
      'select sequence, missing from tree_gaps where sequence <= ? order by sequence desc limit 1',
      [sequence],
    )?.missing ?? 0
  )
}

function tilesOf(sql: Sql): TileStore {
  return {
    read(level, index) {
      const row = sql.get<{ hashes: string }>('select hashes from tree_tiles where level = ? and tile = ?', [
        level,
        index,
      ])
      return row === undefined ? null : Buffer.from(row.hashes, 'base64')
    },
    write: (level, index, hashes) =>
      put(sql, tables.tree_tiles, { level, tile: index, hashes: Buffer.from(hashes).toString('base64') }),
  }
}
