// What a task driver needs, and what it offers.
import type { BeaverError, DomainEvent, LogId } from '@beaver/core'
import type { Delivery, Entry, TaskQueue } from '@beaver/core/journal'
import type { Opening } from './opened-task.ts'
import type { TaskPorts } from './task-ports.ts'
import type { TaskSupervisor } from './task-supervisor.ts'

/**
 * What became of a delivery that was offered to the daemon which claimed the task.
 * - `taken`: that daemon drives the task and now has the lease.
 * - `ended`: it ended the task.
 * - `refused`: it lives, and does not drive the task.
 * - `gone`: it does not answer.
 */
export type HandedOn = 'taken' | 'ended' | 'refused' | 'gone'

/** The tasks that a daemon drives, by the keys of their logs. */
export type DrivenTasks = Map<string, TaskSupervisor>

export interface TaskDriverOptions extends Omit<TaskPorts, 'past' | 'queue' | 'admissions'> {
  readonly queue: TaskQueue
  /** Receives the tasks that the daemon drives. Default: a map of its own. */
  readonly tasks?: DrivenTasks
  readonly tasksMax: number
  readonly leaseMs: number
  /**
   * Called when a task ended here; `end` is set if this daemon wrote the terminal event. `acceptedAt`: when the
   * task was accepted. RFC 3339; `null`: its log does not say it
   */
  readonly onEnded: (log: LogId, end: DomainEvent | null, acceptedAt: string | null) => void
  /** Called when a task is released because its log does not verify. Default: nothing. */
  readonly onQuarantined?: (log: LogId, error: BeaverError) => void
  /** Gives a delivery to the daemon that claimed its task. */
  readonly handOn?: (owner: string, delivery: Delivery) => Promise<HandedOn>
  /** Whether the journal answers. Default: always. */
  readonly healthy?: () => boolean
}

export interface TaskDriver {
  /** The tasks it drives. */
  readonly tasks: Pick<DrivenTasks, 'get' | 'has' | 'size' | 'values'>
  /**
   * Drives a task that is being accepted here; `null` if there is no room for it, or others wait for room.
   */
  open(log: LogId, opening: Opening): { readonly over: Promise<unknown> } | null
  /** Drives a task that was accepted here, once there is room. A hint: the queue delivers the task too. */
  enqueue(log: LogId, first: Entry): void
  /**
   * Resolves with the supervisor of a task that this daemon drives, after a claim that is under way; `null`
   * for every other task.
   */
  driver(log: LogId): Promise<TaskSupervisor | null>
  /** Takes the delivery of a task that it drives from the daemon that received it. */
  takeOver(delivery: Delivery): Exclude<HandedOn, 'gone'>
  /** How many messages it refused for good. */
  refused(): number
  /** Takes no new tasks, lets running ones finish for `graceMs`, then hands the others over. */
  drain(graceMs: number): Promise<void>
}
