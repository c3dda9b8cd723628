// Calls of the tools that a client brought with its task, for protocols whose clients keep no state. The id of
// a call names its task and its place in the log of the task, so the answers alone find the run that waits.
// The provider's own ids are not enough for that: two tasks may have the same.
import { BeaverError, type DataOf, type ToolChoice } from '@beaver/core'
import { type CallItem, readTaskView, type TaskView } from '@beaver/core/task-view'
import { doneFor, reaches } from './access.ts'
import type { Asker } from './host.ts'

/**
 * The id of a call for the client.
 *
 * @param call `requestedAt`: the place of `client_call_requested` in the log of the task
 * @example
 * clientCallId('task_1', { requestedAt: 12 }) // => 'call_12_task_1'
 */
export const clientCallId = (taskId: string, { requestedAt }: Pick<CallItem, 'requestedAt'>): string =>
  `call_${requestedAt}_${taskId}`

/** The call that an id of `clientCallId` names. `null`: it is no such id. */
function namedBy(id: string): { readonly taskId: string; readonly requestedAt: number } | null {
  const [, requestedAt, taskId] = /^call_(\d{1,15})_(.{1,128})$/s.exec(id) ?? []
  return taskId === undefined ? null : { taskId, requestedAt: Number(requestedAt) }
}

/** A call that waits for the client. */
export interface WaitingCall extends CallItem {
  readonly requestedAt: number
}

/**
 * The calls after a place in the log that the client must make now. They are given together: when every call
 * of the newest answer waits for the client or has a result, or when nothing more can happen before the client
 * answers. Only the log decides, so a reader who comes later gets the same calls.
 *
 * @param event the newest event of the view
 * @param options `after`: earlier calls are known to the client. `single`: at most one call is given at a time
 * @returns empty: nothing is to be done by the client yet
 */
export function callsToMake(
  { output: { items, unasked } }: TaskView,
  { type }: { readonly type: string },
  { after, single = false }: { readonly after: number; readonly single?: boolean },
): readonly WaitingCall[] {
  const calls = items.filter(
    (item): item is WaitingCall =>
      item.kind === 'call' && item.requestedAt !== undefined && item.requestedAt > after,
  )
  if (single) return calls.slice(0, 1)
  return unasked.length === 0 || stops.has(type) ? calls : []
}

/** After these events, a call that is not with the client yet may wait for another one. */
const stops: ReadonlySet<string> = new Set(['task_suspended', 'question_asked', 'budget_exceeded'])

/** What a client answers to a call. */
export interface ClientCallAnswer {
  readonly id: string
  readonly content: string
  /** Why the client could not make the call. Absent: it made the call. */
  readonly error?: string | undefined
}

/** What became of answers. Except for `answered`, none has taken effect. */
export type ClientCallsAnswered =
  /** `after`: the place in the log after which the task goes on. */
  | {
      readonly kind: 'answered'
      readonly submitted: DataOf<'task_submitted'>
      readonly after: number
    }
  /** No task that the caller reaches has these calls. */
  | { readonly kind: 'unknown'; readonly ids: readonly string[] }
  /** These calls belong to another task than the first answer. */
  | { readonly kind: 'other_task'; readonly ids: readonly string[] }
  /** These calls wait for the client as well. */
  | { readonly kind: 'missing'; readonly ids: readonly string[] }
  /** The call has another answer, or it ended without one. `status`: `null` if the task has not ended. */
  | {
      readonly kind: 'over'
      readonly id: string
      readonly taskId: string
      readonly status: string | null
      readonly why: string
    }

/** The options of `answerClientCalls`. */
export interface Answering {
  /** Whether the caller may see the task. It may throw. Default: as the token says. */
  readonly may?: (submitted: DataOf<'task_submitted'>) => boolean
  /** The calls that the client knows of. Default: all that were given together and wait. */
  readonly shown?: readonly string[] | undefined
  /** Whether other calls may wait on. Default: false. */
  readonly partly?: boolean
  /** Which tools the root agent must call next. Default: as the task asks. */
  readonly choice?: (submitted: DataOf<'task_submitted'>) => ToolChoice | undefined
  /**
   * Runs before the answers take effect. `waits`: whether one of the calls waits now. `false` as its result:
   * nothing is answered, as if the calls did not wait any more.
   */
  readonly first?: (view: TaskView, waits: boolean) => Promise<boolean>
}

