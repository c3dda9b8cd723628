// The one view of a task for those who follow it: what it asks people, what its root agent says, its teams
// and nodes, and how it ended. Every client translates this view, and none folds events of its own. A browser
// can run it, so nothing here needs Node.js. `evolveTaskView` consumes its argument.
import { noUsage } from '../usage.ts'
import type { Usage } from '../chat.ts'
import type { DataOf } from '../events/catalog.ts'
import { isTerminalTaskEvent, type TerminalTaskEvent } from '../events/event-kinds.ts'
import type { FailedResult, NodeOutput } from '../events/task-events.ts'
import type { Failure } from '../failure/failure-class.ts'
import type { ExecutionNode } from '../graph/execution-graph.ts'
import type { RecordedEvent } from '../journal/record.ts'
import type { JsonValue } from '../json.ts'
import type { LiveDelta } from '../ports/live-output.ts'
import { questionLines } from '../question/read-answer.ts'
import {
  type AgentView,
  evolveAgent,
  evolveNode,
  growthOrder,
  newAgent,
  type TeamProgress,
} from './agent-view.ts'
import { type Asking, evolveAsking, withoutRun } from './asked.ts'
import { type BudgetWaiting, evolveBudgetWaits } from './budget-waits.ts'
import {
  addPiece,
  endOutput,
  evolveOutput,
  newOutput,
  type OutputChange,
  type OutputOptions,
  type OutputView,
} from './output-view.ts'

/** What is known of a task from its events so far. */
export interface TaskView extends Asking, BudgetWaiting {
  /** The place of the newest event in the log, from 1. 0: there is none. */
  taskseq: number
  /** The time of the newest event (RFC 3339). */
  time: string
  /** `null`: there is no such task. */
  submitted: DataOf<'task_submitted'> | null
  /** Milliseconds since the epoch. */
  submittedAt: number | null
  /** The model that answered last. */
  model: { readonly provider: string; readonly name: string } | null
  /** How often a daemon claimed the task. 0: none has taken it. */
  claims: number
  /** The daemon that claimed the task last, and whether another one had it before. */
  daemon: string | null
  takenOver: boolean
  cancelling: boolean
  /** What holds up the whole task, which no person decides. `null`: nothing does. */
  held: string | null
  /** `null`: the task has not ended. */
  end: TaskViewEnd | null
  /** The root agent. `null`: it has not begun, or there is none. */
  root: AgentView | null
  /** The teams that no agent called. */
  readonly ownTeams: TeamProgress[]
  /** The agents and nodes with a run, by their runs. */
  readonly byRun: Map<string, AgentView>
  /** The nodes of all teams, in the order in which the graphs got them. */
  readonly nodes: Map<string, AgentView>
  /** By their team runs. */
  readonly teams: Map<string, TeamProgress>
  /** What the root agent says and does. */
  readonly output: OutputView
  /** In the order of the log. */
  readonly said: SaidText[]
}

/** How a task ended. */
export interface TaskViewEnd {
  readonly type: TerminalTaskEvent
  readonly result: FailedResult
  /** Milliseconds since the epoch. */
  readonly at: number
}

/**
 * What was said while the task ran: by a person who steered it or answered a question, by the root agent
 * before its answer, or by a call that asks.
 */
export interface SaidText {
  readonly by: 'user' | 'agent'
  readonly text: string
  /** The place in the log. */
  readonly taskseq: number
}

/**
 * The view of a task of which nothing is known.
 *
 * @param options how the output of the root agent is told. Default: as it is
 * @example
 * newTaskView().submitted // => null
 */
export function newTaskView(options: OutputOptions = {}): TaskView {
  return {
    taskseq: 0,
    time: '',
    submitted: null,
    submittedAt: null,
    model: null,
    claims: 0,
    daemon: null,
    takenOver: false,
    cancelling: false,
    held: null,
    end: null,
    root: null,
    ownTeams: [],
    byRun: new Map(),
    nodes: new Map(),
    teams: new Map(),
    askedCalls: [],
    openQuestions: [],
    clientCalls: [],
    settled: [],
    budgetWaits: [],
    copiedTo: 0,
    output: newOutput(options),
    said: [],
  }
}

/**
 * Updates the view with the next event of the task.
 *
 * @returns what the event changes in the output of the root agent
 * @example
 * const view = newTaskView()
 * for (const each of events) evolveTaskView(view, each)
 * view.end?.type // => 'task_completed'
 */
