// Decides which events follow from a provider's answer. The first answer of a routed root run is classified
// once (D-03), whichever provider gave it. In team mode, only the first workflow call of a mixed first answer
// is kept (D-04). After `single`, a workflow call is refused, recorded and never executed (D-05). Calls of a
// refused answer may not run. If an answer was cut, the model is told once that its calls were not made. Each
// call is authorised in the entry of the answer, except one that waits for its turn (D-66), because nobody
// could tell later whether it had begun.
import type { DataOf, DomainEvent, ToolCall } from '@beaver/core'
import { isChosen, type RunState } from '@beaver/core/fold'
import { event } from '@beaver/core'
import { isWorkflowTool } from '@beaver/workflows'
import type { ChatAnswer } from '../provider/chat-provider.ts'
import { finishMeaning } from '../provider/finish-reason.ts'
import { failedResult, type ToolResult } from '../tools/execute-tool.ts'
import { type Authorisation, authorisationEvents } from './authorise.ts'
import { type CallKind, callPhases } from './call-order.ts'
import { rawToolCall } from './raw-tool-call.ts'
import { finalEvents, forcedFinish, iterationsExhausted } from './run-ends.ts'

export interface Routing {
  readonly primary: string
  readonly ignored: readonly string[]
}

/** What an answer is judged by. */
export interface AnswerOf {
  readonly taskId: string
  /** The provider that answered. */
  readonly provider: string
  readonly durationMs: number
  /** `null` for a run without routing (D-02). */
  readonly routing: Routing | null
  readonly authorise: (call: ToolCall) => Authorisation
  /** Whether each call of a tool is reserved before it begins, so that none begins in the entry of the answer. */
  readonly reservesCalls?: boolean
  /** What the call may do to the others of its answer. */
  readonly kindOf: (name: string) => CallKind
  /** Whether a tool of this name exists at all, even if this run does not have it. */
  readonly isTool: (name: string) => boolean
  /** Whether facts are gathered before the run may complete. */
  readonly completesLater: boolean
}

/** Returns the events of a complete provider answer. */
export function afterAnswer(run: RunState, given: ChatAnswer, call: AnswerOf): DomainEvent[] {
  const answer = callsMayRun(run, given) ? given : { ...given, toolCalls: [] }
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
  events.push(answerEvent(run, { ...answer, toolCalls }, call))
  const cut = finishMeaning(answer.finishReason) === 'cut'
  const refusals = kept.map((each) =>
    cut ? callOfCutAnswer(each) : refusal(run, each, { mixed, firstWorkflowCall }),
  )
  const authorised = toolCalls.map((each, i): Authorisation => {
    const refused = refusals[i] ?? null
    return refused === null ? call.authorise(each) : { kind: 'refuse', result: refused }
  })
  const phases = callPhases(
    toolCalls.map((each, i) => (authorised[i]?.kind === 'refuse' ? 'computes' : call.kindOf(each.name))),
  )
  for (const [i, each] of toolCalls.entries()) {
    const authorisation = authorised[i] as Authorisation
    const held = (phases[i] ?? 0) > 0 || call.reservesCalls === true
    if (!held || authorisation.kind !== 'start')
      events.push(...authorisationEvents(runId, each, authorisation))
  }
  if (kept.length > 0) return events
  const final = finalEvents(run, answer, call.isTool)
  return call.completesLater && final.every((each) => each.type === 'run_completed')
    ? events
    : [...events, ...final]
}

/**
 * Returns the events of the answer that was requested without tools after the iterations were used up. Its
 * text is kept, and the run fails (SCH-07). A call in it is neither made nor recorded, because it could never
 * have a result.
 */
export function afterForcedAnswer(
  run: RunState,
  answer: ChatAnswer,
  call: Pick<AnswerOf, 'provider' | 'durationMs' | 'isTool'>,
): DomainEvent[] {
  const forced = { ...answer, toolCalls: [], finishReason: forcedFinish }
  const content = answer.content ?? ''
  const isAnswer =
    answer.toolCalls.length === 0 && content.trim() !== '' && rawToolCall(content, call.isTool) === null
  const end = isAnswer ? finalEvents(run, forced, call.isTool) : iterationsExhausted(run, answer.usage)
  return [answerEvent(run, forced, call), ...end]
}

/**
 * Returns the events of an answer that was asked for again, without tools, because the one before it did not
 * fit the JSON Schema of the run.
 */
export function afterRepairedAnswer(
  run: RunState,
  chatAnswer: ChatAnswer,
  call: Pick<AnswerOf, 'provider' | 'durationMs' | 'isTool' | 'completesLater'>,
): DomainEvent[] {
  const answer = { ...chatAnswer, toolCalls: [] }
  const final = finalEvents(run, answer, call.isTool)
  const later = call.completesLater && final.every((each) => each.type === 'run_completed')
  return [answerEvent(run, answer, call), ...(later ? [] : final)]
}

function answerEvent(
  run: RunState,
  answer: ChatAnswer,
  { provider, durationMs }: Pick<AnswerOf, 'provider' | 'durationMs'>,
): DomainEvent {
  return event(
    'assistant_message_added',
    {
      content: answer.content,
      tool_calls: [...answer.toolCalls],
      finish_reason: answer.finishReason,
      usage: answer.usage,
      provider_name: provider,
      model: answer.model,
      response_id: answer.responseId,
      duration_ms: durationMs,
      ...(answer.state === undefined || answer.toolCalls.length === 0
        ? {}
        : { provider_state: { provider, fields: answer.state } }),
    },
    run.start.run_id,
  )
}

/**
 * The calls of an answer that was refused do not count. Those of an answer that was cut do, unless the one
 * before it was cut too.
 */
function callsMayRun(run: RunState, { finishReason }: ChatAnswer): boolean {
  const meaning = finishMeaning(finishReason)
  return meaning !== 'refused' && !(meaning === 'cut' && finishMeaning(run.finishReason ?? '') === 'cut')
}

const callOfCutAnswer = ({ name }: ToolCall): ToolResult =>
  failedResult(
    name,
    'answer_cut',
    'Your answer reached the limit of its length before it was complete, so none of its calls was made. Say it in smaller steps: fewer calls at once, and shorter arguments.',
  )

function refusal(
  run: RunState,
  toolCall: ToolCall,
  turn: { mixed: boolean; firstWorkflowCall: ToolCall | undefined },
): ToolResult | null {
  if (!isChosen(run, toolCall.name))
    return failedResult(
      toolCall.name,
      'tool_not_available',
      `A call of ${toolCall.name} is not allowed in this answer.`,
    )
  if (!isWorkflowTool(toolCall.name)) return null
  if (run.start.team_run_id !== null)
    return failedResult(
      toolCall.name,
      'tool_not_available',
      `The tool ${toolCall.name} is not available to a worker.`,
    )
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

/**
 * Two calls with one id in a run could not be told apart, nor could their results and teams. A repeated id
 * gets a suffix.
 */
function uniqueIds(run: RunState, calls: readonly ToolCall[]): ToolCall[] {
  if (calls.length === 0) return []
  const taken = new Set(run.callsOfAnswers.flat())
  return calls.map((call) => {
    let id = call.id
    for (let times = 1; taken.has(id); times++) id = `${call.id}~${times}`
    taken.add(id)
    return id === call.id ? call : { ...call, id }
  })
}
