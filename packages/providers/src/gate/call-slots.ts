// CallSlots: when the calls of an endpoint may start, by its limits and the pauses that it asks for. All
// threads share the due times (gate-words.ts). A slot that was given back stays in its thread.
import { at, raise, takeSlot } from './gate-words.ts'
import { costNs, later, type Nanoseconds, nextSlot, type Rate, toleranceNs } from './gcra.ts'

export interface Reservation {
  readonly start: Nanoseconds
  /** The tokens that were taken for it. */
  readonly tokens: number
}

/** `null` means no bound. */
export interface CallRates {
  readonly requests: Rate | null
  readonly tokens: Rate | null
}

/**
 * The pause between calls after a hold without a limit of requests. All at once would cause the next hold.
 */
const afterHoldNs = 20_000_000n
const freedMax = 10_000

/** A larger context window is rare. */
const tokensOfCallMax = 2_000_000

export class CallSlots {
  readonly #words: BigInt64Array
  readonly #rates: CallRates
  /** The starts of slots that were given back, in order. */
  #freed: Nanoseconds[] = []

  constructor(words: BigInt64Array, rates: CallRates) {
    this.#words = words
    this.#rates = rates
  }

  get heldUntil(): Nanoseconds {
    return Atomics.load(this.#words, at.holdUntil)
  }

  /** Makes all calls wait until this time. */
  hold(until: Nanoseconds): void {
    raise(this.#words, at.holdUntil, until)
  }

  /** How long a call that came now would wait for its turn. Takes nothing. */
  waitNs(now: Nanoseconds): Nanoseconds {
    const { requests, tokens } = this.#rates
    const startBy = (rate: Rate | null, index: number, earliest: Nanoseconds): Nanoseconds =>
      rate === null
        ? earliest
        : nextSlot(Atomics.load(this.#words, index), { earliest, cost: 0n, tolerance: toleranceNs(rate) })
            .start
    const due = startBy(tokens, at.tokensDue, later(now, this.heldUntil))
    return startBy(requests, at.requestsDue, due) - now
  }

  /** Takes the slot of a call. Takes nothing and returns `null` if it would begin after `latest`. */
  reserve(tokens: number, now: Nanoseconds, latest: Nanoseconds): Reservation | null {
    const { tokens: rate } = this.#rates
    const earliest = later(now, this.heldUntil)
    if (earliest > latest) return null
    const cost = rate === null ? 0n : costNs(rate, tokens)
    const due =
      rate === null
        ? earliest
        : takeSlot(this.#words, at.tokensDue, { earliest, cost, tolerance: toleranceNs(rate) }, latest)
    if (due === null) return null
    const start = this.#takeRequest(due, now, latest)
    if (start === null) {
      this.#addTokens(-tokens)
      return null
    }
    // The tokens are used when the call starts, not when they were due.
    if (rate !== null && start > due) raise(this.#words, at.tokensDue, start + cost)
    return { start, tokens }
  }

  /** Gives back the slot of a call that was not made. */
  giveBack({ start, tokens }: Reservation): void {
    this.#addTokens(-tokens)
    if (this.#rates.requests === null || this.#freed.length >= freedMax) return
    const before = this.#freed.findIndex((each) => each > start)
    this.#freed.splice(before < 0 ? this.#freed.length : before, 0, start)
  }

  /** Corrects the tokens to the used number, with a bound: an absurd number must not block the endpoint. */
  settle(reservation: Reservation, tokens: number): void {
    this.#addTokens(Math.min(tokens, Math.max(10 * reservation.tokens, tokensOfCallMax)) - reservation.tokens)
  }

  #takeRequest(earliest: Nanoseconds, now: Nanoseconds, latest: Nanoseconds): Nanoseconds | null {
    const { requests } = this.#rates
    if (requests === null) {
      if (earliest === now || this.heldUntil <= now) return earliest
      return takeSlot(this.#words, at.requestsDue, { earliest, cost: afterHoldNs, tolerance: 0n }, latest)
    }
    this.#freed = this.#freed.filter((start) => start >= now)
    const reused = this.#freed.findIndex((start) => start >= earliest && start <= latest)
    if (reused >= 0) return this.#freed.splice(reused, 1)[0] ?? null
    return takeSlot(
      this.#words,
      at.requestsDue,
      { earliest, cost: costNs(requests, 1), tolerance: toleranceNs(requests) },
      latest,
    )
  }

  #addTokens(tokens: number): void {
    const { tokens: rate } = this.#rates
    if (rate !== null && tokens !== 0)
      Atomics.add(this.#words, at.tokensDue, tokens > 0 ? costNs(rate, tokens) : -costNs(rate, -tokens))
  }
}
