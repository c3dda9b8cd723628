// What the projector tells of changed tasks, and what a reader of the changes gets. A change is a hint: it
// says which rows of the read model are new, and the queries say what is in them. `MergedChanges` holds what
// somebody has not taken yet, on both sides, so that neither a fast journal nor a slow reader needs more than
// a bounded amount of memory.
import { z } from 'zod'
import { count, sessionIdField, taskIdField } from './fields.ts'

/** A task whose rows in the read model changed. */
const changedTask = z
  .object({
    task_id: taskIdField,
    session_id: sessionIdField,
    user_id: z
      .string()
      .nullable()
      .describe('The user to whom the task belongs. null: it belongs to no user.'),
    taskseq: count.describe('The place of the newest event in the log of the task.'),
    status: z.string().describe('The status of the task, as the query "tasks" shows it.'),
  })
  .meta({ id: 'changed_task', description: 'A task whose rows in the read model changed.' })
/** A task whose rows in the read model changed. */
export type ChangedTask = z.infer<typeof changedTask>

const tasks = z.array(changedTask).describe('The tasks that changed, each once. Empty if "reset" is true.')

/** What a projector publishes after it has applied a part of the journal. */
export const changedMessage = z.object({
  projector: z
    .string()
    .min(1)
    .max(128)
    .describe('Names the process of the projector. After a restart it has another name.'),
  after: count.describe(
    'The sequence of the message before. If the last message that came has another one, a message was lost.',
  ),
  sequence: count.describe('The sequence number of the last message of the journal that is applied.'),
  reset: z
    .boolean()
    .describe('true: any task may have changed, for example because the read model was built again.'),
  tasks,
})
/** What a projector publishes after it has applied a part of the journal. */
export type ChangedMessage = z.infer<typeof changedMessage>

/**
 * One message to a reader of the changes.
 *
 * - `hello`: the first message. From now on, no change is missed unnoticed.
 * - `changed`: these tasks changed, each once. If you ask for them now, you get the new rows.
 * - `reset`: any task may have changed, or messages were lost. Ask again for what you show.
 *
 * `sequence` is the last message of the journal that is applied. `null`: it is not known.
 */
export type Change =
  | { readonly kind: 'hello' | 'reset'; readonly sequence: number | null }
  | { readonly kind: 'changed'; readonly sequence: number; readonly tasks: readonly ChangedTask[] }

/** The data of a server-sent event, whose name is the `kind` of the change. */
export const changeData = z.object({
  sequence: count
    .nullable()
    .describe(
      'The sequence number of the last message of the journal that is applied. null: it is not known.',
    ),
  tasks: z
    .array(changedTask)
    .optional()
    .describe('The tasks that changed, each once. Only the event "changed" has them.'),
})

/** If more tasks than this changed, a reader asks again for everything that it shows. */
export const changedTasksMax = 500

/** The changes that nobody has taken yet: each task once, with its newest state, or a reset. */
export class MergedChanges {
  readonly #tasks = new Map<string, ChangedTask>()
  #sequence: number | null = null
  #isReset = false

  /** The newest sequence that was added, also if it was taken. `null`: none is known. */
  get sequence(): number | null {
    return this.#sequence
  }

  get isEmpty(): boolean {
    return !this.#isReset && this.#tasks.size === 0
  }

  add(sequence: number, changed: readonly ChangedTask[]): void {
    this.#sequence = sequence
    if (this.#isReset) return
    // No id has a line break.
    for (const task of changed) this.#tasks.set(`${task.session_id}\n${task.task_id}`, task)
    if (this.#tasks.size > changedTasksMax) this.reset(sequence)
  }

  reset(sequence: number | null = this.#sequence): void {
    this.#sequence = sequence
    this.#isReset = true
    this.#tasks.clear()
  }

  /** Takes everything that is there. `null`: there is nothing. */
  take(): Change | null {
    if (this.isEmpty) return null
    const [isReset, tasks] = [this.#isReset, [...this.#tasks.values()]]
    this.#isReset = false
    this.#tasks.clear()
    return isReset || this.#sequence === null
      ? { kind: 'reset', sequence: this.#sequence }
      : { kind: 'changed', sequence: this.#sequence, tasks }
  }
}
