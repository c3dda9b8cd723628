// The view of one agent while it works, folded from its events. It is also the view of a team's node that is
// a tool's call or is computed. Like core's folds, the functions consume their argument. The end of a node
// wins over the end of its run: see `evolveNode`.
import type { AskedCallAnswer } from '@beaver/contracts'
import { type DataOf, type DomainEvent, type ExecutionNode, heldBy, shownStatusOfCalls } from '@beaver/core'
import type { AskedQuestionView } from './render-question.ts'
import type { AgentState, TreeAgent, TreeNote, TreeTeam } from './agent-tree.ts'

/** A call that a person is asked about. */
export interface AskedCall {
  readonly runId: string
  readonly callId: string
  readonly agent: string
  readonly tool: string
  readonly subject: string
  /** What the run has read, if the call asks because of it. */
  readonly reason?: string
  /** The hash of what is shown. A decision names it. `null`: an older daemon asked. */
  readonly callHash: string | null
  /** What the call would change. `null`: its tool cannot say it. */
  readonly preview: AskedCallAnswer['preview']
}

export interface AgentView extends TreeAgent<AgentView> {
  /** The tool, if it is a node that is a tool's call. */
  readonly tool: string | null
  readonly dependsOn: string[]
  /** How many of `dependsOn` have to complete. `null`: all. */
  readonly quorum: number | null
  /** The node after which the graph grew by this one. `null`: it was in the graph from the start. */
  readonly addedAfter: string | null
  runId: string | null
  readonly teams: TeamView[]
  /** Tools that are running: call id → name. */
  readonly tools: Map<string, string>
  /** Those of them that have begun. */
  readonly begun: Set<string>
  /** Those of them that a person is asked about, by call id. */
  readonly asks: Map<string, AskedCall>
  /** Those, and those that were decided since the last answer. */
  readonly asked: Map<string, AskedCall>
  /** What its calls ask now, by call id. */
  readonly questions: Map<string, AskedQuestionView>
  state: AgentState
  toolCalls: number
  toolCallsFailed: number
  tokens: number
  restarts: number
  /** Milliseconds since the epoch. */
  startedAt: number | null
  endedAt: number | null
  evidence: { readonly passed: number; readonly failed: number; readonly notChecked: number } | null
  /** Why it failed or waits: a failure, a cause, a try that is repeated. */
  note: string | null
}

export interface TeamView extends TreeTeam<AgentView> {
  nodes: AgentView[]
  nodeCount: number
  readonly notes: TreeNote[]
  outcome: 'complete' | 'incomplete' | 'cancelled' | null
}

