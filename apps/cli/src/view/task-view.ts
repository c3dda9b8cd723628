// The view of a task while it runs: a tree of agents and of the other nodes of their teams, folded from its
// events. The view depends only on the events: the same events give the same view. Like core's folds,
// `evolveView` consumes its argument. The end of a node wins over the end of its run: a completed run can
// still fail the gate.
import type { AskedQuestionView } from './render-question.ts'
import {
  type DataOf,
  type ExecutionNode,
  isTerminalTaskEvent,
  type RecordedEvent,
  type FailedResult,
  type TaskStatus,
} from '@beaver/core'
import {
  type AgentView,
  type AskedCall,
  evolveAgent,
  evolveNode,
  newAgent,
  type TeamView,
} from './agent-view.ts'
import { growthOrder } from './growth-order.ts'

export interface TaskView {
  taskId: string | null
  sessionId: string | null
  text: string
  /** The workflow that the task is, without a root agent. */
  workflow: string | null
  status: TaskStatus
  model: { readonly provider: string; readonly name: string } | null
  submittedAt: number | null
  lastAt: number | null
  endedAt: number | null
  claims: number
  /** The daemon that claimed the task last, and whether another one had it before. */
  daemon: string | null
  takenOver: boolean
  cancelling: boolean
  /** Whether calls that need an approval are refused, so that nobody is asked. */
  refuses: boolean
  root: AgentView | null
  /** The teams that no agent called. */
  readonly ownTeams: TeamView[]
  result: FailedResult | null
  readonly byRun: Map<string, AgentView>
  readonly byNode: Map<string, AgentView>
  readonly teams: Map<string, TeamView>
}

export function newView(): TaskView {
  return {
    taskId: null,
    sessionId: null,
    text: '',
    workflow: null,
    status: 'submitted',
    model: null,
    submittedAt: null,
    lastAt: null,
    endedAt: null,
    claims: 0,
    daemon: null,
    takenOver: false,
    cancelling: false,
    refuses: false,
    root: null,
    ownTeams: [],
    result: null,
    byRun: new Map(),
    byNode: new Map(),
    teams: new Map(),
  }
}

export function foldView(events: Iterable<RecordedEvent>): TaskView {
  const view = newView()
  for (const event of events) evolveView(view, event)
  return view
}

/** Updates `view` with one more event. */
export function evolveView(view: TaskView, event: RecordedEvent): void {
  const at = Date.parse(event.time)
  view.lastAt = at
  if (isTerminalTaskEvent(event.type)) {
    view.status = event.type.slice('task_'.length) as TaskStatus
    view.result = event.data as FailedResult
    view.endedAt = at
    return
  }
  switch (event.type) {
    case 'task_submitted':
      view.taskId = event.data.task_id
      view.sessionId = event.data.session_id
      view.text = event.data.request.text
      view.workflow = event.data.request.workflow?.name ?? null
      view.refuses = event.data.request.approvals === 'refuse'
      view.submittedAt = at
      return
    case 'task_claimed':
      return claimed(view, event.data)
    case 'task_cancel_requested':
      view.cancelling = true
      return
    case 'run_started':
      return runStarted(view, event.data, at)
    case 'task_team_run_started':
      return teamStarted(view, event.data)
    case 'task_team_run_completed':
    case 'task_team_run_failed': {
      const team = view.teams.get(event.data.team_run_id)
      if (team !== undefined) team.outcome = event.data.outcome
      return
    }
    case 'node_started': {
      const node = view.byNode.get(nodeKey(event.data))
      if (node === undefined) return
      view.byRun.set(event.data.run_id, node)
      node.runId = event.data.run_id
      node.state = 'assembling'
      node.startedAt = at
      return
    }
    case 'graph_extended':
      return graphExtended(view, event.data)
    case 'team_diagnostic_recorded': {
      const team = view.teams.get(event.data.team_run_id)
      team?.notes.push({ kind: 'note', text: `${event.data.node_id}: ${event.data.message}` })
      return
    }
    case 'node_evidence_evaluated':
    case 'node_computed':
    case 'node_completed':
    case 'node_skipped':
    case 'node_failed':
    case 'node_blocked':
    case 'node_cancel_requested':
    case 'node_cancelled': {
      const node = view.byNode.get(nodeKey(event.data))
      if (node !== undefined) evolveNode(node, event, at)
      return
    }
    default: {
      if (event.type === 'assistant_message_added')
        view.model = { provider: event.data.provider_name, name: event.data.model }
      const agent = event.runId === undefined ? undefined : view.byRun.get(event.runId)
      if (agent !== undefined) evolveAgent(agent, event, at)
    }
  }
}

