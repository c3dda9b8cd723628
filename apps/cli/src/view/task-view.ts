// What a person sees of a task while it runs: a tree of agents and of the other nodes of their teams, folded from its events.
// V1. The same events give the same view, whoever folds them; nothing else goes in. V2. Like core's folds, `evolveView`
//     consumes its argument. V3. A node's own end wins over its run's: a completed run can still fail the gate.
import { type DataOf, type DomainEvent, type ExecutionNode, isTerminalTaskEvent, type RecordedEvent, type TaskResult, type TaskStatus } from '@beaver/core'

export type AgentState = 'waiting' | 'assembling' | 'thinking' | 'acting' | 'finalizing' | 'completed' | 'skipped' | 'failed' | 'blocked' | 'cancelled'

/** An agent, or a node of a team that is a tool's call or is computed. */
export interface AgentView {
  readonly name: string
  readonly isNode: boolean
  readonly kind: ExecutionNode['kind']
  readonly dependsOn: string[]
  /** How many of `dependsOn` have to complete; `null`: all. */
  readonly quorum: number | null
  readonly teams: TeamView[]
  /** Tools at work: call id → name. */
  readonly tools: Map<string, string>
  state: AgentState
  toolCalls: number
  toolCallsFailed: number
  tokens: number
  restarts: number
  /** Milliseconds since the epoch. */
  startedAt: number | null
  endedAt: number | null
  evidence: { readonly passed: number; readonly failed: number; readonly notChecked: number } | null
  /** Why it failed or waits: a failure, a cause, a try that is made again. */
  note: string | null
}

export interface TeamView {
  readonly workflow: string
  readonly nodes: AgentView[]
  /** How many nodes it had when it started; it may have grown. */
  readonly nodesAtStart: number
  /** What was noted about it: how often. */
  notes: number
  outcome: 'complete' | 'incomplete' | 'cancelled' | null
}

export interface TaskView {
  taskId: string | null
  sessionId: string | null
  text: string
  /** The task is this workflow, and there is no root agent. */
  workflow: string | null
  status: TaskStatus
  model: { readonly provider: string; readonly name: string } | null
  submittedAt: number | null
  lastAt: number | null
  endedAt: number | null
  claims: number
  cancelling: boolean
  root: AgentView | null
  /** The teams no agent called for. */
  readonly ownTeams: TeamView[]
  result: TaskResult | null
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
    cancelling: false,
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

/** Brings `view` up to date with one more event. */
export function evolveView(view: TaskView, event: RecordedEvent): void {
  const at = Date.parse(event.time)
  view.lastAt = at
  if (isTerminalTaskEvent(event.type)) {
    view.status = event.type.slice('task_'.length) as TaskStatus
    view.result = event.data as TaskResult
    view.endedAt = at
    return
  }
  switch (event.type) {
    case 'task_submitted':
      view.taskId = event.data.task_id
      view.sessionId = event.data.session_id
      view.text = event.data.request.text
      view.workflow = event.data.request.workflow?.name ?? null
      view.submittedAt = at
      return
    case 'task_claimed':
      view.status = 'running'
      view.claims++
      return
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
      node.state = 'assembling'
      node.startedAt = at
      return
    }
    case 'graph_extended':
      return graphExtended(view, event.data)
    case 'team_diagnostic_recorded': {
      const team = view.teams.get(event.data.team_run_id)
      if (team !== undefined) team.notes++
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
      if (event.type === 'assistant_message_added') view.model = { provider: event.data.provider_name, name: event.data.model }
      const agent = event.runId === undefined ? undefined : view.byRun.get(event.runId)
      if (agent !== undefined) evolveAgent(agent, event, at)
    }
  }
}

const nodeKey = (of: { team_run_id: string; node_id: string }): string => `${of.team_run_id}\u0000${of.node_id}`

function newAgent(name: string, node?: ExecutionNode): AgentView {
  return {
    name,
    isNode: node !== undefined,
    kind: node?.kind ?? 'agent',
    dependsOn: [...(node?.depends_on ?? [])],
    quorum: node?.quorum ?? null,
    teams: [],
    tools: new Map(),
    state: 'waiting',
    toolCalls: 0,
    toolCallsFailed: 0,
    tokens: 0,
    restarts: 0,
    startedAt: null,
    endedAt: null,
    evidence: null,
    note: null,
  }
}

function runStarted(view: TaskView, start: DataOf<'run_started'>, at: number): void {
  let agent = view.byRun.get(start.run_id)
  if (agent === undefined) {
    agent = newAgent(start.agent_name)
    view.byRun.set(start.run_id, agent)
    if (start.team_run_id === null) view.root = agent
  }
  agent.state = 'assembling'
  agent.startedAt ??= at
}

function teamStarted(view: TaskView, start: DataOf<'task_team_run_started'>): void {
  const { workflow, nodes } = start.graph
  const team: TeamView = { workflow, nodes: [], nodesAtStart: nodes.length, notes: 0, outcome: null }
  addNodes(view, team, start.team_run_id, nodes)
  view.teams.set(start.team_run_id, team)
  const parent = start.run_id === null ? null : (view.byRun.get(start.run_id) ?? view.root)
  ;(parent?.teams ?? view.ownTeams).push(team)
}

