// The TaskQueue port: which accepted tasks a daemon must look at. Each is delivered at least once, in the
// order of acceptance, until it is acknowledged. A delivery that is neither acknowledged nor extended within
// its lease is delivered again, to any daemon; another daemon may also continue it. A wake causes at least
// one delivery that begins after the wake; wakes of a task that no daemon has taken yet may share one. A task
// has one alarm, and a newer one replaces it. The queue refuses a message that names no task for good, and
// reports it.
import type { LogId } from '../ids.ts'
import type { Entry } from './journal.ts'

/** A task that a daemon must look at. */
export interface Delivery {
  readonly log: LogId
  /** How often this was delivered, from 1. */
  readonly deliveries: number
  /** Why it was delivered: the task was accepted, it was woken, or its alarm went off. */
  readonly cause: 'accepted' | 'woken' | 'alarm'
  /** The first entry of the log, if that entry was delivered; otherwise `null`. */
  readonly first: Entry | null
  /**
   * What another daemon needs to continue this delivery. The leases of two deliveries of the same message
   * have the same beginning.
   */
  readonly lease: string
  /** The work is done: the message is never delivered again. */
  acknowledge(): void
  /** Delivers the message again after a pause. */
  giveBack(pauseMs: number): void
  /** Renews the lease, because the work goes on. */
  extend(): void
  /** Nothing can be done with this message: it is never delivered again. `reason` is for operators. */
  refuse(reason: string): void
}

/** The options of a wake. */
export interface Wake {
  /** Wakes with the same name within a few seconds count as one wake. */
  readonly name?: string
}

/** The queue of all tasks. */
export interface TaskQueue {
  /**
   * Continues a delivery that another daemon got and described.
   *
   * @throws {BeaverError} `invalid_arguments` if it is not a delivery
   */
  adopt(delivery: Pick<Delivery, 'log' | 'deliveries' | 'lease' | 'cause'>): Delivery
  /**
   * Yields tasks that were accepted (`accepted`) or woken (`woken`), as they come. It ends after
   * `deliveriesMax` tasks, after `waitMs`, or when `signal` aborts.
   */
  pull(wanted: {
    of: 'accepted' | 'woken'
    deliveriesMax: number
    waitMs: number
    signal: AbortSignal
  }): AsyncIterable<Delivery>
  /**
   * Makes a daemon look at a task. The wake is durable when it resolves.
   *
   * @throws {BeaverError} `unreachable`
   */
  wake(log: LogId, wake?: Wake): Promise<void>
  /**
   * Makes a daemon look at a task after `delayMs`, by the queue's clock. The alarm is durable when it
   * resolves.
   *
   * @throws {BeaverError} `unreachable`
   */
  wakeIn(log: LogId, delayMs: number): Promise<void>
}
