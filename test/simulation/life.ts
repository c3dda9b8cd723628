// A simulated process: what it asks of others travels, and so do the answers. Which faults befall it is
// decided elsewhere. A dead process hears nothing any more, and nothing of it runs. A stopped one hears
// everything, late, when it goes on. What it sent before it died may arrive still. Its commands to the queue
// arrive in the order in which it gave them.
import { BeaverError, type Clock } from '@beaver/core'
import { type Random, randomOf } from './random.ts'
import type { Scheduler, Timer } from './scheduler.ts'

/** What of the way to the server is broken: nothing, what it sends, or what it is answered. */
export type Cut = 'none' | 'requests' | 'answers'

export interface LifeOptions {
  readonly id: string
  readonly seed: number
  readonly scheduler: Scheduler
  /** Its wall clock is this much ahead. */
  readonly offsetMs: number
}

const resendMs = 5_000
const giveUpMs = 60_000
const answerMsMax = 5_000

export class Life {
  readonly id: string
  readonly random: Random
  readonly #of: LifeOptions
  #state: 'runs' | 'stopped' | 'dead' = 'runs'
  #late: (() => void)[] = []
  #timers = 0
  #lastSentAt = 0
  cut: Cut = 'none'
  cutSince = 0
  /** How often a command to the queue is lost, an answer of the journal, and a question to another daemon. */
  readonly lost = { commands: 0, answers: 0, hints: 0 }
  /** How often a question to the journal fails, and how often a read is stale. */
  readonly reads = { fail: 0, stale: 0 }
  slow = 0
  /** Since when each open write waits for its answer. */
  readonly #writes = new Set<{ readonly since: number }>()
  /** Events of it that have happened. */
  steps = 0

  constructor(options: LifeOptions) {
    this.#of = options
    this.id = options.id
    this.random = randomOf(options.seed, options.id)
  }

  get alive(): boolean {
    return this.#state !== 'dead'
  }
  get runs(): boolean {
    return this.#state === 'runs'
  }
  /** Timers that have not gone off. */
  get timers(): number {
    return this.#timers
  }

  /** For how long the journal has not answered. */
  get silentMs(): number {
    const now = this.#of.scheduler.now()
    let since = this.cut === 'none' ? now : this.cutSince
    for (const write of this.#writes) since = Math.min(since, write.since)
    return now - since
  }

  die(): void {
    this.#state = 'dead'
    this.#late = []
  }

  stop(): void {
    if (this.#state === 'runs') this.#state = 'stopped'
  }

  goOn(): void {
    if (this.#state !== 'stopped') return
    this.#state = 'runs'
    for (const act of this.#late.splice(0)) this.#of.scheduler.after(0, () => this.deliver(act))
  }

  /** Something reaches the process. */
  deliver(act: () => void): void {
    if (this.#state === 'dead') return
    if (this.#state === 'stopped') return void this.#late.push(act)
    this.steps++
    act()
  }

  get clock(): Clock {
    return {
      now: () => this.#of.scheduler.now() + this.#of.offsetMs,
      after: (delayMs, act) => this.after(delayMs, act),
    }
  }

  after(delayMs: number, act: () => void): Timer {
    this.#timers++
    let open = true
    const over = (): void => {
      if (open) this.#timers--
      open = false
    }
    const timer = this.#of.scheduler.after(delayMs, () =>
      this.deliver(() => {
        if (!open) return
        over()
        act()
      }),
    )
    return {
      cancel: () => {
        over()
        timer.cancel()
      },
    }
  }

  /** How long something is on its way. */
  way(): number {
    const roll = this.random.int(100)
    if (roll < 70) return this.random.int(3)
    if (roll < 92) return this.random.int(20)
    if (roll < 99 || this.slow === 0) return this.random.int(120)
    return this.random.int(this.slow)
  }

  /** A question to the server. It is asked once. */
  ask<T>(answer: () => Promise<T>): Promise<T> {
    const { scheduler } = this.#of
    if (!this.alive) return new Promise(() => {})
    return new Promise((resolve, reject) => {
      const fail = (): void => reject(new BeaverError('unreachable', 'The journal did not answer.'))
      if (this.reads.fail > 0 && this.random.chance(this.reads.fail))
        return void scheduler.after(this.random.int(answerMsMax), () => this.deliver(fail))
      if (this.cut !== 'none') return void scheduler.after(answerMsMax, () => this.deliver(fail))
      scheduler.after(this.way(), () => {
        if (!this.alive) return
        answer().then(
          (value) => scheduler.after(this.way(), () => this.deliver(() => resolve(value))),
          (error: unknown) => scheduler.after(this.way(), () => this.deliver(() => reject(error as Error))),
        )
      })
    })
  }

  /**
   * A write: sent again until an answer comes, for a while. `again` is told whether an earlier try may have
   * landed.
   */
  write<T>(attempt: (again: boolean) => Promise<T>): Promise<T> {
    const { scheduler } = this.#of
    const since = scheduler.now()
    if (!this.alive) return new Promise(() => {})
    const waits = { since }
    this.#writes.add(waits)
    return new Promise<T>((resolve, reject) => {
      const send = (again: boolean): void => {
        if (scheduler.now() - since >= giveUpMs)
          return this.deliver(() =>
            reject(new BeaverError('unreachable', 'The journal could not be written.')),
          )
        const lostAnswer = this.random.chance(this.lost.answers)
        const lostRequest = this.cut === 'requests' || (lostAnswer && this.random.chance(0.3))
        let answered = false
        if (!lostRequest)
          scheduler.after(this.way(), () => {
            if (!this.alive && this.random.chance(0.5)) return
            attempt(again).then(
              (value) => {
                if (lostAnswer || this.cut === 'answers') return
                answered = true
                scheduler.after(this.way(), () => this.deliver(() => resolve(value)))
              },
              (error: unknown) => {
                answered = true
                scheduler.after(this.way(), () => this.deliver(() => reject(error as Error)))
              },
            )
          })
        // A process that is stopped does not send again before it goes on.
        scheduler.after(resendMs, () => answered || this.deliver(() => answered || send(true)))
      }
      send(false)
    }).finally(() => this.#writes.delete(waits))
  }

  /** A command that nobody answers. */
  tell(carryOut: () => void): void {
    const { scheduler } = this.#of
    if (!this.alive || this.cut === 'requests' || this.random.chance(this.lost.commands)) return
    const at = Math.max(this.#lastSentAt, scheduler.now() + this.way())
    this.#lastSentAt = at
    scheduler.after(at - scheduler.now(), carryOut)
  }
}
