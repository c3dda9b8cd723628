// The TaskQueue port: which tasks a daemon is to look at. It holds what the journal accepted; it is not a second truth.
// Q1. Every accepted task is delivered at least once, in the order of acceptance, until it is acknowledged.
// Q2. A delivery that is neither acknowledged nor extended within the lease is delivered again, to any daemon.
// Q3. A delivery may be carried on by another daemon than the one it came to.
// Q4. A wake leads to at least one delivery that begins after it, also while an older delivery of the task is under way. Of several
//     wakes of a task that nobody has taken yet, one is enough. Q5. A task has one alarm: a newer one takes the older one's place.
import type { LogId } from '../ids.ts'
import type { Entry } from './journal.ts'

export interface Delivery {
  readonly log: LogId
  /** How often this was delivered, from 1. */
  readonly deliveries: number
  /** Why: the task was accepted, somebody woke it, or its alarm went off. */
  readonly cause: 'accepted' | 'woken' | 'alarm'
  /** The log's first entry, when that is what was delivered. */
  readonly first: Entry | null
  /** What another daemon needs to carry this delivery on. Two deliveries of the same thing have the same beginning of it. */
  readonly lease: string
  /** It has been dealt with: never deliver it again. */
  acknowledge(): void
  /** Deliver it again after a pause. */
  giveBack(pauseMs: number): void
  /** Still at work: renew the lease. */
  extend(): void
}

export interface Wake {
  /** Wakes of one name within a few seconds are one wake. */
  readonly name?: string
}

export interface TaskQueue {
  /** A delivery that came to another daemon, as that one told it. @throws {BeaverError} `invalid_arguments` when it is none */
  adopt(delivery: Pick<Delivery, 'log' | 'deliveries' | 'lease' | 'cause'>): Delivery
  /**
   * Tasks that were accepted (`accepted`), or those that were woken (`woken`): up to `deliveriesMax` of them, as they come, until that
   * many came, `waitMs` passed or `signal` aborts.
   */
  pull(wanted: { of: 'accepted' | 'woken'; deliveriesMax: number; waitMs: number; signal: AbortSignal }): AsyncIterable<Delivery>
  /** Has a daemon look at a task. Durable when it resolves. @throws {BeaverError} `unreachable` */
  wake(log: LogId, wake?: Wake): Promise<void>
  /** Has a daemon look at a task in `delayMs`, by the queue's clock. Durable when it resolves. @throws {BeaverError} `unreachable` */
  wakeIn(log: LogId, delayMs: number): Promise<void>
}
