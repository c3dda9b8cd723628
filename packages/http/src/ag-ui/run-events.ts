// Turns the events of a task into the events of a run of AG-UI 1.0.
// - RUN_STARTED comes first. Exactly one of RUN_FINISHED and RUN_ERROR comes last; before it, open messages
//   are closed.
// - If the task can only wait for a person, the run ends with an interrupt. The run that resumes has the
//   events after this place. No text is open at this place, because the call that waits has no result yet.
// - An incomplete task is a failed run, because it gave less than was requested. The events before contain
//   its partial result.
import { type AGUIEvent, EventType, PROTOCOL_VERSION, type TokenUsage } from '@ag-ui/core'
import type { Followed } from '@beaver/client'
import type { DataOf, LiveDelta, LiveProgress } from '@beaver/core'
import type { RecordedEvent } from '@beaver/core/journal'
import {
  type AgentRunResult,
  type CallItem,
  evolveTaskView,
  evolveTaskViewLive,
  newTaskView,
  type OutputChange,
  resultOf,
  type TaskView,
} from '@beaver/core/task-view'
import { type Caller, hasRole } from '../access.ts'
import { interruptsOf, type Known, unanswered, type Waiting } from './interrupts.ts'
import { tellsId } from './run-input.ts'

export interface Run {
  readonly caller: Caller
  /**
   * The ids that the client gave to the thread and the run. Absent: the session and the task, and RUN_STARTED
   * also contains the request.
   */
  readonly ids?: { readonly threadId: string; readonly runId: string }
  /** The place in the log of the task after which the run begins. 0: it begins with the task. */
  readonly after: number
  /** What the log said when the run was requested. */
  readonly known: Known
}

/**
 * The events of a run. The iterator ends after the last event of the run, or without this event if `followed`
 * ends earlier.
 */
export async function* runEvents(followed: AsyncIterable<Followed>, run: Run): AsyncGenerator<AGUIEvent> {
  const view = newTaskView()
  let teller: Teller | null = null
  const early: LiveProgress[] = []
  // A piece can overtake the events of an earlier run. Taken before them, its text would be told by nobody.
  const ahead: LiveDelta[] = []
  for await (const each of followed) {
    if ('delta' in each && view.taskseq < run.after) {
      if (ahead.length < aheadMax) ahead.push(each.delta)
      continue
    }
    if ('progress' in each) {
      if (teller !== null) yield* teller.progressed(each.progress)
      else if (early.length < earlyMax) early.push(each.progress)
      continue
    }
    const wasBehind = view.taskseq < run.after
    const steps = 'event' in each ? evolveTaskView(view, each.event) : evolveTaskViewLive(view, each.delta)
    const { submitted } = view
    if (submitted === null) continue
    if (teller === null) {
      teller = new Teller(submitted, view, run, early)
      yield teller.started()
    }
    if (!wasBehind) yield* teller.changed(steps)
    else if (view.taskseq >= run.after)
      for (const piece of ahead) yield* teller.changed(evolveTaskViewLive(view, piece))
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
 * Whether nothing more can happen before a person answers: the daemon has suspended the task, or every call
 * of the root agent that has no result waits for a person.
 */
function onlyWaits(
  { type, runId: asks }: RecordedEvent,
  { output, askedCalls, openQuestions }: TaskView,
): boolean {
  if (type !== 'approval_requested' && type !== 'question_asked') return type === 'task_suspended'
  // A worker's question can keep its task from being suspended, so no `task_suspended` may follow.
  if (type === 'question_asked' && asks !== output.root) return true
  const asking = [...askedCalls, ...openQuestions]
  const asked = new Set(asking.flatMap(({ runId, callId }) => (runId === output.root ? [callId] : [])))
  return output.items.every((item) => item.kind !== 'call' || item.result !== null || asked.has(item.callId))
}

/** Whether an event is the last one of its run. */
export const isLast = ({ type }: AGUIEvent): boolean =>
  type === EventType.RUN_FINISHED || type === EventType.RUN_ERROR

const earlyMax = 100
const aheadMax = 10_000

class Teller {
  readonly #submitted: DataOf<'task_submitted'>
  readonly #view: TaskView
  readonly #run: Run
  readonly #ids: { readonly threadId: string; readonly runId: string }
  /** Updates of progress that came before the event of their call. */
  readonly #early: LiveProgress[]
  /** The indexes of the texts whose messages are open. */
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

  /** @param steps the changes by one event or one piece of a text */
  changed(steps: readonly OutputChange[]): AGUIEvent[] {
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

  /**
   * The events of a call. All calls of one answer have the same parent message: that of the answer's text, or
   * else that of its first call.
   */
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
   * The progress of a running call of the root agent. An update can arrive before the event of its call. Then
   * it waits for that event.
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
    // The message is a text of the tool, so the caller needs the role for results.
    const shownMessage = hasRole(this.#run.caller, 'read') ? message : null
    return [
      {
        type: EventType.CUSTOM,
        name: 'beaver/progress',
        value: { toolCallId: this.#id(String(index)), progress, total, message: shownMessage },
      },
    ]
  }

  /** The result of a call. Each call gets one: AG-UI expects the client to make a call that has no result. */
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

  /**
   * The usage of the task. A run that resumes has none, because the task's usage includes the runs before.
   */
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
