// Turns the events of a task into the events of a run of AG-UI 1.0.
// - RUN_STARTED comes first. Exactly one of RUN_FINISHED and RUN_ERROR comes last; before it, open messages
//   are closed.
// - If the task can only wait for a person, the run ends with an interrupt. If it can only wait for its
//   client, the run completes, and its outcome names the calls that the client must make. The run that goes on
//   has the events after this place. No text is open at this place.
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
import { clientCallId } from '../client-calls.ts'
import { callsOfClient, interruptsOf, type Known, unanswered, type Waiting } from './interrupts.ts'
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
  /** The calls whose results the client has, by the ids that it knows. Absent: none. */
  readonly has?: ReadonlySet<string>
  /**
   * Whether the client speaks a version before 1.0. It refuses outcomes that it does not know, and finds the
   * calls that it must make by itself. Default: it does not.
   */
  readonly older?: boolean
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
    if ('event' in each) teller.read(each.event, steps)
    if (!wasBehind) yield* teller.changed(steps)
    else if (view.taskseq >= run.after)
      for (const piece of ahead) yield* teller.changed(evolveTaskViewLive(view, piece))
    const stops = 'event' in each && onlyWaits(each.event, view) && view.taskseq >= run.after
    const asks = stops ? unanswered(view, run.known) : []
    const calls = stops ? callsOfClient(view, run.known) : []
    const result = resultOf(view)
    if (result === null && asks.length + calls.length === 0) continue
    yield* teller.closed()
    if (result !== null) yield teller.ended(result)
    else yield asks.length > 0 ? teller.interrupted(asks) : teller.asksClient(calls)
    return
  }
}

/**
 * Whether nothing more can happen before a person or the client answers: the daemon has suspended the task, or
 * every call of the root agent that has no result waits for one of them.
 */
export function onlyWaits(
  { type, runId: asks }: Pick<RecordedEvent, 'type' | 'runId'>,
  { output, askedCalls, openQuestions, clientCalls }: TaskView,
): boolean {
  // The last call that was at work may end after the client was asked about the others.
  if (!asking.has(type) && !(type === 'tool_result_recorded' && clientCalls.length > 0))
    return type === 'task_suspended'
  // A worker's question can keep its task from being suspended, so no `task_suspended` may follow.
  if (type === 'question_asked' && asks !== output.root) return true
  const waiting = [...askedCalls, ...openQuestions, ...clientCalls]
  const asked = new Set(waiting.flatMap(({ runId, callId }) => (runId === output.root ? [callId] : [])))
  const open = output.items.flatMap((item) => (item.kind === 'call' && item.result === null ? [item] : []))
  return [...open, ...output.unasked].every(({ callId }) => asked.has(callId))
}

const asking: ReadonlySet<string> = new Set(['approval_requested', 'question_asked', 'client_call_requested'])

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
  /** The calls that the run has told and that have no result, by the ids that the client knows. */
  readonly #pending = new Set<string>()
  /** The message to which the calls of the newest answer belong. `null`: the first of them makes it. */
  #parent: string | null = null

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

  /**
   * All calls of one answer have the same parent message: that of the answer's text, or else that of its first
   * call. They may be told by several events.
   *
   * @param steps the changes by an event, also by one that is not told
   */
  read({ type, runId }: RecordedEvent, steps: readonly OutputChange[]): void {
    if (type === 'assistant_message_added' && runId === this.#view.output.root) {
      const text = steps.findLast((step) => step.kind === 'ended' && step.item.kind === 'text')
      this.#parent = text === undefined ? null : this.#id(String(text.index))
    }
    const call = steps.find((step) => step.kind === 'begun' && step.item.kind === 'call')
    if (call !== undefined) this.#parent ??= this.#id(`${call.index}-calls`)
  }

  /** @param steps the changes by one event or one piece of a text */
  changed(steps: readonly OutputChange[]): AGUIEvent[] {
    return [
      ...steps.flatMap((step) => this.#step(step)),
      ...(this.#early.length === 0 ? [] : this.#early.splice(0).flatMap((each) => this.progressed(each))),
    ]
  }

  #step(step: OutputChange): AGUIEvent[] {
    const { index } = step
    const messageId = this.#id(String(index))
    if (step.kind === 'text') return [{ type: EventType.TEXT_MESSAGE_CONTENT, messageId, delta: step.delta }]
    if (step.item.kind === 'call')
      return step.kind === 'begun' ? this.#called(index, step.item) : this.#result(index, step.item)
    if (step.kind === 'ended') return this.#close(index)
    this.#open.add(index)
    return [{ type: EventType.TEXT_MESSAGE_START, messageId, role: 'assistant' }]
  }

  #close(index: number): AGUIEvent[] {
    return this.#open.delete(index)
      ? [{ type: EventType.TEXT_MESSAGE_END, messageId: this.#id(String(index)) }]
      : []
  }

  #called(index: number, item: CallItem): AGUIEvent[] {
    const toolCallId = this.#callId(index, item)
    this.#pending.add(toolCallId)
    const parentMessageId = this.#parent ?? this.#id(`${index}-calls`)
    const { name: toolCallName, arguments: args } = item
    return [
      { type: EventType.TOOL_CALL_START, toolCallId, toolCallName, parentMessageId },
      ...(args === '' ? [] : [{ type: EventType.TOOL_CALL_ARGS as const, toolCallId, delta: args }]),
      { type: EventType.TOOL_CALL_END, toolCallId },
    ]
  }

  #callId(index: number, item: CallItem): string {
    return item.requestedAt === undefined
      ? this.#id(String(index))
      : clientCallId(this.#submitted.task_id, item)
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

  /**
   * The result of a call. Each call gets one, because AG-UI expects the client to make a call that has none. A
   * client that has made the call knows its result.
   */
  #result(index: number, item: CallItem): AGUIEvent[] {
    const toolCallId = this.#callId(index, item)
    this.#pending.delete(toolCallId)
    if (item.requestedAt !== undefined && this.#run.has?.has(toolCallId) === true) return []
    const { result } = item
    const unseen = `The call ${result?.success === true ? 'succeeded' : 'failed'}. The token does not have the role read, so the result is not shown.`
    const content = hasRole(this.#run.caller, 'read') ? (result?.content ?? '') : unseen
    return [
      {
        type: EventType.TOOL_CALL_RESULT,
        messageId: this.#id(`${index}-result`),
        toolCallId,
        content,
      },
    ]
  }

  closed(): AGUIEvent[] {
    return [...this.#open].flatMap((index) => this.#close(index))
  }

  interrupted(asks: readonly Waiting[]): AGUIEvent {
    const interrupts = interruptsOf(asks, this.#view, this.#run.caller)
    return { type: EventType.RUN_FINISHED, ...this.#ids, outcome: { type: 'interrupt', interrupts } }
  }

  /** The end of a run after which the client makes calls. @param calls all that wait, also those of earlier runs */
  asksClient(calls: readonly string[]): AGUIEvent {
    const pendingToolCallIds = this.#run.older === true ? [] : [...this.#pending]
    return {
      type: EventType.RUN_FINISHED,
      ...this.#ids,
      outcome: { type: 'success', ...(pendingToolCallIds.length === 0 ? {} : { pendingToolCallIds }) },
      metadata: { beaver: { waits_for_tool_call_ids: calls } },
    }
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
    if (status === 'cancelled' && this.#run.older !== true)
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
