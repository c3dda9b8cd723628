// What a daemon supervisor needs, and what it offers.
import type { BeaverError, Delivery, DomainEvent, Entry, LogId, TaskQueue } from '@beaver/core'
import type { Opening } from './opened-task.ts'
import type { TaskPorts } from './task-ports.ts'
import type { TaskSupervisor } from './task-supervisor.ts'

/**
 * What became of a delivery that was offered to the daemon which claimed the task.
 * - `taken`: it drives the task and has the lease now. - `ended`: it ended the task. - `refused`: it lives,
 * and does not drive it.
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
  /** A task ended here; `end` when this daemon wrote its terminal event. */
  readonly onEnded: (log: LogId, end: DomainEvent | null) => void
  /** A task whose log does not verify was let go of. Default: nobody is told. */
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
   * Drives a task that is being accepted here; `null` when there is no room for it, or others wait for room.
   */
  open(log: LogId, opening: Opening): { readonly over: Promise<unknown> } | null
  /** Drives a task that was accepted here, when there is room. A hint: the queue delivers it too. */
  enqueue(log: LogId, first: Entry): void
  /**
   * Resolves with the supervisor of a task that this daemon drives, after a claim that is under way; `null`
   * for every other task.
   */
  driver(log: LogId): Promise<TaskSupervisor | null>
  /** Takes the delivery of a task it drives, which came to another daemon. */
  takeOver(delivery: Delivery): Exclude<HandedOn, 'gone'>
  /** How many messages it could do nothing with. */
  refused(): number
  /** Takes no new tasks; lets running ones finish for `graceMs`, then hands them over. */
  drain(graceMs: number): Promise<void>
}