function claimed(view: TaskView, { daemon }: DataOf<'task_claimed'>): void {
  view.status = 'running'
  view.claims++
  view.takenOver = view.daemon !== null && view.daemon !== daemon
  view.daemon = daemon
}

const nodeKey = (of: { team_run_id: string; node_id: string }): string =>
  `${of.team_run_id}\u0000${of.node_id}`

function runStarted(view: TaskView, start: DataOf<'run_started'>, at: number): void {
  let agent = view.byRun.get(start.run_id)
  if (agent === undefined) {
    agent = newAgent(start.agent_name)
    view.byRun.set(start.run_id, agent)
    if (start.team_run_id === null) view.root = agent
  }
  agent.runId = start.run_id
  agent.state = 'assembling'
  agent.startedAt ??= at
}

function teamStarted(view: TaskView, start: DataOf<'task_team_run_started'>): void {
  const { workflow, nodes } = start.graph
  const team: TeamView = {
    workflow,
    nodes: [],
    nodeCount: 0,
    nodesAtStart: nodes.length,
    notes: [],
    outcome: null,
  }
  addNodes(view, team, start.team_run_id, nodes, null)
  view.teams.set(start.team_run_id, team)
  const parent = start.run_id === null ? null : (view.byRun.get(start.run_id) ?? view.root)
  ;(parent?.teams ?? view.ownTeams).push(team)
}

function graphExtended(
  view: TaskView,
  { team_run_id, node_id, nodes, edges }: DataOf<'graph_extended'>,
): void {
  const team = view.teams.get(team_run_id)
  if (team === undefined) return
  addNodes(view, team, team_run_id, nodes, node_id)
  team.nodes = growthOrder(team.nodes, { id: (node) => node.name, addedAfter: (node) => node.addedAfter })
  for (const [from, to] of edges) {
    const node = view.byNode.get(nodeKey({ team_run_id, node_id: to }))
    if (node !== undefined && !node.dependsOn.includes(from)) node.dependsOn.push(from)
  }
}

function addNodes(
  view: TaskView,
  team: TeamView,
  team_run_id: string,
  nodes: readonly ExecutionNode[],
  addedAfter: string | null,
): void {
  for (const each of nodes) {
    const node = newAgent(each.node_id, each, addedAfter)
    team.nodes.push(node)
    team.nodeCount++
    view.byNode.set(nodeKey({ team_run_id, node_id: node.name }), node)
  }
}

/** The calls that a person is asked about now. */
export function askedCalls(view: TaskView): AskedCall[] {
  return view.result === null && !view.refuses
    ? agentsOf(view).flatMap((agent) => [...agent.asks.values()])
    : []
}

/** What calls ask a person now. */
export function askedQuestions(view: TaskView): AskedQuestionView[] {
  return view.result === null && !view.refuses
    ? agentsOf(view).flatMap((agent) => [...agent.questions.values()])
    : []
}

/** Every agent and node of a task: the root, then those of its teams in declared order. */
export function agentsOf(view: TaskView): AgentView[] {
  const all: AgentView[] = []
  const visit = (agent: AgentView): void => {
    all.push(agent)
    for (const team of agent.teams) team.nodes.forEach(visit)
  }
  if (view.root !== null) visit(view.root)
  for (const team of view.ownTeams) team.nodes.forEach(visit)
  return all
}

/** The number of agents that did something, and what all of them used together. */
export function totalsOf(view: TaskView): { agents: number; toolCalls: number; tokens: number } {
  const begun = agentsOf(view).filter((agent) => agent.startedAt !== null)
  const sum = (of: (agent: AgentView) => number): number =>
    begun.reduce((total, agent) => total + of(agent), 0)
  return {
    agents: begun.filter((agent) => agent.kind === 'agent').length,
    toolCalls: sum((agent) => agent.toolCalls),
    tokens: sum((agent) => agent.tokens),
  }
}

/** The time from the submission to the end, or to `now`. */
export function elapsedMs(view: TaskView, now: number): number {
  return view.submittedAt === null ? 0 : Math.max(0, (view.endedAt ?? now) - view.submittedAt)
}
