// The TaskQueue port: accepted tasks waiting for a daemon. It holds what the journal accepted; it is not a second truth.
// Q1. Every accepted task is delivered at least once, in the order of acceptance, until it is acknowledged.
// Q2. A delivery that is neither acknowledged nor extended within the lease is delivered again, to any daemon.
// Q3. A delivery may be carried on by another daemon than the one it came to.
import type { LogId } from '../ids.ts'

export interface Delivery {
  readonly log: LogId
  /** How often this task was delivered, from 1. */
  readonly deliveries: number
  /** What another daemon needs to carry this delivery on. */
  readonly lease: string
  /** The task has ended: never deliver it again. */
  acknowledge(): void
  /** Deliver it again after a pause. */
  giveBack(pauseMs: number): void
  /** Still at work: renew the lease. */
  extend(): void
}

export interface TaskQueue {
  /** A delivery that came to another daemon, as that one told it. @throws {BeaverError} `invalid_arguments` when it is none */
  adopt(delivery: Pick<Delivery, 'log' | 'deliveries' | 'lease'>): Delivery
  /** Up to `deliveriesMax` tasks, as they come, until that many came, `waitMs` passed or `signal` aborts. */
  pull(wanted: { deliveriesMax: number; waitMs: number; signal: AbortSignal }): AsyncIterable<Delivery>
}
