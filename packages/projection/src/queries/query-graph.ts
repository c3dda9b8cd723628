// `graph`: all nodes of a task in few words each, or those that changed after an event. `task` shows whole
// nodes, of which an answer has few.
import type { QueryOutput } from '@beaver/contracts'
import type { FailureClass } from '@beaver/core/supervision'
import { findTask } from './find-task.ts'
import { page } from './page.ts'
import type { Query } from './query.ts'
import type { TaskRow } from '../store/schema.ts'
import type { Sql } from '../store/sql.ts'

const teamsMax = 512

type Answer = QueryOutput<'graph'>
type NodeView = Answer['nodes'][number]

interface Row extends Omit<NodeView, 'team' | 'depends_on' | 'waits' | 'failure_class'> {
  readonly place: number
  readonly team_run_id: string
  /** The ids of nodes, as JSON. */
  readonly depends_on: string
  readonly failure_class: FailureClass | null
  readonly waits: number
}

export const graph: Query<'graph'> = (sql, { changed_after: since, after, limit, ...name }) => {
  const { task_key: key, task_id, session_id, tenant } = findTask(sql, name)
  const task = sql.one<Pick<TaskRow, 'last_taskseq'>>('select last_taskseq from tasks where task_key = ?', [
    key,
  ])
  const teams = sql.all<Answer['teams'][number]>(
    'select team_run_id, run_id, workflow, status, nodes from teams where task_key = ? order by started_taskseq limit ?',
    [key, teamsMax],
  )
  const placeOf = new Map(teams.map(({ team_run_id: id }, place) => [id, place]))
  const indexes = indexesOf(sql, key)
  const rows = sql.each<Row>(changedNodes, [key, after, since, limit + 1])
  const { items, more, next } = page(rows, limit, {
    item: (row) => nodeView(row, placeOf.get(row.team_run_id) ?? 0, indexes.get(row.team_run_id)),
    cursor: (row) => row.place,
  })
  return {
    ...{ task_id, session_id, tenant },
    last_taskseq: task.last_taskseq,
    teams: teams.map((each) => ({ ...each })),
    nodes: items,
    more,
    next,
  }
}

function nodeView(row: Row, team: number, indexes: ReadonlyMap<string, number> | undefined): NodeView {
  return {
    node_id: row.node_id,
    team,
    declared_index: row.declared_index,
    kind: row.kind,
    depends_on: (JSON.parse(row.depends_on) as string[]).flatMap((id) => indexes?.get(id) ?? []),
    status: row.status,
    run_id: row.run_id,
    agent_name: row.agent_name,
    started_at: row.started_at,
    ended_at: row.ended_at,
    tokens: row.tokens,
    calls: row.calls,
    tool_calls: row.tool_calls,
    tool_calls_failed: row.tool_calls_failed,
    failure_class: row.failure_class,
    waits: row.waits === 1,
    changed_taskseq: row.changed_taskseq,
  }
}

/** The `declared_index` of each node, by team and by id. */
function indexesOf(sql: Sql, key: number): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const byTeam = new Map<string, Map<string, number>>()
  for (const { team, id, at } of sql.each<{ team: string; id: string; at: number }>(
    'select team_run_id as team, node_id as id, declared_index as at from team_nodes where task_key = ?',
    [key],
  )) {
    const known = byTeam.get(team)
    if (known === undefined) byTeam.set(team, new Map([[id, at]]))
    else known.set(id, at)
  }
  return byTeam
}

const ofRun = 'tool_calls.task_key = nodes.task_key and tool_calls.run_id = nodes.run_id'
const changed = 'max(nodes.changed_taskseq, coalesce(runs.changed_taskseq, 0))'
const changedNodes = `select nodes.rowid as place, nodes.node_id, nodes.team_run_id, nodes.declared_index, nodes.kind, nodes.depends_on, nodes.status, nodes.run_id,
    runs.agent_name, nodes.started_at, nodes.ended_at, coalesce(runs.input_tokens + runs.output_tokens, 0) as tokens, coalesce(runs.calls, 0) as calls,
    (select count(*) from tool_calls where ${ofRun}) as tool_calls,
    (select count(*) from tool_calls where ${ofRun} and success = 0) as tool_calls_failed,
    nodes.failure_class,
    exists (select 1 from tool_calls where ${ofRun} and tool_calls.ended_at is null and runs.ended_at is null and tasks.ended_at is null
      and (approval = 'requested' or asking_taskseq is not null)) as waits,
    ${changed} as changed_taskseq
  from team_nodes as nodes join tasks on tasks.task_key = nodes.task_key
  left join runs on runs.task_key = nodes.task_key and runs.run_id = nodes.run_id
  where nodes.task_key = ? and nodes.rowid > ? and ${changed} > ? order by nodes.rowid limit ?`
