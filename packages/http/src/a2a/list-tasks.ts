// ListTasks: the read model says which tasks there are, and their logs say how far they are. Tasks come in
// the order of their submission, newest first. A page may have fewer tasks than were asked for although more
// follow. `totalSize` counts the tasks up to the end of the page, and one more if others follow: nobody
// counts all tasks for a page.
import { Task, TaskState, taskStateFromJSON } from '@a2a-js/sdk'
import { foreignId } from '@beaver/core'
import { z } from 'zod'
import { reachOf } from '../access.ts'
import type { SeenTask } from '../task-progress.ts'
import { type Call, seenTask } from './call.ts'
import { historyLength } from './message.ts'
import { sightOf, stateOf, taskObject } from './task-object.ts'

/** How many tasks of the read model one page looks at. */
const rowsMax = 200

export const listParams = z.looseObject({
  contextId: z.union([z.literal(''), foreignId]).nullish(),
  status: z
    .union([z.string(), z.int()])
    .transform(taskStateFromJSON)
    .refine((state) => state !== TaskState.UNRECOGNIZED, {
      message: 'is no state, such as TASK_STATE_WORKING',
    })
    .nullish(),
  pageSize: z.int().min(1).max(100).nullish(),
  pageToken: z
    .union([z.literal(''), z.string().regex(/^\d{1,15}\.\d{1,9}$/, 'is not the "nextPageToken" of a page')])
    .nullish(),
  historyLength,
  statusTimestampAfter: z.iso.datetime({ offset: true }).nullish(),
  includeArtifacts: z.boolean().nullish(),
})

export async function listTasks(params: z.output<typeof listParams>, call: Call): Promise<object> {
  const { contextId, pageSize, pageToken } = params
  const size = pageSize ?? 50
  const userId = reachOf(call.caller)
  const [start, counted] = (pageToken ?? '').split('.').map(Number)
  const found: SeenTask[] = []
  let next: number | null = start === undefined || start === 0 ? null : start
  let rows = 0
  do {
    const page = await call.host.client().query('tasks', {
      limit: size - found.length,
      ...(contextId === undefined || contextId === null || contextId === '' ? {} : { session_id: contextId }),
      ...(userId === undefined ? {} : { user_id: userId }),
      ...(next === null ? {} : { before: next }),
    })
    for (const { task_id } of page.tasks) found.push(...(await wanted(task_id, params, call)))
    next = page.next
    rows += Math.max(1, page.tasks.length)
  } while (next !== null && found.length < size && rows < rowsMax)
  const soFar = (counted ?? 0) + found.length
  return {
    tasks: found.map((seen) => withArtifacts(seen, params, call)),
    nextPageToken: next === null ? '' : `${next}.${soFar}`,
    pageSize: size,
    totalSize: soFar + (next === null ? 0 : 1),
  }
}

/** The task, if it is one of the agent's that fits. */
async function wanted(
  taskId: string,
  { status, statusTimestampAfter: after }: z.output<typeof listParams>,
  call: Call,
): Promise<SeenTask[]> {
  const seen = await seenTask(call, taskId)
  if (seen === null) return []
  const anyState = status === undefined || status === null || status === TaskState.TASK_STATE_UNSPECIFIED
  if (!anyState && stateOf(seen.progress) !== status) return []
  return typeof after === 'string' && Date.parse(seen.progress.time) <= Date.parse(after) ? [] : [seen]
}

/** Artifacts are left out unless they are asked for; then the field is there, also if it is empty. */
function withArtifacts(
  seen: SeenTask,
  { historyLength: length, includeArtifacts }: z.output<typeof listParams>,
  { caller }: Call,
): object {
  const { artifacts, ...task } = Task.toJSON(
    taskObject(seen, { sight: sightOf(caller), historyLength: length }),
  ) as { artifacts?: unknown[] }
  return includeArtifacts === true ? { ...task, artifacts: artifacts ?? [] } : task
}
