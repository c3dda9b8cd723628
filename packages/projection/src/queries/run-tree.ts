// Builds the tree of a task's runs: root → team → nodes in declared order → their runs, and so on; a workflow
// task has no root, so its team is at the top. Every run appears once: in its node, otherwise under its
// parent's `other_runs`, otherwise as a root. Only a forged journal contains the last case: a run with an
// unknown parent, or a circle of runs. A page of the tree (read-tree.ts) leaves out runs without a place in
// it.
import type { NodeAnswer, RunAnswer, TeamAnswer } from '@beaver/contracts'
import type { JsonValue } from '@beaver/core'
import type { PriceTable } from '@beaver/core/cost'
import { clip } from '@beaver/core/task-view'
import { failureView } from './query-tasks.ts'
import {
  checksMax,
  type DiagnosticRow,
  grouped,
  type NodeRow,
  type Parts,
  partsOfNode,
  partsOfPage,
  partsOfRun,
  type RunOfTree,
} from './read-tree.ts'
import { type CheckRow, skillNames, type TeamRow } from '../store/schema.ts'
import { type Sql, truth } from '../store/sql.ts'
import { millisBetween } from './millis-between.ts'
import { firstCallTokens, parsedOrNull, usageOfRuns, usageView } from './usage.ts'

const outputCharsMax = 300
const sharedStateCharsMax = 10_000
const textCharsMax = 200
const requirementCharsMax = 2_010

export interface RunTree {
  readonly runs: RunAnswer[]
  /** The teams that no run called. */
  readonly teams: TeamAnswer[]
  /** Whether more nodes follow after this page, and the value for the next page. */
  readonly more: boolean
  readonly next: number | null
}

/** @param range `after`: the `next` of the page before, or 0 */
export function runTree(
  sql: Sql,
  taskKey: number,
  { prices, ...range }: { readonly nodesMax: number; readonly after: number; readonly prices: PriceTable },
): RunTree {
  const { parts, next } = partsOfPage(sql, taskKey, range)
  const partial = next !== null || range.after > 0
  return { ...treeOf(sql, taskKey, parts, { partial, prices }), more: next !== null, next }
}

/** One node with its run. The teams of the run have no nodes. */
export function nodeOfTeam(
  sql: Sql,
  taskKey: number,
  {
    prices,
    ...name
  }: { readonly team_run_id: string; readonly node_id: string; readonly prices: PriceTable },
): NodeAnswer | undefined {
  const parts = partsOfNode(sql, taskKey, name)
  const { runs, teams } = treeOf(sql, taskKey, parts, { partial: true, prices })
  const teamsOf = (run: RunAnswer): TeamAnswer[] => [...run.teams, ...(run.other_runs ?? []).flatMap(teamsOf)]
  const all = [...teams, ...runs.flatMap(teamsOf)]
  return all.flatMap((team) => team.nodes).find((node) => node.node_id === name.node_id)
}

/** One run with the teams that it called. These have no nodes and no shared state. */
export function oneRun(
  sql: Sql,
  taskKey: number,
  { runId, prices }: { readonly runId: string; readonly prices: PriceTable },
): RunAnswer | undefined {
  const parts = partsOfRun(sql, taskKey, runId)
  const [run] = parts.runs
  if (run === undefined) return undefined
  const used: Used = {
    usageOf: usageOfRuns(sql, taskKey),
    firstTokens: firstCallTokens(sql, taskKey),
    prices,
  }
  const teams = (parts.teamsOf.get(runId) ?? []).map((team) =>
    teamView({ ...team, shared_state: null }, [], {
      diagnostics: parts.diagnosticsOf.get(team.team_run_id) ?? [],
      byStatus: parts.byStatusOf.get(team.team_run_id) ?? {},
    }),
  )
  return { ...runView(run, used), teams }
}

