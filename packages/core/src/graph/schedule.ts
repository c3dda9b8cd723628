// Schedules a graph by its data flow: which nodes may start now, which can never start, and when the team is
// done. Pure.
// D1. A node starts when all its dependencies have completed. There are no layers.
// D2. A node that failed or was cancelled blocks all nodes that depend on it, transitively, and no other
// node. Decisions are in declared order, never in the order of completion.
// D4. A node with a quorum starts when all its dependencies have ended and at least that many have completed.
// It is blocked as soon as that number cannot be reached.
// D5. A node is skipped if all its dependencies were skipped. If some were skipped, only the others count.
// D6. A code node does not count for the limit of concurrent nodes.
import type { ExecutionGraph, ExecutionNode } from './execution-graph.ts'

/** What became of a node. All but the first two are final. */
export type NodeStatus = 'waiting' | 'running' | 'completed' | 'skipped' | 'failed' | 'blocked' | 'cancelled'

/** The state of a node, as far as scheduling needs it. `runId` is `null` before the node starts. */
export interface NodeState {
  readonly status: NodeStatus
  readonly runId: string | null
}

/** The state of each node, by node id. A node that is not in the map waits. */
export type NodeStates = ReadonlyMap<string, NodeState>

/** The state of a node at the start. */
export const waitingNode: NodeState = { status: 'waiting', runId: null }

/** What happens next in a team. `done`: no node waits or runs. */
export interface TeamDecision {
  readonly start: readonly ExecutionNode[]
  /** The nodes to block. The cause is a node that failed or was cancelled. */
  readonly block: readonly { readonly node: ExecutionNode; readonly causeNodeId: string }[]
  readonly skip: readonly ExecutionNode[]
  readonly done: boolean
}

/**
 * Decides what happens next in a team.
 *
 * @param limits `concurrentNodesMax`: how many nodes may run at once; `stopping`: nothing new starts
 */
export function decideTeam(
  graph: ExecutionGraph,
  nodes: NodeStates,
  limits: { concurrentNodesMax: number; stopping?: boolean },
): TeamDecision {
  const statusOf = (id: string): NodeStatus => nodes.get(id)?.status ?? 'waiting'
  const causes = blockCauses(graph, statusOf)
  let free = limits.concurrentNodesMax
  for (const node of graph.nodes) if (statusOf(node.node_id) === 'running') free--

  const start: ExecutionNode[] = []
  const skip: ExecutionNode[] = []
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
    if (limits.stopping === true) continue
    const readiness = readinessOf(node, statusOf)
    if (readiness === 'skip') skip.push(node)
    if (readiness !== 'start' || (node.kind !== 'code' && free <= 0)) continue
    start.push(node)
    if (node.kind !== 'code') free--
  }
  return { start, block, skip, done: open === 0 }
}

function readinessOf(node: ExecutionNode, statusOf: (id: string) => NodeStatus): 'wait' | 'start' | 'skip' {
  let completed = 0
  let skipped = 0
  for (const id of node.depends_on) {
    const status = statusOf(id)
    if (status === 'waiting' || status === 'running') return 'wait'
    if (status === 'completed') completed++
    if (status === 'skipped') skipped++
  }
  if (skipped > 0 && skipped === node.depends_on.length) return 'skip'
  return completed >= node.depends_on.length - skipped - spareOf(node, skipped) ? 'start' : 'wait'
}

/** How many of the dependencies that were not skipped may fail. */
const spareOf = ({ depends_on, quorum }: ExecutionNode, skipped: number): number =>
  quorum === undefined ? 0 : Math.max(0, depends_on.length - skipped - quorum)

/**
 * For each node that can never run, the failed or cancelled node that is the cause: the first one in declared
 * order after which the node cannot run.
 */
function blockCauses(
  graph: ExecutionGraph,
  statusOf: (id: string) => NodeStatus,
): ReadonlyMap<string, string> {
  const lost = graph.nodes.some(
    ({ node_id }) => statusOf(node_id) === 'failed' || statusOf(node_id) === 'cancelled',
  )
  if (!lost) return new Map()
  const dependents = new Map<string, ExecutionNode[]>()
  for (const node of graph.nodes) {
    for (const id of node.depends_on) {
      const known = dependents.get(id)
      if (known === undefined) dependents.set(id, [node])
      else known.push(node)
    }
  }
  const causes = new Map<string, string>()
  const spare = new Map<string, number>()
  for (const node of graph.nodes) {
    const status = statusOf(node.node_id)
    if (status !== 'failed' && status !== 'cancelled') continue
    const reached = [...(dependents.get(node.node_id) ?? [])]
    for (let next = reached.pop(); next !== undefined; next = reached.pop()) {
      // A node that has ended is not blocked and passes nothing on, so each lost dependency counts once.
      if (causes.has(next.node_id) || !isOpen(statusOf(next.node_id))) continue
      if (next.quorum !== undefined) {
        const skipped = (): number => next.depends_on.filter((id) => statusOf(id) === 'skipped').length
        const left = (spare.get(next.node_id) ?? spareOf(next, skipped())) - 1
        spare.set(next.node_id, left)
        if (left >= 0) continue
      }
      causes.set(next.node_id, node.node_id)
      reached.push(...(dependents.get(next.node_id) ?? []))
    }
  }
  return causes
}

const isOpen = (status: NodeStatus): boolean => status === 'waiting' || status === 'blocked'

/** The outcome of a team. */
export type TeamOutcome = 'complete' | 'incomplete' | 'cancelled'

/**
 * The outcome of a team whose nodes have all ended (D-35). `cancelled` means that the team had to stop and is
 * incomplete.
 */
export function teamOutcome(graph: ExecutionGraph, nodes: NodeStates, stopped: boolean): TeamOutcome {
  const complete = graph.nodes.every((node) => {
    const status = nodes.get(node.node_id)?.status
    return status === 'completed' || status === 'skipped'
  })
  if (complete) return 'complete'
  return stopped ? 'cancelled' : 'incomplete'
}
