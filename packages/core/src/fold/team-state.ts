// The state of one team run, folded from its events. Like the task's, it is owned by whoever folds: `evolveTeam` consumes it.
import type { DataOf, DomainEvent } from '../events/catalog.ts'
import type { Failure } from '../failure/failure-class.ts'
import { type NodeState, waitingNode } from '../graph/schedule.ts'

export interface TeamNodeState extends NodeState {
  readonly failure: Failure | null
  readonly causeNodeId: string | null
}

export interface TeamState {
  readonly start: DataOf<'task_team_run_started'>
  readonly nodes: Map<string, TeamNodeState>
  outcome: 'complete' | 'incomplete' | 'cancelled' | null
  /** Why it is not complete. */
  message: string | null
}

export function startTeam(start: DataOf<'task_team_run_started'>): TeamState {
  const nodes = start.graph.nodes.map((node): [string, TeamNodeState] => [node.node_id, { ...waitingNode, failure: null, causeNodeId: null }])
  return { start, nodes: new Map(nodes), outcome: null, message: null }
}

/** Brings `team` up to date with one more of its events; others change nothing. */
export function evolveTeam(team: TeamState, event: DomainEvent): void {
  switch (event.type) {
    case 'node_started':
      return setNode(team, event.data.node_id, { status: 'running', runId: event.data.run_id })
    case 'node_completed':
      return setNode(team, event.data.node_id, { status: 'completed' })
    case 'node_failed':
      return setNode(team, event.data.node_id, { status: 'failed', failure: event.data.failure })
    case 'node_blocked':
      return setNode(team, event.data.node_id, { status: 'blocked', causeNodeId: event.data.cause_node_id })
    case 'node_cancelled':
      return setNode(team, event.data.node_id, { status: 'cancelled' })
    case 'task_team_run_completed':
      team.outcome = event.data.outcome
      return
    case 'task_team_run_failed':
      team.outcome = event.data.outcome
      team.message = event.data.message
      return
    default:
  }
}

function setNode(team: TeamState, nodeId: string, change: Partial<TeamNodeState>): void {
  const node = team.nodes.get(nodeId)
  if (node !== undefined) team.nodes.set(nodeId, { ...node, ...change })
}
