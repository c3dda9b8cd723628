// To whom a session belongs (D-67): to the user of its first task. A session whose first task names no user is the tenant's.
// O1. A task may continue a session only if it has the same user, or if neither names one. So every task of a session has the user of the first,
//     and it is enough to look at the newest.
// O2. A log that does not verify decides nothing. No later task is told what is in it.
import { BeaverError, type BlobStore, type Journal, type LogId, LogReader, type TaskRequest } from '@beaver/core'
import { isUnverified } from './hopeless.ts'

/**
 * Checks that a task may follow another one in its session.
 *
 * @param newest the newest task of the session
 * @throws {BeaverError} `not_allowed` if the session belongs to somebody else
 */
export async function mustOwnSession(
  newest: LogId,
  { user_id: user }: Pick<TaskRequest, 'user_id'>,
  ports: { readonly journal: Pick<Journal, 'first'>; readonly blobs: BlobStore },
): Promise<void> {
  const before = await requestOf(newest, ports)
  if (before === null || before.user_id === user) return
  const whose =
    before.user_id === undefined ? 'began without a user, so only a task without a user continues it' : 'belongs to a user, and only that user continues it'
  const message = `The session ${newest.session} ${whose}. Use another session id, or leave it out.`
  throw new BeaverError('not_allowed', message, { problems: [{ path: 'session_id', message }] })
}

/** What the task was asked; `null` if its log does not say it. */
async function requestOf(log: LogId, { journal, blobs }: Parameters<typeof mustOwnSession>[2]): Promise<TaskRequest | null> {
  const first = await journal.first(log)
  if (first === null) return null
  try {
    for await (const event of new LogReader(log, blobs).events(first)) return event.type === 'task_submitted' ? event.data.request : null
    return null
  } catch (error) {
    if (isUnverified(error)) return null
    throw error
  }
}
