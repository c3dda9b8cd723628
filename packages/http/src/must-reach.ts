// Whether a caller reaches a task. The journal decides, because the read model may be behind.
import type { BeaverClient } from '@beaver/client'
import { BeaverError, type RecordedEvent } from '@beaver/core'
import { type Caller, reaches, reachOf } from './access.ts'

/**
 * @throws {BeaverError} `not_found` if there is no such task, or if it belongs to a user whom the caller does
 * not reach
 */
export async function mustReach(client: BeaverClient, taskId: string, caller: Caller): Promise<void> {
  if (reachOf(caller) === undefined) return
  for await (const first of client.events(taskId)) return mustBeReached(first, taskId, caller)
  throw noSuchTask(taskId)
}

/** The same for who has the first event of the task. @throws {BeaverError} `not_found` */
export function mustBeReached(first: RecordedEvent, taskId: string, caller: Caller): void {
  if (first.type !== 'task_submitted' || !reaches(caller, first.data.request.user_id))
    throw noSuchTask(taskId)
}

export const noSuchTask = (taskId: string): BeaverError =>
  new BeaverError('not_found', `There is no task ${JSON.stringify(taskId)}.`)
