// The state of one team run, folded from its events. The fold changes the state that it gets
// (event-place.ts).
import type { DataOf, DomainEvent } from '../events/catalog.ts'
import type { Failure } from '../failure/failure-class.ts'
import type { ExecutionGraph } from '../graph/execution-graph.ts'
import type { EventPlace } from './event-place.ts'
import { type NodeState, waitingNode } from '../graph/schedule.ts'
import { grow } from '../graph/team-program.ts'
import type { JsonObject } from '../json.ts'
import { cleanTaint, joinTaints, type Taint } from '../taint/taint.ts'
import { changeSharedState } from '../team/shared-state.ts'

/** The state of one node of a team. */
export interface TeamNodeState extends NodeState {
  /** When the run of the node began, by the task's clock; `null` before. */
  readonly startedAtMs: number | null
  /** The input that the program gave the node. */
  readonly input: JsonObject | null
  /** The output of a code node. The output of a run is in the state of the run. */
  readonly output: string | null
  readonly failure: Failure | null
  readonly causeNodeId: string | null
  /** Why the node must stop; `null` if nobody asked for it. */
  readonly cancelReason: string | null
}

/** A remark of a team, with the node that it is about. */
export type TeamDiagnostic = Omit<DataOf<'team_diagnostic_recorded'>, 'team_run_id'>

/** The state of a team run. */
export interface TeamState {
  readonly start: DataOf<'task_team_run_started'>
  readonly startedAtMs: number
  /** The current graph. It may have grown since the start. */
  graph: ExecutionGraph
  readonly nodes: Map<string, TeamNodeState>
  sharedState: JsonObject
  /** The labels of everything that was put into the shared state. */
  sharedTaint: Taint
  /** What deviated from the plan and failed nothing, such as a fallback. */
  readonly diagnostics: TeamDiagnostic[]
  outcome: 'complete' | 'incomplete' | 'cancelled' | null
  /** Why the team is not complete. */
  message: string | null
}

const newNode: TeamNodeState = {
  ...waitingNode,
  startedAtMs: null,
  input: null,
  output: null,
  failure: null,
  causeNodeId: null,
  cancelReason: null,
}

/**
 * The state of a team at its start.
 *
 * @param atMs when the team started, by the task's clock
 * @example
 * const begun = events.find((each) => each.type === 'task_team_run_started')
 * if (begun !== undefined) [...startTeam(begun.data, 0).nodes.keys()] // => ['researcher', 'writer']
 */
export function startTeam(start: DataOf<'task_team_run_started'>, atMs: number): TeamState {
  const nodes = start.graph.nodes.map((node): [string, TeamNodeState] => [node.node_id, newNode])
  return {
    start,
    startedAtMs: atMs,
    graph: start.graph,
    nodes: new Map(nodes),
    sharedState: start.graph.shared_state ?? {},
    sharedTaint: start.taint ?? cleanTaint,
    diagnostics: [],
    outcome: null,
    message: null,
  }
}

/**
 * The state after an event of this team. It changes and returns `team`. An event that does not concern the
 * team changes nothing.
 *
 * @example
 * const begun = events.find((each) => each.type === 'task_team_run_started')
 * if (begun === undefined) throw new Error('The task has no team.')
 * const team = startTeam(begun.data, 0)
 * for (const each of events) evolveTeam(team, each, { clockMs: 0 })
 * team.outcome // => 'complete'
 */
export function evolveTeam(
  team: TeamState,
  event: DomainEvent,
  { clockMs }: Pick<EventPlace, 'clockMs'>,
): TeamState {
  switch (event.type) {
    case 'node_started':
      return setNode(team, event.data.node_id, {
        status: 'running',
        runId: event.data.run_id,
        input: event.data.input,
        startedAtMs: clockMs,
      })
    case 'node_computed':
      return setNode(team, event.data.node_id, { status: 'completed', output: event.data.output })
    case 'node_completed':
      return setNode(team, event.data.node_id, { status: 'completed' })
    case 'node_skipped':
      // A node that runs is skipped if its program dismisses it. Its run must stop.
      if (team.nodes.get(event.data.node_id)?.status !== 'running')
        return setNode(team, event.data.node_id, { status: 'skipped' })
      return setNode(team, event.data.node_id, { status: 'skipped', cancelReason: event.data.reason })
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
      if (changed.ok && event.data.taint !== undefined)
        team.sharedTaint = joinTaints([team.sharedTaint, event.data.taint])
      return team
    }
    case 'team_diagnostic_recorded': {
      const { team_run_id: _, ...diagnostic } = event.data
      team.diagnostics.push(diagnostic)
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
