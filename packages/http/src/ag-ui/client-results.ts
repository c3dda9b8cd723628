// The tools that a user interface brings with a run, and what it says to a task that waits for their results.
// - The messages after the newest one of the agent are new: results of calls, and texts of the user.
// - Results answer the calls that wait, one or several at once. A text goes to the same task as a text that
//   steers it, because the task would hold up a new one of the thread.
// - A text instead of results ends the waiting, too: the calls without a result fail, and the agent reads why.
// - If one result of a request is not valid, none of it takes effect.
import { BeaverError, type DataOf } from '@beaver/core'
import type { RecordedEvent } from '@beaver/core/journal'
import { evolveTaskView, newTaskView, type TaskView } from '@beaver/core/task-view'
import { z } from 'zod'
import { doneFor, mustHave, reaches, userOf } from '../access.ts'
import { agentOf } from '../agents.ts'
import { answerClientCalls, clientCallId, type ClientCallAnswer } from '../client-calls.ts'
import type { Asker, TaskHost } from '../host.ts'
import { keyedId } from '../idempotency.ts'
import { clientIds, knownOf, type Resumed } from './interrupts.ts'
import { onlyWaits } from './run-events.ts'
import { invalid, type Message, type RunInput, sourceOf, taskOfRun, textOf } from './run-input.ts'

/** A result in a request. */
interface Result extends ClientCallAnswer {
  /** The index of its message. Absent: the request has none for the call. */
  readonly at?: number
}

interface New {
  readonly results: readonly Result[]
  /** What the user says. Empty: nothing. */
  readonly text: string
}

const instead = 'The user wrote a new message instead of a result of this call.'

/**
 * Applies what the newest messages say to a task of the thread that waits for its client. The same request
 * again changes nothing.
 *
 * @returns `null`: they say nothing to such a task
 * @throws {HttpProblem} `invalid_arguments`, `not_allowed`; {BeaverError} `conflict` if a call has another
 * result, or ended without one
 */
export async function continued(
  input: RunInput,
  asker: Asker & { readonly agent: string },
): Promise<Resumed | null> {
  const { results, text } = newIn(input)
  const [first] = results
  if (first === undefined && (text === '' || (input.resume ?? []).length > 0)) return null
  const { host, caller, agent } = asker
  const taskId = first === undefined ? await waitingTask(input, asker) : taskIn(first.id)
  if (taskId === null) return null
  const { threadId, runId } = input
  const requestId = keyedId(
    { caller, userId: userOf(caller, undefined) },
    'ag-ui text',
    taskId,
    threadId,
    runId,
  )
  const ids = results.map(({ id }) => id)
  const seen = await readTask(host.client().events(taskId), {
    ...{ requestId, ids },
    may: ({ request, session_id }) =>
      session_id === threadId && agentOf(request) === agent && reaches(caller, request.user_id),
  })
  if (seen === null && (first === undefined || text !== '')) return null
  if (seen === null)
    throw invalid(
      `messages.${first?.at}.toolCallId`,
      'names no call of this thread and this agent. Send the id that TOOL_CALL_START gave, in the thread of its run',
    )
  const { view, saidAt } = seen
  const waits = clientIds(view)
  // A text to a task that has ended, or that waits for nothing of the client, begins a task of its own.
  if (text !== '' && saidAt === null && (view.end !== null || waits.length === 0)) return null
  if (view.submitted?.request.source !== sourceOf(caller)) mustHave(caller, 'read')
  mustBeCalls(results, view, taskId)
  const open = results.filter(({ id }) => waits.includes(id))
  await answer(
    results.filter((each) => !open.includes(each)),
    asker,
  )
  // The agent must have the text before it goes on.
  if (text !== '') await host.client().steer(taskId, text, { requestId, userId: doneFor(caller) })
  const left = text === '' ? [] : clientIds(view, saidAt ?? Infinity).filter((id) => !ids.includes(id))
  await answer([...open, ...left.map((id) => ({ id, content: '', error: instead }))], asker)
  return { taskId, after: seen.stop ?? view.taskseq, known: knownOf(view, [...ids, ...left]) }
}

/** The messages after the newest one of the agent. @throws {HttpProblem} `invalid_arguments` */
function newIn({ messages }: RunInput): New {
  const begins = messages.findLastIndex(({ role }) => role === 'assistant') + 1
  const results = new Map<string, Result>()
  const texts: string[] = []
  for (const [i, message] of messages.entries()) {
    if (i < begins) continue
    if (message.role === 'user') texts.push(textOf(message))
    if (message.role !== 'tool' || taskIn(message.toolCallId) === null) continue
    const result = resultIn(message, i)
    const other = results.get(result.id)
    if (other !== undefined && (other.content !== result.content || other.error !== result.error))
      throw invalid(`messages.${i}.toolCallId`, 'names a call that has another result in this request')
    results.set(result.id, result)
  }
  const text = texts.filter((each) => each.trim() !== '').join('\n\n')
  return { results: [...results.values()], text }
}