export function evolveTaskView(view: TaskView, event: RecordedEvent): OutputChange[] {
  view.taskseq = event.taskseq
  view.time = event.time
  const agent = event.runId === undefined ? undefined : view.byRun.get(event.runId)
  const callId = 'call_id' in event.data ? event.data.call_id : null
  const written = agent?.calls.find(({ id }) => id === callId)?.written ?? null
  evolveAsking(view, event, { agent: agent?.name ?? '', written })
  evolveBudgetWaits(view, event)
  evolveTask(view, event, agent)
  evolveSaid(view, event)
  const changes = evolveOutput(view.output, event)
  if (view.end !== null) changes.push(...endOutput(view.output, view.end.result.final_output))
  for (const change of changes)
    if (change.kind === 'ended' && change.item.kind === 'text' && change.item.final === false)
      view.said.push({ by: 'agent', text: change.item.text, taskseq: event.taskseq })
  return changes
}

/**
 * Updates the view with a piece of an answer that is under way. It may be lost or come late.
 *
 * @returns what it changes in the output of the root agent
 * @example
 * const view = newTaskView()
 * const piece = { run_id: 'r', agent_name: 'root', node_id: null, call: 1, offset: 0, text: 'Once' }
 * evolveTaskViewLive(view, piece) // => []
 */
export const evolveTaskViewLive = (view: TaskView, piece: LiveDelta): OutputChange[] =>
  addPiece(view.output, piece)

function evolveTask(view: TaskView, event: RecordedEvent, agent: AgentView | undefined): void {
  const at = Date.parse(event.time)
  if (isTerminalTaskEvent(event.type)) {
    view.end = { type: event.type, result: event.data as FailedResult, at }
    return
  }
  switch (event.type) {
    case 'task_submitted':
      view.submitted ??= event.data
      view.submittedAt ??= at
      return
    case 'task_claimed':
      view.held = null
      view.claims++
      view.takenOver = view.daemon !== null && view.daemon !== event.data.daemon
      view.daemon = event.data.daemon
      return
    case 'task_suspended':
      if (event.data.waits_for !== 'person') view.held = event.data.reason
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
      const node = nodeOf(view, event.data)
      if (node === undefined) return
      view.byRun.set(event.data.run_id, node)
      Object.assign(node, { runId: event.data.run_id, state: 'assembling', nodeEnded: false, startedAt: at })
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
      const node = nodeOf(view, event.data)
      if (node === undefined) return
      evolveNode(node, event, at)
      if (node.nodeEnded && node.runId !== null) nobodyAsked(view, node.runId)
      return
    }
    default:
      if (event.type === 'assistant_message_added')
        view.model = { provider: event.data.provider_name, name: event.data.model }
      if (agent !== undefined) evolveAgent(agent, event, at)
  }
}

/** The calls of the run need nobody any more. */
function nobodyAsked(view: TaskView, runId: string): void {
  view.askedCalls = withoutRun(view.askedCalls, runId)
  view.openQuestions = withoutRun(view.openQuestions, runId)
  view.clientCalls = withoutRun(view.clientCalls, runId)
  view.budgetWaits = view.budgetWaits.filter((each) => each.runId !== runId)
}

type OfNode = { readonly team_run_id: string; readonly node_id: string }

const nodeKey = ({ team_run_id, node_id }: OfNode): string => `${team_run_id}\u0000${node_id}`
const nodeOf = (view: TaskView, place: OfNode): AgentView | undefined => view.nodes.get(nodeKey(place))

function runStarted(view: TaskView, start: DataOf<'run_started'>, at: number): void {
  let agent = view.byRun.get(start.run_id)
  if (agent === undefined) {
    agent = newAgent(start.agent_name)
    view.byRun.set(start.run_id, agent)
    if (start.team_run_id === null) view.root ??= agent
  }
  agent.runId = start.run_id
  agent.agentName = start.agent_name
  agent.state = 'assembling'
  agent.startedAt ??= at
}

function teamStarted(view: TaskView, start: DataOf<'task_team_run_started'>): void {
  const { workflow, nodes } = start.graph
  const nodesAtStart = nodes.length
  const team: TeamProgress = { workflow, nodes: [], nodeCount: 0, nodesAtStart, notes: [], outcome: null }
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
    const node = nodeOf(view, { team_run_id, node_id: to })
    if (node !== undefined && !node.dependsOn.includes(from)) node.dependsOn.push(from)
  }
}

function addNodes(
  view: TaskView,
  team: TeamProgress,
  team_run_id: string,
  nodes: readonly ExecutionNode[],
  addedAfter: string | null,
): void {
  for (const each of nodes) {
    const node = newAgent(each.node_id, each, addedAfter)
    team.nodes.push(node)
    team.nodeCount++
    view.nodes.set(nodeKey({ team_run_id, node_id: node.name }), node)
  }
}

