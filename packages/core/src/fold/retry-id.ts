// The id of a retry. It is derived from the id of the old task, so that a repeated request names the same retry.
import { hash } from 'node:crypto'
import type { DataOf } from '../events/catalog.ts'
import type { TaskId } from '../ids.ts'

const charsMax = 128

/**
 * `<id>.retry-1`, and for a retry of that one `<id>.retry-2`. If the id would be too long, a hash replaces the id of the old task.
 *
 * @example
 * const first = foldTask(events).submitted
 * if (first !== null) retryIdOf({ ...first, task_id: taskId.parse('sales') }) // => 'sales.retry-1'
 */
export function retryIdOf({ task_id: id, request }: Pick<DataOf<'task_submitted'>, 'task_id' | 'request'>): TaskId {
  const known = request.retry_of === undefined ? null : /^(.+)\.retry-(\d+)$/.exec(id)
  const [of, number] = known === null ? [id, 1] : [known[1] as string, Number(known[2]) + 1]
  const retryId = `${of}.retry-${number}`
  return (retryId.length <= charsMax ? retryId : `${hash('sha256', of)}.retry-${number}`) as TaskId
}
