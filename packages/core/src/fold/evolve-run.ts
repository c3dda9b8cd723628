// Folds the events of one run into its state.
// S1. `evolveRun` is pure: it returns a new state and changes no earlier one. Events after the end of the run
// change nothing.
// S3. `calls` contains the tool calls of the last answer until each has a result. Then the results join
// `messages` in the order of the calls. A part of the conversation that was left out or summarised stays so:
// from then on, `messages` is what the model gets.
import { addUsage } from '../usage.ts'
import type { ChatMessage, ToolCall } from '../chat.ts'
import type { DataOf, DomainEvent } from '../events/catalog.ts'
import { judgeOutput } from '../evidence/structured-output.ts'
import { repairMessage } from '../evidence/output-text.ts'
import type { ImagePart } from '../images/image-part.ts'
import { cleanTaint, joinTaints, type Taint, workspaceSkill } from '../taint/taint.ts'
import { doerOf, whoDid } from '../telling/doer.ts'
import { statusOfCalls } from './call-status.ts'
import { afterFailedCall, nothingFailed } from './due-call.ts'
import type { EventPlace } from './event-place.ts'
import { framed, frameMark, unmarked } from './frame.ts'
import { endsModelCall } from './model-calls.ts'
import { type AskedQuestion, choiceOfTask, type OpenCall, runEnded, type RunState } from './run-state.ts'
import { afterTurn, noTurns } from './same-turns.ts'
import { compacted, summarized } from './shorten.ts'

/**
 * The message that activates a skill. It contains the body of the skill, in a frame with the mark of the run.
 *
 * @example
 * const { content } = skillMessage({ name: 'tides', content: 'Name the harbour.' }, 'bcdfghjk')
 * content?.includes('Name the harbour.') // => true
 */
export function skillMessage(skill: { name: string; content: string }, mark: string): ChatMessage {
  return {
    role: 'user',
    content: framed(skill.content, { name: 'activated_skill', attributes: { name: skill.name }, mark }),
  }
}

/**
 * The state after an event of this run. An event that does not concern the run changes nothing.
 *
 * @example
 * const started = startRun(run.start)
 * const prompt = event('system_prompt_snapshotted', { content: 'You are brief.' }, run.start.run_id)
 * evolveRun(started, prompt, { taskseq: 2 }).messages // => [{ role: 'system', content: 'You are brief.' }]
 * started.messages // => []
 */
export function evolveRun(run: RunState, event: DomainEvent, place: Pick<EventPlace, 'taskseq'>): RunState {
  if (runEnded(run)) return run
  const evolved = after(run, event, place)
  return endsModelCall(event.type) ? { ...evolved, modelCalls: run.modelCalls + 1 } : evolved
}

