// To whom a session belongs (D-67): to the user of its first task. A session whose first task names no user
// is the tenant's. A task may continue a session only if it has the same user, or if neither names one. So
// every task of a session has the user of the first, and it is enough to look at the newest. A log that does
// not verify decides nothing. No later task is told what is in it.
import {
  BeaverError,
  type BlobStore,
  type Journal,
  type LogId,
  LogReader,
  type TaskRequest,
} from '@beaver/core'
import { isUnverified } from './hopeless.ts'

/** To whom a session belongs; `userId` is absent if it began without a user. */
export interface SessionOwner {
  readonly userId?: string | undefined
}

/**
 * Who owns the session of a task. `null`: its log does not say it.
 *
 * @param newest the newest task of the session
 */
export async function ownerOf(newest: LogId, ports: OwnerPorts): Promise<SessionOwner | null> {
  const request = await requestOf(newest, ports)
  return request === null ? null : { userId: request.user_id }
}

/** For a task that may not follow in a session. */
export function wrongOwner(owner: SessionOwner | null, session: string): BeaverError {
  const whose =
    owner?.userId === undefined
      ? 'began without a user, so only a task without a user continues it'
      : 'belongs to a user, and only that user continues it'
  const message = `The session ${session} ${whose}. Use another session id, or leave it out.`
  return new BeaverError('not_allowed', message, { problems: [{ path: 'session_id', message }] })
}

interface OwnerPorts {
  readonly journal: Pick<Journal, 'first'>
  readonly blobs: BlobStore
}

/** What the task was asked; `null` if its log does not say it. */
async function requestOf(log: LogId, { journal, blobs }: OwnerPorts): Promise<TaskRequest | null> {
  const first = await journal.first(log)
  if (first === null) return null
  try {
    for await (const event of new LogReader(log, blobs).events(first))
      return event.type === 'task_submitted' ? event.data.request : null
    return null
  } catch (error) {
    if (isUnverified(error)) return null
    throw error
  }
}
