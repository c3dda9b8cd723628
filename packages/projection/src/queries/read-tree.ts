// Reads the rows of the tree of a task's runs: those of one page of nodes, of one node, or of one run. A page has
// the nodes after a place, in the order in which the journal declared them. The first page also has nodes
// that need a look (failed, at work, cancelled, blocked), at most half of its nodes. A page contains the
// nodes above its nodes, so that it is a tree. Counts are of the whole team.
import type { CheckRow, RunRow, tables, TeamRow } from '../store/schema.ts'
import type { Sql } from '../store/sql.ts'
import type { RowOf } from '../store/table.ts'

export const checksMax = 20
const diagnosticsMax = 50
const teamsMax = 512

export type RunOfTree = RunRow & { readonly tool_calls: number; readonly tool_calls_failed: number }

/** `place`: that of the node among all nodes of the journal. */
export type NodeRow = RowOf<typeof tables.team_nodes> & { readonly place: number }
export type DiagnosticRow = Omit<RowOf<typeof tables.team_diagnostics>, 'task_key'>

export interface Parts {
  readonly runs: readonly RunOfTree[]
  readonly teamsOf: ReadonlyMap<string | null, TeamRow[]>
  readonly nodesOf: ReadonlyMap<string, NodeRow[]>
  readonly checksAt: ReadonlyMap<number, CheckRow[]>
  readonly byStatusOf: ReadonlyMap<string, Readonly<Record<string, number>>>
  readonly diagnosticsOf: ReadonlyMap<string, DiagnosticRow[]>
}

type NodeName = Pick<NodeRow, 'team_run_id' | 'node_id'>

/** The rows of the nodes after the place `after`, and the value for the next page. */
export function partsOfPage(
  sql: Sql,
  key: number,
  { nodesMax, after }: { readonly nodesMax: number; readonly after: number },
): { readonly parts: Parts; readonly next: number | null } {
  const ordered = sql.all<NodeRow>(
    'select rowid as place, * from team_nodes where task_key = ? and rowid > ? order by rowid limit ?',
    [key, after, nodesMax + 1],
  )
  const whole = ordered.length <= nodesMax
  const urgent = whole || after > 0 ? [] : nodesThatNeedALook(sql, key, Math.floor(nodesMax / 2))
  const inOrder = whole ? ordered : ordered.slice(0, nodesMax - urgent.length)
  return {
    parts: partsOf(sql, key, [...inOrder, ...urgent]),
    next: whole ? null : (inOrder.at(-1)?.place ?? null),
  }
}

/** The rows of one node. */
export function partsOfNode(sql: Sql, key: number, { team_run_id, node_id }: NodeName): Parts {
  return partsOf(sql, key, nodesNamed(sql, key, [{ team_run_id, node_id }]))
}

const teamsOfRunMax = 50

/** The rows of one run and of the newest teams that it called, without their nodes. */
export function partsOfRun(sql: Sql, key: number, runId: string): Parts {
  const teams = sql.all<TeamRow>(
    'select * from teams where task_key = ? and run_id = ? order by started_taskseq desc limit ?',
    [key, runId, teamsOfRunMax],
  )
  const diagnostics = sql.all<DiagnosticRow>(
    `${selectDiagnostics} and team_run_id in (select value from json_each(?)) order by taskseq limit ?`,
    [key, JSON.stringify(teams.map((team) => team.team_run_id)), diagnosticsMax],
  )
  return {
    runs: sql.all<RunOfTree>(`${selectRuns} and runs.run_id = ? group by runs.run_id`, [key, runId]),
    teamsOf: new Map([[runId, teams.toReversed()]]),
    nodesOf: new Map(),
    checksAt: new Map(),
    diagnosticsOf: grouped(diagnostics, (diagnostic) => diagnostic.team_run_id),
    byStatusOf: teams.length === 0 ? new Map() : countsOf(sql, key),
  }
}

const selectRuns = `select runs.*, count(tool_calls.call_id) as tool_calls, count(case when tool_calls.success = 0 then 1 end) as tool_calls_failed
     from runs left join tool_calls on tool_calls.task_key = runs.task_key and tool_calls.run_id = runs.run_id
     where runs.task_key = ?`
const selectDiagnostics =
  'select team_run_id, taskseq, node_id, code, message from team_diagnostics where task_key = ?'

