// The stream of a task: first the task as it is now, and then its changes, until it ends or asks its client a
// question. The text that the agent is writing is sent in pieces as the artifact `answer`. If another text
// follows, the text before it is sent as a message, and the first piece of the new text replaces the
// artifact. So the artifact at the end is the answer. Events keep the order of the journal. If pieces of a
// text are lost, the rest of the text comes with its event.
import { Role, type StreamResponse, TaskState, type TaskStatusUpdateEvent } from '@a2a-js/sdk'
import type { Followed } from '@beaver/client'
import type { DataOf } from '@beaver/core'
import {
  evolveTaskView,
  evolveTaskViewLive,
  newTaskView,
  type OutputChange,
  type SeenTask,
  type TaskView,
} from '@beaver/core/task-view'
import { answerOf, isOver, messageOf, type Sight, statusOf, taskObject, textPart } from './task-object.ts'

interface UpdateOptions {
  readonly sight: Sight
  readonly historyLength?: number | null | undefined
  /** The place in the log up to which the first message shows the task. */
  readonly upTo: number
  /**
   * Whether a question of the task waits now. A stream can contain a question that was answered long ago, and
   * must not end there.
   */
  readonly asks: (taskId: string) => Promise<boolean>
}

export async function* taskUpdates(
  followed: AsyncIterable<Followed>,
  { upTo, asks, ...options }: UpdateOptions,
): AsyncGenerator<StreamResponse> {
  const view = newTaskView()
  let updates: Updates | null = null
  for await (const each of followed) {
    if ('progress' in each) continue
    const steps = 'event' in each ? evolveTaskView(view, each.event) : evolveTaskViewLive(view, each.delta)
    const { submitted } = view
    if (submitted === null || view.taskseq < upTo) continue
    const begins = updates === null
    if (updates === null) {
      updates = new Updates({ submitted, view }, options.sight)
      yield { payload: { $case: 'task', value: taskObject({ submitted, view }, options) } }
    } else yield* updates.after(steps)
    if (view.end !== null || (!begins && isAsking(each) && (await asks(submitted.task_id)))) return
  }
}

const isAsking = (each: Followed): boolean => 'event' in each && each.event.type === 'question_asked'

class Updates {
  readonly #submitted: DataOf<'task_submitted'>
  readonly #view: TaskView
  readonly #sight: Sight
  /** The index of the text whose pieces are being sent. `null`: there is none. */
  #open: number | null = null
  #status: string

  constructor({ submitted, view }: SeenTask, sight: Sight) {
    this.#submitted = submitted
    this.#view = view
    this.#sight = sight
    this.#status = this.#key()
    const last = view.output.items.length - 1
    const item = view.output.items[last]
    if (item?.kind === 'text' && !item.done) this.#open = last
  }

  after(steps: readonly OutputChange[]): StreamResponse[] {
    const updates = steps.flatMap((step, i) => this.#step(step, steps[i + 1]))
    const status = this.#key()
    if (status === this.#status) return updates
    this.#status = status
    return [...updates, this.#update(statusOf(this.#submitted, this.#view, this.#sight))]
  }

  /** A key of the status. It changes if and only if the client needs a new status. */
  #key(): string {
    const { state, message } = statusOf(this.#submitted, this.#view, this.#sight)
    return JSON.stringify([state, isOver(state) ? null : message?.parts])
  }

  #step(step: OutputChange, next: OutputChange | undefined): StreamResponse[] {
    if (step.kind === 'text') {
      const isLast =
        next?.kind === 'ended' &&
        next.index === step.index &&
        next.item.kind === 'text' &&
        next.item.final === true
      return [this.#chunk(step.index, step.delta, isLast)]
    }
    const { item } = step
    if (item.kind === 'call')
      return step.kind === 'begun'
        ? [this.#says(`Calls ${item.name}.`, `${this.#view.taskseq}.${step.index}`)]
        : []
    if (step.kind === 'begun') return []
    const open = this.#open === step.index
    if (item.final === true) return open ? [this.#chunk(step.index, '', true)] : []
    this.#open = null
    return [this.#says(item.text, this.#view.taskseq)]
  }

  /** @param isLast whether this piece completes the answer */
  #chunk(index: number, text: string, isLast: boolean): StreamResponse {
    const append = this.#open === index
    this.#open = isLast ? null : index
    const { task_id: taskId, session_id: contextId } = this.#submitted
    return {
      payload: {
        $case: 'artifactUpdate',
        value: {
          taskId,
          contextId,
          artifact: answerOf(text),
          append,
          lastChunk: isLast,
          metadata: undefined,
        },
      },
    }
  }

  /** A message about what the agent says or does before its answer. */
  #says(text: string, place: number | string): StreamResponse {
    const timestamp = this.#view.time
    const message = messageOf(this.#submitted, { role: Role.ROLE_AGENT, place, parts: [textPart(text)] })
    return this.#update({ state: TaskState.TASK_STATE_WORKING, timestamp, message })
  }

  #update(status: TaskStatusUpdateEvent['status']): StreamResponse {
    const { task_id: taskId, session_id: contextId } = this.#submitted
    return { payload: { $case: 'statusUpdate', value: { taskId, contextId, status, metadata: undefined } } }
  }
}
