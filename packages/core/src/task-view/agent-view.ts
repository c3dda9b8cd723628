// The view of one agent while it works, or of a team's node that is a tool's call or is computed, folded from
// its events. The functions consume their argument. The end of a node wins over the end of its run
// (`evolveNode`).
import { noPlaceText } from '../budget/amounts.ts'
import type { Usage } from '../chat.ts'
import type { DataOf, DomainEvent } from '../events/catalog.ts'
import { type CallProgress, heldBy, shownStatusOfCalls } from '../fold/call-status.ts'
import type { RunStatus } from '../fold/run-state.ts'
import type { ExecutionNode } from '../graph/execution-graph.ts'

/** The status of its run, or the status of a node without a run. */
export type AgentState = RunStatus | 'waiting' | 'skipped' | 'blocked'

/** A call of the last answer of an agent. */
export interface CallView extends CallProgress {
  readonly id: string
  readonly tool: string
  /** The arguments as the model wrote them. */
  readonly written: string
  /** What a person was asked about it. `null`: nobody was. */
  asked: DataOf<'approval_requested'> | null
  approval: 'requested' | 'decided' | null
  started: boolean
  /** Whether it has asked a person something that nobody has answered. */
  asking: boolean
  /** Whether it is with the client, which has not answered. */
  atClient: boolean
  result: 'success' | 'failure' | null
}

/** An agent of a task, or a node of a team, as far as its events tell. */
export interface AgentView {
  /** Its id, if it is a node. */
  readonly name: string
  /** The name of the agent that runs. `null`: none has begun. */
  agentName: string | null
  readonly isNode: boolean
  readonly kind: ExecutionNode['kind']
  /** The node that it is. `null`: it belongs to no team. */
  readonly node: ExecutionNode | null
  readonly dependsOn: string[]
  /** The node after which the graph grew by this one. `null`: it was in the graph from the start. */
  readonly addedAfter: string | null
  runId: string | null
  /** The teams that it called. */
  readonly teams: TeamProgress[]
  calls: CallView[]
  state: AgentState
  /** Whether it is a node that has ended. Its run may have ended before. */
  nodeEnded: boolean
  toolCalls: number
  toolCallsFailed: number
  tokens: number
  restarts: number
  /** Milliseconds since the epoch. */
  startedAt: number | null
  endedAt: number | null
  /** The finish reason of its last answer. `null`: it has none, or that answer called tools. */
  answered: string | null
  /** How its run ended. `null`: it has not. */
  finish: { readonly reason: string; readonly toolIterations: number } | null
  evidence: { readonly passed: number; readonly failed: number; readonly notChecked: number } | null
  /** Why it failed or waits: a failure, a cause, a try that is repeated. */
  note: string | null
  /** Why its next call has no place in a budget, while it waits for more. `null`: it does not. */
  budgetWait: string | null
}

/** A team of a task, with its nodes. */
export interface TeamProgress {
  readonly workflow: string
  /** In the order for people: see `growthOrder`. */
  nodes: AgentView[]
  nodeCount: number
  readonly nodesAtStart: number
  readonly notes: { readonly kind: 'note'; readonly text: string }[]
  outcome: 'complete' | 'incomplete' | 'cancelled' | null
}

/** @param addedAfter the node after which the graph grew by this one */
export function newAgent(name: string, node?: ExecutionNode, addedAfter: string | null = null): AgentView {
  return {
    name,
    agentName: null,
    isNode: node !== undefined,
    kind: node?.kind ?? 'agent',
    node: node ?? null,
    dependsOn: [...(node?.depends_on ?? [])],
    addedAfter,
    runId: null,
    teams: [],
    calls: [],
    state: 'waiting',
    nodeEnded: false,
    toolCalls: 0,
    toolCallsFailed: 0,
    tokens: 0,
    restarts: 0,
    startedAt: null,
    endedAt: null,
    answered: null,
    finish: null,
    evidence: null,
    note: null,
    budgetWait: null,
  }
}

