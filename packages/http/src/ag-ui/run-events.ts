// The events of a run of AG-UI 1.0, from the events of its task. RUN_STARTED comes first. Exactly one of
// RUN_FINISHED and RUN_ERROR comes last, and closes what is open. A task that only waits ends its run if a
// call of it waits for a person, or asks one. The run that resumes tells what comes behind. No text is open
// then, because the call has no result yet. A task that is incomplete is a run that failed, because it gave
// less than was asked. What it gave was told.
import { type AGUIEvent, EventType, PROTOCOL_VERSION, type TokenUsage } from '@ag-ui/core'
import type { Followed } from '@beaver/client'
import {
  type AgentRunResult,
  type CallItem,
  type DataOf,
  evolveTaskView,
  evolveTaskViewLive,
  type LiveProgress,
  newTaskView,
  type OutputChange,
  type RecordedEvent,
  resultOf,
  type TaskView,
} from '@beaver/core'
import { type Caller, hasRole } from '../access.ts'
import { interruptsOf, type Known, unanswered, type Waiting } from './interrupts.ts'
import { tellsId } from './run-input.ts'

export interface Run {
  readonly caller: Caller
  /**
   * The thread and the run as the client names them. Absent: the session and the task, and RUN_STARTED says
   * what was asked.
   */
  readonly ids?: { readonly threadId: string; readonly runId: string }
  /** The run tells what comes behind this place in the log of its task. 0: it begins with the task. */
  readonly after: number
  /** What was known of the task when the run was asked for. */
  readonly known: Known
}

/** It ends after the last event of the run, or without it if `followed` ends before. */
export async function* runEvents(followed: AsyncIterable<Followed>, run: Run): AsyncGenerator<AGUIEvent> {
  const view = newTaskView()
  let teller: Teller | null = null
  const early: LiveProgress[] = []
  for await (const each of followed) {
    if ('progress' in each) {
      if (teller !== null) yield* teller.progressed(each.progress)
      else if (early.length < earlyMax) early.push(each.progress)
      continue
    }
    const steps = 'event' in each ? evolveTaskView(view, each.event) : evolveTaskViewLive(view, each.delta)
    const { submitted } = view
    if (submitted === null) continue
    if (teller === null) {
      teller = new Teller(submitted, view, run, early)
      yield teller.started()
    }
    if (view.taskseq > run.after) yield* teller.told(steps)
    const stops = 'event' in each && onlyWaits(each.event, view) && view.taskseq >= run.after
    const asks = stops ? unanswered(view, run.known) : []
    const result = resultOf(view)
    if (result === null && asks.length === 0) continue
    yield* teller.closed()
    yield result === null ? teller.interrupted(asks) : teller.ended(result)
    return
  }
}

/**
 * Whether nothing happens any more until a person has answered: the daemon let go of the task, or every call
 * of the root agent without a result waits.
 */
function onlyWaits(
  { type, runId: asks }: RecordedEvent,
  { output, askedCalls, openQuestions }: TaskView,
): boolean {
  if (type !== 'approval_requested' && type !== 'question_asked') return type === 'task_suspended'
  // A question may hold its task, which is not suspended then.
  if (type === 'question_asked' && asks !== output.root) return true
  const asking = [...askedCalls, ...openQuestions]
  const asked = new Set(asking.flatMap(({ runId, callId }) => (runId === output.root ? [callId] : [])))
  return output.items.every((item) => item.kind !== 'call' || item.result !== null || asked.has(item.callId))
}

/** Whether an event is the last one of its run. */
export const isLast = ({ type }: AGUIEvent): boolean =>
  type === EventType.RUN_FINISHED || type === EventType.RUN_ERROR

const earlyMax = 100

class Teller {
  readonly #submitted: DataOf<'task_submitted'>
  readonly #view: TaskView
  readonly #run: Run
  readonly #ids: { readonly threadId: string; readonly runId: string }
  /** Updates that wait for the event of their call. */
  readonly #early: LiveProgress[]
  /** The texts whose message is open. */
  readonly #open = new Set<number>()

  constructor(submitted: DataOf<'task_submitted'>, view: TaskView, run: Run, early: LiveProgress[]) {
    this.#submitted = submitted
    this.#view = view
    this.#early = early
    this.#run = run
    this.#ids = run.ids ?? { threadId: submitted.session_id, runId: submitted.task_id }
  }