function after(run: RunState, event: DomainEvent, { taskseq }: Pick<EventPlace, 'taskseq'>): RunState {
  switch (event.type) {
    case 'system_prompt_snapshotted':
      return { ...run, messages: [{ role: 'system', content: event.data.content }, ...run.messages] }
    case 'skill_activation_snapshotted':
      return {
        ...run,
        skills: event.data.skills,
        taint: joinTaints([run.taint, taintOfSkills(event.data.skills)]),
        messages: [
          ...run.messages,
          ...event.data.skills.map((skill) => skillMessage(skill, frameMark(run.start.run_id))),
        ],
      }
    case 'skill_selection_recorded':
      return {
        ...run,
        usage: [event.data, ...(event.data.failed_calls ?? [])].reduce(
          (sum, { usage }) => addUsage(sum, usage),
          run.usage,
        ),
      }
    case 'user_message_added':
      if (event.data.steer_request_id !== undefined)
        return steered(run, event.data.content, event.data.steer_request_id)
      return {
        ...run,
        status: 'thinking',
        historyIndex: run.status === 'assembling' ? run.messages.length : run.historyIndex,
        messages: [
          ...run.messages,
          { role: 'user', content: event.data.content, ...shown(event.data, frameMark(run.start.run_id)) },
        ],
      }
    case 'execution_mode_selected':
      return { ...run, executionMode: event.data.execution_mode }
    case 'tools_left_out':
      return { ...run, toolsLeftOut: leftOut(run.toolsLeftOut, event.data) }
    case 'provider_call_failed':
      return { ...run, ...afterFailedCall(run, event.data) }
    case 'context_compacted':
      return compacted(run, event.data)
    case 'context_summarized':
      return summarized(run, event.data)
    case 'summary_refused':
      return {
        ...run,
        summariesRefused: run.summariesRefused + 1,
        usage: addUsage(run.usage, event.data.usage),
        tries: 0,
        due: nothingFailed,
      }
    case 'model_call_lost':
    case 'model_call_paid':
      return { ...run, usage: addUsage(run.usage, event.data.usage) }
    case 'assistant_message_added':
      return answered(run, event.data, taskseq)
    case 'output_rejected':
      return outputRejected(run, event.data)
    case 'tool_call_requested':
      return { ...run, status: 'acting', calls: [openCall(event.data.call)] }
    case 'approval_requested':
      return withCall(run, event.data.call_id, {
        approval: 'requested',
        callHash: event.data.call_hash ?? null,
      })
    case 'approval_granted':
      return granted(run, event.data)
    case 'approval_denied':
      return denied(run, event.data)
    case 'tool_call_started':
      return withCall(run, event.data.call_id, { started: true, idempotent: event.data.idempotent })
    case 'question_asked':
    case 'question_answered':
      return questioned(run, event)
    case 'client_call_requested':
    case 'client_call_answered':
      return ofClient(run, event)
    case 'tool_result_recorded':
      return resultRecorded(run, event.data, taskseq)
    case 'workspace_files_checked':
      return { ...run, files: { taskseq, found: event.data.files } }
    case 'run_completed':
      return {
        ...run,
        status: 'completed',
        finishReason: event.data.finish_reason,
        outputText: checkedText(run),
      }
    case 'run_failed':
      return { ...run, status: 'failed', failure: event.data.failure }
    case 'run_cancelled':
      return { ...run, status: 'cancelled', failure: { class: 'cancelled', message: event.data.reason } }
    case 'run_restarted':
      return {
        ...run,
        restarts: event.data.restarts,
        suspectTools: countTools(run.suspectTools, event.data.suspect_tools ?? []),
      }
    default:
      return run
  }
}

function outputRejected(run: RunState, { faults, must_call: mustCall }: DataOf<'output_rejected'>): RunState {
  const content = mustCall === true ? mustCallMessage : repairMessage(faults)
  const message: ChatMessage = { role: 'user', content }
  return {
    ...run,
    status: 'thinking',
    outputsRejected: run.outputsRejected + 1,
    repairing: mustCall !== true,
    messages: [...run.messages, message],
  }
}

const mustCallMessage =
  'Your answer calls no tool, but a call is asked for first. Call one of your tools now. Write your answer when you have its result.'

/**
 * The output of a completed run: what the model said, or the canonical JSON of it if the run has a schema.
 */
function checkedText({ start: { output_schema: schema }, outputText }: RunState): string {
  const judged = schema === undefined ? null : judgeOutput(schema, outputText)
  return judged?.kind === 'fits' ? judged.text : outputText
}

/**
 * The words of a person, in the frame of an instruction. The system prompt of every run says that
 * instructions are followed.
 */
function steered(run: RunState, text: string, requestId: string): RunState {
  const frame = framed(text, {
    name: 'instruction',
    attributes: { from: 'user' },
    mark: frameMark(run.start.run_id),
  })
  const message: ChatMessage = { role: 'user', content: `The user adds while you work:\n${frame}` }
  return {
    ...run,
    status: 'thinking',
    repairing: false,
    sameTurns: noTurns,
    messages: [...run.messages, message],
    steersGiven: [...run.steersGiven, requestId],
  }
}

