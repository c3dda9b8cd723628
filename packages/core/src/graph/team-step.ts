// One step of a team: the events that follow from the runs that ended. The TeamSupervisor appends them and acts on them.
// E1. Pure: the same team and the same ends give the same events, but for the run ids it is handed.
// E2. A node completes only through the evidence gate. E3. Outcomes come before the starts they make possible.
// E4. The step that ends the last node also ends the team.
import { type DomainEvent, event } from '../events/catalog.ts'
import { evaluateEvidence, type RunFacts } from '../evidence/evaluate.ts'
import type { Failure } from '../failure/failure-class.ts'
import type { TeamNodeState, TeamState } from '../fold/team-state.ts'
import { decideTeam, type NodeState, teamOutcome } from './schedule.ts'

/** How the run of a node ended. */
export interface NodeEnd {
  readonly nodeId: string
  readonly runId: string
  readonly status: 'completed' | 'failed' | 'cancelled'
  readonly facts: RunFacts
  readonly failure: Failure | null
}

/** @param options `cancelReason`: the team is to stop: nothing starts, and what waits is cancelled. */
export function stepTeam(team: TeamState, ended: readonly NodeEnd[], options: { newRunId: () => string; cancelReason: string | null }): DomainEvent[] {
  const { graph, team_run_id } = team.start
  const events: DomainEvent[] = []
  const nodes = new Map<string, NodeState>(team.nodes)
  const settle = (nodeId: string, change: Partial<TeamNodeState>): void => void nodes.set(nodeId, { ...(nodes.get(nodeId) as NodeState), ...change })

  for (const end of ended.toSorted((a, b) => indexOf(graph.nodes, a.nodeId) - indexOf(graph.nodes, b.nodeId))) {
    const of = { team_run_id, node_id: end.nodeId }
    const status = endOfNode(team, end, events, of)
    settle(end.nodeId, { status })
  }
  if (options.cancelReason !== null) {
    for (const node of graph.nodes) {
      if (nodes.get(node.node_id)?.status !== 'waiting') continue
      events.push(event('node_cancelled', { team_run_id, node_id: node.node_id, reason: options.cancelReason }))
      settle(node.node_id, { status: 'cancelled' })
    }
  }
  const decision = decideTeam(graph, nodes, { concurrentNodesMax: team.start.concurrent_nodes_max })
  for (const { node, causeNodeId } of decision.block) {
    events.push(event('node_blocked', { team_run_id, node_id: node.node_id, cause_node_id: causeNodeId }))
    settle(node.node_id, { status: 'blocked' })
  }
  for (const node of decision.start) {
    events.push(event('node_started', { team_run_id, node_id: node.node_id, run_id: options.newRunId() as never }))
  }
  if (decision.done) {
    const outcome = teamOutcome(graph, nodes)
    events.push(
      outcome === 'complete'
        ? event('task_team_run_completed', { team_run_id, outcome })
        : event('task_team_run_failed', { team_run_id, outcome, message: summary(team, nodes) }),
    )
  }
  return events
}

function endOfNode(
  team: TeamState,
  end: NodeEnd,
  events: DomainEvent[],
  of: { team_run_id: TeamState['start']['team_run_id']; node_id: string },
): 'completed' | 'failed' | 'cancelled' {
  const run_id = end.runId as never
  if (end.status === 'cancelled') {
    events.push(event('node_cancelled', { ...of, reason: end.failure?.message ?? 'cancelled' }))
    return 'cancelled'
  }
  if (end.status === 'failed') {
    events.push(event('node_failed', { ...of, run_id, failure: end.failure ?? { class: 'internal', message: 'The run failed without a reason.' } }))
    return 'failed'
  }
  const required = team.start.graph.nodes.find((node) => node.node_id === end.nodeId)?.required_evidence ?? []
  const { passed, checks } = evaluateEvidence(required, end.facts)
  if (required.length > 0) events.push(event('node_evidence_evaluated', { ...of, run_id, passed, checks }))
  if (passed) {
    events.push(event('node_completed', { ...of, run_id }))
    return 'completed'
  }
  const missing = checks.filter((each) => each.status === 'failed').map((each) => each.detail)
  events.push(event('node_failed', { ...of, run_id, failure: { class: 'evidence_missing', message: missing.join(' ') } }))
  return 'failed'
}

function indexOf(nodes: readonly { node_id: string }[], id: string): number {
  return nodes.findIndex((node) => node.node_id === id)
}

/** "1 of 3 nodes completed; failed: b; blocked: c". */
function summary(team: TeamState, nodes: ReadonlyMap<string, NodeState>): string {
  const all = team.start.graph.nodes
  const named = (status: string): string[] => all.filter((node) => nodes.get(node.node_id)?.status === status).map((node) => node.node_id)
  const parts = ['failed', 'blocked', 'cancelled'].filter((status) => named(status).length > 0).map((status) => `${status}: ${named(status).join(', ')}`)
  return [`${named('completed').length} of ${all.length} nodes completed`, ...parts].join('; ')
}

/** What a team hands back, in declared order (D-31). */
export function teamOutput(team: TeamState, outputs: ReadonlyMap<string, string>): { final_output: string; outputs: { node_id: string; output: string }[] } {
  const { graph } = team.start
  const kept = graph.outputs.filter((id) => outputs.has(id)).map((id) => ({ node_id: id, output: outputs.get(id) ?? '' }))
  if (graph.output !== null) return { final_output: outputs.get(graph.output) ?? '', outputs: kept }
  const only = graph.outputs.length === 1 ? kept[0] : undefined
  return { final_output: only?.output ?? kept.map(({ node_id, output }) => `## ${node_id}\n\n${output}`).join('\n\n'), outputs: kept }
}