const nodesThatNeedALook = (sql: Sql, key: number, max: number): NodeRow[] =>
  sql.all<NodeRow>(
    `select rowid as place, * from team_nodes where task_key = ? and status in ('failed', 'running', 'cancelled', 'blocked')
     order by case status when 'failed' then 0 when 'running' then 1 when 'cancelled' then 2 else 3 end, rowid limit ?`,
    [key, max],
  )

const pairs = "select json_extract(value, '$[0]'), json_extract(value, '$[1]') from json_each(?)"
const namesOf = (nodes: readonly NodeName[]): string =>
  JSON.stringify(nodes.map((node) => [node.team_run_id, node.node_id]))

const nodesNamed = (sql: Sql, key: number, names: readonly NodeName[]): NodeRow[] =>
  sql.all<NodeRow>(
    `select rowid as place, * from team_nodes where task_key = ? and (team_run_id, node_id) in (${pairs})`,
    [key, namesOf(names)],
  )

/** The nodes, and the nodes whose runs called their teams, in the order of their places. */
function withThoseAbove(sql: Sql, key: number, nodes: readonly NodeRow[]): NodeRow[] {
  const callers = sql.all<NodeName & { readonly team: string }>(
    `select teams.team_run_id as team, runs.team_run_id, runs.node_id from teams join runs on runs.task_key = teams.task_key and runs.run_id = teams.run_id
     where teams.task_key = ? and runs.node_id is not null`,
    [key],
  )
  const callerOf = new Map(callers.map((caller) => [caller.team, caller]))
  const found = new Map(nodes.map((node) => [node.place, node]))
  for (let below = nodes; below.length > 0;) {
    const teams = new Set(below.map((node) => node.team_run_id))
    const names = [...teams].flatMap((team) => callerOf.get(team) ?? [])
    below = names.length === 0 ? [] : nodesNamed(sql, key, names).filter((node) => !found.has(node.place))
    for (const node of below) found.set(node.place, node)
  }
  return [...found.values()].toSorted((a, b) => a.place - b.place)
}

function partsOf(sql: Sql, key: number, chosen: readonly NodeRow[]): Parts {
  const nodes = withThoseAbove(sql, key, chosen)
  const names = namesOf(nodes)
  // Runs without a node, runs of these nodes, and runs of nodes that nobody declared, which only a forged
  // journal contains.
  const runs = sql.all<RunOfTree>(
    `${selectRuns} and (runs.node_id is null or (runs.team_run_id, runs.node_id) in (${pairs}) or not exists
       (select 1 from team_nodes where task_key = runs.task_key and team_run_id = runs.team_run_id and node_id = runs.node_id))
     group by runs.run_id order by runs.started_taskseq limit ?`,
    [key, names, nodes.length * 2 + teamsMax],
  )
  const teams = sql.all<TeamRow>('select * from teams where task_key = ? order by started_taskseq limit ?', [
    key,
    teamsMax,
  ])
  const checks = sql.all<CheckRow>(
    `select evidence_checks.* from evidence_checks join team_nodes using (task_key, team_run_id, node_id)
     where task_key = ? and (team_run_id, node_id) in (${pairs}) and taskseq = evidence_taskseq and check_index < ? order by taskseq, check_index`,
    [key, names, checksMax],
  )
  const diagnostics = sql.all<DiagnosticRow>(`${selectDiagnostics} order by taskseq limit ?`, [
    key,
    diagnosticsMax,
  ])
  return {
    runs,
    teamsOf: grouped(teams, (team) => team.run_id),
    nodesOf: grouped(nodes, (node) => node.team_run_id),
    checksAt: grouped(checks, (check) => check.taskseq),
    diagnosticsOf: grouped(diagnostics, (diagnostic) => diagnostic.team_run_id),
    byStatusOf: countsOf(sql, key),
  }
}

/** How many nodes of each team are in each state. */
function countsOf(sql: Sql, key: number): Parts['byStatusOf'] {
  const rows = sql.all<{ team_run_id: string; status: string; n: number }>(
    'select team_run_id, status, count(*) as n from team_nodes where task_key = ? group by team_run_id, status order by status',
    [key],
  )
  return new Map(
    [...grouped(rows, (row) => row.team_run_id)].map(([team, counts]) => [
      team,
      Object.fromEntries(counts.map(({ status, n }) => [status, n])),
    ]),
  )
}

export function grouped<K, T>(items: readonly T[], keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>()
  for (const item of items) {
    const group = groups.get(keyOf(item))
    if (group === undefined) groups.set(keyOf(item), [item])
    else group.push(item)
  }
  return groups
}
