// `proof`: what proves that messages are in the journal. A reader verifies the answer without this process
// (packages/check). A signed text says what the tree is at its size, and the tree at a size never changes.
// The heads and the checkpoint of one answer are of the same moment.
import { BeaverError, canonicalJson } from '@beaver/core'
import { checkpointText, type TreeHead } from '@beaver/core/journal'
import { originOf } from '../fold/fold-checkpoint.ts'
import { journalTree } from '../fold/grow-tree.ts'
import type { Sql } from '../store/sql.ts'
import { findTask } from './find-task.ts'
import type { Query } from './query.ts'

export const proof: Query<'proof'> = (sql, input, { notes }) => {
  const { tree, size: present, leafOf } = journalTree(sql)
  const size = input.size ?? present
  if (size > present)
    throw new BeaverError(
      'invalid_arguments',
      `The journal has ${present} messages, and a proof for ${size} was asked for.`,
    )
  if (input.task_ids.length > 0 && size !== present)
    throw new BeaverError('invalid_arguments', 'The ends of logs can only be proved for the present tree.')
  const head: TreeHead = { origin: originOf(sql), size, root: tree.root(size) }
  return {
    origin: head.origin,
    size,
    root: base64(head.root),
    key: notes?.key ?? null,
    checkpoint: notes?.sign(checkpointText(head)) ?? null,
    heads: input.task_ids.length === 0 ? null : (notes?.sign(headsText(sql, head, input.task_ids)) ?? null),
    inclusion: input.sequences.map((sequence) => {
      const index = leafOf(sequence)
      const inTree = index !== null && index < size
      return {
        sequence,
        index: inTree ? index : null,
        hashes: inTree ? tree.inclusion(index, size).map(base64) : [],
      }
    }),
    consistency: input.older.map((older) =>
      older > size
        ? { size: older, root: null, hashes: [] }
        : { size: older, root: base64(tree.root(older)), hashes: tree.consistency(older, size).map(base64) },
    ),
  }
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

/** The text of the heads: a checkpoint with another origin, and one line for each log. */
function headsText(sql: Sql, head: TreeHead, taskIds: readonly string[]): string {
  const lines = [...systemHeads(sql), ...taskIds.map((id) => taskHead(sql, id))]
  return (
    checkpointText({ ...head, origin: `${head.origin}/heads` }) +
    lines.map((line) => `${canonicalJson(line)}\n`).join('')
  )
}

interface Head {
  readonly sequence: number
  readonly taskseq: number
  readonly hash: string
}

const systemHeads = (sql: Sql): (Head & { readonly log: string })[] =>
  ['keys', 'redactions'].flatMap((log) => {
    const text =
      'select sequence, taskseq, hash from system_events where name = ? order by sequence desc, record_index desc limit 1'
    const head = sql.get<Head>(text, [log])
    return head === undefined ? [] : [{ log, ...head }]
  })

function taskHead(
  sql: Sql,
  id: string,
): Head & { readonly tenant: string; readonly session: string; readonly task: string } {
  const { task_key: key, tenant, session_id: session, task_id: task } = findTask(sql, { task_id: id })
  const head = sql.one<Head>(
    'select sequence, taskseq, hash from events where task_key = ? order by taskseq desc limit 1',
    [key],
  )
  return { tenant, session, task, ...head }
}