/** How a node ended, or what is known of its end. */
export type NodeEvent = Extract<
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

export function evolveNode(node: AgentView, event: NodeEvent, at: number): void {
  if (event.type === 'node_evidence_evaluated') {
    const countOf = (status: string): number =>
      event.data.checks.filter((check) => check.status === status).length
    node.evidence = {
      passed: countOf('passed'),
      failed: countOf('failed'),
      notChecked: countOf('not_checked'),
    }
    return
  }
  if (event.type === 'node_cancel_requested') {
    node.note = `to be cancelled: ${event.data.reason}`
    return
  }
  node.state = event.type === 'node_computed' ? 'completed' : (event.type.slice('node_'.length) as AgentState)
  node.nodeEnded = true
  node.calls = []
  if (node.startedAt !== null) node.endedAt = at
  if (event.type === 'node_failed') node.note = event.data.failure.message
  else if (event.type === 'node_blocked') node.note = `by ${event.data.cause_node_id}`
  else if (event.type === 'node_cancelled' || event.type === 'node_skipped') node.note = event.data.reason
  else if (event.type === 'node_computed') node.note = `computed ${event.data.output.slice(0, 200)}`
  else node.note = null
}

/** The events of a run after which it does not wait for a budget. */
const endsBudgetWait: ReadonlySet<string> = new Set([
  'model_call_reserved',
  'tool_call_started',
  'run_failed',
  'run_cancelled',
])

export function evolveAgent(agent: AgentView, event: DomainEvent, at: number): void {
  if (endsBudgetWait.has(event.type)) agent.budgetWait = null
  switch (event.type) {
    case 'user_message_added':
    case 'output_rejected':
      agent.state = 'thinking'
      return
    case 'provider_call_failed':
      agent.note = `${event.data.failure.message}${nextTry(event.data)}`
      agent.tokens += tokensIn(event.data.usage)
      return
    case 'budget_exceeded':
      agent.budgetWait = event.data.wait_ms === null ? null : `waits: ${noPlaceText(event.data)}`
      return
    case 'skill_selection_recorded':
    case 'context_summarized':
    case 'summary_refused':
    case 'model_call_lost':
    case 'model_call_paid':
      agent.tokens += tokensIn(event.data.usage)
      return
    case 'assistant_message_added':
      agent.state = event.data.tool_calls.length > 0 ? 'acting' : 'finalizing'
      agent.answered = event.data.tool_calls.length > 0 ? null : event.data.finish_reason
      agent.toolCalls += event.data.tool_calls.length
      agent.tokens += tokensIn(event.data.usage)
      agent.note = null
      agent.calls = event.data.tool_calls.map(newCall)
      return
    case 'tool_call_requested':
      agent.state = 'acting'
      agent.toolCalls++
      agent.calls = [...agent.calls, newCall(event.data.call)]
      return
    case 'run_restarted':
      agent.restarts = event.data.restarts
      agent.note = `started again: ${event.data.failure.message}`
      return
    case 'run_completed':
      agent.finish = { reason: event.data.finish_reason, toolIterations: event.data.tool_iterations }
      agent.state = agent.isNode ? 'finalizing' : 'completed' // the gate decides the end of a node
      agent.endedAt = at
      return
    case 'run_failed':
      agent.finish = { reason: agent.answered ?? 'error', toolIterations: event.data.tool_iterations }
      nobodyAsked(agent)
      agent.state = 'failed'
      agent.note = event.data.failure.message
      agent.endedAt = at
      return
    case 'run_cancelled':
      agent.finish = { reason: 'cancelled', toolIterations: event.data.tool_iterations }
      nobodyAsked(agent)
      agent.state = 'cancelled'
      agent.note = event.data.reason
      agent.endedAt = at
      return
    default:
      if ('call_id' in event.data) evolveCall(agent, event)
  }
}

