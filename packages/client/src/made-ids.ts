// Ids for a task whose caller gave none: with them it can be asked for again, and is one task.
import { type Ids, ulidIds } from '@beaver/core'

interface Named {
  readonly task_id: string
  /** What was made up just now: the daemon need not look for it. */
  readonly fresh?: 'task' | 'session'
}

const ids: Ids = ulidIds()

export function withIds<Task extends { readonly task_id?: string | undefined; readonly session_id?: string | undefined }>(task: Task): Task & Named {
  const { task_id, session_id } = task
  if (task_id !== undefined) return { ...task, task_id }
  const made = ids.next('task')
  if (session_id !== undefined) return { ...task, task_id: made, fresh: 'task' }
  return { ...task, task_id: made, fresh: 'task' }
}

/** The same, to be asked again: by now it may be there, and has to be looked for. */
export function notFresh<Task extends Named>(task: Task): Omit<Task, 'fresh'> {
  const { fresh: _, ...rest } = task
  return rest
}