  started(): AGUIEvent {
    const { task_id, session_id, request } = this.#submitted
    const messages = [{ id: this.#id('asked'), role: 'user' as const, content: request.text }]
    const input =
      this.#run.ids === undefined ? { input: { ...this.#ids, messages, tools: [], context: [] } } : {}
    return {
      type: EventType.RUN_STARTED,
      ...this.#ids,
      protocolVersion: PROTOCOL_VERSION,
      ...input,
      metadata: { beaver: { task_id, session_id } },
    }
  }

  /** @param steps of one event or one piece */
  told(steps: readonly OutputChange[]): AGUIEvent[] {
    return [
      ...this.#steps(steps),
      ...(this.#early.length === 0 ? [] : this.#early.splice(0).flatMap((each) => this.progressed(each))),
    ]
  }

  #steps(steps: readonly OutputChange[]): AGUIEvent[] {
    const text = steps.findLast((step) => step.kind === 'ended' && step.item.kind === 'text')
    const call = steps.find((step) => step.kind === 'begun' && step.item.kind === 'call')
    const parent = text?.index ?? call?.index
    return steps.flatMap((step) => this.#step(step, parent))
  }

  #step(step: OutputChange, parent: number | undefined): AGUIEvent[] {
    const { index } = step
    const messageId = this.#id(String(index))
    if (step.kind === 'text') return [{ type: EventType.TEXT_MESSAGE_CONTENT, messageId, delta: step.delta }]
    if (step.item.kind === 'call')
      return step.kind === 'begun'
        ? this.#called(index, step.item, parent ?? index)
        : [this.#result(index, step.item)]
    if (step.kind === 'ended') return this.#close(index)
    this.#open.add(index)
    return [{ type: EventType.TEXT_MESSAGE_START, messageId, role: 'assistant' }]
  }

  #close(index: number): AGUIEvent[] {
    return this.#open.delete(index)
      ? [{ type: EventType.TEXT_MESSAGE_END, messageId: this.#id(String(index)) }]
      : []
  }

  /** The calls of one answer belong to one message: that of its text, or else that of its first call. */
  #called(index: number, { name, arguments: args }: CallItem, parent: number): AGUIEvent[] {
    const toolCallId = this.#id(String(index))
    const parentMessageId =
      parent === index || this.#view.output.items[parent]?.kind === 'call'
        ? this.#id(`${parent}-calls`)
        : this.#id(String(parent))
    return [
      { type: EventType.TOOL_CALL_START, toolCallId, toolCallName: name, parentMessageId },
      ...(args === '' ? [] : [{ type: EventType.TOOL_CALL_ARGS as const, toolCallId, delta: args }]),
      { type: EventType.TOOL_CALL_END, toolCallId },
    ]
  }

  /**
   * Of a call of the root agent that was told and has no result. An update may come before the event that its
   * call is in, and then waits for it.
   */
  progressed(update: LiveProgress): AGUIEvent[] {
    const { node_id: node, call_id: callId, progress, total, message } = update
    if (node !== null) return []
    const index = this.#view.output.items.findLastIndex(
      (item) => item.kind === 'call' && item.callId === callId,
    )
    const item = this.#view.output.items[index]
    if (item?.kind !== 'call') {
      if (this.#early.length < earlyMax) this.#early.push(update)
      return []
    }
    if (item.result !== null) return []
    // It is a text of the tool, as the result is.
    const said = hasRole(this.#run.caller, 'read') ? message : null
    return [
      {
        type: EventType.CUSTOM,
        name: 'beaver/progress',
        value: { toolCallId: this.#id(String(index)), progress, total, message: said },
      },
    ]
  }

  /** Each call has a result, because a call without one would be the client's to make. */
  #result(index: number, { result }: CallItem): AGUIEvent {
    const unseen = `The call ${result?.success === true ? 'succeeded' : 'failed'}. The token does not have the role read, so the result is not shown.`
    const content = hasRole(this.#run.caller, 'read') ? (result?.content ?? '') : unseen
    return {
      type: EventType.TOOL_CALL_RESULT,
      messageId: this.#id(`${index}-result`),
      toolCallId: this.#id(String(index)),
      content,
    }
  }

  closed(): AGUIEvent[] {
    return [...this.#open].flatMap((index) => this.#close(index))
  }

  interrupted(asks: readonly Waiting[]): AGUIEvent {
    const interrupts = interruptsOf(asks, this.#view, this.#run.caller)
    return { type: EventType.RUN_FINISHED, ...this.#ids, outcome: { type: 'interrupt', interrupts } }
  }

  ended(result: AgentRunResult): AGUIEvent {
    const usage = this.#usage(result)
    const { status, failure } = result
    if (status === 'completed')
      return {
        type: EventType.RUN_FINISHED,
        ...this.#ids,
        outcome: { type: 'success' },
        result: result.output_text,
        ...usage,
      }
    if (status === 'cancelled')
      return { type: EventType.RUN_FINISHED, ...this.#ids, outcome: { type: 'cancelled' }, ...usage }
    return {
      type: EventType.RUN_ERROR,
      message: failure?.message ?? `The task is ${status}.`,
      code: failure?.class ?? status,
      ...usage,
    }
  }

  /** A run that resumes does not know what it used itself. */
  #usage({ usage }: AgentRunResult): { usage?: TokenUsage[] } {
    if (this.#run.after > 0 || usage.calls === 0) return {}
    const {
      input_tokens: inputTokens,
      output_tokens: outputTokens,
      cached_input_tokens: cached,
      cache_write_tokens: written,
      reasoning_tokens: thoughts,
    } = usage
    const parts = {
      ...(cached === undefined ? {} : { cachedInputTokens: cached }),
      ...(written === undefined ? {} : { cacheWriteInputTokens: written }),
      ...(thoughts === undefined ? {} : { reasoningTokens: thoughts }),
    }
    return { usage: [{ inputTokens, outputTokens, totalTokens: inputTokens + outputTokens, ...parts }] }
  }

  #id(part: string): string {
    return tellsId(this.#submitted.task_id, part)
  }
}
