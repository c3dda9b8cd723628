// Runs a task for a client of OpenAI, and reports what its root agent says.
// - If the client disconnects, the task is cancelled, because nobody could read the answer. OpenAI does the
//   same.
// - The task continues without its client if the request is in the background or has an `Idempotency-Key`,
//   because then the client can come back. Closing the app cancels nothing, either.
// - A question of the task completes the request, and so do calls of the client's tools. The task waits for
//   the answer.
// - If the task waits for more in a budget, the request fails at once, because a person may need days to give
//   more. The same request finds the task again.
// - If a request fails or reaches its time limit while the task continues, the app remembers the task, and
//   the same request finds it again (left-tasks.ts).
import { type BeaverClient, type Followed, followTask, submitAndFollow } from '@beaver/client'
import type { SubmittedTask, SubmitTask } from '@beaver/contracts'
import { BeaverError, type LiveDelta } from '@beaver/core'
import type { RecordedEvent } from '@beaver/core/journal'
import {
  type AgentRunResult,
  askInOutput,
  type BudgetAsk,
  budgetAsks,
  evolveTaskView,
  evolveTaskViewLive,
  newTaskView,
  type OpenQuestion,
  operatorGives,
  type OutputChange,
  type OutputView,
  readTaskView,
  type TaskView,
} from '@beaver/core/task-view'
import { type Caller, hasRole } from '../access.ts'
import { callsToMake, type WaitingCall } from '../client-calls.ts'
import { keyedId } from '../idempotency.ts'
import type { Asked, RequestParts } from '../route.ts'
import { reportedItems } from '../reported-items.ts'
import { type LeftTask, sameRequest } from './left-tasks.ts'
import { openAiFailure, OpenAiError, quotaError } from './openai-error.ts'
import { questionText, type Resumed, stillAsked } from './open-question.ts'
import { isWhole, responseId, ResponseView, secondsIn } from './response-object.ts'

/**
 * The end of a request: the result of its task, the text of a question, or calls of the client's tools. `from`: how many items of the
 * task's output belong to earlier requests.
 */
export type Ended = {
  readonly output: OutputView
  readonly view: ResponseView
  readonly created: number
  readonly from: number
} & (
  | { readonly result: AgentRunResult }
  | { readonly asks: string }
  | { readonly calls: readonly WaitingCall[] }
)

/**
 * A report about a request. `begun` is the first and `end` the last. `view` is the response of the task, and
 * it changes with each event.
 */
export type WorkUpdate =
  | {
      readonly begun: SubmittedTask & { readonly created: number }
      readonly view: ResponseView
      readonly from: number
    }
  | { readonly step: OutputChange }
  | { readonly end: Ended }

export interface Work {
  /** The new task, or an existing task that continues after an answer. */
  readonly task: SubmitTask | Resumed
  /** Whether the task continues when its client disconnects. */
  readonly goesOn: boolean
  /**
   * How the same request is recognised when it comes again. `null`: its task is found by an idempotency key
   * or by its id.
   */
  readonly again: Again | null
  /** Whether pieces of texts are reported while the model writes them. */
  readonly live: boolean
  /**
   * Whether the client gets only the final text. Default: false. A task that continues after an answer keeps
   * the choice of its first request.
   */
  readonly whole?: boolean
  /** Whether the client gets one call of its tools at a time. Default: false. */
  readonly single?: boolean
}

type Place = Pick<Asked<RequestParts>, 'host' | 'options' | 'signal' | 'caller'>

/** The data of the message `error` in a stream. */
export const streamFailure = (error: unknown): object => ({ error: openAiFailure(error).error })

/**
 * The fields of a task that name its user and its source, and the id by which a repeated request finds it.
 */
export function whoAsks(
  { caller }: Pick<Place, 'caller'>,
  { userId, key, again }: { readonly userId: string | undefined } & Repeatable,
): Pick<SubmitTask, 'user_id' | 'source' | 'task_id'> {
  const taskId = key === undefined ? again?.left?.taskId : keyedId({ caller, userId }, 'key', key)
  return {
    ...(userId === undefined ? {} : { user_id: userId }),
    source: `http:${caller.name}`,
    ...(taskId === undefined ? {} : { task_id: taskId }),
  }
}

/** How a repeated request is recognised: by its `Idempotency-Key`, or by its content. */
export interface Repeatable {
  /** The `Idempotency-Key` of the request. */
  readonly key: string | undefined
  readonly again: Again | null
}

/** A request without a key, and the remembered task of the same request, if there is one. */
interface Again {
  readonly request: string
  readonly left: LeftTask | null
}

/**
 * Runs `act` for a request that may be a repeated one. If `act` fails, a task that was remembered for this
 * request stays remembered.
 *
 * @param repetition.background whether the request is in the background, so that its task is found by its id
 */
