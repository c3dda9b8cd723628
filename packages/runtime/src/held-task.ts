// A task that a daemon holds: its deliveries, and the supervisor that drives it. assess-task.ts decides
// whether the task is due. A task has at most two leases, that of its acceptance and that of its newest wake;
// both are renewed and finally settled.
import type { LogId } from '@beaver/core'
import type { Delivery, Entry } from '@beaver/core/journal'
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

  /** @param opening present if this daemon accepted the task */
  constructor(log: LogId, delivery: Delivery | null, opening: Opening | null) {
    this.log = log
    this.#opening = opening
    if (delivery !== null) this.lease(delivery)
  }

  /** The newest delivery; `null` if the task was opened here and nothing was delivered yet. */
  get newest(): Delivery | null {
    return this.#newest
  }

  /** Whether a wake came since the last look began. */
  get woken(): boolean {
    return this.#woken !== null
  }

  /** Whether this daemon drives or claims it now. */
  get driven(): boolean {
    return this.#driver !== null || this.#claim !== null
  }

  /** Resolves when no claim is under way. */
  async claimed(): Promise<void> {
    await this.#claim?.catch(() => {}) // Who claims it deals with a refusal.
  }

  /**
   * Whether an entry is the acceptance that this daemon wrote. The acceptance is delivered once, so its text
   * is dropped then.
   */
  wrote({ revision }: Entry): boolean {
    const isOwn = this.#opening?.acceptedRevision() === revision
    if (isOwn) this.#opening = null
    return isOwn
  }

  /**
   * Takes a delivery of the task and renews it from now on. @returns `false` if the daemon is done with the
   * task
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

  /** Begins a look, which deals with every earlier wake. @returns why the daemon looks */
  startLook(): Delivery['cause'] {
    const cause = this.#woken ?? 'accepted'
    this.#woken = null
    this.#driver = null
    return cause
  }

  /**
   * Claims the task. Commands wait for the claim: the journal has it a moment before this daemon knows, and a
   * command written into the log in that moment would not reach the driver.
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

  /** Checks whether another daemon took the task over, because a lease may have run out. */
  checkOwner(): void {
    this.#driver?.checkOwner()
  }

  /** Acknowledges all deliveries, so that none comes again. */
  settle(): void {
    this.#done = true
    this.#accepted?.acknowledge()
    this.#wake?.acknowledge()
  }

  giveBack(pauseMs: number): void {
    this.#done = true
    // Nak only the acceptance, which no later message replaces; one delivery brings the task back.
    if (this.#accepted === null) this.#wake?.giveBack(pauseMs)
    else {
      this.#accepted.giveBack(pauseMs)
      this.#wake?.acknowledge()
    }
  }

  /** Refuses the deliveries for good. */
  refuse(reason: string): void {
    this.#done = true
    this.#accepted?.refuse(reason)
    this.#wake?.refuse(reason)
  }

  /** Hands the task over; a claim under way completes first. */
  release(reason: string): void {
    this.#release = reason
    this.#driver?.release(reason)
  }
}
