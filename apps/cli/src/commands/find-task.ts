// Turns what a person typed into the id of a task. The projector knows prefixes. Without it, or before it has caught up, the text counts as the
// whole id.
import { BeaverError } from '@beaver/core'
import type { Connection } from '../connection.ts'

export interface NamedTask {
  readonly taskId: string
  /** Whether the projector knows the task. */
  readonly known: boolean
}

/** @throws {BeaverError} `invalid_arguments` if the text may mean several tasks */
export async function findTask({ client }: Connection, typed: string): Promise<NamedTask> {
  try {
    const answer = await client.query('task', { task_id: typed, limit: 1 })
    return { taskId: answer.task.task_id, known: true }
  } catch (error) {
    if (!(error instanceof BeaverError) || error.code === 'invalid_arguments') throw error
    return { taskId: typed, known: false }
  }
}
