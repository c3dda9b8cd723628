// Serves the requests by which tasks come in, and the request for the daemon's status.
import type { RequestOutput } from '@beaver/contracts'
import type { LogId } from '@beaver/core'
import { type IntakePorts, retryTask, submitTask } from '@beaver/runtime'
import type { Endings } from './endings.ts'
import type { ServeRequest } from './serve-requests.ts'

/** The status that `task.run` gives for each end of a task. */
const endedAs = { task_completed: 'completed', task_incomplete: 'incomplete', task_failed: 'failed', task_cancelled: 'cancelled' } as const
const runsMax = 10_000

export interface IntakeRequestsOf {
  readonly serveRequest: ServeRequest
  readonly intake: IntakePorts
  readonly endings: Pick<Endings, 'wait'>
  readonly status: () => RequestOutput<'status'>
}

/** Serves the requests until `stop`. */
export function serveIntake({ serveRequest, intake, endings, status }: IntakeRequestsOf): { stop(): Promise<unknown> } {
  const served = [
    serveRequest('task.submit', (task, { by }) => submitTask(task, intake, { by })),
    serveRequest(
      'task.run',
      async (task, { by }) => {
        const submitted = await submitTask(task, intake, { by })
        const log = { tenant: intake.tenant, session: submitted.session_id, task: submitted.task_id } as LogId
        const { type, data } = await endings.wait(log)
        return { ...submitted, status: endedAs[type], ...data }
      },
      { openMax: runsMax },
    ),
    serveRequest('task.retry', (asked, { by }) => retryTask(asked, intake, { by })),
    serveRequest('status', async () => status()),
  ]
  return { stop: () => Promise.all(served.map((each) => each.stop())) }
}
