// Circuit: whether an endpoint is asked at all. All threads share its state (gate-words.ts). It opens after
// `failuresMax` failures in a row. When `openNs` are over, exactly one call tries the endpoint, and its
// outcome decides for all. If a try is never decided, because its thread died, it counts until `tryNs` are
// over. Then another call may try.
import { at } from './gate-words.ts'
import type { Nanoseconds } from './gcra.ts'

/** An admitted call has a ticket. With it, the call tells the circuit how it ended. */
export interface Ticket {
  /** If it is not `null`, the call tries for all calls whether the endpoint is back. */
  readonly trial: Nanoseconds | null
}

export interface CircuitLimits {
  readonly failuresMax: number
  readonly openNs: Nanoseconds
  readonly tryNs: Nanoseconds
}

export class Circuit {
  readonly #words: BigInt64Array
  readonly #limits: CircuitLimits

  constructor(words: BigInt64Array, limits: CircuitLimits) {
    this.#words = words
    this.#limits = limits
  }

  /** The time for which it stays open. 0 means that a call may be made, or tried. */
  openForNs(now: Nanoseconds): Nanoseconds {
    const { openNs } = this.#limits
    const left = Atomics.load(this.#words, at.openUntil) - now
    return left <= 0n ? 0n : left < openNs ? left : openNs
  }

  /** Call this right before a call. Returns `null` if the circuit is open. */
  admit(now: Nanoseconds): Ticket | null {
    for (;;) {
      const until = Atomics.load(this.#words, at.openUntil)
      if (until === 0n) return { trial: null }
      if (until > now) return null
      const trial = now + this.#limits.tryNs
      if (this.#exchange(until, trial)) return { trial }
    }
  }

  succeeded({ trial }: Ticket): void {
    if (trial !== null) {
      Atomics.store(this.#words, at.failures, 0n)
      this.#exchange(trial, 0n)
    } else if (
      Atomics.load(this.#words, at.failures) !== 0n &&
      Atomics.load(this.#words, at.openUntil) === 0n
    )
      Atomics.store(this.#words, at.failures, 0n)
  }

  failed({ trial }: Ticket, now: Nanoseconds): void {
    const { failuresMax, openNs } = this.#limits
    if (trial !== null) this.#exchange(trial, now + openNs)
    else if (
      Atomics.load(this.#words, at.openUntil) === 0n &&
      Atomics.add(this.#words, at.failures, 1n) + 1n >= BigInt(failuresMax)
    )
      this.#exchange(0n, now + openNs)
  }

  /** The call ended in a way that says nothing about the endpoint. */
  released({ trial }: Ticket, now: Nanoseconds): void {
    if (trial !== null) this.#exchange(trial, now)
  }

  /** Sets the end of the open time, unless another call has changed it. Returns whether it was set. */
  #exchange(from: Nanoseconds, until: Nanoseconds): boolean {
    return Atomics.compareExchange(this.#words, at.openUntil, from, until) === from
  }
}
