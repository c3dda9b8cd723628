// Finds the task that a person typed, what in it waits for a person, and what was already decided or
// answered. The projector knows the beginnings of ids; without an answer from it, the text counts as a whole
// id. What waits is found even if the projector is a moment behind.
import { BeaverError, type Clock, type DomainEvent, pause, systemClock } from '@beaver/core'
import type { RecordedEvent } from '@beaver/core/journal'
import { alreadySettled, type Answered, type Decided } from '@beaver/core/question'
import { evolveTaskView, newTaskView } from '@beaver/core/task-view'
import type { Connection } from '../connection.ts'
import type { Answers } from '../system/answers-from-file.ts'

export interface NamedTask {
  readonly taskId: string
  /** Whether the projector knows the task. */
  readonly known: boolean
}

/**
 * Finds the task with this id, or with an id that begins so.
 *
 * @throws {BeaverError} `invalid_arguments` if the text fits several tasks
 */
export async function findTask({ client }: Pick<Answers, 'client'>, typed: string): Promise<NamedTask> {
  try {
    const answer = await client.query('task', { task_id: typed, limit: 1 })
    return { taskId: answer.task.task_id, known: true }
  } catch (error) {
    if (!(error instanceof BeaverError) || error.code === 'invalid_arguments') throw error
    return { taskId: typed, known: false }
  }
}

/**
 * The refusal of a decision or an answer in a task in which nothing waits any more. The refusal names the
 * person who decided or answered.
 *
 * @param isIt whether an event is a decision, or an answer
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

/**
 * What waits in a task, according to the read model. The read model follows the journal, so it may lack what
 * has just begun to wait. If the journal has something that waits and the read model has not, the read model
 * is asked again for up to `catchUpMsMax`.
 *
 * @param of.named the name of the call that was typed. With a name, nothing is asked again, because the
 * daemon knows the call
 * @returns `null` if the read model does not know the task, or if no projector answers
 */
export async function askedInTask<Found>(
  { client }: { readonly client: Pick<Connection['client'], 'events'> },
  taskId: string,
  of: {
    readonly what: 'call' | 'question'
    readonly named: string | undefined
    /** Asks the read model once. */
    readonly ask: () => Promise<Found>
    readonly isEmpty: (found: Found) => boolean
    readonly clock?: Clock
  },
): Promise<Found | null> {
  const { what, named, ask, isEmpty, clock = systemClock } = of
  try {
    let found = await known(ask)
    if (
      named !== undefined ||
      !(found === null || isEmpty(found)) ||
      !(await waitsInJournal(client.events(taskId), what))
    )
      return found
    for (
      const until = clock.now() + catchUpMsMax;
      (found === null || isEmpty(found)) && clock.now() < until;
    ) {
      await pause(clock, catchUpEveryMs, never)
      found = await known(ask)
    }
    return found
  } catch (error) {
    if (error instanceof BeaverError && error.code === 'no_daemon') return null
    throw error
  }
}

async function known<Found>(ask: () => Promise<Found>): Promise<Found | null> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof BeaverError && error.code === 'not_found') return null
    throw error
  }
}

async function waitsInJournal(
  events: AsyncIterable<RecordedEvent>,
  what: 'call' | 'question',
): Promise<boolean> {
  const view = newTaskView()
  for await (const event of events) evolveTaskView(view, event)
  return (what === 'call' ? view.askedCalls : view.openQuestions).length > 0
}

const catchUpEveryMs = 100
const catchUpMsMax = 5_000
const never = new AbortController().signal
