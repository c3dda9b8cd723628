// The rules of a team: its nodes begin in the order of the graph, each node ends once, and the team ends
// once. Graphs may grow. A request to cancel a node or a change of the shared state may follow the end of the
// team, because it may be under way then.
import type { CheckedEvent, GraphNode } from './event.ts'
import type { Report } from './rules.ts'
import { newNode, type Node, type Team, type Trail } from './trail.ts'

const nodeEnds: ReadonlyMap<string, Node['status']> = new Map([
  ['node_computed', 'completed'],
  ['node_completed', 'completed'],
  ['node_failed', 'failed'],
  ['node_blocked', 'blocked'],
  ['node_skipped', 'skipped'],
  ['node_cancelled', 'cancelled'],
])

export function judgeTeam(trail: Trail, event: CheckedEvent, report: Report): void {
  if (event.type === 'task_team_run_started') return startTeam(trail, event.data, report)
  if (!('team_run_id' in event.data) || event.data.team_run_id === null || event.type === 'run_started')
    return
  const teamId = event.data.team_run_id
  const team = trail.teams.get(teamId)
  if (team === undefined)
    return report('team_unstarted', `${event.type} belongs to the team ${teamId}, which has not started`)
  const ends = event.type === 'task_team_run_completed' || event.type === 'task_team_run_failed'
  if (team.ended) {
    if (ends) report('team_end_once', `${event.type} ends the team ${teamId}, which had ended before`)
    else if (event.type !== 'node_cancel_requested' && event.type !== 'shared_state_changed')
      report('team_after_end', `${event.type} follows the end of the team ${teamId}`)
    return
  }
  if (ends) return endTeam(team, teamId, event.type === 'task_team_run_completed', report)
  if ('node_id' in event.data && event.data.node_id !== null)
    judgeNode({ trail, team, teamId }, event as NodeEvent, report)
}

type NodeEvent = Extract<CheckedEvent, { data: { team_run_id: string; node_id: string } }>

interface Place {
  readonly trail: Trail
  readonly team: Team
  readonly teamId: string
}

function startTeam(
  trail: Trail,
  data: Extract<CheckedEvent, { type: 'task_team_run_started' }>['data'],
  report: Report,
): void {
  const { team_run_id, run_id, call_id, graph } = data
  if (trail.teams.has(team_run_id)) return report('team_once', `the team ${team_run_id} starts a second time`)
  const call = `${run_id ?? ''} ${call_id ?? ''}`
  if (trail.teamCalls.has(call))
    report(
      'team_once',
      `the team ${team_run_id} is a second one for ${call_id === null ? 'the task' : `the call ${call_id}`}`,
    )
  trail.teamCalls.add(call)
  const team: Team = { ended: false, nodes: new Map() }
  trail.teams.set(team_run_id, team)
  addNodes(team, graph.nodes, report)
  for (const node of graph.nodes) knowAll(team, node.node_id, node.depends_on, report)
}

function addNodes(team: Team, nodes: readonly GraphNode[], report: Report): void {
  for (const node of nodes) {
    if (team.nodes.has(node.node_id)) report('graph_growth', `the graph has a second node ${node.node_id}`)
    else team.nodes.set(node.node_id, newNode(node))
  }
}

function knowAll(team: Team, nodeId: string, dependencies: readonly string[], report: Report): void {
  for (const id of dependencies)
    if (!team.nodes.has(id))
      report('graph_growth', `the node ${nodeId} depends on ${id}, which is no node of the graph`)
}

function judgeNode({ trail, team, teamId }: Place, event: NodeEvent, report: Report): void {
  const { node_id: nodeId } = event.data
  const node = team.nodes.get(nodeId)
  if (node === undefined)
    return report(
      'node_unknown',
      `${event.type} names the node ${nodeId}, which is no node of the team ${teamId}`,
    )
  const end = nodeEnds.get(event.type)
  if (end !== undefined) return endNode({ trail, team, teamId }, node, event, end, report)
  if (event.type === 'graph_extended') return growGraph(team, event.data, report)
  if (event.type !== 'node_started') return
  if (node.status !== 'waiting')
    return report('node_start_once', `the node ${nodeId} starts, and it is ${node.status}`)
  judgeNodeStart(team, nodeId, node, report)
  node.status = 'running'
  node.runId = event.data.run_id
  if (trail.nodeRuns.has(event.data.run_id))
    report('run_once', `the run ${event.data.run_id} is that of a second node, ${nodeId}`)
  trail.nodeRuns.set(event.data.run_id, `${teamId} ${nodeId}`)
}