function treeOf(
  sql: Sql,
  taskKey: number,
  parts: Parts,
  { partial, prices }: { readonly partial: boolean; readonly prices: PriceTable },
): Pick<RunTree, 'runs' | 'teams'> {
  const byId = new Map(parts.runs.map((run) => [run.run_id, run]))
  const childrenOf = grouped(parts.runs, (run) => run.parent_run_id ?? '')
  const shown = new Set<string>()
  const used: Used = {
    usageOf: usageOfRuns(sql, taskKey),
    firstTokens: firstCallTokens(sql, taskKey),
    prices,
  }

  const viewOf = (run: RunOfTree): RunAnswer => {
    shown.add(run.run_id)
    const teams = (parts.teamsOf.get(run.run_id) ?? []).map(teamOf)
    const others = (childrenOf.get(run.run_id) ?? []).flatMap((child) =>
      shown.has(child.run_id) || (partial && child.node_id !== null) ? [] : [viewOf(child)],
    )
    return { ...runView(run, used), teams, ...(others.length > 0 ? { other_runs: others } : {}) }
  }
  const nodeOf = (node: NodeRow): NodeAnswer => {
    const run = node.run_id === null ? undefined : byId.get(node.run_id)
    const checks = node.evidence_taskseq === null ? [] : (parts.checksAt.get(node.evidence_taskseq) ?? [])
    return { ...nodeView(node, checks), run: run === undefined || shown.has(run.run_id) ? null : viewOf(run) }
  }

  const teamOf = (team: TeamRow): TeamAnswer =>
    teamView(team, (parts.nodesOf.get(team.team_run_id) ?? []).map(nodeOf), {
      diagnostics: parts.diagnosticsOf.get(team.team_run_id) ?? [],
      byStatus: parts.byStatusOf.get(team.team_run_id) ?? {},
    })

  const teams = (parts.teamsOf.get(null) ?? []).map(teamOf)
  const roots = parts.runs.flatMap((run) =>
    run.parent_run_id === null && run.team_run_id === null && !shown.has(run.run_id) ? [viewOf(run)] : [],
  )
  const strays = parts.runs.flatMap((run) => (shown.has(run.run_id) ? [] : [viewOf(run)]))
  return { runs: partial ? roots : [...roots, ...strays], teams }
}

/** A long requirement, such as a JSON Schema, is in the journal. Here only its kind is given. */
function requirementView(text: string): JsonValue {
  const requirement = JSON.parse(text) as JsonValue
  if (text.length <= requirementCharsMax) return requirement
  return typeof requirement === 'string'
    ? clip(requirement, requirementCharsMax)
    : { kind: (requirement as { kind: string }).kind }
}

interface Used {
  readonly usageOf: ReturnType<typeof usageOfRuns>
  readonly firstTokens: ReturnType<typeof firstCallTokens>
  readonly prices: PriceTable
}

function skillsOf(json: string): Pick<RunAnswer, 'skills' | 'workspace_skills'> {
  const all = JSON.parse(json) as readonly (string | { readonly name: string })[]
  const own = all.flatMap((each) => (typeof each === 'string' ? [] : [each.name]))
  return {
    skills: skillNames(json),
    ...(own.length === 0 ? {} : { workspace_skills: own }),
  }
}

/** The verdict on one requirement, with its long texts cut. */
export const checkView = (check: CheckRow): NodeAnswer['evidence'][number] => ({
  field: check.field,
  requirement: requirementView(check.requirement),
  status: check.status,
  detail: clip(check.detail, textCharsMax),
  rests_on: (JSON.parse(check.rests_on) as number[]).slice(0, checksMax),
})

function runView(
  run: RunOfTree,
  { usageOf, firstTokens, prices }: Used,
): Omit<RunAnswer, 'teams' | 'other_runs'> {
  return {
    run_id: run.run_id,
    parent_run_id: run.parent_run_id,
    agent_name: run.agent_name,
    node_id: run.node_id,
    team_run_id: run.team_run_id,
    attempt_index: run.attempt_index,
    status: run.status,
    execution_mode: run.execution_mode,
    ...skillsOf(run.skills),
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
    ...usageView(usageOf(run.run_id), { prices, day: run.started_at }),
    input_tokens: run.input_tokens,
    output_tokens: run.output_tokens,
    calls: run.calls,
    provider: run.provider,
    model: run.model,
    finish_reason: run.finish_reason,
    output: run.output === null ? null : clip(run.output, outputCharsMax),
    output_chars: run.output?.length ?? 0,
    failure: failureView(run),
  }
}

function teamView(
  team: TeamRow,
  nodes: NodeAnswer[],
  {
    diagnostics,
    byStatus,
  }: { diagnostics: readonly DiagnosticRow[]; byStatus: Readonly<Record<string, number>> },
): TeamAnswer {
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
    nodes_by_status: byStatus,
    nodes,
    diagnostics: diagnostics.map(({ taskseq, node_id, code, message }) => ({
      taskseq,
      node_id,
      code,
      message: clip(message, textCharsMax),
    })),
    shared_state:
      team.shared_state === null || team.shared_state.length > sharedStateCharsMax
        ? null
        : (JSON.parse(team.shared_state) as JsonValue),
    shared_state_changes: team.shared_state_changes,
  }
}

function nodeView(node: NodeRow, checks: readonly CheckRow[]): Omit<NodeAnswer, 'run'> {
  return {
    node_id: node.node_id,
    declared_index: node.declared_index,
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
    evidence: checks.map(checkView),
    failure: failureView(node),
    cause_node_id: node.cause_node_id,
    skip_reason: node.skip_reason === null ? null : clip(node.skip_reason, textCharsMax),
    cancel_reason: node.cancel_reason === null ? null : clip(node.cancel_reason, textCharsMax),
    output: node.output === null ? null : clip(node.output, outputCharsMax),
    output_chars: node.output?.length ?? null,
  }
}
