// Folds the rows of a team run: its nodes and their evidence, its notes, and the state that its members
// share. Nodes keep their declared order in `declared_index`, including nodes that the graph gained later. A
// node's verdict is its last evaluation. All evaluations are kept.
import { canonicalJson, type DataOf, type JsonObject } from '@beaver/core'
import type { EvidenceCheck } from '@beaver/core/evidence'
import { changeSharedState, type ExecutionNode } from '@beaver/core/graph'
import { tables } from '../store/schema.ts'
import { bit, type Sql, type SqlValue } from '../store/sql.ts'
import { insert, insertIfNew } from '../store/table.ts'
import type { Place } from './batch.ts'

export function teamStarted(sql: Sql, at: Place, team: DataOf<'task_team_run_started'>): void {
  const { graph } = team
  const added = insertIfNew(sql, tables.teams, {
    task_key: at.taskKey,
    team_run_id: team.team_run_id,
    run_id: team.run_id,
    call_id: team.call_id,
    workflow: graph.workflow,
    task: graph.task,
    nodes: graph.nodes.length,
    nodes_at_start: graph.nodes.length,
    concurrent_nodes_max: team.concurrent_nodes_max,
    outputs: JSON.stringify(graph.outputs),
    output: graph.output,
    shared_state: graph.shared_state === undefined ? null : canonicalJson(graph.shared_state),
    status: 'running',
    started_at: at.time,
    started_taskseq: at.taskseq,
  })
  if (added > 0)
    for (const [index, node] of graph.nodes.entries())
      addNode(sql, at, team.team_run_id, { node, index, addedAfter: null })
}

/**
 * The graph has grown: nodes are added at its end, edges lead to existing nodes, and the outputs are
 * replaced.
 */
export function graphExtended(sql: Sql, at: Place, growth: DataOf<'graph_extended'>): void {
  const { team_run_id: team, node_id: addedAfter, nodes, edges, outputs, output } = growth
  const before = sql.get<{ nodes: number }>(
    'select nodes from teams where task_key = ? and team_run_id = ?',
    [at.taskKey, team],
  )
  if (before === undefined) return
  let count = before.nodes
  for (const node of nodes) count += addNode(sql, at, team, { node, index: count, addedAfter })
  for (const [from, to] of edges) {
    const key = keyOf(at, { team_run_id: team, node_id: to })
    const known = sql.get<{ depends_on: string }>(`select depends_on from team_nodes ${thisNode}`, key)
    if (known === undefined) continue
    const dependsOn = JSON.parse(known.depends_on) as string[]
    if (!dependsOn.includes(from))
      changeNode(
        sql,
        at,
        { team_run_id: team, node_id: to },
        { set: 'depends_on = ?', values: [JSON.stringify([...dependsOn, from])] },
      )
  }
  sql.run('update teams set nodes = ?, outputs = ?, output = ? where task_key = ? and team_run_id = ?', [
    count,
    JSON.stringify(outputs),
    output,
    at.taskKey,
    team,
  ])
}

/** Returns 1, or 0 if the node exists already. */
function addNode(
  sql: Sql,
  at: Place,
  team: string,
  { node, index, addedAfter }: { node: ExecutionNode; index: number; addedAfter: string | null },
): number {
  const agent = node.kind === 'agent' ? node : null
  const tool = node.kind === 'tool' ? node : null
  return insertIfNew(sql, tables.team_nodes, {
    task_key: at.taskKey,
    team_run_id: team,
    node_id: node.node_id,
    declared_index: index,
    kind: node.kind,
    depends_on: JSON.stringify(node.depends_on),
    quorum: node.quorum,
    deadline_ms: node.deadline_ms,
    added_after: addedAfter,
    changed_taskseq: at.taskseq,
    instruction: agent?.instruction,
    use_skill: agent?.use_skill,
    skill_query: agent?.skill_query,
    allowed_tool_names:
      agent === null || agent.allowed_tool_names === null ? null : JSON.stringify(agent.allowed_tool_names),
    tool: tool?.tool,
    arguments: tool === null ? null : canonicalJson(tool.arguments),
    operation: node.kind === 'code' ? node.operation : null,
  })
}

interface NodeName {
  readonly team_run_id: string
  readonly node_id: string
}

const thisNode = 'where task_key = ? and team_run_id = ? and node_id = ?'
const keyOf = (at: Place, node: NodeName): SqlValue[] => [at.taskKey, node.team_run_id, node.node_id]

/** Writes columns of a node. */
function changeNode(
  sql: Sql,
  at: Place,
  node: NodeName,
  { set, values }: { readonly set: string; readonly values: readonly SqlValue[] },
): void {
  sql.run(`update team_nodes set changed_taskseq = ?, ${set} ${thisNode}`, [
    at.taskseq,
    ...values,
    ...keyOf(at, node),
  ])
}

