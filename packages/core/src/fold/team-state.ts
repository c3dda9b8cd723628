// The state of one team run, folded from its events. Like the task's it is owned by whoever folds (event-place.ts).
import type { DataOf, DomainEvent } from '../events/catalog.ts'
import type { Failure } from '../failure/failure-class.ts'
import type { ExecutionGraph } from '../graph/execution-graph.ts'
import type { EventPlace } from './event-place.ts'
import { type NodeState, waitingNode } from '../graph/schedule.ts'
import { grow } from '../graph/team-program.ts'
import type { JsonObject } from '../json.ts'
import { changeSharedState } from '../team/shared-state.ts'

export interface TeamNodeState extends NodeState {
  /** When its run began, by the task's clock; `null` before. */
  readonly startedAtMs: number | null
  /** What the program gave it. */
  readonly input: JsonObject | null
  /** A code node's output. A run's is the run's. */
  readonly output: string | null
  readonly failure: Failure | null
  readonly causeNodeId: string | null
  /** Why it is to stop, once that was asked for. */
  readonly cancelReason: string | null
}

export interface TeamState {
  readonly start: DataOf<'task_team_run_started'>
  readonly startedAtMs: number
  /** As it stands now: it may have grown since the start. */
  graph: ExecutionGraph
  readonly nodes: Map<string, TeamNodeState>
  sharedState: JsonObject
  outcome: 'complete' | 'incomplete' | 'cancelled' | null
  /** Why it is not complete. */
  message: string | null
}

const newNode: TeamNodeState = { ...waitingNode, startedAtMs: null, input: null, output: null, failure: null, causeNodeId: null, cancelReason: null }

/** @param atMs when the team started, by the task's clock */
export function startTeam(start: DataOf<'task_team_run_started'>, atMs: number): TeamState {
  const nodes = start.graph.nodes.map((node): [string, TeamNodeState] => [node.node_id, newNode])
  return { start, startedAtMs: atMs, graph: start.graph, nodes: new Map(nodes), sharedState: start.graph.shared_state ?? {}, outcome: null, message: null }
}

/** The state after an event of this team. It consumes `team`. Events that do not concern it change nothing. */
export function evolveTeam(team: TeamState, event: DomainEvent, { clockMs }: Pick<EventPlace, 'clockMs'>): TeamState {
  switch (event.type) {
    case 'node_started':
      return setNode(team, event.data.node_id, { status: 'running', runId: event.data.run_id, input: event.data.input, startedAtMs: clockMs })
    case 'node_computed':
      return setNode(team, event.data.node_id, { status: 'completed', output: event.data.output })
    case 'node_completed':
      return setNode(team, event.data.node_id, { status: 'completed' })
    case 'node_skipped':
      return setNode(team, event.data.node_id, { status: 'skipped' })
    case 'node_failed':
      return setNode(team, event.data.node_id, { status: 'failed', failure: event.data.failure })
    case 'node_blocked':
      return setNode(team, event.data.node_id, { status: 'blocked', causeNodeId: event.data.cause_node_id })
    case 'node_cancel_requested':
      return setNode(team, event.data.node_id, { cancelReason: event.data.reason })
    case 'node_cancelled':
      return setNode(team, event.data.node_id, { status: 'cancelled' })
    case 'graph_extended':
      team.graph = grow(team.graph, event.data)
      for (const node of event.data.nodes) team.nodes.set(node.node_id, newNode)
      return team
    case 'shared_state_changed': {
      const changed = changeSharedState(team.sharedState, event.data.change)
      if (changed.ok) team.sharedState = changed.state
      return team
    }
    case 'task_team_run_completed':
      team.outcome = event.data.outcome
      return team
    case 'task_team_run_failed':
      team.outcome = event.data.outcome
      team.message = event.data.message
      return team
    default:
      return team
  }
}

function setNode(team: TeamState, nodeId: string, change: Partial<TeamNodeState>): TeamState {
  const node = team.nodes.get(nodeId)
  if (node !== undefined) team.nodes.set(nodeId, { ...node, ...change })
  return team
}
