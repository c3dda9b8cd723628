// Makes the id of a task or a command if the caller gave none, so that a repeated request stays one.
import { type Ids, ulidIds } from '@beaver/core'

interface Named {
  readonly task_id: string
  /** A new id, for which the daemon need not look. */
  readonly fresh?: 'task' | 'session'
}

const ids: Ids = ulidIds()

export function withIds<Task extends { readonly task_id?: string | undefined }>(task: Task): Task & Named {
  const { task_id } = task
  return task_id === undefined ? { ...task, task_id: ids.next('task'), fresh: 'task' } : { ...task, task_id }
}

export const newRequestId = (): string => ids.next('request')

/** The task of a repeated request. It may exist by now, so the daemon must look for it. */
export function notFresh<Task extends Named>(task: Task): Omit<Task, 'fresh'> {
  const { fresh: _, ...rest } = task
  return rest
}
