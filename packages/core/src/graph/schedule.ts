// Dataflow scheduling, decided purely: which nodes may start now, which never will, and when the team is done.
// D1. A node starts when all it depends on are completed; there are no layers. D2. A node that failed or was cancelled blocks
//     all that depend on it, transitively, and nothing else. D3. Answers are in declared order, never in completion order.
import type { ExecutionGraph, ExecutionNode } from './execution-graph.ts'

export type NodeStatus = 'waiting' | 'running' | 'completed' | 'failed' | 'blocked' | 'cancelled'

export interface NodeState {
  readonly status: NodeStatus
  readonly runId: string | null
}

export type NodeStates = ReadonlyMap<string, NodeState>

export const waitingNode: NodeState = { status: 'waiting', runId: null }

export interface TeamDecision {
  readonly start: readonly ExecutionNode[]
  /** With the node whose end is the cause: failed, cancelled, or itself blocked by that one. */
  readonly block: readonly { readonly node: ExecutionNode; readonly causeNodeId: string }[]
  readonly done: boolean
}

/** @param limits `concurrentNodesMax`: how many may run at once. `stopping`: nothing new starts. */
export function decideTeam(graph: ExecutionGraph, nodes: NodeStates, limits: { concurrentNodesMax: number; stopping?: boolean }): TeamDecision {
  const statusOf = (id: string): NodeStatus => nodes.get(id)?.status ?? 'waiting'
  const causes = blockCauses(graph, statusOf)
  let free = limits.concurrentNodesMax
  for (const node of graph.nodes) if (statusOf(node.node_id) === 'running') free--

  const start: ExecutionNode[] = []
  const block: { node: ExecutionNode; causeNodeId: string }[] = []
  let open = 0
  for (const node of graph.nodes) {
    const status = statusOf(node.node_id)
    if (status === 'running') open++
    if (status !== 'waiting') continue
    const causeNodeId = causes.get(node.node_id)
    if (causeNodeId !== undefined) {
      block.push({ node, causeNodeId })
      continue
    }
    open++
    if (free > 0 && limits.stopping !== true && node.depends_on.every((id) => statusOf(id) === 'completed')) {
      start.push(node)
      free--
    }
  }
  return { start, block, done: open === 0 }
}

/** For every node that can never run: the id of the ended node that is the cause, the first of them in declared order. */
function blockCauses(graph: ExecutionGraph, statusOf: (id: string) => NodeStatus): ReadonlyMap<string, string> {
  const dependents = new Map<string, string[]>()
  for (const node of graph.nodes) {
    for (const id of node.depends_on) {
      const known = dependents.get(id)
      if (known === undefined) dependents.set(id, [node.node_id])
      else known.push(node.node_id)
    }
  }
  const causes = new Map<string, string>()
  for (const node of graph.nodes) {
    const status = statusOf(node.node_id)
    if (status !== 'failed' && status !== 'cancelled') continue
    const reached = [...(dependents.get(node.node_id) ?? [])]
    for (let id = reached.pop(); id !== undefined; id = reached.pop()) {
      if (causes.has(id)) continue
      causes.set(id, node.node_id)
      reached.push(...(dependents.get(id) ?? []))
    }
  }
  return causes
}

export type TeamOutcome = 'complete' | 'incomplete' | 'cancelled'

/** The outcome of a team whose nodes have all ended (D-35). */
export function teamOutcome(graph: ExecutionGraph, nodes: NodeStates): TeamOutcome {
  const statuses = graph.nodes.map((node) => nodes.get(node.node_id)?.status ?? 'waiting')
  if (statuses.every((status) => status === 'completed')) return 'complete'
  return statuses.some((status) => status === 'cancelled') ? 'cancelled' : 'incomplete'
}