/**
 * Answers calls, all or none. The same answers again change nothing.
 *
 * @param answers at least one. No two of them are for the same call
 * @throws {BeaverError} the codes of `BeaverClient.answerCalls`, except `conflict` and `not_found`
 */
export async function answerClientCalls(
  answers: readonly ClientCallAnswer[],
  { host, caller }: Asker,
  {
    may = () => true,
    shown,
    partly = false,
    choice = () => undefined,
    first = () => Promise.resolve(true),
  }: Answering = {},
): Promise<ClientCallsAnswered> {
  const named = answers.map((answer) => ({ answer, call: namedBy(answer.id) }))
  const taskId = named[0]?.call?.taskId
  const unnamed = named.filter(({ call }) => call === null)
  if (taskId === undefined || unnamed.length > 0)
    return { kind: 'unknown', ids: unnamed.map(({ answer }) => answer.id) }
  const elsewhere = named.filter(({ call }) => call?.taskId !== taskId)
  if (elsewhere.length > 0) return { kind: 'other_task', ids: elsewhere.map(({ answer }) => answer.id) }
  const client = host.client()
  const read = () =>
    readTaskView(client.events(taskId), (each) => reaches(caller, each.request.user_id) && may(each))
  const seen = await read()
  const ids = answers.map(({ id }) => id)
  if (seen === null) return { kind: 'unknown', ids }
  const calls = new Map(
    seen.view.output.items.flatMap((item) =>
      item.kind === 'call' && item.requestedAt !== undefined ? [[clientCallId(taskId, item), item]] : [],
    ),
  )
  const unknown = ids.filter((id) => !calls.has(id))
  if (unknown.length > 0) return { kind: 'unknown', ids: unknown }
  const known = shown ?? givenTogether(seen.view, taskId)
  const waiting = seen.view.clientCalls.map(({ taskseq }) => clientCallId(taskId, { requestedAt: taskseq }))
  const missing = partly ? [] : waiting.filter((id) => !ids.includes(id) && known.includes(id))
  if (missing.length > 0) return { kind: 'missing', ids: missing }
  const over = (id: string, view: TaskView, why: string): ClientCallsAnswered => ({
    kind: 'over',
    id,
    taskId,
    status: statusOf(view),
    why,
  })
  const open = answers.filter(({ id }) => waiting.includes(id))
  if (!(await first(seen.view, open.length > 0)))
    return over(ids[0] ?? '', seen.view, 'The calls do not wait any more.')
  // A client that keeps a long conversation also sends the answers of earlier turns.
  const sent = answers.length <= answersMax ? answers : open.length > 0 ? open : answers.slice(-answersMax)
  try {
    await client.answerCalls(
      taskId,
      sent.map(({ id, content, error }) => ({ callId: calls.get(id)?.callId ?? '', content, error })),
      { userId: doneFor(caller), toolChoice: choice(seen.submitted) },
    )
  } catch (error) {
    if (!(error instanceof BeaverError && (error.code === 'conflict' || error.code === 'not_found')))
      throw error
    const now = (await read())?.view ?? seen.view
    const still = now.clientCalls.map(({ taskseq }) => clientCallId(taskId, { requestedAt: taskseq }))
    const id = ids.find((each) => !still.includes(each)) ?? ids[0] ?? ''
    return over(id, now, error.message)
  }
  const after = Math.max(...named.map(({ call }) => call?.requestedAt ?? 0))
  return { kind: 'answered', submitted: seen.submitted, after }
}

/** How many answers one request takes. */
const answersMax = 128

/** How the task ended. `null`: it has not. */
const statusOf = ({ end }: TaskView): string | null => end?.type.slice('task_'.length) ?? null

/** The calls that wait and were given together. A question that waits parts those before it from the others. */
function givenTogether({ clientCalls, openQuestions }: TaskView, taskId: string): readonly string[] {
  const until = Math.min(...openQuestions.map(({ taskseq }) => taskseq))
  return clientCalls
    .filter(({ taskseq }) => taskseq < until)
    .map(({ taskseq }) => clientCallId(taskId, { requestedAt: taskseq }))
}
