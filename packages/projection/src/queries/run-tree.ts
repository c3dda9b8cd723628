// Builds the tree of a task's runs: root → team → nodes in declared order → their runs, and so on. A task that is a workflow has no root, so its
// team is at the top.
// R1. Every run appears once: in its node, otherwise under its parent's `other_runs`, otherwise as a root. The last case is a run with an
// unknown parent, or a circle of runs, which only a forged journal can contain.
// R2. The tree has at most `nodesMax` nodes. `more` says that some were left out; runs without a place in the tree are then left out too.
import type { CheckAnswer, NodeAnswer, RunAnswer, TeamAnswer } from '@beaver/contracts'
import { clip, type FailureClass, type JsonValue } from '@beaver/core'
import { failureView } from './query-tasks.ts'
import type { RunRow } from '../store/row-types.ts'
import { type Sql, truth } from '../store/sql.ts'
import { millisBetween } from './millis-between.ts'
import { firstCallTokens, parsedOrNull, usageOfRuns } from './usage.ts'

const outputCharsMax = 300
const checksMax = 20
const diagnosticsMax = 50
const sharedStateCharsMax = 10_000
const textCharsMax = 200
const requirementCharsMax = 2_010

type RunOfTree = RunRow & { readonly tool_calls: number; readonly tool_calls_failed: number }

interface TeamRow {
  readonly team_run_id: string
  readonly run_id: string | null
  readonly call_id: string | null
  readonly workflow: string
  readonly task: string
  readonly nodes: number
  readonly nodes_at_start: number
  readonly outputs: string
  readonly shared_state: string | null
  readonly shared_state_changes: number
  readonly status: string
  readonly message: string | null
  readonly started_at: string
  readonly ended_at: string | null
}

interface NodeRow {
  readonly team_run_id: string
  readonly node_id: string
  readonly kind: string
  readonly depends_on: string
  readonly quorum: number | null
  readonly added_after: string | null
  readonly use_skill: string | null
  readonly tool: string | null
  readonly operation: string | null
  readonly status: string
  readonly output: string | null
  readonly skip_reason: string | null
  readonly cancel_reason: string | null
  readonly run_id: string | null
  readonly evidence_passed: number | null
  readonly evidence_taskseq: number | null
  readonly failure_class: FailureClass | null
  readonly failure_message: string | null
  readonly cause_node_id: string | null
  readonly started_at: string | null
  readonly ended_at: string | null
}

interface CheckRow {
  readonly taskseq: number
  readonly field: string
  readonly requirement: string
  readonly status: CheckAnswer['status']
  readonly detail: string
  readonly rests_on: string
}

interface DiagnosticRow {
  readonly team_run_id: string
  readonly taskseq: number
  readonly node_id: string
  readonly code: string
  readonly message: string
}

interface Parts {
  readonly runs: readonly RunOfTree[]
  readonly teamsOf: ReadonlyMap<string | null, TeamRow[]>
  readonly nodesOf: ReadonlyMap<string, NodeRow[]>
  readonly checksAt: ReadonlyMap<number, CheckRow[]>
  readonly diagnosticsOf: ReadonlyMap<string, DiagnosticRow[]>
}

export interface RunTree {
  readonly runs: RunAnswer[]
  /** The teams that no run called. */
  readonly teams: TeamAnswer[]
  /** Whether some nodes were left out. */
  readonly more: boolean
}

