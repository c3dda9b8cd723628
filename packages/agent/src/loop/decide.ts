// What an AgentLoop does next, decided purely: given the run and what came, which events follow.
// D1. The first answer of a routed root run is classified once (D-03). D2. In team mode only the first workflow call of a
//     mixed first answer is kept (D-04). D3. After `single` a workflow call is refused, recorded, never executed (D-05).
import type { DataOf, DomainEvent, Failure, RunState, ToolCall } from '@beaver/core'
import { addUsage, event, failurePolicies } from '@beaver/core'
import { isWorkflowTool } from '@beaver/workflows'
import type { ChatAnswer, ProviderError } from '../provider/chat-provider.ts'
import { failedResult, type ToolResult } from '../tools/execute-tool.ts'
import { rawToolCall } from './raw-tool-call.ts'

export interface Routing {
  readonly primary: string
  readonly ignored: readonly string[]
}

/** The events of a complete provider answer. `routing` is `null` for a run without routing (D-02). */
export function afterAnswer(
  run: RunState,
  answer: ChatAnswer,
  call: {
    taskId: string
    provider: string
    durationMs: number
    routing: Routing | null
    idempotent: (tool: string) => boolean
    known: (tool: string) => boolean
    /** Any tool there is, whether this run has it or not. */
    isTool: (name: string) => boolean
    /** Facts are gathered before the run may complete. */
    completesLater: boolean
  },
): DomainEvent[] {
  const runId = run.start.run_id
  const firstWorkflowCall = answer.toolCalls.find((each) => isWorkflowTool(each.name))
  const routing = run.executionMode === null ? call.routing : null
  const mixed = routing !== null && firstWorkflowCall !== undefined
  const kept = mixed ? answer.toolCalls.filter((each) => isWorkflowTool(each.name)) : answer.toolCalls
  const toolCalls = uniqueIds(run, kept)
  const events: DomainEvent[] = []
  if (routing !== null) {
    events.push(
      event(
        'execution_mode_selected',
        {
          task_id: call.taskId as DataOf<'execution_mode_selected'>['task_id'],
          attempt_index: run.start.attempt_index,
          execution_mode: firstWorkflowCall === undefined ? 'single' : 'team',
          routing_source: 'main_agent_first_turn',
          primary_template_skill: routing.primary,
          ignored_template_skills: [...routing.ignored],
          workflow_tool: firstWorkflowCall?.name ?? null,
          content: null,
        },
        runId,
      ),
    )
  }
  events.push(
    event(
      'assistant_message_added',
      {
        content: answer.content,
        tool_calls: toolCalls,
        finish_reason: answer.finishReason,
        usage: answer.usage,
        provider_name: call.provider,
        model: answer.model,
        response_id: answer.responseId,
        duration_ms: call.durationMs,
      },
      runId,
    ),
  )
  const refusals = kept.map((each) => refusal(run, each, { mixed, firstWorkflowCall }))
  for (const [i, each] of toolCalls.entries()) {
    const refused = refusals[i] ?? null
    if (refused !== null) events.push(resultEvent(runId, each.id, refused, 0))
    else if (call.known(each.name))
      events.push(event('tool_call_started', { call_id: each.id, tool_name: each.name, idempotent: call.idempotent(each.name) }, runId))
  }
  if (kept.length > 0) return events
  const final = finalEvents(run, answer, call.isTool)
  return call.completesLater && final.every((each) => each.type === 'run_completed') ? events : [...events, ...final]
}

function refusal(run: RunState, toolCall: ToolCall, turn: { mixed: boolean; firstWorkflowCall: ToolCall | undefined }): ToolResult | null {
  if (!isWorkflowTool(toolCall.name)) return null
  if (run.start.team_run_id !== null) return failedResult(toolCall.name, 'tool_not_available', `The tool ${toolCall.name} is not available to a worker.`)
  if (turn.mixed && toolCall !== turn.firstWorkflowCall) {
    return failedResult(
      toolCall.name,
      'workflow_already_selected',
      `Only one workflow can be selected in the first response; ${turn.firstWorkflowCall?.name} was.`,
    )
  }
  if (run.executionMode !== 'single') return null
  return {
    success: false,
    tool_name: toolCall.name,
    error: 'execution_mode_locked_single',
    content: 'Agent Team can only be selected in the first response of this Task run.',
  }
}

/** Two calls of one id in a run could not be told apart, nor their results and teams: a repeated id gets a suffix. */
function uniqueIds(run: RunState, calls: readonly ToolCall[]): ToolCall[] {
  if (calls.length === 0) return []
  const taken = new Set(run.messages.flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []).map((call) => call.id) : [])))
  return calls.map((call) => {
    let id = call.id
    for (let times = 1; taken.has(id); times++) id = `${call.id}~${times}`
    taken.add(id)
    return id === call.id ? call : { ...call, id }
  })
}

