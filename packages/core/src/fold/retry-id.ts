// The id of a retry. It is derived from the id of the old task, so that a repeated request names the same
// retry.
import { hash } from 'node:crypto'
import type { DataOf } from '../events/catalog.ts'
import type { TaskId } from '../ids.ts'

const charsMax = 128

type Submitted = Pick<DataOf<'task_submitted'>, 'task_id' | 'request'>

/**
 * `<id>.retry-1`, and for a retry of that one `<id>.retry-2`. If the id would be too long, a hash replaces
 * the id of the old task.
 *
 * @example
 * const first = foldTask(events).submitted
 * if (first !== null) retryIdOf({ ...first, task_id: taskId.parse('sales') }) // => 'sales.retry-1'
 */
export function retryIdOf(submitted: Submitted): TaskId {
  const { original, retries } = countedIn(submitted)
  const number = retries + 1
  const retryId = `${original}.retry-${number}`
  return (retryId.length <= charsMax ? retryId : `${hash('sha256', original)}.retry-${number}`) as TaskId
}

/**
 * Which attempt at its work a task is: 1, and one more for each retry.
 *
 * @example
 * const first = foldTask(events).submitted
 * if (first !== null) attemptOf(first) // => 1
 */
export const attemptOf = (submitted: Submitted): number => countedIn(submitted).retries + 1

function countedIn({ task_id: id, request }: Submitted): {
  readonly original: string
  readonly retries: number
} {
  const known = request.retry_of === undefined ? null : /^(.+)\.retry-(\d+)$/.exec(id)
  return known === null
    ? { original: id, retries: 0 }
    : { original: known[1] as string, retries: Number(known[2]) }
}
