// The parts of a task as one list in the order of the tree: runs, teams, nodes, and what is inside of them.
// Pure. The views (tree, graph, timeline) and the details show the same list and the same selection. The answer
// to `task` has parts in full; of a task that is too large for it, `graph` has all nodes in few words.
import type { QueryOutput } from '@beaver/contracts'
import type { CompactNode, WholeGraph } from './whole-graph.ts'

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
  /** Why it failed, is blocked or was skipped. `null`: none of these, or it is not known here. */
  readonly why: string | null
  readonly evidence: { readonly passed: number; readonly failed: number } | null
  /** The run itself, or that of the node. `null`: it has none. */
  readonly runId: string | null
  /** The team itself, or that of the node. `null`: it is a run. */
  readonly teamRunId: string | null
  /** `null`: it is no node. */
  readonly nodeId: string | null
  /** Of a node, the ids of the nodes that must end before it starts. */
  readonly dependsOn: readonly string[]
  /** It completed in the task that this one retries, and was not run again. */
  readonly isKept: boolean
  /** The run, the team and the node in full. `null`: there is none, or the answer leaves it out. */
  readonly run: Run | null
  readonly team: Team | null
  readonly node: Node | null
}

export interface TreeKnown {
  /** All nodes of the task, if the answer does not have them. `null`: the answer has them. */
  readonly graph?: WholeGraph | null
  /** The runs that wait for a budget. The read model says that they ask their models. */
  readonly withoutBudget?: ReadonlySet<string>
  /** When the last event was written that a retry copied. `null`: the task copied none. */
  readonly keptUntil?: string | null
}

type Place = Pick<Item, 'depth' | 'parent'>
const nothing = {
  ...{ tokens: 0, toolCalls: 0, why: null, evidence: null, runId: null, teamRunId: null, nodeId: null },
  ...{ dependsOn: [], isKept: false, run: null, team: null, node: null },
}

/** @returns all parts, each before those that are inside of it */
export function itemsOf(
  { runs, teams }: Pick<Answer, 'runs' | 'teams'>,
  { graph = null, withoutBudget = new Set(), keptUntil = null }: TreeKnown = {},
): readonly Item[] {
  const items: Item[] = []
  const whole = graph === null ? null : { ...byParents(graph), ...inFull({ runs, teams }) }
  const statusOf = (status: string, runId: string | null): string =>
    runId !== null && withoutBudget.has(runId) && isOpen(status) ? 'waiting_for_budget' : status
  const addInside = (runId: string, run: Run | null, at: Place): void => {
    if (whole === null) for (const team of run?.teams ?? []) addTeam(team, at)
    else addTeamsOf(runId, at)
    for (const other of run?.other_runs ?? []) addRun(other, at)
  }
  const addRun = (run: Run, at: Place): void => {
    const item = runItem(run, at)
    items.push({ ...item, status: statusOf(item.status, run.run_id) })
    addInside(run.run_id, run, { depth: at.depth + 1, parent: item.key })
  }
  const addTeam = (team: Team, at: Place): void => {
    const item = teamItem(team, at)
    items.push(item)
    for (const node of team.nodes)
      addNode(nodeItem(node, team.team_run_id, { depth: at.depth + 1, parent: item.key }))
  }
  const addNode = (item: Item): void => {
    const isKept =
      keptUntil !== null &&
      item.status === 'completed' &&
      item.endedAt !== null &&
      Date.parse(item.endedAt) <= Date.parse(keptUntil)
    items.push({ ...item, isKept, status: statusOf(item.status, item.runId) })
    const at = { depth: item.depth + 1, parent: item.key }
    if (item.runId !== null) addInside(item.runId, item.run, at)
  }
  const addTeamsOf = (runId: string | null, at: Place): void => {
    for (const { team, nodes } of whole?.teamsOf.get(runId) ?? []) {
      const { team_run_id: id } = team
      const full = whole?.teams.get(id) ?? null
      const item = full === null ? compactTeamItem(team, at) : teamItem(full, at)
      items.push(item)
      const inside = { depth: at.depth + 1, parent: item.key }
      const idOf = new Map(nodes.map((node) => [node.declared_index, node.node_id]))
      for (const node of nodes) {
        const fullNode = whole?.nodes.get(nodeKey(id, node.node_id))
        // Both are of the same moment, or the compact one is newer.
        addNode({
          ...compactItem(node, { teamRunId: id, idOf }, inside),
          ...inFullOf(fullNode, id, inside, node),
        })
      }
    }
  }
  for (const run of runs) addRun(run, { depth: 0, parent: null })
  if (whole === null) for (const team of teams) addTeam(team, { depth: 0, parent: null })
  else addTeamsOf(null, { depth: 0, parent: null })
  return items
}

