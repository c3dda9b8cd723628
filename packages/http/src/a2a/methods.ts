// The methods of A2A 1.0 on Beaver's tasks. They store nothing: the id of a task is Beaver's id, and the log
// of the task has all else. The id of a new task is computed from the caller and the id of the message, so
// sending a message twice submits one task. A client that disconnects cancels nothing; it can come back with
// GetTask or SubscribeToTask.
import { AgentCard, StreamResponse, Task, TaskState, taskStateFromJSON } from '@a2a-js/sdk'
import {
  ExtendedAgentCardNotConfiguredError,
  PushNotificationNotSupportedError,
  TaskNotCancelableError,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors'
import { type Followed, followTask, submitAndFollow } from '@beaver/client'
import type { SubmitTask } from '@beaver/contracts'
import { BeaverError, foreignId } from '@beaver/core'
import { amountIn, type BudgetLimits } from '@beaver/core/budget'
import { answerInText } from '@beaver/core/question'
import { budgetAsks, evolveTaskView, type SeenTask, type TaskView } from '@beaver/core/task-view'
import { z } from 'zod'
import { doneFor, hasRole, mustHave, reachOf, type TokenRole, userOf } from '../access.ts'
import { agentsIn } from '../agents.ts'
import { answerQuestion, mustAnswer, questionNamed } from '../answer-question.ts'
import { keyedId } from '../idempotency.ts'
import { type Call, mustSee, seenTask } from './call.ts'
import { extendedCard } from './card.ts'
import { InvalidParams } from './failure.ts'
import {
  type A2aMessage,
  answersIn,
  type CallAnswer,
  type Decision,
  decisionsIn,
  historyLength,
  mustSayWhat,
  mustSuit,
  readParams,
  type SendParams,
  sendParams,
  textOf,
  workOf,
} from './message.ts'
import { isOver, sightOf, stateOf, taskObject } from './task-object.ts'
import { taskUpdates } from './updates.ts'

// ListTasks: the read model gives the ids of the tasks, and their logs give their states. Tasks are in the
// order of their submission, newest first. A page may have fewer tasks than requested although more follow.
// `totalSize` is the number of tasks up to the end of the page, plus one if more follow, because an exact
// count would need all tasks.

/** How many rows of the read model one page may read. */
const rowsMax = 200

const listParams = z.looseObject({
  contextId: z.union([z.literal(''), foreignId]).nullish(),
  status: z
    .union([z.string(), z.int()])
    .transform(taskStateFromJSON)
    .refine((state) => state !== TaskState.UNRECOGNIZED, {
      message: 'is no state, such as TASK_STATE_WORKING',
    })
    .nullish(),
  pageSize: z.int().min(1).max(100).nullish(),
  pageToken: z
    .union([z.literal(''), z.string().regex(/^\d{1,15}\.\d{1,9}$/, 'is not the "nextPageToken" of a page')])
    .nullish(),
  historyLength,
  statusTimestampAfter: z.iso.datetime({ offset: true }).nullish(),
  includeArtifacts: z.boolean().nullish(),
})

async function listTasks(params: z.output<typeof listParams>, call: Call): Promise<object> {
  const { contextId, pageSize, pageToken } = params
  const size = pageSize ?? 50
  const userId = reachOf(call.caller)
  const [start, counted] = (pageToken ?? '').split('.').map(Number)
  const found: SeenTask[] = []
  let next: number | null = start === undefined || start === 0 ? null : start
  let rows = 0
  do {
    const page = await call.host.client().query('tasks', {
      limit: size - found.length,
      ...(contextId === undefined || contextId === null || contextId === '' ? {} : { session_id: contextId }),
      ...(userId === undefined ? {} : { user_id: userId }),
      ...(next === null ? {} : { before: next }),
    })
    for (const { task_id } of page.tasks) found.push(...(await wanted(task_id, params, call)))
    next = page.next
    rows += Math.max(1, page.tasks.length)
  } while (next !== null && found.length < size && rows < rowsMax)
  const soFar = (counted ?? 0) + found.length
  return {
    tasks: found.map((seen) => withArtifacts(seen, params, call)),
    nextPageToken: next === null ? '' : `${next}.${soFar}`,
    pageSize: size,
    totalSize: soFar + (next === null ? 0 : 1),
  }
}

/**
 * The task in a list, or an empty list if it is not one of the agent's tasks or does not match the filters.
 */
async function wanted(
  taskId: string,
  { status, statusTimestampAfter: after }: z.output<typeof listParams>,
  call: Call,
): Promise<SeenTask[]> {
  const seen = await seenTask(call, taskId)
  if (seen === null) return []
  const anyState = status === undefined || status === null || status === TaskState.TASK_STATE_UNSPECIFIED
  if (!anyState && stateOf(seen.view) !== status) return []
  return typeof after === 'string' && Date.parse(seen.view.time) <= Date.parse(after) ? [] : [seen]
}

/**
 * The JSON of a task. It has artifacts only if the client requests them; then the field is present even if it
 * is empty.
 */
function withArtifacts(
  seen: SeenTask,
  { historyLength: length, includeArtifacts }: z.output<typeof listParams>,
  { caller }: Call,
): object {
  const { artifacts, ...task } = Task.toJSON(
    taskObject(seen, { sight: sightOf(caller), historyLength: length }),
  ) as { artifacts?: unknown[] }
  return includeArtifacts === true ? { ...task, artifacts: artifacts ?? [] } : task
}

/** The answer of a method: the JSON of one result, or of each message of a stream. */
export type MethodAnswer =
  | { readonly kind: 'result'; readonly result: unknown }
  | { readonly kind: 'stream'; readonly results: AsyncGenerator }

export interface Method {
  /**
   * The role that the method needs. `null`: it needs none, or it checks the role itself, because that depends
   * on the message.
   */
  readonly role: TokenRole | null
  run(params: Readonly<Record<string, unknown>>, call: Call): Promise<MethodAnswer>
}

const method = <Schema extends z.ZodType>(
  role: TokenRole | null,
  schema: Schema,
  run: (params: z.output<Schema>, call: Call) => Promise<MethodAnswer> | MethodAnswer,
): Method => ({ role, run: async (params, call) => run(readParams(schema, params), call) })

const result = (value: unknown): MethodAnswer => ({ kind: 'result', result: value })
const ofTask = z.looseObject({ id: foreignId, historyLength })
const anything = z.looseObject({})

const pushRefused = method(null, anything, () => {
  throw new PushNotificationNotSupportedError(
    'Beaver sends no push notifications. Use SubscribeToTask or GetTask.',
  )
})

/** All methods by name. */
export const methods: Readonly<Record<string, Method>> = {
  SendMessage: method(null, sendParams, async (params, call) => {
    const { task_id: taskId } = await taken(params, call)
    const { historyLength: length, returnImmediately } = params.configuration ?? {}
    const seen = returnImmediately === true ? await mustSee(call, taskId) : await settled(call, taskId)
    return result({ task: shown(seen, call, { historyLength: length, own: isNew(params.message) }) })
  }),
  SendStreamingMessage: method(null, sendParams, async (params, call) => {
    mustSuit(params)
    const { message, configuration } = params
    if (!isNew(message)) {
      mustHave(call.caller, 'read')
      return following(
        call,
        await mustSee(call, (await taken(params, call)).task_id),
        configuration?.historyLength,
      )
    }
    const followed = submitAndFollow(call.host.client(), await newTask(message, call), {
      signal: call.signal,
    })
    return streamed(call, followed, { upTo: 1, historyLength: configuration?.historyLength, own: true })
  }),
  GetTask: method('read', ofTask, async (params, call) =>
    result(shown(await mustSee(call, params.id), call, params)),
  ),
  ListTasks: method('read', listParams, async (params, call) => result(await listTasks(params, call))),
  CancelTask: method('submit', ofTask, async ({ id }, call) =>
    result(shown(await cancelled(call, id), call)),
  ),
  SubscribeToTask: method('read', ofTask, async ({ id }, call) => {
    const seen = await mustSee(call, id)
    if (isOver(stateOf(seen.view)))
      throw new UnsupportedOperationError(
        `The task ${id} has ended, so nothing of it can be followed. GetTask shows how it ended.`,
      )
    return following(call, seen)
  }),
  GetExtendedAgentCard: method(null, anything, async (_, call) => {
    const status = await call.host.client().status()
    if (!agentsIn(status).includes(call.agent))
      throw new ExtendedAgentCardNotConfiguredError(`There is no agent ${JSON.stringify(call.agent)}.`)
    return result(AgentCard.toJSON(extendedCard(call, status)))
  }),
  CreateTaskPushNotificationConfig: pushRefused,
  GetTaskPushNotificationConfig: pushRefused,
  ListTaskPushNotificationConfigs: pushRefused,
  DeleteTaskPushNotificationConfig: pushRefused,
}

interface Wish {
  readonly historyLength?: number | null | undefined
  /** Whether the caller itself sent the message that began the task. Default: false. */
  readonly own?: boolean
}

const shown = (seen: SeenTask, { caller }: Call, { historyLength: length, own }: Wish = {}): unknown =>
  Task.toJSON(taskObject(seen, { sight: sightOf(caller, { own: own === true }), historyLength: length }))

/** Whether a message begins a new task. */
const isNew = ({ taskId }: A2aMessage): boolean => taskId === undefined || taskId === null

/** Waits until the task has ended or waits for a person or its client, or until the time of the request is over. */
async function settled(call: Call, taskId: string): Promise<SeenTask> {
  const seen = await mustSee(call, taskId)
  const isSettled = (view: TaskView): boolean =>
    view.end !== null ||
    view.askedCalls.length > 0 ||
    view.openQuestions.length > 0 ||
    view.clientCalls.length > 0 ||
    budgetAsks(view).length > 0
  await goneOn(seen, call, {
    until: isSettled,
    signal: AbortSignal.any([call.signal, AbortSignal.timeout(call.options.runMsMax.answer)]),
  })
  return seen
}

/** Follows the task and updates its view until `until` holds or `signal` aborts. */
async function goneOn(
  { submitted, view }: SeenTask,
  { host }: Call,
  { until, signal }: { readonly until: (view: TaskView) => boolean; readonly signal: AbortSignal },
): Promise<void> {
  if (until(view)) return
  for await (const event of host.client().watch(submitted.task_id, { signal })) {
    if (event.taskseq <= view.taskseq) continue
    evolveTaskView(view, event)
    if (until(view)) return
  }
}

/** Applies a message: submits a new task, or passes the message to the task that it names. */
async function taken(params: SendParams, call: Call): Promise<{ readonly task_id: string }> {
  const { message } = params
  mustSuit(params)
  if (message.taskId === undefined || message.taskId === null)
    return call.host.client().submit(await newTask(message, call))
  return toldTo(message, message.taskId, call)
}

async function newTask(message: A2aMessage, { agent, host, caller }: Call): Promise<SubmitTask> {
  mustHave(caller, 'submit')
  const userId = userOf(caller, undefined)
  return {
    ...(await workOf(agent, textOf(message), host)),
    task_id: keyedId({ caller, userId }, 'a2a', agent, message.messageId),
    ...(typeof message.contextId === 'string' ? { session_id: message.contextId } : {}),
    ...(userId === undefined ? {} : { user_id: userId }),
    source: `a2a:${caller.name}`,
    stream: true,
  }
}

/**
 * Passes a message to an existing task: it decides about calls, answers questions, or steers the task.
 *
 * @throws {A2AError}, {InvalidParams}, {HttpProblem} `not_allowed`
 */
async function toldTo(
  message: A2aMessage,
  taskId: string,
  call: Call,
): Promise<{ readonly task_id: string }> {
  const decisions = decisionsIn(message)
  const answers = answersIn(message)
  if (decisions.length > 0 || !hasRole(call.caller, 'approve'))
    mustHave(call.caller, decisions.length > 0 ? 'approve' : 'submit')
  const { submitted, view } = await mustSee(call, taskId)
  if (typeof message.contextId === 'string' && message.contextId !== submitted.session_id)
    throw new InvalidParams(
      `The task ${taskId} belongs to another context. Leave "contextId" out, or send that of the task.`,
      [{ path: 'params.message.contextId', message: 'is not that of the task' }],
    )
  if (isOver(stateOf(view)))
    throw new UnsupportedOperationError(
      `The task ${taskId} has ended and takes no messages. Send the message with its "contextId" and without "taskId".`,
    )
  try {
    for (const each of decisions) await decide(each, taskId, call)
    for (const each of answers) await answerAs(each, { taskId, view }, call)
    if (decisions.length === 0 && answers.length === 0) mustSayWhat(message)
    if (decisions.length === 0 && answers.length === 0) await takeText(message, { taskId, view }, call)
  } catch (error) {
    if (error instanceof BeaverError && error.code === 'conflict')
      throw new UnsupportedOperationError(error.message)
    throw error
  }
  return { task_id: taskId }
}

interface ToldTask {
  readonly taskId: string
  readonly view: TaskView
}

/**
 * A text answers the question that has waited longest. If no question waits, "more 0.50" gives more to the
 * budget that has waited longest. Any other text steers the task.
 */
async function takeText(
  message: A2aMessage,
  { taskId, view }: ToldTask,
  { host, caller }: Call,
): Promise<void> {
  const text = textOf(message)
  const [asked] = view.openQuestions
  if (asked !== undefined) {
    mustAnswer(caller, asked)
    return answerQuestion({ client: host.client(), caller, taskId }, asked, {
      answer: answerInText(asked.question, text),
    })
  }
  const { userId } = caller
  const requestId = keyedId({ caller, userId }, 'a2a', message.messageId)
  const given = givenIn(text, view)
  if (given !== null) {
    mustHave(caller, 'approve')
    await host.client().raise(taskId, given.more, { nodeId: given.nodeId, requestId, userId })
    return
  }
  mustHave(caller, 'submit')
  await host.client().steer(taskId, text, { requestId, userId })
}

/** What a text gives to a budget in which the task waits for more. `null`: it gives nothing. */
function givenIn(
  text: string,
  view: TaskView,
): { readonly more: BudgetLimits; readonly nodeId: string | undefined } | null {
  const ask = budgetAsks(view).find(({ shared }) => !shared)
  const [, amount] = /^\s*more\s+(.{1,100}?)[\s.!]*$/i.exec(text) ?? []
  const more = ask === undefined || amount === undefined ? null : amountIn(amount, ask.exceeded.measure)
  return more === null ? null : { more, nodeId: ask?.nodeId }
}

async function answerAs(
  { call_id, question_index, answer, reason }: CallAnswer,
  { taskId, view }: ToldTask,
  { host, caller }: Call,
): Promise<void> {
  const client = host.client()
  const asked = questionNamed(view.openQuestions, { call_id, question_index })
  if (asked !== null) return answerQuestion({ client, caller, taskId }, asked, { answer, reason })
  mustHave(caller, 'approve')
  // The daemon reads the log, and its error says why there is no such question.
  await client
    .answer(taskId, {
      callId: call_id,
      questionIndex: question_index,
      answer,
      reason,
      userId: doneFor(caller),
    })
    .catch((error: unknown) => {
      if (!(error instanceof BeaverError && error.code === 'not_found')) throw error
      throw new InvalidParams(error.message, [
        { path: 'params.message.parts', message: 'names no question that waits' },
      ])
    })
}

async function decide(
  { call_id: callId, call_hash: callHash, arguments: args, ...decided }: Decision,
  taskId: string,
  { host, caller }: Call,
): Promise<void> {
  await host
    .client()
    .decide(taskId, {
      ...decided,
      callId,
      callHash,
      userId: doneFor(caller),
      ...(args === undefined ? {} : { arguments: JSON.stringify(args) }),
    })
    .catch((error: unknown) => {
      if (error instanceof BeaverError && error.code === 'invalid_arguments')
        throw new InvalidParams(error.message, [
          { path: 'params.message.parts', message: 'does not fit the tool' },
        ])
      if (!(error instanceof BeaverError && error.code === 'not_found')) throw error
      throw new InvalidParams(error.message, [
        { path: 'params.message.parts', message: 'names no call that waits' },
      ])
    })
}

/** How long CancelTask waits for the end of the task, in milliseconds. */
const cancelMsMax = 5_000

/**
 * Cancels a task and waits a moment for its end.
 *
 * @throws {TaskNotCancelableError} if the task ended in another way
 */
async function cancelled(call: Call, taskId: string): Promise<SeenTask> {
  const { caller, host } = call
  const before = await mustSee(call, taskId)
  if (before.view.end === null)
    await host
      .client()
      .cancel(taskId, `Cancelled by ${caller.name}.`, { userId: doneFor(caller) })
      .catch((error: unknown) => {
        if (!(error instanceof BeaverError && error.code === 'conflict')) throw error
      })
  const after = await mustSee(call, taskId)
  await goneOn(after, call, {
    until: ({ end }) => end !== null,
    signal: AbortSignal.timeout(cancelMsMax),
  })
  const state = stateOf(after.view)
  if (isOver(state) && state !== TaskState.TASK_STATE_CANCELED)
    throw new TaskNotCancelableError(
      `The task ${taskId} has ended: ${after.view.end?.type.slice('task_'.length) ?? ''}.`,
    )
  return after
}

const following = (call: Call, { submitted, view }: SeenTask, length?: number | null): MethodAnswer =>
  streamed(call, followTask(call.host.client(), submitted.task_id, { signal: call.signal }), {
    upTo: view.taskseq,
    historyLength: length,
  })

function streamed(
  call: Call,
  followed: AsyncIterable<Followed>,
  { own, ...wish }: Wish & { readonly upTo: number },
): MethodAnswer {
  const asks = async (taskId: string): Promise<boolean> =>
    (await mustSee(call, taskId)).view.openQuestions.length > 0
  return {
    kind: 'stream',
    results: asJson(
      taskUpdates(followed, { sight: sightOf(call.caller, { own: own === true }), asks, ...wish }),
    ),
  }
}

async function* asJson(updates: AsyncGenerator<StreamResponse>): AsyncGenerator {
  for await (const update of updates) yield StreamResponse.toJSON(update)
}