export function runTree(sql: Sql, taskKey: number, nodesMax: number): RunTree {
  const { parts, more } = read(sql, taskKey, nodesMax)
  const byId = new Map(parts.runs.map((run) => [run.run_id, run]))
  const childrenOf = grouped(parts.runs, (run) => run.parent_run_id ?? '')
  const shown = new Set<string>()
  const used: Used = { usageOf: usageOfRuns(sql, taskKey), firstTokens: firstCallTokens(sql, taskKey) }

  const viewOf = (run: RunOfTree): RunAnswer => {
    shown.add(run.run_id)
    const teams = (parts.teamsOf.get(run.run_id) ?? []).map(teamOf)
    const others = (childrenOf.get(run.run_id) ?? []).flatMap((child) => (shown.has(child.run_id) || (more && child.node_id !== null) ? [] : [viewOf(child)]))
    return { ...runView(run, used), teams, ...(others.length > 0 ? { other_runs: others } : {}) }
  }
  const nodeOf = (node: NodeRow): NodeAnswer => {
    const run = node.run_id === null ? undefined : byId.get(node.run_id)
    const checks = node.evidence_taskseq === null ? [] : (parts.checksAt.get(node.evidence_taskseq) ?? [])
    return { ...nodeView(node, checks), run: run === undefined || shown.has(run.run_id) ? null : viewOf(run) }
  }

  const teamOf = (team: TeamRow): TeamAnswer =>
    teamView(team, (parts.nodesOf.get(team.team_run_id) ?? []).map(nodeOf), parts.diagnosticsOf.get(team.team_run_id) ?? [])

  const teams = (parts.teamsOf.get(null) ?? []).map(teamOf)
  const roots = parts.runs.flatMap((run) => (run.parent_run_id === null && run.team_run_id === null && !shown.has(run.run_id) ? [viewOf(run)] : []))
  const strays = parts.runs.flatMap((run) => (shown.has(run.run_id) ? [] : [viewOf(run)]))
  return { runs: more ? roots : [...roots, ...strays], teams, more }
}

/** The rows of the tree. If there are more than `nodesMax` nodes, the first of them and their runs. */
function read(sql: Sql, key: number, nodesMax: number): { parts: Parts; more: boolean } {
  const runs = sql.all<RunOfTree>(
    `select runs.*, count(tool_calls.call_id) as tool_calls, count(case when tool_calls.success = 0 then 1 end) as tool_calls_failed
     from runs left join tool_calls on tool_calls.task_key = runs.task_key and tool_calls.run_id = runs.run_id
     where runs.task_key = ? group by runs.run_id order by runs.started_taskseq limit ?`,
    [key, nodesMax * 2 + 1],
  )
  const teams = sql.all<TeamRow>('select * from teams where task_key = ? order by started_taskseq limit ?', [key, nodesMax])
  const nodes = sql.all<NodeRow>(
    `select team_nodes.* from team_nodes join teams using (task_key, team_run_id) where task_key = ? order by teams.started_taskseq, declared_index limit ?`,
    [key, nodesMax + 1],
  )
  const checks = sql.all<CheckRow>(
    `select evidence_checks.* from evidence_checks join team_nodes using (task_key, team_run_id, node_id)
     where task_key = ? and taskseq = evidence_taskseq and check_index < ? order by taskseq, check_index limit ?`,
    [key, checksMax, nodesMax * checksMax],
  )
  const diagnostics = sql.all<DiagnosticRow>(
    'select team_run_id, taskseq, node_id, code, message from team_diagnostics where task_key = ? order by taskseq limit ?',
    [key, diagnosticsMax],
  )
  const parts = {
    runs: runs.slice(0, nodesMax * 2),
    teamsOf: grouped(teams, (team) => team.run_id),
    nodesOf: grouped(nodes.slice(0, nodesMax), (node) => node.team_run_id),
    checksAt: grouped(checks, (check) => check.taskseq),
    diagnosticsOf: grouped(diagnostics, (diagnostic) => diagnostic.team_run_id),
  }
  return { parts, more: nodes.length > nodesMax || runs.length > nodesMax * 2 }
}

function grouped<K, T>(items: readonly T[], keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>()
  for (const item of items) {
    const group = groups.get(keyOf(item))
    if (group === undefined) groups.set(keyOf(item), [item])
    else group.push(item)
  }
  return groups
}

/** A long requirement, such as a JSON Schema, is in the journal. Here only its kind is given. */
function requirementView(text: string): JsonValue {
  const requirement = JSON.parse(text) as JsonValue
  if (text.length <= requirementCharsMax) return requirement
  return typeof requirement === 'string' ? clip(requirement, requirementCharsMax) : { kind: (requirement as { kind: string }).kind }
}