function endNode(
  { trail, team }: Place,
  node: Node,
  event: NodeEvent,
  end: Node['status'],
  report: Report,
): void {
  const { node_id: nodeId } = event.data
  if (node.status !== 'waiting' && node.status !== 'running') {
    return report(
      'node_end_once',
      `${event.type} ends the node ${nodeId}, which had ${node.status === 'blocked' ? 'been blocked' : `ended (${node.status})`} before`,
    )
  }
  if (event.type === 'node_computed') judgeNodeStart(team, nodeId, node, report)
  if (event.type === 'node_blocked') {
    const cause = team.nodes.get(event.data.cause_node_id)?.status
    if (cause !== 'failed' && cause !== 'cancelled' && cause !== 'blocked')
      report(
        'node_order',
        `the node ${nodeId} was blocked by ${event.data.cause_node_id}, which had not failed`,
      )
  }
  if (event.type === 'node_completed') {
    const run = trail.runs.get(event.data.run_id)
    if (node.runId !== event.data.run_id || run?.status !== 'completed')
      report(
        'node_run',
        `the node ${nodeId} completed, and its run ${event.data.run_id} ${run === undefined ? 'never started' : `is ${run.status}`}`,
      )
  }
  node.status = end
}

function growGraph(
  team: Team,
  data: Extract<CheckedEvent, { type: 'graph_extended' }>['data'],
  report: Report,
): void {
  addNodes(team, data.nodes, report)
  for (const node of data.nodes) knowAll(team, node.node_id, node.depends_on, report)
  for (const [from, to] of data.edges) {
    const node = team.nodes.get(to)
    if (node === undefined || !team.nodes.has(from))
      report('graph_growth', `an edge from ${from} to ${to} has an end that is no node of the graph`)
    else if (node.status !== 'waiting')
      report('graph_growth', `an edge was led to the node ${to}, which is ${node.status}`)
    else node.dependsOn.add(from)
  }
}

function endTeam(team: Team, teamId: string, complete: boolean, report: Report): void {
  for (const [nodeId, { status }] of team.nodes) {
    if (status === 'waiting' || status === 'running')
      report('team_open', `the team ${teamId} ended, and its node ${nodeId} is ${status}`)
    else if (complete && status !== 'completed' && status !== 'skipped')
      report('team_open', `the team ${teamId} is complete, and its node ${nodeId} is ${status}`)
  }
  team.ended = true
  team.nodes.clear()
}

// When a node may begin: after all its dependencies have completed or, with a quorum, after all have ended
// and enough completed. Skipped dependencies do not count. A node whose dependencies were all skipped is
// skipped too.

function judgeNodeStart(team: Team, nodeId: string, node: Node, report: Report): void {
  const dependencies = [...node.dependsOn].map((id) => ({
    id,
    status: team.nodes.get(id)?.status ?? 'waiting',
  }))
  const open = dependencies.find(({ status }) => status === 'waiting' || status === 'running')
  if (open !== undefined)
    return report(
      'node_order',
      `the node ${nodeId} began, and ${open.id}, which it depends on, is ${open.status}`,
    )
  const counted = dependencies.filter(({ status }) => status !== 'skipped')
  if (dependencies.length > 0 && counted.length === 0)
    return report('node_order', `the node ${nodeId} began, and all it depends on were skipped`)
  const needed = node.quorum === undefined ? counted.length : Math.min(node.quorum, counted.length)
  const completed = counted.filter(({ status }) => status === 'completed').length
  if (completed < needed)
    report(
      'node_order',
      `the node ${nodeId} began with ${completed} of ${needed} nodes it depends on completed`,
    )
}