function resultIn(message: Message, at: number): Result {
  const { toolCallId: id = '', content, error } = message
  const parts = z.array(z.looseObject({ type: z.string() })).safeParse(content)
  const other = parts.data?.find(({ type }) => type !== 'text')
  if (other !== undefined)
    throw invalid(
      `messages.${at}.content`,
      `has a part of type ${JSON.stringify(other.type)}. The result of a tool of the client is a text: send its text, or an address of it`,
    )
  if (typeof content !== 'string' && !parts.success)
    throw invalid(`messages.${at}.content`, 'must be a text, or parts of type text')
  return { id, at, content: textOf(message), ...(error === undefined || error === '' ? {} : { error }) }
}

/** The task in the id of a call of the client. `null`: it is no such id. */
const taskIn = (id: string | undefined): string | null =>
  /^call_\d{1,15}_(.{1,128})$/s.exec(id ?? '')?.[1] ?? null

const calls = z.array(z.looseObject({ id: z.string() }))

/**
 * The task of the thread that may wait for its client: the one whose calls the newest message of the agent has,
 * or else, because an interface may have lost its messages, one that waits now. `null`: there is none.
 */
async function waitingTask(
  input: RunInput,
  asker: Asker & { readonly agent: string },
): Promise<string | null> {
  const { messages, threadId } = input
  const { host } = asker
  const newest = messages.findLast(({ role }) => role === 'assistant')
  const ids = calls.safeParse(newest?.['toolCalls']).data ?? []
  const known = ids.map(({ id }) => taskIn(id)).find((id) => id !== null)
  const waiting = known ?? (await waitingNow(threadId, host))
  // The same run again follows its own task.
  return waiting === null || (await exists(taskOfRun(input, asker), host)) ? null : waiting
}

async function exists(taskId: string, host: TaskHost): Promise<boolean> {
  for await (const _ of host.client().events(taskId)) return true
  return false
}

async function waitingNow(threadId: string, host: TaskHost): Promise<string | null> {
  const found = await host
    .client()
    .query('tasks', { session_id: threadId, status: 'waiting_for_client', limit: 1 })
    .catch((error: unknown) => {
      // Without a projector, a new task waits until the one before it has ended.
      if (error instanceof BeaverError) return null
      throw error
    })
  return found?.tasks[0]?.task_id ?? null
}

interface Seen {
  readonly view: TaskView
  /** The place in the log at which the run before stopped. `null`: it did not stop. */
  readonly stop: number | null
  /** The place of the text of this request in the log. `null`: the log does not have it. */
  readonly saidAt: number | null
}

interface Looked {
  readonly requestId: string
  /** The calls of the request. Empty: all that wait. */
  readonly ids: readonly string[]
  readonly may: (submitted: DataOf<'task_submitted'>) => boolean
}

/** `null`: the caller has no such task. */
async function readTask(
  events: AsyncIterable<RecordedEvent>,
  { requestId, ids, may }: Looked,
): Promise<Seen | null> {
  const view = newTaskView()
  let stop: number | null = null
  let saidAt: number | null = null
  for await (const event of events) {
    // Without results, the text is about the calls that wait last.
    if (ids.length === 0 && event.type === 'client_call_requested' && saidAt === null) stop = null
    evolveTaskView(view, event)
    if (view.submitted === null || !may(view.submitted)) return null
    if (event.type === 'task_steer_requested' && event.data.request_id === requestId) saidAt = event.taskseq
    if (stop !== null || !onlyWaits(event, view)) continue
    const waits = clientIds(view)
    if (ids.length === 0 ? waits.length > 0 : ids.every((id) => isTold(view, id))) stop = view.taskseq
  }
  return { view, stop, saidAt }
}

const isTold = ({ output, submitted }: TaskView, id: string): boolean =>
  output.items.some(
    (item) =>
      item.kind === 'call' &&
      item.requestedAt !== undefined &&
      clientCallId(submitted?.task_id ?? '', item) === id,
  )

/** @throws {HttpProblem} `invalid_arguments` */
function mustBeCalls(results: readonly Result[], view: TaskView, taskId: string): void {
  for (const { id, at } of results)
    if (taskIn(id) !== taskId || !isTold(view, id))
      throw invalid(
        `messages.${at}.toolCallId`,
        `names no call of the task ${taskId}. Send the results of one run, with the ids of its calls`,
      )
}

/** @throws {HttpProblem} `invalid_arguments`; {BeaverError} `conflict` */
async function answer(answers: readonly Result[], asker: Asker): Promise<void> {
  if (answers.length === 0) return
  const given = answers.map(({ id, content, error }) => ({ id, content, error }))
  const done = await answerClientCalls(given, asker, { partly: true }).catch((error: unknown) => {
    if (!(error instanceof BeaverError && error.code === 'invalid_arguments')) throw error
    const [{ path, message } = { path: '', message: '' }] = error.problems
    const [, i = '', field] = /^answers\.(\d+)\.(content|error)/.exec(path) ?? []
    const at = answers[Number(i)]?.at
    throw at === undefined || field === undefined ? error : invalid(`messages.${at}.${field}`, message)
  })
  if (done.kind === 'answered') return
  const why = done.kind === 'over' ? done.why : `There are no calls ${done.ids.join(', ')}.`
  throw new BeaverError(
    'conflict',
    `${why} This result does not count. To go on, send a new message of the user.`,
  )
}