function graphExtended(view: TaskView, { team_run_id, nodes, edges }: DataOf<'graph_extended'>): void {
  const team = view.teams.get(team_run_id)
  if (team === undefined) return
  addNodes(view, team, team_run_id, nodes)
  for (const [from, to] of edges) {
    const node = view.byNode.get(nodeKey({ team_run_id, node_id: to }))
    if (node !== undefined && !node.dependsOn.includes(from)) node.dependsOn.push(from)
  }
}

function addNodes(view: TaskView, team: TeamView, team_run_id: string, nodes: readonly ExecutionNode[]): void {
  for (const each of nodes) {
    const node = newAgent(each.node_id, each)
    team.nodes.push(node)
    view.byNode.set(nodeKey({ team_run_id, node_id: node.name }), node)
  }
}

type NodeEvent = Extract<
  DomainEvent,
  {
    type:
      | 'node_evidence_evaluated'
      | 'node_computed'
      | 'node_completed'
      | 'node_skipped'
      | 'node_failed'
      | 'node_blocked'
      | 'node_cancel_requested'
      | 'node_cancelled'
  }
>

function evolveNode(node: AgentView, event: NodeEvent, at: number): void {
  if (event.type === 'node_evidence_evaluated') {
    const of = (status: string): number => event.data.checks.filter((check) => check.status === status).length
    node.evidence = { passed: of('passed'), failed: of('failed'), notChecked: of('not_checked') }
    return
  }
  if (event.type === 'node_cancel_requested') {
    node.note = `to be cancelled: ${event.data.reason}`
    return
  }
  node.state = event.type === 'node_computed' ? 'completed' : (event.type.slice('node_'.length) as AgentState)
  node.tools.clear()
  if (node.startedAt !== null) node.endedAt = at
  if (event.type === 'node_failed') node.note = event.data.failure.message
  else if (event.type === 'node_blocked') node.note = `by ${event.data.cause_node_id}`
  else if (event.type === 'node_cancelled' || event.type === 'node_skipped') node.note = event.data.reason
  else if (event.type === 'node_computed') node.note = `computed ${event.data.output.slice(0, 200)}`
  else node.note = null
}

function evolveAgent(agent: AgentView, event: DomainEvent, at: number): void {
  switch (event.type) {
    case 'user_message_added':
      agent.state = 'thinking'
      return
    case 'provider_call_failed':
      agent.note = `${event.data.failure.message}${event.data.retry_in_ms === null ? '' : ` (try ${event.data.tries + 1} follows)`}`
      return
    case 'assistant_message_added':
      agent.state = event.data.tool_calls.length > 0 ? 'acting' : 'finalizing'
      agent.toolCalls += event.data.tool_calls.length
      agent.tokens += event.data.usage.input_tokens + event.data.usage.output_tokens
      agent.note = null
      agent.tools.clear()
      for (const call of event.data.tool_calls) agent.tools.set(call.id, call.name)
      return
    case 'tool_call_requested':
      agent.state = 'acting'
      agent.toolCalls++
      agent.tools.set(event.data.call.id, event.data.call.name)
      return
    case 'tool_result_recorded':
      agent.tools.delete(event.data.call_id)
      if (!event.data.success) agent.toolCallsFailed++
      if (agent.tools.size === 0) agent.state = agent.kind === 'tool' ? 'finalizing' : 'thinking'
      return
    case 'run_restarted':
      agent.restarts = event.data.restarts
      agent.note = `started again: ${event.data.failure.message}`
      return
    case 'run_completed':
      agent.state = agent.isNode ? 'finalizing' : 'completed' // a node's end is the gate's to say
      agent.endedAt = at
      return
    case 'run_failed':
      agent.state = 'failed'
      agent.note = event.data.failure.message
      agent.endedAt = at
      return
    case 'run_cancelled':
      agent.state = 'cancelled'
      agent.note = event.data.reason
      agent.endedAt = at
      return
    default:
  }
}

/** Every agent and node of a task: the root, then its teams' in declared order. */
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

/** The agents that did something, and what all used together. */
export function totalsOf(view: TaskView): { agents: number; toolCalls: number; tokens: number } {
  const begun = agentsOf(view).filter((agent) => agent.startedAt !== null)
  const sum = (of: (agent: AgentView) => number): number => begun.reduce((total, agent) => total + of(agent), 0)
  return { agents: begun.filter((agent) => agent.kind === 'agent').length, toolCalls: sum((agent) => agent.toolCalls), tokens: sum((agent) => agent.tokens) }
}

/** From the submission to the end, or to `now`. */
export function elapsedMs(view: TaskView, now: number): number {
  return view.submittedAt === null ? 0 : Math.max(0, (view.endedAt ?? now) - view.submittedAt)
}
