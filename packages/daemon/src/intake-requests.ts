// Serves the requests by which tasks and parts of their images come in, and the requests for the daemon's
// status and for the memory of agents.
import { imagePartOf } from '@beaver/agent'
import type { RequestOutput, RequestRead } from '@beaver/contracts'
import type { BlobStore, LogId, MemoryLimits, MemorySnapshot, MemoryStore, MemoryTarget } from '@beaver/core'
import { type IntakePorts, retryTask, submitTask } from '@beaver/runtime'
import type { Endings } from './endings.ts'
import type { ServeRequest } from './serve-requests.ts'

/** The status that `task.run` gives for each end of a task. */
const endedAs = {
  task_completed: 'completed',
  task_incomplete: 'incomplete',
  task_failed: 'failed',
  task_cancelled: 'cancelled',
} as const
const runsMax = 10_000

export interface IntakeRequestsOf {
  readonly serveRequest: ServeRequest
  readonly intake: IntakePorts
  readonly endings: Pick<Endings, 'wait'>
  readonly status: (asked: RequestRead<'status'>) => Promise<RequestOutput<'status'>>
  readonly memory: { readonly store: Pick<MemoryStore, 'read'>; readonly limits: MemoryLimits }
}

/** Serves the requests until `stop`. */
export function serveIntake({ serveRequest, intake, endings, status, memory }: IntakeRequestsOf): {
  stop(): Promise<unknown>
} {
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
    serveRequest('image.store', ({ data }) => storedPart(data, intake.blobs)),
    serveRequest('memory', async ({ user_id: user = null }) =>
      memoryReport(await memory.store.read({ tenant: intake.tenant, user }), memory.limits),
    ),
    serveRequest('status', status),
  ]
  return { stop: () => Promise.all(served.map((each) => each.stop())) }
}

async function storedPart(
  data: string,
  blobs: Pick<BlobStore, 'put'>,
): Promise<RequestOutput<'image.store'>> {
  const { sha256, content } = imagePartOf(data)
  await blobs.put(sha256, content)
  return { sha256 }
}

function memoryReport(snapshot: MemorySnapshot, limits: MemoryLimits): RequestOutput<'memory'> {
  const list = (target: MemoryTarget) => ({
    entries: [...snapshot[target]],
    chars: snapshot[target].reduce((sum, entry) => sum + entry.length, 0),
    chars_max: limits[target],
  })
  return { memory: list('memory'), user: list('user') }
}
