// What a client answers to calls of its tools. All answers of a request are recorded together or none is. The
// first answer to a call counts: the same one again changes nothing, another one is refused.
import type { ClientAnswered } from '@beaver/agent'
import { BeaverError, type DomainEvent, event, type LogId, type ToolChoice } from '@beaver/core'
import { callAtClient, runEnded, type TaskState } from '@beaver/core/fold'
import type { RecordedEvent } from '@beaver/core/journal'
import { maskedData } from '@beaver/core/secrets'
import { whoDid } from '@beaver/core/task-view'

/** What a client answers. */
export interface ClientAnswers {
  readonly answers: readonly {
    readonly callId: string
    readonly content: string
    /** Why the client could not make the call. Absent: it made the call. */
    readonly error?: string | undefined
  }[]
  /** Which tools the run must call next. Absent: as its task asks. */
  readonly toolChoice?: ToolChoice | undefined
  readonly by: string
  /** The user for whom the caller answers. Absent: the caller itself. */
  readonly userId?: string | undefined
}

export type AnsweredByClient = ClientAnswered['event']

/** A task as its log has it. */
interface TaskSoFar {
  readonly state: TaskState
  readonly events: readonly RecordedEvent[]
}

/** The key of a call that waits for the client, among all waits of a task. */
export const clientKey = (runId: string, callId: string): string => `${runId} ${callId} client`

/**
 * The events of the answers that the log does not have.
 *
 * @throws {BeaverError} `conflict` if a call has another answer or does not wait any more, or if the task is
 * being cancelled; `not_found` if it never waited for the client; `invalid_arguments`
 */
export function clientAnswerEvents(
  log: LogId,
  { state, events }: TaskSoFar,
  { answers, toolChoice, by, userId }: ClientAnswers,
): AnsweredByClient[] {
  const waiting = [...state.runs.values()]
    .filter((run) => !runEnded(run))
    .flatMap((run) =>
      run.calls
        .filter(callAtClient)
        .map(({ id }) => ({ id, runId: run.start.run_id as string, tools: run.start.tools })),
    )
  return answers.flatMap(({ callId, content, error }) => {
    const data = maskedData({
      call_id: callId,
      // As the journal writes it, so that the same answer sent again is the same.
      content: content.toWellFormed(),
      ...(error === undefined ? {} : { error: error.toWellFormed() }),
      ...(toolChoice === undefined ? {} : { tool_choice: toolChoice }),
      by,
      ...(userId === undefined ? {} : { user_id: userId }),
    })
    const first = events.find(
      (each): each is typeof each & AnsweredByClient =>
        each.type === 'client_call_answered' && each.data.call_id === callId,
    )
    if (first !== undefined) {
      mustSayTheSame(first, data)
      return []
    }
    const call = waiting.find(({ id }) => id === callId)
    if (state.ended === null && state.cancelReason !== null) throw beingCancelled(log)
    if (state.ended === null && call !== undefined) {
      mustHave(call.tools, toolChoice)
      const answered: DomainEvent = event('client_call_answered', data, call.runId)
      return [answered as AnsweredByClient]
    }
    throw notWaiting(log, { state, events }, callId, waiting)
  })
}

/** @throws {BeaverError} `invalid_arguments` if the choice names a tool that the run does not have */
function mustHave(tools: readonly string[], choice: ToolChoice | undefined): void {
  if (choice === undefined || typeof choice === 'string') return
  const [field, names] = 'names' in choice ? ['names', choice.names] : ['except', choice.except]
  const unknown = names.findIndex((name) => !tools.includes(name))
  if (unknown === -1) return
  const message = `The agent has no tool ${JSON.stringify(names[unknown])}. Name one of its tools.`
  throw new BeaverError('invalid_arguments', message, {
    problems: [{ path: `tool_choice.${field}.${unknown}`, message }],
  })
}

/** Nobody reads an answer any more. */
export const beingCancelled = (log: LogId): BeaverError =>
  new BeaverError('conflict', `The task ${log.task} is being cancelled.`)

/** @throws {BeaverError} `conflict` */
export function mustSayTheSame(
  { data: first }: Pick<AnsweredByClient, 'data'>,
  { content, error }: Pick<AnsweredByClient['data'], 'content' | 'error'>,
): void {
  if (first.content === content && first.error === error) return
  throw new BeaverError(
    'conflict',
    `The call ${first.call_id} was already answered by ${whoDid(first)}, with something else.`,
  )
}

function notWaiting(
  log: LogId,
  { state, events }: TaskSoFar,
  callId: string,
  waiting: readonly { readonly id: string }[],
): BeaverError {
  if (state.ended !== null)
    return new BeaverError('conflict', `The task ${log.task} has ended already: ${state.status}.`)
  if (events.some((each) => each.type === 'client_call_requested' && each.data.call_id === callId))
    return new BeaverError(
      'conflict',
      `The call ${callId} of the task ${log.task} does not wait any more: it ended before its client answered.`,
    )
  const others = waiting.map(({ id }) => id).join(', ')
  return new BeaverError(
    'not_found',
    `No call ${callId} of the task ${log.task} waits for its client. ${others === '' ? 'None does.' : `These do: ${others}.`}`,
  )
}