export function nodeStarted(sql: Sql, at: Place, node: DataOf<'node_started'>): void {
  changeNode(sql, at, node, {
    set: `status = 'running', run_id = ?, input = ?, started_at = coalesce(started_at, ?)`,
    values: [node.run_id, node.input === null ? null : canonicalJson(node.input), at.time],
  })
}

export function nodeComputed(sql: Sql, at: Place, node: DataOf<'node_computed'>): void {
  changeNode(sql, at, node, {
    set: `status = 'completed', output = ?, started_at = coalesce(started_at, ?), ended_at = ?`,
    values: [node.output, at.time, at.time],
  })
}

export function nodeSkipped(sql: Sql, at: Place, node: DataOf<'node_skipped'>): void {
  changeNode(sql, at, node, {
    set: `status = 'skipped', ended_at = ?, skip_reason = ?`,
    values: [at.time, node.reason],
  })
}

export function evidenceEvaluated(sql: Sql, at: Place, node: DataOf<'node_evidence_evaluated'>): void {
  changeNode(sql, at, node, {
    set: 'evidence_passed = ?, evidence_taskseq = ?',
    values: [bit(node.passed), at.taskseq],
  })
  keepChecks(sql, at, node)
}

/** The verdicts on a node; those on the final text of a task belong to no node, and have empty names. */
export function keepChecks(
  sql: Sql,
  at: Place,
  node: {
    readonly team_run_id: string
    readonly node_id: string
    readonly run_id: string
    readonly checks: readonly EvidenceCheck[]
  },
): void {
  for (const [index, check] of node.checks.entries()) {
    insert(sql, tables.evidence_checks, {
      task_key: at.taskKey,
      taskseq: at.taskseq,
      check_index: index,
      team_run_id: node.team_run_id,
      node_id: node.node_id,
      run_id: node.run_id,
      field: check.field ?? 'required_evidence',
      requirement: JSON.stringify(check.requirement),
      status: check.status,
      detail: check.detail,
      rests_on: JSON.stringify(check.rests_on),
    })
  }
}

export function nodeCompleted(sql: Sql, at: Place, node: DataOf<'node_completed'>): void {
  changeNode(sql, at, node, {
    set: `status = 'completed', run_id = ?, ended_at = ?`,
    values: [node.run_id, at.time],
  })
}

export function nodeFailed(sql: Sql, at: Place, node: DataOf<'node_failed'>): void {
  const { failure } = node
  changeNode(sql, at, node, {
    set: `status = 'failed', run_id = coalesce(?, run_id), ended_at = ?, failure_class = ?, failure_message = ?`,
    values: [node.run_id, at.time, failure.class, failure.message],
  })
}

export function nodeBlocked(sql: Sql, at: Place, node: DataOf<'node_blocked'>): void {
  changeNode(sql, at, node, {
    set: `status = 'blocked', ended_at = ?, cause_node_id = ?`,
    values: [at.time, node.cause_node_id],
  })
}

export function nodeCancelRequested(sql: Sql, at: Place, node: DataOf<'node_cancel_requested'>): void {
  changeNode(sql, at, node, { set: 'cancel_reason = coalesce(cancel_reason, ?)', values: [node.reason] })
}

export function nodeCancelled(sql: Sql, at: Place, node: DataOf<'node_cancelled'>): void {
  changeNode(sql, at, node, {
    set: `status = 'cancelled', ended_at = ?, failure_class = 'cancelled', failure_message = ?`,
    values: [at.time, node.reason],
  })
}

export function diagnosticRecorded(
  sql: Sql,
  at: Place,
  { team_run_id, node_id, code, message }: DataOf<'team_diagnostic_recorded'>,
): void {
  insert(sql, tables.team_diagnostics, {
    task_key: at.taskKey,
    taskseq: at.taskseq,
    team_run_id,
    node_id,
    code,
    message,
  })
}

/** A change that does not fit changes nothing. Only a forged journal can contain one. */
export function sharedStateChanged(
  sql: Sql,
  at: Place,
  { team_run_id, change }: DataOf<'shared_state_changed'>,
): void {
  const team = sql.get<{ shared_state: string | null }>(
    'select shared_state from teams where task_key = ? and team_run_id = ?',
    [at.taskKey, team_run_id],
  )
  if (team === undefined) return
  const changed = changeSharedState(JSON.parse(team.shared_state ?? '{}') as JsonObject, change)
  if (!changed.ok) return
  sql.run(
    'update teams set shared_state = ?, shared_state_changes = shared_state_changes + 1 where task_key = ? and team_run_id = ?',
    [canonicalJson(changed.state), at.taskKey, team_run_id],
  )
}

export function teamEnded(
  sql: Sql,
  at: Place,
  end: { team_run_id: string; outcome: string; message: string | null },
): void {
  sql.run('update teams set status = ?, message = ?, ended_at = ? where task_key = ? and team_run_id = ?', [
    end.outcome,
    end.message,
    at.time,
    at.taskKey,
    end.team_run_id,
  ])
}
