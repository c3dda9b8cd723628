// Turns what a person typed into the id of a task, and finds what was decided or answered in it already.
// The projector knows prefixes. Without it, or before it has caught up, the text counts as the whole id.
import { alreadySettled, type Answered, BeaverError, type Decided, type DomainEvent } from '@beaver/core'
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

/**
 * The refusal of a decision or an answer in a task in which nothing waits any more. It names the one who was first.
 *
 * @param isIt what counts: a decision, or an answer
 * @returns `null` if the task has no such event
 */
export async function alreadySettledIn(
  { client }: Connection,
  taskId: string,
  isIt: <Event extends DomainEvent>(event: Event) => event is Event & (Decided | Answered),
): Promise<BeaverError | null> {
  let last: Parameters<typeof alreadySettled>[0] | null = null
  for await (const event of client.events(taskId)) if (isIt(event)) last = event
  return last === null ? null : alreadySettled(last)
}