/** What becomes of a call. The state of its agent follows from all its calls, as in the fold of a run. */
function evolveCall(agent: AgentView, event: DomainEvent): void {
  const { type, data } = event
  const call = agent.calls.find(({ id }) => 'call_id' in data && id === data.call_id)
  if (call === undefined) return
  const isDecided =
    (type === 'approval_granted' || type === 'approval_denied') && call.approval === 'requested'
  if (type === 'tool_call_started') call.started = true
  else if (type === 'approval_requested') Object.assign(call, { asked: data, approval: 'requested' })
  else if (isDecided) call.approval = 'decided'
  else if (type === 'question_asked') call.asking = true
  else if (type === 'question_answered' && call.asking) call.asking = false
  else if (type === 'client_call_requested') call.atClient = true
  else if (type === 'client_call_answered' && call.atClient) call.atClient = false
  else if (type === 'tool_result_recorded') call.result = data.success ? 'success' : 'failure'
  else return
  agent.state = shownStatusOfCalls(agent.calls)
  if (type !== 'tool_result_recorded') return
  if (!data.success) agent.toolCallsFailed++
  if (agent.state === 'thinking' && agent.kind === 'tool') agent.state = 'finalizing'
}

/** The run has ended, and its calls wait for nobody. */
function nobodyAsked({ calls }: AgentView): void {
  for (const call of calls) {
    if (call.approval === 'requested') call.approval = null
    call.asking = false
    call.atClient = false
  }
}

const newCall = ({
  id,
  name,
  arguments: written,
}: {
  readonly id: string
  readonly name: string
  readonly arguments: string
}): CallView => ({
  id,
  tool: name,
  written,
  asked: null,
  approval: null,
  started: false,
  asking: false,
  atClient: false,
  result: null,
})

const tokensIn = (usage: Usage | undefined): number =>
  (usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0)

function nextTry({ retry_in_ms, tries }: DataOf<'provider_call_failed'>): string {
  return retry_in_ms === null
    ? ''
    : retry_in_ms === 0
      ? ' (the next model is asked)'
      : ` (try ${tries + 1} follows)`
}

/**
 * The tools whose calls are held by a call that waits for a person, each once.
 *
 * @example
 * heldTools({ calls: [] }) // => []
 */
export function heldTools({ calls }: Pick<AgentView, 'calls'>): string[] {
  return [...new Set(calls.flatMap((call) => (heldBy(call, calls) === null ? [] : [call.tool])))]
}

/**
 * Orders the nodes of a team for people: in declared order, but a node that the graph gained later comes
 * after the node that it was added after. Every node appears once, whatever node it names.
 *
 * @example
 * const ofEach = { id: (node: string) => node, addedAfter: (node: string) => (node === 'c' ? 'a' : null) }
 * growthOrder(['a', 'b', 'c'], ofEach) // => ['a', 'c', 'b']
 */
export function growthOrder<Node>(
  nodes: readonly Node[],
  order: { id: (node: Node) => string; addedAfter: (node: Node) => string | null },
): Node[] {
  const known = new Set(nodes.map(order.id))
  const after = new Map<string | null, Node[]>()
  for (const node of nodes) {
    const named = order.addedAfter(node)
    const key = named !== null && known.has(named) && named !== order.id(node) ? named : null
    const group = after.get(key)
    if (group === undefined) after.set(key, [node])
    else group.push(node)
  }
  const ordered: Node[] = []
  const placed = new Set<Node>()
  const open = (after.get(null) ?? []).toReversed()
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (placed.has(node)) continue
    placed.add(node)
    ordered.push(node)
    open.push(...(after.get(order.id(node)) ?? []).toReversed())
  }
  // A circle, which only a forged journal can contain.
  return ordered.length === nodes.length
    ? ordered
    : [...ordered, ...nodes.filter((node) => !placed.has(node))]
}