function evolveSaid({ said }: TaskView, { type, data, taskseq }: RecordedEvent): void {
  if (type === 'task_steer_requested') said.push({ by: 'user', text: data.text, taskseq })
  else if (type === 'question_asked')
    said.push({ by: 'agent', text: questionLines(data.question).join('\n'), taskseq })
  else if (type === 'question_answered' && data.answer.action === 'accept') {
    const { answers = [], content } = data.answer
    const text = content === undefined ? answers.join('\n') : JSON.stringify(content)
    said.push({ by: 'user', text, taskseq })
  }
}

/**
 * Every agent and node of a task: the root, then those of its teams in declared order.
 *
 * @example
 * agentsOf(newTaskView()) // => []
 */
export function agentsOf(view: Pick<TaskView, 'root' | 'ownTeams'>): AgentView[] {
  const all: AgentView[] = []
  const visit = (agent: AgentView): void => {
    all.push(agent)
    for (const team of agent.teams) team.nodes.forEach(visit)
  }
  if (view.root !== null) visit(view.root)
  for (const team of view.ownTeams) team.nodes.forEach(visit)
  return all
}

/** A task that the reader may see. */
export interface SeenTask {
  readonly submitted: DataOf<'task_submitted'>
  readonly view: TaskView
}

/**
 * Reads how far a task is now.
 *
 * @param may whether the reader may see a task with this beginning. If not, nothing else is read
 * @returns `null` if there is no such task, or if the reader may not see it
 * @example
 * const seen = await readTaskView(beaver.events(task_id), () => true)
 * seen?.view.end?.type // => 'task_completed'
 */
export async function readTaskView(
  events: AsyncIterable<RecordedEvent>,
  may: (submitted: DataOf<'task_submitted'>) => boolean,
): Promise<SeenTask | null> {
  const view = newTaskView()
  for await (const event of events) {
    evolveTaskView(view, event)
    if (view.submitted === null || !may(view.submitted)) return null
  }
  return view.submitted === null ? null : { submitted: view.submitted, view }
}

/**
 * The result of a task that has ended (AL-13). Field names are those of the journal, the events and `--json`,
 * in snake_case, because they are data. A failed task has a result too: `status` and `failure` say so.
 */
export interface AgentRunResult<Output = JsonValue> {
  readonly task_id: string
  readonly session_id: string
  /** The run of the root agent; `null` for a task that is a workflow. */
  readonly run_id: string | null
  readonly status: 'completed' | 'incomplete' | 'failed' | 'cancelled'
  /** The final output; empty if there is none. */
  readonly output_text: string
  /**
   * The answer as a value, if the task completed and an output was asked for. `output_text` is its canonical
   * JSON.
   */
  readonly output?: Output
  /**
   * The finish reason of the model's last answer, even if the run failed: `stop`, `length`, `content_filter`,
   * or Beaver's `max_tool_iterations_finalized`. It is `error` if the run failed without a final answer, and
   * `cancelled` if it was cancelled. A task without a root agent has `stop`, `error` or `cancelled`.
   */
  readonly finish_reason: string
  /** How many answers of the root agent called tools. */
  readonly tool_iterations: number
  readonly provider_name: string | null
  readonly model: string | null
  /** The usage of all runs of the task, including teams. */
  readonly usage: Usage
  /** The outputs of the teams by which the task is judged, in declared order. */
  readonly outputs: readonly NodeOutput[]
  /** Whether Beaver's simulated model answered. Then no language model worked on the task. */
  readonly simulated: boolean
  /** Why the task did not complete; `null` if it completed. */
  readonly failure: Failure | null
  /** What the agent said, if the task failed because of it: `output_invalid`, `evidence_missing`. */
  readonly unfit_output?: string
}

/**
 * The result of the task. `null`: it has not ended.
 *
 * @example
 * resultOf(newTaskView()) // => null
 */
export function resultOf({ submitted, root, end }: TaskView): AgentRunResult | null {
  if (end === null) return null
  const { result } = end
  const status = end.type.slice('task_'.length) as AgentRunResult['status']
  const withoutRoot = status === 'cancelled' ? 'cancelled' : status === 'failed' ? 'error' : 'stop'
  return {
    task_id: submitted?.task_id ?? '',
    session_id: submitted?.session_id ?? '',
    run_id: root?.runId ?? null,
    status,
    output_text: result.final_output,
    ...(result.output === undefined ? {} : { output: result.output }),
    finish_reason: root?.finish?.reason ?? withoutRoot,
    tool_iterations: root?.finish?.toolIterations ?? 0,
    provider_name: result.provider,
    model: result.model,
    usage: result.usage ?? noUsage,
    outputs: result.outputs,
    simulated: result.simulated,
    failure: result.failure,
    ...(result.unfit_output === undefined ? {} : { unfit_output: result.unfit_output }),
  }
}
