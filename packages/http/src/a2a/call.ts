// The context of a request to an agent, and the tasks that the caller can see. An agent shows only the tasks
// that were submitted to it, and a token with a user sees only the tasks of this user. For all other tasks
// the caller gets an error as if they did not exist.
import { TaskNotFoundError } from '@a2a-js/sdk/errors'
import { readTaskView, type SeenTask } from '@beaver/core/task-view'
import { reaches } from '../access.ts'
import { agentOf } from '../agents.ts'
import type { Asked, RequestParts } from '../route.ts'

export type Call = Pick<Asked<RequestParts>, 'host' | 'caller' | 'options' | 'signal'> & {
  readonly agent: string
  /** The origin of the app as the caller reached it, such as `https://beaver.example`. */
  readonly origin: string
}

/** The task. `null`: there is none that the caller can see. */
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
