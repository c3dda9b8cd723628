// Which events of a task a query wants: a part of its log, perhaps only some types, or only those of a node. To
// a node belong the events of its runs, and those of its team that name it.
import type { QueryRead } from '@beaver/contracts'
import { BeaverError } from '@beaver/core'
import type { FoundTask } from './find-task.ts'
import { inTime } from './in-time.ts'
import type { Sql, SqlValue } from '../store/sql.ts'

/** The types of events that name a node in their data. */
const namingTypes = `(type glob 'node_*' or type in ('graph_extended', 'team_diagnostic_recorded'))`

/** SQL for the node of a row of `events`, or null. */
export const nodeOfEvent = `case when ${namingTypes} or type = 'run_started' then json_extract(data, '$.node_id')
  else (select node_id from runs where runs.task_key = events.task_key and runs.run_id = events.run_id) end`

/** Which part of a log is wanted. */
type PartOfLog = Pick<
  QueryRead<'events'>,
  'node_id' | 'types' | 'order' | 'after' | 'before' | 'since' | 'until'
>

/**
 * The condition and the order of a query of `events`, with its values.
 *
 * @throws {BeaverError} `invalid_arguments` if the task has no node with this id
 */
export function eventsWanted(
  sql: Sql,
  found: FoundTask,
  { node_id: nodeId, types, order, after, before, since, until }: PartOfLog,
): { readonly where: string; readonly values: SqlValue[] } {
  const only = eventsOfNode(sql, found, nodeId)
  const parts: readonly (readonly [string, readonly SqlValue[]])[] = [
    ['task_key = ? and taskseq > ?', [found.task_key, after]],
    ...(before === undefined ? [] : [['and taskseq < ?', [before]] as const]),
    ...(types === undefined
      ? []
      : [['and type in (select value from json_each(?))', [JSON.stringify(types)]] as const]),
    inTime('time', { since, until }),
    [only.where, only.values],
  ]
  return {
    where: `${parts.map(([condition]) => condition).join(' ')} order by taskseq ${order === 'desc' ? 'desc' : 'asc'}`,
    values: parts.flatMap(([, values]) => values),
  }
}

/**
 * A condition on `events` with its values. It is empty if no node is named.
 *
 * @throws {BeaverError} `invalid_arguments` if the task has no node with this id
 */
function eventsOfNode(
  sql: Sql,
  { task_key: key, task_id }: FoundTask,
  nodeId: string | undefined,
): { readonly where: string; readonly values: SqlValue[] } {
  if (nodeId === undefined) return { where: '', values: [] }
  if (
    sql.get('select 1 from team_nodes where task_key = ? and node_id = ? limit 1', [key, nodeId]) ===
    undefined
  )
    throw noSuchNode(sql, key, task_id, nodeId)
  const where = `and (run_id in (select run_id from runs where task_key = ? and node_id = ?) or ${namingTypes} and json_extract(data, '$.node_id') = ?)`
  return { where, values: [key, nodeId, nodeId] }
}

const namedMax = 8

/** The error names some nodes, first those whose ids contain what was typed. */
export function noSuchNode(sql: Sql, key: number, taskId: string, nodeId: string): BeaverError {
  const rows = sql.all<{ node_id: string }>(
    'select node_id from team_nodes where task_key = ? group by node_id order by instr(lower(node_id), lower(?)) = 0, min(rowid) limit ?',
    [key, nodeId, namedMax + 1],
  )
  const names = rows.slice(0, namedMax).map((row) => JSON.stringify(row.node_id))
  const listed =
    names.length === 0
      ? 'It has no nodes.'
      : `Its nodes: ${names.join(', ')}${rows.length > namedMax ? ', …' : ''}.`
  return refusal('node_id', `The task ${taskId} has no node ${JSON.stringify(nodeId)}. ${listed}`)
}

export const refusal = (path: string, message: string): BeaverError =>
  new BeaverError('invalid_arguments', message, { problems: [{ path, message }] })