function runItem(run: Run, at: Place): Item {
  return {
    ...nothing,
    ...at,
    key: `run:${run.run_id}`,
    name: run.parent_run_id === null ? 'Root agent' : run.agent_name,
    what: run.parent_run_id === null ? 'root agent' : 'agent',
    status: run.status,
    startedAt: run.started_at,
    endedAt: run.ended_at,
    durationMs: run.duration_ms,
    tokens: run.input_tokens + run.output_tokens,
    toolCalls: run.tool_calls,
    why: run.failure?.message ?? null,
    runId: run.run_id,
    run,
  }
}

function teamItem(team: Team, at: Place): Item {
  return {
    ...nothing,
    ...at,
    key: `team:${team.team_run_id}`,
    name: team.workflow,
    what: `team of ${team.node_count}`,
    status: team.status,
    startedAt: team.started_at,
    endedAt: team.ended_at,
    durationMs: team.duration_ms,
    why: team.message,
    teamRunId: team.team_run_id,
    team,
  }
}

function compactTeamItem(team: WholeGraph['teams'][number], at: Place): Item {
  return {
    ...nothing,
    ...at,
    key: `team:${team.team_run_id}`,
    name: team.workflow,
    what: `team of ${team.nodes}`,
    status: team.status,
    ...{ startedAt: null, endedAt: null, durationMs: null },
    teamRunId: team.team_run_id,
  }
}

function nodeItem(node: Node, teamRunId: string, at: Place): Item {
  const { run } = node
  return {
    ...nothing,
    ...at,
    key: nodeKey(teamRunId, node.node_id),
    name: node.node_id,
    what: node.tool ?? node.operation ?? node.kind,
    status: run?.status === 'waiting_for_approval' && isOpen(node.status) ? run.status : node.status,
    startedAt: node.started_at,
    endedAt: node.ended_at,
    durationMs: node.duration_ms,
    tokens: run === null ? 0 : run.input_tokens + run.output_tokens,
    toolCalls: run?.tool_calls ?? 0,
    why: whyOf(node),
    evidence: evidenceOf(node),
    runId: node.run_id,
    teamRunId,
    nodeId: node.node_id,
    dependsOn: node.depends_on,
    run,
    node,
  }
}

function compactItem(
  node: CompactNode,
  { teamRunId, idOf }: { readonly teamRunId: string; readonly idOf: ReadonlyMap<number, string> },
  at: Place,
): Item {
  const { started_at: startedAt, ended_at: endedAt } = node
  return {
    ...nothing,
    ...at,
    key: nodeKey(teamRunId, node.node_id),
    name: node.node_id,
    what: node.kind,
    status: node.waits && isOpen(node.status) ? 'waiting_for_approval' : node.status,
    startedAt,
    endedAt,
    durationMs: startedAt === null || endedAt === null ? null : Date.parse(endedAt) - Date.parse(startedAt),
    tokens: node.tokens,
    toolCalls: node.tool_calls,
    why: node.failure_class?.replaceAll('_', ' ') ?? null,
    runId: node.run_id,
    teamRunId,
    nodeId: node.node_id,
    dependsOn: node.depends_on.flatMap((index) => idOf.get(index) ?? []),
  }
}

/** What only the node in full says. A node that went on since is shown in few words. */
function inFullOf(
  node: Node | undefined,
  teamRunId: string,
  at: Place,
  compact: CompactNode,
): Pick<Item, 'what' | 'why' | 'evidence' | 'run' | 'node'> | null {
  if (node === undefined || node.status !== compact.status) return null
  const { what, why, evidence, run } = nodeItem(node, teamRunId, at)
  return { what, why, evidence, run, node }
}

interface ByParents {
  /** The teams that a run called, with their nodes. `null`: the team of a task that is a workflow. */
  readonly teamsOf: ReadonlyMap<
    string | null,
    readonly { readonly team: WholeGraph['teams'][number]; readonly nodes: readonly CompactNode[] }[]
  >
}

function byParents({ teams, nodes }: WholeGraph): ByParents {
  const nodesOf = Map.groupBy(nodes, ({ team }) => team)
  const all = teams.map((team, place) => ({ team, nodes: nodesOf.get(place) ?? [] }))
  return { teamsOf: Map.groupBy(all, ({ team }) => team.run_id) }
}

/** The teams and the nodes that the answer has in full. */
function inFull({ runs, teams }: Pick<Answer, 'runs' | 'teams'>): {
  readonly teams: ReadonlyMap<string, Team>
  readonly nodes: ReadonlyMap<string, Node>
} {
  const found = { teams: new Map<string, Team>(), nodes: new Map<string, Node>() }
  const addRun = (run: Run): void => {
    for (const team of run.teams) addTeam(team)
    for (const other of run.other_runs ?? []) addRun(other)
  }
  const addTeam = (team: Team): void => {
    found.teams.set(team.team_run_id, team)
    for (const node of team.nodes) {
      found.nodes.set(nodeKey(team.team_run_id, node.node_id), node)
      if (node.run !== null) addRun(node.run)
    }
  }
  for (const run of runs) addRun(run)
  for (const team of teams) addTeam(team)
  return found
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
