// One task that a program waits for: it is submitted, followed to its end, and cancelled when the program
// asks for this. The promise resolves with the result in the journal, or rejects with a BeaverError that says
// what became of the task. An error of a callback is reported, and the task continues. A task that the
// service lets go of is not cancelled and stays in the journal.
import {
  type BeaverClient,
  type CallDecision,
  type Followed,
  followTask,
  type SubmittedTask,
} from '@beaver/client'
import { BeaverError, type LiveDelta, type LiveProgress, messageOf, pause, systemClock } from '@beaver/core'
import type { RecordedEvent } from '@beaver/core/journal'
import { questionAnswer, type QuestionAnswer } from '@beaver/core/question'
import { type AgentRunResult, evolveTaskView, newTaskView, resultOf } from '@beaver/core/task-view'
import type { ApprovalRequest, OnApproval, OnQuestion, QuestionRequest } from './options.ts'

const cancelTriesMax = 10
const cancelPauseMs = 200

/** How a program follows a task. */
export interface FollowOptions {
  /**
   * When this signal aborts, the task is cancelled and the promise resolves with its result. If the signal is
   * aborted before the call, nothing is stored and the promise rejects with the signal's reason.
   */
  readonly signal?: AbortSignal
  /** Called with each event of the task, in order. */
  readonly onEvent?: (event: RecordedEvent) => void
  /**
   * Called with the pieces of an answer while the model writes it. Pieces may be lost; the complete answers
   * are events.
   */
  readonly onDelta?: (delta: LiveDelta) => void
  /** Called with the progress of calls while their tools run. Progress may be lost. */
  readonly onProgress?: (progress: LiveProgress) => void
}

/** A task that the service follows. */
export interface OpenTask {
  readonly result: Promise<AgentRunResult>
  /** The id of the task; `null` until the task is submitted. */
  readonly taskId: string | null
  /** Whether this service started the task. If not, the service only waits for its result. */
  readonly ours: boolean
  cancel(reason: string): void
  /** Rejects the promise with `error`, because the service closes or failed. The task itself continues. */
  letGo(error: BeaverError): void
}

/** A submitted task and the client with which it is followed. */
export interface Submission {
  readonly client: BeaverClient
  readonly submitted: SubmittedTask
}

/** The options of a task that the service follows. `tell` receives warnings for a person. */
export interface OpenTaskOptions extends FollowOptions {
  readonly onApproval: OnApproval | null
  readonly onQuestion: OnQuestion | null
  readonly tell: (message: string) => void
  readonly ours: boolean
}

/** Submits a task and follows it to its end. If `submit` rejects, `result` rejects with the same error. */
export function openTask(submit: () => Promise<Submission>, options: OpenTaskOptions): OpenTask {
  return new TaskInProgram(submit, options)
}

class TaskInProgram implements OpenTask {
  readonly result: Promise<AgentRunResult>
  readonly ours: boolean
  readonly #options: OpenTaskOptions
  readonly #over = new AbortController()
  readonly #broken = Promise.withResolvers<never>()
  #submission: Submission | null = null
  #cancelReason: string | null = null