export function resultEvent(runId: string, callId: string, result: ToolResult, durationMs: number): DomainEvent {
  const { tool_name, success, content, error } = result
  return event('tool_result_recorded', { call_id: callId, tool_name, success, content, error, duration_ms: durationMs }, runId)
}

const refused = { class: 'refusal', message: 'The model refused to answer' } as const
const cutOff = { class: 'malformed_output', message: 'The answer was cut off at the token limit' } as const

/** Reasons to finish that are failures, as providers spell them. */
const failedFinishes: ReadonlyMap<string, Failure> = new Map<string, Failure>([
  ['content_filter', refused],
  ['refusal', refused],
  ['safety', refused],
  ['length', cutOff],
  ['max_tokens', cutOff],
  ['max_tool_iterations_finalized', { class: 'iterations_exhausted', message: 'The answer was forced when the tool iterations were used up' }],
])

/**
 * How a run ends on an answer without tool calls: one that was refused, cut off or forced, is empty (D-35), or is a tool call
 * written as text (D-42), is not a success.
 */
export function finalEvents(run: RunState, answer: Pick<ChatAnswer, 'content' | 'finishReason' | 'usage'>, isTool: (name: string) => boolean): DomainEvent[] {
  const usage = addUsage(run.usage, answer.usage)
  const ended = { tool_iterations: run.toolIterations, usage }
  const fail = (failureClass: Failure['class'], message: string): DomainEvent[] => [
    event('run_failed', { failure: { class: failureClass, message }, ...ended }, run.start.run_id),
  ]
  const content = answer.content ?? ''
  const failed = failedFinishes.get(answer.finishReason.toLowerCase())
  if (failed !== undefined) return fail(failed.class, `${failed.message} (finish_reason ${answer.finishReason}).`)
  if (content.trim() === '') return fail('empty_output', `The model gave an empty answer (finish_reason ${answer.finishReason}).`)
  const call = rawToolCall(content, isTool)
  if (call !== null) return fail('malformed_output', `The final answer is ${call}, written as text: no tool was called and there is no result.`)
  return [event('run_completed', { finish_reason: answer.finishReason, ...ended }, run.start.run_id)]
}

/** How the run of a tool node ends, once its one call has a result. */
export function afterToolNode(run: RunState): DomainEvent[] {
  const ended = { tool_iterations: 0, usage: run.usage }
  const result = run.facts.at(-1)
  if (result?.success === true) return [event('run_completed', { finish_reason: 'stop', ...ended }, run.start.run_id)]
  const message = toolMessage(run)
  const failureClass = /"error":"tool_timeout"/.test(message) ? 'tool_timeout' : 'tool_crash'
  return [event('run_failed', { failure: { class: failureClass, message: `The tool ${result?.tool ?? ''} failed: ${message}` }, ...ended }, run.start.run_id)]
}

function toolMessage(run: RunState): string {
  const content = run.messages.at(-1)?.content ?? ''
  return content.length > 1000 ? `${content.slice(0, 1000)}…` : content
}

/** The event of a provider call that failed for good. */
export function providerFailed(run: RunState, error: ProviderError, tries: number): DomainEvent[] {
  const failure = { class: error.class, message: error.message }
  return [
    event('provider_call_failed', { failure, tries, retry_in_ms: null, status: error.status }, run.start.run_id),
    event(
      'run_failed',
      {
        failure: { class: error.class, message: tries > 1 ? `${error.message} (tried ${tries} times)` : error.message },
        tool_iterations: run.toolIterations,
        usage: run.usage,
      },
      run.start.run_id,
    ),
  ]
}

/** A task may have been accepted by a daemon that has other profiles. */
export function profileMissing(run: RunState, name: string): DomainEvent[] {
  const message = `The profile ${JSON.stringify(name)} is not loaded by the daemon that runs this task. Name its file in "profiles" of that daemon's configuration.`
  return [event('run_failed', { failure: { class: 'internal', message }, tool_iterations: run.toolIterations, usage: run.usage }, run.start.run_id)]
}

export function iterationsExhausted(run: RunState): DomainEvent[] {
  const message = `The run used all of its ${run.start.max_tool_iterations} tool iterations without a final answer.`
  return [event('run_failed', { failure: { class: 'iterations_exhausted', message }, tool_iterations: run.toolIterations, usage: run.usage }, run.start.run_id)]
}

export const policyOf = (error: ProviderError) => failurePolicies[error.class]
