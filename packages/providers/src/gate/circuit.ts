// Circuit: whether an endpoint is asked at all. All threads share its state (gate-words.ts).
// C1. After `failuresMax` failures in a row it opens. C2. When `openNs` are over, exactly one call tries, and decides for all.
// C3. A try that is never decided (its thread died) counts until `tryNs` are over; then another call may try.
import { at } from './gate-words.ts'
import type { Nanoseconds } from './gcra.ts'

/** What a call that was let through owes the circuit: how it ended. */
export interface Ticket {
  /** Not `null`: it tries for all whether the endpoint is back. */
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

  /** How long it stays open; 0: a call may be made, or tried. */
  openForNs(now: Nanoseconds): Nanoseconds {
    const { openNs } = this.#limits
    const left = Atomics.load(this.#words, at.openUntil) - now
    return left <= 0n ? 0n : left < openNs ? left : openNs
  }

  /** Right before a call; `null` when it is open. */
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
    } else if (Atomics.load(this.#words, at.failures) !== 0n && Atomics.load(this.#words, at.openUntil) === 0n) Atomics.store(this.#words, at.failures, 0n)
  }

  failed({ trial }: Ticket, now: Nanoseconds): void {
    const { failuresMax, openNs } = this.#limits
    if (trial !== null) this.#exchange(trial, now + openNs)
    else if (Atomics.load(this.#words, at.openUntil) === 0n && Atomics.add(this.#words, at.failures, 1n) + 1n >= BigInt(failuresMax))
      this.#exchange(0n, now + openNs)
  }

  /** The call ended without telling anything about the endpoint. */
  released({ trial }: Ticket, now: Nanoseconds): void {
    if (trial !== null) this.#exchange(trial, now)
  }

  /** Sets until when it is open, unless somebody else has changed that. */
  #exchange(from: Nanoseconds, until: Nanoseconds): boolean {
    return Atomics.compareExchange(this.#words, at.openUntil, from, until) === from
  }
}