interface Used {
  readonly usageOf: ReturnType<typeof usageOfRuns>
  readonly firstTokens: ReturnType<typeof firstCallTokens>
}

function runView(run: RunOfTree, { usageOf, firstTokens }: Used): Omit<RunAnswer, 'teams' | 'other_runs'> {
  return {
    run_id: run.run_id,
    parent_run_id: run.parent_run_id,
    agent_name: run.agent_name,
    node_id: run.node_id,
    team_run_id: run.team_run_id,
    attempt_index: run.attempt_index,
    status: run.status,
    execution_mode: run.execution_mode,
    skills: JSON.parse(run.skills) as string[],
    skill_selection: parsedOrNull(run.skill_selection),
    context: parsedOrNull(run.context),
    first_input_tokens: firstTokens.get(run.run_id) ?? null,
    results_compacted: run.results_compacted,
    history_dropped: run.history_dropped,
    summaries: run.summaries,
    started_at: run.started_at,
    ended_at: run.ended_at,
    duration_ms: millisBetween(run.started_at, run.ended_at),
    tool_iterations: run.tool_iterations,
    tool_calls: run.tool_calls,
    tool_calls_failed: run.tool_calls_failed,
    restarts: run.restarts,
    input_tokens: run.input_tokens,
    output_tokens: run.output_tokens,
    calls: run.calls,
    usage_by_model: usageOf(run.run_id),
    provider: run.provider,
    model: run.model,
    finish_reason: run.finish_reason,
    output: run.output === null ? null : clip(run.output, outputCharsMax),
    output_chars: run.output?.length ?? 0,
    failure: failureView(run),
  }
}

function teamView(team: TeamRow, nodes: NodeAnswer[], diagnostics: readonly DiagnosticRow[]): TeamAnswer {
  return {
    team_run_id: team.team_run_id,
    run_id: team.run_id,
    call_id: team.call_id,
    workflow: team.workflow,
    task: clip(team.task, textCharsMax),
    status: team.status,
    message: team.message === null ? null : clip(team.message, 1000),
    started_at: team.started_at,
    ended_at: team.ended_at,
    duration_ms: millisBetween(team.started_at, team.ended_at),
    output_nodes: JSON.parse(team.outputs) as string[],
    node_count: team.nodes,
    node_count_at_start: team.nodes_at_start,
    nodes,
    diagnostics: diagnostics.map(({ taskseq, node_id, code, message }) => ({ taskseq, node_id, code, message: clip(message, textCharsMax) })),
    shared_state: team.shared_state === null || team.shared_state.length > sharedStateCharsMax ? null : (JSON.parse(team.shared_state) as JsonValue),
    shared_state_changes: team.shared_state_changes,
  }
}

function nodeView(node: NodeRow, checks: readonly CheckRow[]): Omit<NodeAnswer, 'run'> {
  return {
    node_id: node.node_id,
    kind: node.kind,
    depends_on: JSON.parse(node.depends_on) as string[],
    quorum: node.quorum,
    added_after: node.added_after,
    use_skill: node.use_skill,
    tool: node.tool,
    operation: node.operation,
    status: node.status,
    run_id: node.run_id,
    started_at: node.started_at,
    ended_at: node.ended_at,
    duration_ms: millisBetween(node.started_at, node.ended_at),
    evidence_passed: truth(node.evidence_passed),
    evidence: checks.map((check) => ({
      field: check.field,
      requirement: requirementView(check.requirement),
      status: check.status,
      detail: clip(check.detail, textCharsMax),
      rests_on: (JSON.parse(check.rests_on) as number[]).slice(0, checksMax),
    })),
    failure: failureView(node),
    cause_node_id: node.cause_node_id,
    skip_reason: node.skip_reason === null ? null : clip(node.skip_reason, textCharsMax),
    cancel_reason: node.cancel_reason === null ? null : clip(node.cancel_reason, textCharsMax),
    output: node.output === null ? null : clip(node.output, outputCharsMax),
    output_chars: node.output?.length ?? null,
  }
}
