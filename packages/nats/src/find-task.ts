// Finds a task's log by the task's id alone. The leader of the stream is never behind; the nearest copy costs
// less.
import type { LogId } from '@beaver/core'
import { jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/nats-core'
import { readLast } from './direct-read.ts'
import { findLog } from './journal-reader.ts'
import { natsFault } from './nats-fault.ts'
import type { Subjects } from './subjects.ts'

/** The log of a task, or `null` if there is none. The answer is never stale. */
export async function findTask(
  nc: NatsConnection,
  subjects: Subjects,
  tenant: string,
  task: string,
): Promise<LogId | null> {
  return findLog(await jetstreamManager(nc, { checkAPI: false }), subjects, tenant, task)
}

/**
 * The same from the nearest copy of the stream, which may be a moment behind. It is meant for callers that
 * ask again.
 * @throws as `readLast`
 */
export async function findTaskNear(
  nc: NatsConnection,
  subjects: Subjects,
  tenant: string,
  task: string,
): Promise<LogId | null> {
  const own = { tenant, session: task as string, task } as LogId
  const [claim, accepted] = await Promise.all([
    readLast(nc, subjects.stream, subjects.taskId(tenant, task)),
    readLast(nc, subjects.stream, subjects.accepted(own)),
  ])
  if (claim === null && accepted === null) return null
  // The first message of each subject decides, and these reads give the last one. If there are both, or if a
  // stranger's message may be the last one, the leader is asked.
  if (claim !== null)
    return findTask(nc, subjects, tenant, task).catch((error: unknown) => {
      throw natsFault(error)
    })
  return own
}
