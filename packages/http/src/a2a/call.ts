// Who asks which agent, and which tasks there are for that caller. An agent shows the tasks that were asked
// of it. A token with a user sees the tasks of this user alone. Every other task does not exist.
import { TaskNotFoundError } from '@a2a-js/sdk/errors'
import { readTaskView, type SeenTask } from '@beaver/core'
import { reaches } from '../access.ts'
import { agentOf } from '../agents.ts'
import type { Asked, RequestParts } from '../route.ts'

export type Call = Pick<Asked<RequestParts>, 'host' | 'caller' | 'options' | 'signal'> & {
  readonly agent: string
  /** The URL of the app as the caller wrote it. */
  readonly origin: string
}

/** `null`: there is no such task for the caller. */
export const seenTask = ({ host, caller, agent }: Call, taskId: string): Promise<SeenTask | null> =>
  readTaskView(
    host.client().events(taskId),
    ({ request }) => agentOf(request) === agent && reaches(caller, request.user_id),
  )

/** @throws {TaskNotFoundError} */
export async function mustSee(call: Call, taskId: string): Promise<SeenTask> {
  const seen = await seenTask(call, taskId)
  if (seen === null)
    throw new TaskNotFoundError(
      `The agent ${JSON.stringify(call.agent)} has no task ${JSON.stringify(taskId)}.`,
    )
  return seen
}