export async function repeatable<Answer>(
  { caller, options, request }: Asked<RequestParts>,
  repetition: { readonly key: string | undefined; readonly background: boolean },
  act: (request: Repeatable) => Promise<Answer>,
): Promise<Answer> {
  if (repetition.key !== undefined || repetition.background) return act({ key: repetition.key, again: null })
  const same = sameRequest(caller, request.body)
  const left = options.left.take(same)
  try {
    return await act({ key: repetition.key, again: { request: same, left } })
  } catch (error) {
    if (left !== null) options.left.leave(same, left)
    throw error
  }
}

/** The reports of a request. None may be dropped, because the pieces of a text make up the text. */
export const workUpdates = (place: Place, work: Work): AsyncGenerator<WorkUpdate> =>
  reportedItems<WorkUpdate>(
    (report) => carryOut(place, work, report),
    () => false,
  )

/** Waits for the end of a request. */
export async function ended(place: Place, work: Work): Promise<Ended> {
  let last: Ended | null = null
  const report = (item: WorkUpdate): void => {
    if ('end' in item) last = item.end
  }
  await carryOut(place, work, report)
  if (last === null) throw new BeaverError('internal', 'A request ended without an end of its task.')
  return last
}

/** Runs a request to its end. `place.signal` aborts when the client disconnects, even during a stream. */
async function carryOut(place: Place, work: Work, report: (item: WorkUpdate) => void): Promise<void> {
  const { host, options, signal } = place
  const mostMs = options.runMsMax[work.live ? 'stream' : 'answer']
  const within = AbortSignal.any([signal, AbortSignal.timeout(mostMs)])
  const teller = new Teller(work, report)
  let wants: BudgetAsk | null = null
  try {
    for await (const each of followed(place, work, {
      signal: within,
      onSubmitted: (at) => teller.submitted(at),
    })) {
      if ('delta' in each) {
        teller.piece(each.delta)
        continue
      }
      if ('progress' in each) continue
      teller.event(each.event)
      const { result } = teller.view
      if (result !== null) return teller.ends(result)
      if (each.event.taskseq <= teller.after) continue
      if (teller.calls(each.event)) return
      // A repeated request follows its task from the beginning, so it meets questions that already have an
      // answer, and budgets that already have more.
      if (each.event.type === 'budget_exceeded') {
        wants = await stillWanted(host.client(), teller.taskId)
        if (wants !== null) break
      }
      if (each.event.type !== 'question_asked') continue
      const asked = await stillAsked(host.client(), teller.taskId, each.event.taskseq)
      if (asked !== null) return teller.asks(asked, place.caller)
    }
  } catch (error) {
    if (teller.taskId === '') {
      if (work.again?.left) options.left.leave(work.again.request, work.again.left)
      throw error
    }
    throw leave(place, work, teller) ? goesOnError(error, teller.taskId) : error
  }
  if (teller.taskId === '')
    throw new BeaverError('timeout', 'The request ended before its task was submitted.')
  if (wants !== null) {
    leave(place, work, teller)
    throw wantsError(teller.taskId, wants, place.caller)
  }
  // The following stopped before the end of the task: the app is closing, the client disconnected, or the
  // time limit was reached.
  if (options.closing()) throw closingError(teller.taskId)
  if (!signal.aborted) leave(place, work, teller)
  else if (!work.goesOn)
    await host
      .client()
      .cancel(teller.taskId, 'The client went away.', { userId: teller.userId })
      .catch(() => {})
  throw lateError(teller, { stored: work.goesOn, seconds: mostMs / 1_000 })
}

/**
 * Remembers a task that continues, so that the same request finds it. If that request does not come in time,
 * the task is cancelled, because nobody can read its answer.
 *
 * @returns whether the task is remembered
 */
function leave(
  { host, options }: Place,
  { again, task }: Work,
  { taskId, userId, waitsForPerson }: Teller,
): boolean {
  if (again === null || options.closing()) return false
  const cancel = (): void =>
    void host
      .client()
      .cancel(taskId, 'The client did not come again.', { userId })
      .catch(() => {})
  options.left.leave(again.request, {
    taskId,
    cancel: waitsForPerson ? null : cancel,
    ...('after' in task ? { resumed: task } : {}),
  })
  return true
}

interface Heard {
  readonly signal: AbortSignal
  readonly onSubmitted: (at: SubmittedTask) => void
}

async function* followed(
  { host }: Place,
  { task, live }: Work,
  { signal, onSubmitted }: Heard,
): AsyncGenerator<Followed> {
  const client = host.client()
  if ('after' in task) {
    const { task_id, session_id } = task.submitted
    onSubmitted({ task_id, session_id })
    yield* followTask(client, task_id, { signal })
  } else if (live) yield* submitAndFollow(client, task, { signal, onSubmitted })
  else {
    const at = await client.submit(task)
    onSubmitted(at)
    for await (const event of client.watch(at.task_id, { signal })) yield { event }
  }
}

