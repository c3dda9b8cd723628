// The rows of a team run, its nodes and their evidence.
// N1. Nodes keep their declared order in `declared_index`. N2. A node's verdict is its last evaluation; all are kept.
import type { DataOf } from '@beaver/core'
import type { Place } from './fold.ts'
import { bit, type Sql, type SqlValue } from './sql.ts'

export function teamStarted(sql: Sql, at: Place, team: DataOf<'task_team_run_started'>): void {
  const { graph } = team
  sql.run(
    `insert into teams (task_key, team_run_id, run_id, call_id, workflow, task, nodes, concurrent_nodes_max, outputs, output, status, started_at, started_taskseq)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'running', ?, ?) on conflict do nothing`,
    [
      at.taskKey,
      team.team_run_id,
      team.run_id,
      team.call_id,
      graph.workflow,
      graph.task,
      graph.nodes.length,
      team.concurrent_nodes_max,
      JSON.stringify(graph.outputs),
      graph.output,
      at.time,
      at.taskseq,
    ],
  )
  for (const [index, node] of graph.nodes.entries()) {
    sql.run(
      `insert into team_nodes (task_key, team_run_id, node_id, declared_index, depends_on, instruction, use_skill, skill_query, allowed_tool_names)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing`,
      [
        at.taskKey,
        team.team_run_id,
        node.node_id,
        index,
        JSON.stringify(node.depends_on),
        node.instruction,
        node.use_skill ?? null,
        node.skill_query ?? null,
        node.allowed_tool_names === null ? null : JSON.stringify(node.allowed_tool_names),
      ],
    )
  }
}

interface NodeName {
  readonly team_run_id: string
  readonly node_id: string
}

const thisNode = 'where task_key = ? and team_run_id = ? and node_id = ?'
const keyOf = (at: Place, node: NodeName): SqlValue[] => [at.taskKey, node.team_run_id, node.node_id]

export function nodeStarted(sql: Sql, at: Place, node: DataOf<'node_started'>): void {
  sql.run(`update team_nodes set status = 'running', run_id = ?, started_at = coalesce(started_at, ?) ${thisNode}`, [node.run_id, at.time, ...keyOf(at, node)])
}

export function evidenceEvaluated(sql: Sql, at: Place, node: DataOf<'node_evidence_evaluated'>): void {
  sql.run(`update team_nodes set evidence_passed = ?, evidence_taskseq = ? ${thisNode}`, [bit(node.passed), at.taskseq, ...keyOf(at, node)])
  for (const [index, check] of node.checks.entries()) {
    sql.run(
      `insert into evidence_checks (task_key, taskseq, check_index, team_run_id, node_id, run_id, requirement, status, detail, rests_on)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      [
        at.taskKey,
        at.taskseq,
        index,
        node.team_run_id,
        node.node_id,
        node.run_id,
        JSON.stringify(check.requirement),
        check.status,
        check.detail,
        JSON.stringify(check.rests_on),
      ],
    )
  }
}

export function nodeCompleted(sql: Sql, at: Place, node: DataOf<'node_completed'>): void {
  sql.run(`update team_nodes set status = 'completed', run_id = ?, ended_at = ? ${thisNode}`, [node.run_id, at.time, ...keyOf(at, node)])
}

export function nodeFailed(sql: Sql, at: Place, node: DataOf<'node_failed'>): void {
  const { failure } = node
  sql.run(`update team_nodes set status = 'failed', run_id = ?, ended_at = ?, failure_class = ?, failure_message = ? ${thisNode}`, [
    node.run_id,
    at.time,
    failure.class,
    failure.message,
    ...keyOf(at, node),
  ])
}

export function nodeBlocked(sql: Sql, at: Place, node: DataOf<'node_blocked'>): void {
  sql.run(`update team_nodes set status = 'blocked', ended_at = ?, cause_node_id = ? ${thisNode}`, [at.time, node.cause_node_id, ...keyOf(at, node)])
}

export function nodeCancelled(sql: Sql, at: Place, node: DataOf<'node_cancelled'>): void {
  sql.run(`update team_nodes set status = 'cancelled', ended_at = ?, failure_class = 'cancelled', failure_message = ? ${thisNode}`, [
    at.time,
    node.reason,
    ...keyOf(at, node),
  ])
}

export function teamEnded(sql: Sql, at: Place, end: { team_run_id: string; outcome: string; message: string | null }): void {
  sql.run('update teams set status = ?, message = ?, ended_at = ? where task_key = ? and team_run_id = ?', [
    end.outcome,
    end.message,
    at.time,
    at.taskKey,
    end.team_run_id,
  ])
}