/** @param addedAfter the node after which the graph grew by this one */
export function newAgent(name: string, node?: ExecutionNode, addedAfter: string | null = null): AgentView {
  return {
    name,
    isNode: node !== undefined,
    kind: node?.kind ?? 'agent',
    tool: node?.kind === 'tool' ? node.tool : null,
    dependsOn: [...(node?.depends_on ?? [])],
    quorum: node?.quorum ?? null,
    addedAfter,
    runId: null,
    teams: [],
    others: [],
    tools: new Map(),
    begun: new Set(),
    asks: new Map(),
    asked: new Map(),
    questions: new Map(),
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
  node.asks.clear()
  node.questions.clear()
  if (node.startedAt !== null) node.endedAt = at
  if (event.type === 'node_failed') node.note = event.data.failure.message
  else if (event.type === 'node_blocked') node.note = `by ${event.data.cause_node_id}`
  else if (event.type === 'node_cancelled' || event.type === 'node_skipped') node.note = event.data.reason
  else if (event.type === 'node_computed') node.note = `computed ${event.data.output.slice(0, 200)}`
  else node.note = null
}

export function evolveAgent(agent: AgentView, event: DomainEvent, at: number): void {
  switch (event.type) {
    case 'user_message_added':
    case 'output_rejected':
      agent.state = 'thinking'
      return
    case 'provider_call_failed':
      agent.note = `${event.data.failure.message}${next(event.data)}`
      agent.tokens += (event.data.usage?.input_tokens ?? 0) + (event.data.usage?.output_tokens ?? 0)
      return
    case 'skill_selection_recorded':
    case 'context_summarized':
    case 'summary_refused':
      agent.tokens += event.data.usage.input_tokens + event.data.usage.output_tokens
      return
    case 'assistant_message_added':
      agent.state = event.data.tool_calls.length > 0 ? 'acting' : 'finalizing'
      agent.toolCalls += event.data.tool_calls.length
      agent.tokens += event.data.usage.input_tokens + event.data.usage.output_tokens
      agent.note = null
      newCalls(agent, event.data.tool_calls)
      return
    case 'tool_call_requested':
      agent.state = 'acting'
      agent.toolCalls++
      agent.tools.set(event.data.call.id, event.data.call.name)
      return
    case 'tool_call_started':
      agent.begun.add(event.data.call_id)
      return callsChanged(agent)
    case 'tool_result_recorded':
      agent.tools.delete(event.data.call_id)
      agent.asks.delete(event.data.call_id)
      agent.questions.delete(event.data.call_id)
      if (!event.data.success) agent.toolCallsFailed++
      callsChanged(agent)
      if (agent.state === 'thinking' && agent.kind === 'tool') agent.state = 'finalizing'
      return
    case 'approval_requested':
    case 'approval_granted':
    case 'approval_denied':
    case 'question_asked':
    case 'question_answered':
      return evolveAsked(agent, event)
    case 'run_restarted':
      agent.restarts = event.data.restarts
      agent.note = `started again: ${event.data.failure.message}`
      return
    case 'run_completed':
      agent.state = agent.isNode ? 'finalizing' : 'completed' // the gate decides the end of a node
      agent.endedAt = at
      return
    case 'run_failed':
      agent.asks.clear()
      agent.questions.clear()
      agent.state = 'failed'
      agent.note = event.data.failure.message
      agent.endedAt = at
      return
    case 'run_cancelled':
      agent.asks.clear()
      agent.questions.clear()
      agent.state = 'cancelled'
      agent.note = event.data.reason
      agent.endedAt = at
      return
    default:
  }
}

/** What the calls of an agent ask a person. */
function evolveAsked(
  agent: AgentView,
  event: Extract<DomainEvent, { type: `approval_${string}` | `question_${string}` }>,
): void {
  switch (event.type) {
    case 'approval_requested': {
      const {
        call_id: callId,
        tool_name: tool,
        subject,
        reason,
        call_hash: callHash = null,
        preview = null,
      } = event.data
      if (!agent.tools.has(callId)) return
      const asked = {
        runId: agent.runId ?? '',
        callId,
        agent: agent.name,
        tool,
        subject,
        callHash,
        preview,
        ...(reason === undefined ? {} : { reason }),
      }
      agent.asks.set(callId, asked)
      agent.asked.set(callId, asked)
      callsChanged(agent)
      return
    }
    case 'approval_granted':
    case 'approval_denied':
      if (agent.asks.delete(event.data.call_id)) callsChanged(agent)
      return
    case 'question_asked': {
      const { call_id: callId, tool_name: tool, question_index: index, question } = event.data
      if (!agent.tools.has(callId)) return
      agent.questions.set(callId, {
        runId: agent.runId ?? '',
        callId,
        agent: agent.name,
        tool,
        index,
        question,
      })
      return callsChanged(agent)
    }
    case 'question_answered':
      if (agent.questions.delete(event.data.call_id)) callsChanged(agent)
      return
    default:
      return event satisfies never
  }
}

function newCalls(agent: AgentView, calls: DataOf<'assistant_message_added'>['tool_calls']): void {
  for (const each of [agent.tools, agent.begun, agent.asks, agent.asked, agent.questions]) each.clear()
  for (const call of calls) agent.tools.set(call.id, call.name)
}

/** The open calls of an agent, in their order. A call that was decided has begun, or begins now. */
const callsOf = ({ tools, asks, asked, begun, questions }: AgentView) =>
  [...tools].map(([id, tool]) => ({
    id,
    tool,
    approval: asks.has(id) ? 'requested' : asked.has(id) ? 'decided' : null,
    result: null,
    started: begun.has(id),
    asking: questions.has(id),
  }))

/** The tools whose calls are held by a call that waits for a person, each once. */
export function heldTools(agent: AgentView): string[] {
  const calls = callsOf(agent)
  return [...new Set(calls.flatMap((call) => (heldBy(call, calls) === null ? [] : [call.tool])))]
}

/** The state of an agent follows from its open calls, as in core's fold. */
function callsChanged(agent: AgentView): void {
  agent.state = shownStatusOfCalls(callsOf(agent))
}

function next({ retry_in_ms, tries }: DataOf<'provider_call_failed'>): string {
  return retry_in_ms === null
    ? ''
    : retry_in_ms === 0
      ? ' (the next model is asked)'
      : ` (try ${tries + 1} follows)`
}