/** The reports of one request, and the view of its task. */
class Teller {
  readonly view: ResponseView
  /** The place in the log after which the request begins. 0: it begins with its task. */
  readonly after: number
  readonly #task: TaskView
  readonly #live: boolean
  readonly #single: boolean
  readonly #tell: (item: WorkUpdate) => void
  #at: SubmittedTask | null = null
  #created = 0
  #from = 0

  constructor({ task, live, whole = false, single = false }: Work, report: (item: WorkUpdate) => void) {
    this.after = 'after' in task ? task.after : 0
    this.#task = newTaskView({ whole: 'after' in task ? isWhole(task.submitted) : whole, byForm: true })
    this.view = new ResponseView(this.#task)
    this.#live = live
    this.#single = single
    this.#tell = report
  }

  /** The id of the task. Empty: the task is not in the journal yet. */
  get taskId(): string {
    return this.#at?.task_id ?? ''
  }

  get userId(): string | undefined {
    return this.view.submitted?.request.user_id
  }

  get waitsForPerson(): boolean {
    return this.#task.askedCalls.length + budgetAsks(this.#task).length > 0
  }

  submitted(at: SubmittedTask): void {
    this.#at = at
  }

  event(event: RecordedEvent): void {
    const steps = evolveTaskView(this.#task, event)
    if (event.taskseq <= this.after) this.#from = this.#task.output.items.length
    if (this.#created === 0 && this.#at !== null && event.taskseq >= this.after) {
      this.#created = secondsIn(Date.parse(event.time))
      this.#tell({ begun: { ...this.#at, created: this.#created }, view: this.view, from: this.#from })
    }
    if (event.taskseq > this.after) this.#steps(steps)
  }

  piece(piece: LiveDelta): void {
    if (this.#live && this.#created > 0) this.#steps(evolveTaskViewLive(this.#task, piece))
  }

  ends(result: AgentRunResult): void {
    this.#tell({ end: { ...this.#end(), result } })
  }

  asks(asked: OpenQuestion, caller: Caller): void {
    const text = questionText(this.taskId, asked, caller)
    this.#steps(askInOutput(this.#task.output, text))
    this.#tell({ end: { ...this.#end(), asks: text } })
  }

  /** Whether the client must make calls now. Then the request has ended. */
  calls(event: RecordedEvent): boolean {
    const calls = callsToMake(this.#task, event, { after: this.after, single: this.#single })
    if (calls.length > 0) this.#tell({ end: { ...this.#end(), calls } })
    return calls.length > 0
  }

  #end() {
    return { output: this.#task.output, view: this.view, created: this.#created, from: this.#from }
  }

  /** Reports changes, except those of items that belong to earlier requests. */
  #steps(steps: readonly OutputChange[]): void {
    for (const step of steps) if (step.index >= this.#from) this.#tell({ step })
  }
}

/** The budget in which a task waits for more now. `null`: in none. */
async function stillWanted(client: Pick<BeaverClient, 'events'>, taskId: string): Promise<BudgetAsk | null> {
  const seen = await readTaskView(client.events(taskId), () => true)
  return seen === null ? null : (budgetAsks(seen.view)[0] ?? null)
}

/** Only callers that may read or decide learn what was used. */
function wantsError(
  taskId: string,
  { reason, shared, exceeded: { budget } }: BudgetAsk,
  caller: Caller,
): OpenAiError {
  const how = shared ? operatorGives(budget) : `"beaver show ${taskId}" says how to give more.`
  const why =
    hasRole(caller, 'read') || hasRole(caller, 'approve')
      ? `waits: ${reason}. ${how}`
      : 'waits for more in a budget.'
  return quotaError(`The task ${taskId} ${why} When it has more, send the same request again to go on.`)
}

/** Adds to an error that the task continues, and that the same request finds it. */
function goesOnError(error: unknown, taskId: string): OpenAiError {
  const { status, error: failure } = openAiFailure(error)
  return new OpenAiError(
    status,
    failure.code,
    `${failure.message} The task ${taskId} goes on: send the same request again.`,
  )
}

const closingError = (taskId: string): OpenAiError =>
  new OpenAiError(
    503,
    'wrong_state',
    `The gateway is being stopped. The task ${taskId} goes on, and the same request would begin another one.`,
    {
      again: false,
    },
  )

function lateError(
  { taskId, waitsForPerson }: Teller,
  { stored, seconds }: { readonly stored: boolean; readonly seconds: number },
): OpenAiError {
  const why = waitsForPerson
    ? `waits for a person: "beaver approve ${taskId}" shows for what`
    : `did not end within ${seconds} s`
  const next = stored
    ? `It goes on: ask for it with GET /v1/responses/${responseId(taskId)}.`
    : `Send the same request again to go on waiting for it.${waitsForPerson ? '' : ' If none comes within a minute, the task is cancelled.'}`
  return new OpenAiError(504, 'timeout', `The task ${taskId} ${why}. ${next}`)
}
