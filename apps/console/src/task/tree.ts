// The parts of a task as one list in the order of the tree: runs, teams, nodes, and what is inside of them.
// Pure. The views (tree, graph, timeline) and the details show the same list and the same selection.
import type { QueryOutput } from '@beaver/contracts'

type Answer = QueryOutput<'task'>
export type Run = Answer['runs'][number]
export type Team = Answer['teams'][number]
export type Node = Team['nodes'][number]

export interface Item {
  /** `run:<run_id>`, `team:<team_run_id>` or `node:<team_run_id>/<node_id>`. It is the selection in the address. */
  readonly key: string
  readonly depth: number
  /** The key of what it is inside of. `null`: it is at the top. */
  readonly parent: string | null
  readonly name: string
  /** What it is, in a word or two: "root agent", "team", "agent", "tool", "code". */
  readonly what: string
  readonly status: string
  readonly startedAt: string | null
  readonly endedAt: string | null
  readonly durationMs: number | null
  readonly tokens: number
  readonly toolCalls: number
  /** Why it failed, is blocked or was skipped. `null`: none of these. */
  readonly why: string | null
  readonly evidence: { readonly passed: number; readonly failed: number } | null
  readonly run: Run | null
  readonly team: Team | null
  readonly node: Node | null
  /** The team that the node belongs to. `null`: it is no node. */
  readonly of: Team | null
}

/** @returns all parts, each before those that are inside of it */
export function itemsOf({ runs, teams }: Pick<Answer, 'runs' | 'teams'>): readonly Item[] {
  const items: Item[] = []
  const addInside = (run: Run, at: { depth: number; parent: string }): void => {
    for (const team of run.teams) addTeam(team, at)
    for (const other of run.other_runs ?? []) addRun(other, at)
  }
  const addRun = (run: Run, { depth, parent }: { depth: number; parent: string | null }): void => {
    const key = `run:${run.run_id}`
    items.push({
      key,
      depth,
      parent,
      name: run.parent_run_id === null ? 'Root agent' : run.agent_name,
      what: run.parent_run_id === null ? 'root agent' : 'agent',
      status: run.status,
      startedAt: run.started_at,
      endedAt: run.ended_at,
      durationMs: run.duration_ms,
      tokens: run.input_tokens + run.output_tokens,
      toolCalls: run.tool_calls,
      why: run.failure?.message ?? null,
      evidence: null,
      run,
      team: null,
      node: null,
      of: null,
    })
    addInside(run, { depth: depth + 1, parent: key })
  }
  const addTeam = (team: Team, { depth, parent }: { depth: number; parent: string | null }): void => {
    const key = `team:${team.team_run_id}`
    items.push({
      key,
      depth,
      parent,
      name: team.workflow,
      what: `team of ${team.node_count}`,
      status: team.status,
      startedAt: team.started_at,
      endedAt: team.ended_at,
      durationMs: team.duration_ms,
      tokens: 0,
      toolCalls: 0,
      why: team.message,
      evidence: null,
      run: null,
      team,
      node: null,
      of: null,
    })
    for (const node of team.nodes) addNode(node, team, { depth: depth + 1, parent: key })
  }
  const addNode = (node: Node, of: Team, { depth, parent }: { depth: number; parent: string }): void => {
    const key = nodeKey(of.team_run_id, node.node_id)
    const { run } = node
    items.push({
      key,
      depth,
      parent,
      name: node.node_id,
      what: node.tool ?? node.operation ?? node.kind,
      status: node.status,
      startedAt: node.started_at,
      endedAt: node.ended_at,
      durationMs: node.duration_ms,
      tokens: run === null ? 0 : run.input_tokens + run.output_tokens,
      toolCalls: run?.tool_calls ?? 0,
      why: whyOf(node),
      evidence: evidenceOf(node),
      run,
      team: null,
      node,
      of,
    })
    if (run !== null) addInside(run, { depth: depth + 1, parent: key })
  }
  for (const run of runs) addRun(run, { depth: 0, parent: null })
  for (const team of teams) addTeam(team, { depth: 0, parent: null })
  return items
}

export const nodeKey = (teamRunId: string, nodeId: string): string => `node:${teamRunId}/${nodeId}`

function whyOf(node: Node): string | null {
  if (node.failure !== null) return node.failure.message
  if (node.cause_node_id !== null) return `${node.cause_node_id} did not complete.`
  return node.skip_reason ?? node.cancel_reason
}

function evidenceOf({ evidence }: Node): Item['evidence'] {
  const passed = evidence.filter(({ status }) => status === 'passed').length
  const failed = evidence.filter(({ status }) => status === 'failed').length
  return passed + failed === 0 ? null : { passed, failed }
}

/** The list without what is inside of closed parts. */
export function shownOf(items: readonly Item[], closed: ReadonlySet<string>): readonly Item[] {
  const hidden = new Set<string>()
  return items.filter(({ key, parent }) => {
    const isHidden = parent !== null && (hidden.has(parent) || closed.has(parent))
    if (isHidden) hidden.add(key)
    return !isHidden
  })
}

/** Whether anything of the task may still change. */
export const isOpen = (status: string): boolean =>
  !['completed', 'incomplete', 'failed', 'cancelled', 'quarantined'].includes(status)