function leftOut(
  before: RunState['toolsLeftOut'],
  { provider_name: provider, tools }: DataOf<'tools_left_out'>,
): RunState['toolsLeftOut'] {
  const known = Object.hasOwn(before, provider) ? (before[provider] ?? []) : []
  return { ...before, [provider]: [...known, ...tools.map(({ name }) => name)] }
}

function countTools(counts: RunState['suspectTools'], tools: readonly string[]): RunState['suspectTools'] {
  if (tools.length === 0) return counts
  return tools.reduce((sum, tool) => ({ ...sum, [tool]: (sum[tool] ?? 0) + 1 }), counts)
}

function openCall(call: ToolCall): OpenCall {
  const none = {
    approval: null,
    callHash: null,
    denial: null,
    edited: null,
    questions: [],
    asking: false,
    atClient: false,
    clientAnswer: null,
    result: null,
    success: false,
  }
  return { ...call, started: false, idempotent: false, ...none }
}

function withCall(run: RunState, callId: string, change: Partial<OpenCall>): RunState {
  if (!run.calls.some((call) => call.id === callId)) return run
  const calls = run.calls.map((call) => (call.id === callId ? { ...call, ...change } : call))
  return { ...run, calls, status: statusOfCalls(calls) }
}

const denied = (run: RunState, { call_id, reason, ...data }: DataOf<'approval_denied'>): RunState =>
  withCall(run, call_id, { approval: 'denied', denial: { ...doerOf(data), reason } })

/** The call is made with the arguments of the person. The message that called it keeps those of the model. */
function granted(run: RunState, { call_id, arguments: args, ...data }: DataOf<'approval_granted'>): RunState {
  const asked = run.calls.find((call) => call.id === call_id)?.arguments
  if (args === undefined || asked === undefined) return withCall(run, call_id, { approval: 'granted' })
  return withCall(run, call_id, { approval: 'granted', arguments: args, edited: { ...doerOf(data), asked } })
}

function questioned(
  run: RunState,
  { type, data }: Extract<DomainEvent, { type: 'question_asked' | 'question_answered' }>,
): RunState {
  const known = run.calls.find((call) => call.id === data.call_id)?.questions ?? []
  const questions =
    type === 'question_asked'
      ? [...known, { index: data.question_index, question: data.question, answer: null }]
      : known.map((each): AskedQuestion =>
          each.index === data.question_index ? { ...each, answer: data } : each,
        )
  return withCall(run, data.call_id, { questions, asking: questions.some(({ answer }) => answer === null) })
}

/** The first answer counts, and only one to a call that waits for it. */
function ofClient(
  run: RunState,
  { type, data }: Extract<DomainEvent, { type: 'client_call_requested' | 'client_call_answered' }>,
): RunState {
  if (type === 'client_call_requested') return withCall(run, data.call_id, { atClient: true })
  const { call_id, tool_choice: tools, ...answer } = data
  if (run.calls.find((call) => call.id === call_id)?.atClient !== true) return run
  const choice = tools === undefined ? choiceOfTask(run.start) : { tools, since: run.toolIterations }
  return { ...withCall(run, call_id, { atClient: false, clientAnswer: answer }), choice }
}

function answered(run: RunState, answer: DataOf<'assistant_message_added'>, taskseq: number): RunState {
  const calls = answer.tool_calls
  const message: ChatMessage = {
    role: 'assistant',
    content: answer.content,
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
    ...(answer.provider_state === undefined ? {} : { provider_state: answer.provider_state }),
  }
  return {
    ...run,
    status: calls.length > 0 ? 'acting' : 'finalizing',
    messages: [...run.messages, message],
    calls: calls.map(openCall),
    callsOfAnswers:
      calls.length > 0 ? [...run.callsOfAnswers, calls.map((call) => call.id)] : run.callsOfAnswers,
    answers: run.answers + (answer.delivered_from === undefined ? 1 : 0),
    askedTaint: run.taint,
    toolIterations: run.toolIterations + (calls.length > 0 ? 1 : 0),
    tries: 0,
    due: nothingFailed,
    compactions: 0,
    summaries: 0,
    summariesRefused: 0,
    usage: addUsage(run.usage, answer.usage),
    finishReason: answer.finish_reason,
    repairing: false,
    outputText: answer.content ?? '',
    outputSeq: taskseq,
    provider: answer.provider_name,
    model: answer.model,
  }
}