  constructor(submit: () => Promise<Submission>, options: OpenTaskOptions) {
    this.#options = options
    this.ours = options.ours
    this.#broken.promise.catch(() => {})
    this.result = Promise.race([this.#run(submit), this.#broken.promise]).finally(() => {
      options.signal?.removeEventListener('abort', this.#onAbort)
      this.#over.abort()
    })
  }

  get taskId(): string | null {
    return this.#submission?.submitted.task_id ?? null
  }

  cancel(reason: string): void {
    if (this.#cancelReason !== null) return
    this.#cancelReason = reason
    if (this.#submission !== null) void this.#sendCancel(this.#submission, reason)
  }

  letGo(error: BeaverError): void {
    this.#broken.reject(error)
  }

  readonly #onAbort = (): void =>
    this.cancel(`The program cancelled it: ${messageOf(this.#options.signal?.reason)}`.slice(0, 1_000))

  async #run(submit: () => Promise<Submission>): Promise<AgentRunResult> {
    const { signal } = this.#options
    signal?.throwIfAborted()
    signal?.addEventListener('abort', this.#onAbort, { once: true })
    this.#submission = await submit()
    if (this.#cancelReason !== null) void this.#sendCancel(this.#submission, this.#cancelReason)
    return this.#follow(this.#submission)
  }

  /** Sends the cancel, up to `cancelTriesMax` times while requests fail. Stops when the task ends. */
  async #sendCancel({ client, submitted }: Submission, reason: string): Promise<void> {
    const over = this.#over.signal
    for (let tries = 1; !over.aborted; tries++) {
      try {
        return await client.cancel(submitted.task_id, reason)
      } catch (error) {
        if (error instanceof BeaverError && error.code === 'conflict') return // The task has ended.
        if (tries >= cancelTriesMax) return this.#broken.reject(error)
      }
      await pause(systemClock, cancelPauseMs, over)
    }
  }

  async #follow({ client, submitted: { task_id } }: Submission): Promise<AgentRunResult> {
    const { onApproval, onQuestion, tell } = this.#options
    const view = newTaskView()
    const asks = onApproval !== null || onQuestion !== null
    const approvals = asks ? askApprovals(task_id, client, onApproval ?? deniesAll, tell) : null
    const questions = asks ? askQuestions(task_id, client, { ask: onQuestion ?? answersNothing, tell }) : null
    try {
      for await (const each of this.#followed(client, task_id)) {
        if ('delta' in each) this.#guarded('onDelta', () => this.#options.onDelta?.(each.delta))
        else if ('progress' in each)
          this.#guarded('onProgress', () => this.#options.onProgress?.(each.progress))
        else {
          evolveTaskView(view, each.event)
          approvals?.saw(each.event)
          questions?.saw(each.event)
          this.#guarded('onEvent', () => this.#options.onEvent?.(each.event))
        }
      }
    } finally {
      approvals?.close()
      questions?.close()
    }
    const result = resultOf(view)
    if (result === null)
      throw new BeaverError(
        'unreachable',
        `The task ${task_id} can no longer be followed. It continues. Call result("${task_id}").`,
      )
    return result
  }

  /** The events of the task. Live pieces are requested only if the program listens to them. */
  async *#followed(client: BeaverClient, taskId: string): AsyncGenerator<Followed> {
    const { signal } = this.#over
    if (this.#options.onDelta !== undefined || this.#options.onProgress !== undefined)
      yield* followTask(client, taskId, { signal })
    else for await (const event of client.watch(taskId, { signal })) yield { event }
  }

  #guarded(name: string, act: () => void): void {
    try {
      act()
    } catch (error) {
      this.#options.tell(`${name} failed: ${messageOf(error)}`)
    }
  }
}

/**
 * If the program has only one of `onApproval` and `onQuestion`, these functions answer what the other would.
 */
const deniesAll: OnApproval = () => 'The program decides about no calls.'
const answersNothing: OnQuestion = () => ({ action: 'cancel' })

// Asks the program the questions of running calls of one task. Replayed events are read first, so that the
// program gets each question once, and only if the journal has no answer. An error, or a value that is no
// answer, cancels the question, so that the agent continues.

/** The replay is over when no event came for this time, in milliseconds. */
const settleMs = 25

interface AskedQuestions {
  saw(event: RecordedEvent): void
  close(): void
}

/**
 * Starts to ask. `ask` answers the questions, and `tell` receives warnings. The caller passes each event to
 * `saw`, and calls `close` at the end.
 */
export function askQuestions(
  taskId: string,
  client: Pick<BeaverClient, 'answer'>,
  { ask, tell }: { readonly ask: OnQuestion; readonly tell: (message: string) => void },
): AskedQuestions {
  const waiting = new Map<string, QuestionRequest>()
  const stop = new AbortController()
  let timer: NodeJS.Timeout | null = null

  async function put(request: QuestionRequest): Promise<void> {
    let answer: QuestionAnswer
    try {
      answer = answerOf(await ask(request, stop.signal))
    } catch (error) {
      tell(`onQuestion failed, so the question of ${request.tool_name} has no answer: ${messageOf(error)}`)
      answer = { action: 'cancel' }
    }
    if (!stop.signal.aborted) await deliver(request, answer)
  }

  async function deliver(request: QuestionRequest, answer: QuestionAnswer): Promise<void> {
    const questionName = {
      callId: `${request.run_id}/${request.call_id}`,
      questionIndex: request.question_index,
    }
    try {
      await client.answer(taskId, { ...questionName, answer })
    } catch (error) {
      // Somebody else answered, or the task ended.
      if (error instanceof BeaverError && (error.code === 'conflict' || error.code === 'not_found')) return
      tell(
        `The answer to the question of ${request.tool_name} in the task ${taskId} was not delivered: ${messageOf(error)}`,
      )
      if (answer.action === 'accept' && error instanceof BeaverError && error.code === 'invalid_arguments')
        await deliver(request, { action: 'cancel' })
    }
  }

  return {
    saw(event) {
      if (event.type === 'question_asked')
        waiting.set(keyOf(event), { task_id: taskId, run_id: event.runId ?? '', ...event.data })
      else if (event.type === 'question_answered') waiting.delete(keyOf(event))
      if (timer !== null) clearTimeout(timer)
      timer = waiting.size === 0 ? null : setTimeout(putAll, settleMs)
    },
    close() {
      stop.abort()
      if (timer !== null) clearTimeout(timer)
    },
  }

  function putAll(): void {
    const requests = [...waiting.values()]
    waiting.clear()
    for (const request of requests) void put(request)
  }
}

const keyOf = ({
  runId,
  data,
}: Extract<RecordedEvent, { type: 'question_asked' | 'question_answered' }>): string =>
  `${runId}/${data.call_id}/${data.question_index}`

/**
 * Reads what the program returned: a program in JavaScript may return anything.
 *
 * @throws {Error} if the value is no answer
 */
function answerOf(returned: unknown): QuestionAnswer {
  if (returned === null) return { action: 'decline' }
  const answer =
    typeof returned === 'string'
      ? { action: 'accept', answers: [returned] }
      : Array.isArray(returned)
        ? { action: 'accept', answers: returned }
        : returned
  const read = questionAnswer.safeParse(answer)
  if (read.success) return read.data
  throw new TypeError('It returned neither a text, a list of texts, null nor an answer with an action.')
}

// Asks the program about the calls of one task that wait for an approval. Replayed events are read first, so
// that the program gets each call once, and only if the journal has no decision. Several runs of a task may
// have a call with the same id, so the key of a call is its run and its id.

interface AskedApprovals {
  saw(event: RecordedEvent): void
  close(): void
}

/**
 * Starts to ask. `ask` decides about the calls, and `tell` receives warnings. The caller passes each event to
 * `saw`, and calls `close` at the end.
 */
export function askApprovals(
  taskId: string,
  client: Pick<BeaverClient, 'decide'>,
  ask: OnApproval,
  tell: (message: string) => void,
): AskedApprovals {
  const waiting = new Map<string, ApprovalRequest>()
  const stop = new AbortController()
  let timer: NodeJS.Timeout | null = null

  async function put(request: ApprovalRequest): Promise<void> {
    let answer: Said
    try {
      answer = saidBy(await ask(request, stop.signal))
    } catch (error) {
      tell(
        `onApproval failed, so the call ${request.call_id} of ${request.tool_name} is denied: ${messageOf(error)}`,
      )
      answer = { approved: false, reason: 'The program could not decide.' }
    }
    if (stop.signal.aborted) return
    const decision = {
      callId: `${request.run_id}/${request.call_id}`,
      callHash: request.call_hash,
      ...answer,
    }
    try {
      await client.decide(taskId, decision)
    } catch (error) {
      // Somebody else decided, or the task ended.
      if (error instanceof BeaverError && (error.code === 'conflict' || error.code === 'not_found')) return
      if (
        error instanceof BeaverError &&
        error.code === 'invalid_arguments' &&
        decision.arguments !== undefined
      ) {
        tell(
          `onApproval changed the arguments of the call ${request.call_id}, and they do not fit, so the call is denied: ${error.message}`,
        )
        const { arguments: _, ...denied } = decision
        await client
          .decide(taskId, {
            ...denied,
            approved: false,
            reason: 'The program changed the arguments, and they do not fit.',
          })
          .catch(() => {})
        return
      }
      tell(
        `The decision about the call ${request.call_id} of the task ${taskId} was not delivered: ${messageOf(error)}`,
      )
    }
  }

  return {
    saw(event) {
      if (event.type === 'approval_requested')
        waiting.set(`${event.runId}/${event.data.call_id}`, {
          task_id: taskId,
          run_id: event.runId ?? '',
          ...event.data,
        })
      else if (event.type === 'approval_granted' || event.type === 'approval_denied')
        waiting.delete(`${event.runId}/${event.data.call_id}`)
      if (timer !== null) clearTimeout(timer)
      timer = waiting.size === 0 ? null : setTimeout(putAll, settleMs)
    },
    close() {
      stop.abort()
      if (timer !== null) clearTimeout(timer)
    },
  }

  function putAll(): void {
    const requests = [...waiting.values()]
    waiting.clear()
    for (const request of requests) void put(request)
  }
}

type Said = Pick<CallDecision, 'approved' | 'reason' | 'arguments'>

/**
 * Reads what the program returned: a program in JavaScript may return anything.
 *
 * @throws {Error} if the value is no decision; the call is then denied
 */
function saidBy(answer: unknown): Said {
  if (typeof answer === 'boolean') return { approved: answer }
  if (typeof answer === 'string') return { approved: false, reason: answer }
  const isChange = typeof answer === 'object' && answer !== null && Object.keys(answer).join() === 'arguments'
  const changed = isChange ? (answer as { readonly arguments: unknown }).arguments : null
  if (typeof changed === 'object' && changed !== null && !Array.isArray(changed))
    return { approved: true, arguments: JSON.stringify(changed) }
  throw new TypeError('It returned neither true, false, a reason nor {arguments: {…}}.')
}

/** A fold that computes the result of one task from its events. */
export interface ResultFold {
  /** Adds the next event of the task. Events must come in their order. */
  add(event: RecordedEvent): void
  /** The result; `null` until the task has ended. */
  readonly result: AgentRunResult | null
}

/**
 * Makes a fold that computes the result of one task from its events.
 *
 * @example
 * await using service = new AgentService()
 * const ended = await service.processDirect('Say what you are.')
 * const fold = resultFold()
 * for await (const event of service.client.watch(ended.task_id)) fold.add(event)
 * fold.result?.status // => 'completed'
 */
export function resultFold(): ResultFold {
  const view = newTaskView()
  return {
    add: (event) => void evolveTaskView(view, event),
    get result() {
      return resultOf(view)
    },
  }
}
