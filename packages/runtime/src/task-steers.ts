// The texts with which people and programs steer one task. The root loop gets them before its next request to
// the model. Each text is durable first, and a repeated id changes nothing. A root that would complete before
// it gets an accepted text does not complete.
import type { Steer } from '@beaver/agent'
import { type Asker, BeaverError, type DomainEvent, event, type LogId } from '@beaver/core'
import type { TaskState } from '@beaver/core/fold'
import { type Draft, drafted } from '@beaver/core/journal'

/** A text with which somebody steers a task. */
export interface SteerRequest extends Asker {
  readonly requestId: string
  readonly text: string
}

/** How many texts one task takes. */
export const steersMax = 100

type Steerable = Pick<TaskState, 'submitted' | 'ended' | 'status' | 'cancelReason' | 'steers'>

/**
 * The event of a request to steer a task, or `null` if the log has it already.
 *
 * @param task as it is in the journal
 * @throws {BeaverError} `conflict`
 */
export function steerEvent(
  log: LogId,
  task: Steerable,
  { requestId, text, by, user_id }: SteerRequest,
): DomainEvent | null {
  const asker = { ...(by === undefined ? {} : { by }), ...(user_id === undefined ? {} : { user_id }) }
  const made = event('task_steer_requested', { request_id: requestId, text, ...asker })
  const known = task.steers.get(requestId)
  if (known !== undefined) {
    if (known === textOf(drafted(made).event)) return null
    throw new BeaverError(
      'conflict',
      `The request ${requestId} steers the task ${log.task} already, with another text. Use another request_id.`,
    )
  }
  if (task.ended !== null) throw hasEnded(log, task.status)
  if (task.cancelReason !== null)
    throw new BeaverError('conflict', `The task ${log.task} is being cancelled.`)
  const { workflow } = task.submitted?.request ?? {}
  if (workflow !== undefined)
    throw new BeaverError(
      'conflict',
      `The task ${log.task} is the workflow ${workflow.name}. It has no root agent that could be steered.`,
    )
  if (task.steers.size >= steersMax)
    throw new BeaverError(
      'conflict',
      `The task ${log.task} was steered ${steersMax} times. It takes no more texts.`,
    )
  return made
}

const hasEnded = (log: LogId, status?: string): BeaverError =>
  new BeaverError(
    'conflict',
    `The task ${log.task} has ended already${status === undefined ? '' : `: ${status}`}.`,
  )

const textOf = (event: DomainEvent): string => (event.type === 'task_steer_requested' ? event.data.text : '')

export interface SteerPorts {
  append(drafts: readonly Draft[]): Promise<number>
  /** Whether the end of the task is decided. */
  ended(): boolean
  /** Gives the root loop a text, if that loop runs. */
  tell(steer: Steer): void
}

/** The texts of a task that this daemon drives. */
export class TaskSteers {
  readonly #log: LogId
  readonly #task: Steerable
  readonly #ports: SteerPorts
  /** All texts that were accepted, also those on their way to the journal. */
  readonly #accepted: Map<string, string>
  readonly #durable: Steer[]
  /** The recording of each text that is on its way. */
  readonly #recording = new Map<string, Promise<void>>()

  /** @param task as it was at this daemon's claim */
  constructor(log: LogId, task: Steerable, ports: SteerPorts) {
    this.#log = log
    this.#task = task
    this.#ports = ports
    this.#accepted = new Map(task.steers)
    this.#durable = [...task.steers].map(([requestId, text]) => ({ requestId, text }))
  }

  /** The durable texts, in order. */
  get all(): readonly Steer[] {
    return this.#durable
  }

  /**
   * Journals a text. Resolves when it is durable.
   *
   * @param cancelReason why the task is being cancelled; `null`: it is not
   * @throws {BeaverError} `conflict`; `fenced` if this daemon released the task meanwhile
   */
  async steer(asked: SteerRequest, cancelReason: string | null): Promise<void> {
    const made = steerEvent(this.#log, { ...this.#task, steers: this.#accepted, cancelReason }, asked)
    if (made === null) return this.#recording.get(asked.requestId)
    if (this.#ports.ended()) throw hasEnded(this.#log)
    const { draft, event: kept } = drafted(made)
    const steer = { requestId: asked.requestId, text: textOf(kept) }
    this.#accepted.set(steer.requestId, steer.text)
    const recording = this.#record(draft, steer)
    this.#recording.set(steer.requestId, recording)
    return recording
  }

  /** Resolves when the loop has every accepted text. `null`: the run has all of them. */
  untilTold(given: readonly string[]): Promise<unknown> | null {
    const known = new Set(given)
    if ([...this.#accepted.keys()].every((requestId) => known.has(requestId))) return null
    return Promise.all(this.#recording.values())
  }

  async #record(draft: Draft, steer: Steer): Promise<void> {
    await this.#ports.append([draft])
    this.#recording.delete(steer.requestId)
    this.#durable.push(steer)
    this.#ports.tell(steer)
  }
}