function resultRecorded(run: RunState, result: DataOf<'tool_result_recorded'>, taskseq: number): RunState {
  const asked = run.calls.find((call) => call.id === result.call_id && call.result === null)
  if (asked === undefined) return run
  const calls = run.calls.map((call) =>
    call.id === result.call_id
      ? {
          ...call,
          result: result.content,
          success: result.success,
          ...shown(result, frameMark(run.start.run_id)),
        }
      : call,
  )
  const { tool_name: tool, success, content } = result
  const facts = [
    ...run.facts,
    { taskseq, tool, success, askedSeq: run.outputSeq, arguments: asked.arguments, result: content },
  ]
  const status = statusOfCalls(calls)
  const taint = taintAfterResult(run.taint, result)
  if (status !== 'thinking') return { ...run, calls, facts, status, taint }
  const mark = frameMark(run.start.run_id)
  const results = calls.map((call): ChatMessage => ({
    role: 'tool',
    tool_call_id: call.id,
    content: unmarked(`${editedNote(call)}${call.result ?? ''}`, mark),
    ...(call.images === undefined ? {} : { images: call.images }),
  }))
  // The result of a tool node's call is the output of the node.
  const output =
    run.messages.length === 0 && result.success ? { outputText: result.content, outputSeq: taskseq } : {}
  return {
    ...{ ...run, ...output, status, taint, calls: [], facts },
    sameTurns: afterTurn(run.sameTurns, run.outputText, calls),
    messages: [...run.messages, ...results],
  }
}

const editedCharsMax = 4_000

/** Tells the model that the call was not made as it had asked. */
function editedNote({ edited, arguments: args }: OpenCall): string {
  if (edited === null) return ''
  const shown =
    args.length > editedCharsMax
      ? `${args.slice(0, editedCharsMax).toWellFormed()} [cut: ${args.length - editedCharsMax} more characters]`
      : args
  return `[${whoDid(edited)} changed the arguments before the call was made. It was made with: ${shown}]\n`
}

/** The images of an event. A name comes from outside, and cannot close a frame. */
function shown(
  { images = [] }: { readonly images?: readonly ImagePart[] | undefined },
  mark: string,
): { images?: readonly ImagePart[] } {
  if (images.length === 0) return {}
  return {
    images: images.map((image) =>
      image.name === undefined ? image : { ...image, name: unmarked(image.name, mark) },
    ),
  }
}

/** A skill of a workspace is a stranger's text, because nobody configured it. */
const taintOfSkills = (skills: DataOf<'skill_activation_snapshotted'>['skills']): Taint => ({
  ...cleanTaint,
  untrusted: skills.flatMap(({ name, from_workspace }) =>
    from_workspace === true ? [workspaceSkill(name)] : [],
  ),
})

/**
 * Logs of earlier versions say nothing of labels. These tools bring strangers' text, whichever version made
 * the call.
 */
const alwaysWeb: ReadonlySet<string> = new Set(['web_fetch', 'web_search'])

/**
 * What a run carries after this result. A result that says nothing about its labels is the user's own text.
 */
function taintAfterResult(
  before: Taint,
  { tool_name: tool, success, error, taint: read }: DataOf<'tool_result_recorded'>,
): Taint {
  if (read !== undefined) return joinTaints([before, read])
  if (alwaysWeb.has(tool) && (success || error === 'http_error'))
    return joinTaints([before, { untrusted: [tool], secret: [], public: true }])
  return success && before.public ? { ...before, public: false } : before
}
