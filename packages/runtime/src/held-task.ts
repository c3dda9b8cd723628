// A task that a daemon holds: its deliveries, and the supervisor that drives it. Whether the task is due is
// decided in assess-task.ts. A task has at most two leases: that of its acceptance and that of its newest wake. Both
// are renewed, and both are settled in the end. A wake that comes while the task is held is remembered until
// the next look begins. Whoever needs to know whether this daemon drives the task waits for a claim that is
// under way.
import type { Delivery, Entry, LogId } from '@beaver/core'
import type { Opening } from './opened-task.ts'
import type { TaskSupervisor } from './task-supervisor.ts'

export class HeldTask {
  readonly log: LogId
  /** Resolves when the daemon is done with the task; never rejects. */
  over: Promise<void> = Promise.resolve()
  #accepted: Delivery | null = null
  #wake: Delivery | null = null
  #newest: Delivery | null = null
  #woken: Delivery['cause'] | null = null
  #driver: TaskSupervisor | null = null
  #claim: Promise<unknown> | null = null
  #release: string | null = null
  #done = false
  #opening: Opening | null

  /** @param opening how this daemon accepted it, if it did */
  constructor(log: LogId, delivery: Delivery | null, opening: Opening | null) {
    this.log = log
    this.#opening = opening
    if (delivery !== null) this.lease(delivery)
  }

  /** The newest delivery; `null` when it was opened here and nothing was delivered yet. */
  get newest(): Delivery | null {
    return this.#newest
  }

  /** Somebody woke it since the last look began. */
  get woken(): boolean {
    return this.#woken !== null
  }

  /** Whether this daemon drives it, or claims it at the moment. */
  get driven(): boolean {
    return this.#driver !== null || this.#claim !== null
  }

  /** Resolves when no claim is under way. */
  async claimed(): Promise<void> {
    await this.#claim?.catch(() => {}) // Who claims it deals with a refusal.
  }

  /**
   * Whether an entry is the acceptance that this daemon wrote. It is delivered once, so the text of the
   * acceptance is not kept any longer.
   */
  wrote({ revision }: Entry): boolean {
    const isOwn = this.#opening?.acceptedRevision() === revision
    if (isOwn) this.#opening = null
    return isOwn
  }

  /**
   * Takes a delivery of the task; it is renewed from now on. @returns `false` when the daemon is done with
   * the task already
   */
  lease(delivery: Delivery): boolean {
    if (this.#done) return false
    this.#newest = delivery
    if (delivery.cause === 'accepted') this.#accepted = delivery
    else {
      this.#wake = delivery
      this.#woken = delivery.cause
    }
    return true
  }

  /** A look begins: whatever woke the task before is dealt with by it. @returns why it is looked at */
  startLook(): Delivery['cause'] {
    const cause = this.#woken ?? 'accepted'
    this.#woken = null
    this.#driver = null
    return cause
  }

  /**
   * Claims the task. The journal has the claim a moment before this daemon knows that: a command that is
   * written into the log in this moment would stand behind the back of the driver, which would not obey it.
   * So commands wait for the claim.
   */
  async claimedBy<Result>(claim: Promise<Result>): Promise<Result> {
    this.#claim = claim
    try {
      return await claim
    } finally {
      this.#claim = null
    }
  }

  drivenBy(driver: TaskSupervisor): void {
    this.#driver = driver
    if (this.#release !== null) driver.release(this.#release)
  }

  extend(): void {
    this.#accepted?.extend()
    this.#wake?.extend()
  }

  /** Looks whether another daemon took the task over, because a lease may have run out. */
  checkOwner(): void {
    this.#driver?.checkOwner()
  }

  /** Nothing of it is to be delivered again. */
  settle(): void {
    this.#done = true
    this.#accepted?.acknowledge()
    this.#wake?.acknowledge()
  }

  giveBack(pauseMs: number): void {
    this.#done = true
    // One is enough to bring it back; the acceptance is the one that is never replaced.
    if (this.#accepted === null) this.#wake?.giveBack(pauseMs)
    else {
      this.#accepted.giveBack(pauseMs)
      this.#wake?.acknowledge()
    }
  }

  /** Nothing can be done with the task: its deliveries are refused for good. */
  refuse(reason: string): void {
    this.#done = true
    this.#accepted?.refuse(reason)
    this.#wake?.refuse(reason)
  }

  /** Hands the task over, as soon as it is driven. */
  release(reason: string): void {
    this.#release = reason
    this.#driver?.release(reason)
  }
}
