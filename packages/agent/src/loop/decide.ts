// What an AgentLoop does next, decided purely: given the run and what came, which events follow.
// D1. The first answer of a routed root run is classified once (D-03). D2. In team mode only the first workflow call of a
//     mixed first answer is kept (D-04). D3. After `single` a workflow call is refused, recorded, never executed (D-05).
import type { DataOf, DomainEvent, RunState, ToolCall } from '@beaver/core'
import { addUsage, event, failurePolicies } from '@beaver/core'
import { isWorkflowTool } from '@beaver/workflows'
import type { ChatAnswer, ProviderError } from '../provider/chat-provider.ts'
import { failedResult, type ToolResult } from '../tools/execute-tool.ts'

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
  if (kept.length === 0) events.push(...finalEvents(run, answer))
  return events
}

function refusal(run: RunState, toolCall: ToolCall, turn: { mixed: boolean; firstWorkflowCall: ToolCall | undefined }): ToolResult | null {
  if (!isWorkflowTool(toolCall.name)) return null
  if (run.start.parent_run_id !== null) return failedResult(toolCall.name, 'tool_not_available', `The tool ${toolCall.name} is not available to a worker.`)
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

const refusedReasons = new Set(['content_filter', 'refusal'])

/** How a run ends on an answer without tool calls: an empty or cut answer is not a success (D-35). */
export function finalEvents(run: RunState, answer: Pick<ChatAnswer, 'content' | 'finishReason' | 'usage'>): DomainEvent[] {
  const usage = addUsage(run.usage, answer.usage)
  const ended = { tool_iterations: run.toolIterations, usage }
  const fail = (failureClass: 'refusal' | 'empty_output' | 'malformed_output', message: string): DomainEvent[] => [
    event('run_failed', { failure: { class: failureClass, message }, ...ended }, run.start.run_id),
  ]
  if (refusedReasons.has(answer.finishReason)) return fail('refusal', `The model refused to answer (finish_reason ${answer.finishReason}).`)
  if (answer.finishReason === 'length') return fail('malformed_output', 'The answer was cut off at the token limit (finish_reason length).')
  if ((answer.content ?? '').trim() === '') return fail('empty_output', `The model gave an empty answer (finish_reason ${answer.finishReason}).`)
  return [event('run_completed', { finish_reason: answer.finishReason, ...ended }, run.start.run_id)]
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

export function iterationsExhausted(run: RunState): DomainEvent[] {
  const message = `The run used all of its ${run.start.max_tool_iterations} tool iterations without a final answer.`
  return [event('run_failed', { failure: { class: 'iterations_exhausted', message }, tool_iterations: run.toolIterations, usage: run.usage }, run.start.run_id)]
}

export const policyOf = (error: ProviderError) => failurePolicies[error.class]
