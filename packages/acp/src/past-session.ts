// Reads a session from the journal, for an editor that opens it again. A session of another user is refused
// before the editor gets anything of it. Updates are sent while the session is read, so memory never holds
// the whole session.
import type { SessionUpdate } from '@agentclientprotocol/sdk'
import { BeaverError } from '@beaver/core'
import { type RecordedEvent, visibleAnswer } from '@beaver/core/journal'
import type { TaskViewEnd } from '@beaver/core/task-view'
import type { SystemLink } from './editor-system.ts'
import type { ReadTask } from './turn.ts'
import { agentText, type ShownCall, TurnUpdates, userText } from './turn-updates.ts'

/** The task whose events are being read. */
class Reading implements ReadTask {
  readonly taskId: string
  readonly updates: TurnUpdates
  readonly #waiting = new Map<string, ShownCall>()
  seen = 0

  constructor(taskId: string) {
    this.taskId = taskId
    this.updates = new TurnUpdates(taskId)
  }

  get waiting(): readonly ShownCall[] {
    return [...this.#waiting.values()]
  }

  event(event: RecordedEvent): SessionUpdate[] {
    this.seen = event.taskseq
    const asks = event.type === 'task_submitted' ? event.data.request.text : ''
    const updates = asks === '' ? [] : [userText(asks, `${this.taskId}.task`)]
    for (const each of this.updates.event(event)) {
      if ('update' in each) updates.push(each.update)
      else if ('asked' in each) this.#waiting.set(each.asked.toolCallId, each.asked)
      else if ('decided' in each) this.#waiting.delete(each.decided.toolCallId)
      else if ('end' in each) updates.push(...endUpdates(this.taskId, each.end))
    }
    return updates
  }
}

/** The updates for the end of a task, unless the end is just an answer. */
export function endUpdates(taskId: string, { type, result }: TaskViewEnd): SessionUpdate[] {
  const { final_output: output, failure } = result
  if (output === '') return failure === null ? [] : [agentText(visibleAnswer(result), `${taskId}.end`)]
  if (type === 'task_completed') return []
  return [
    agentText(
      `\n\n[The task is ${type.slice('task_'.length)}${failure === null ? '' : `: ${failure.message}`}]`,
      `${taskId}.end`,
    ),
  ]
}

/**
 * Reads a session and sends it to `tell` as updates.
 *
 * @returns the tasks of the session that have not ended; `null` if there is no such session
 * @throws {BeaverError} `not_allowed` if it belongs to another user; the codes of `sessions.getEventRecords`
 */
export async function readPastSession(
  { client }: Pick<SystemLink, 'client'>,
  { sessionId, userId }: { readonly sessionId: string; readonly userId: string | undefined },
  tell: (update: SessionUpdate) => Promise<void>,
): Promise<ReadTask[] | null> {
  const open: Reading[] = []
  let reading: Reading | null = null
  let last = ''
  for await (const event of client.sessions.getEventRecords(sessionId)) {
    if (event.task_id !== last) {
      if (reading !== null && !reading.updates.ended) open.push(reading)
      reading = mayRead(event, { userId, first: last === '' }) ? new Reading(event.task_id) : null
      last = event.task_id
    }
    for (const update of reading?.event(event) ?? []) await tell(update)
  }
  if (reading !== null && !reading.updates.ended) open.push(reading)
  return last === '' ? null : open
}

/**
 * Whether the user may see a task of the session. In sessions of older versions, several users could have
 * tasks; the tasks of other users are left out.
 *
 * @throws {BeaverError} `not_allowed` if the first task belongs to another user
 */
function mayRead(
  event: RecordedEvent,
  { userId, first }: { readonly userId: string | undefined; readonly first: boolean },
): boolean {
  const owner = event.type === 'task_submitted' ? event.data.request.user_id : undefined
  if (owner === userId) return true
  if (!first) return false
  throw new BeaverError(
    'not_allowed',
    owner === undefined
      ? 'The session began without a user. Only an editor whose "beaver acp" has no --user continues it.'
      : 'The session belongs to another user, and only that user continues it.',
  )
}
