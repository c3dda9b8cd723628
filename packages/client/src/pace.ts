// Spreads the requests of a client in time, so that a program may make thousands of calls at once: a daemon drops what one caller sends too often
// (docs/decisions/0072).
import { type Clock, pause, steadyClock } from '@beaver/core'

/** Fewer than an endpoint handles of one caller in a second. */
const perSecond = 1_500
/** What a client may send at once after a while of silence. */
const burst = 300

export class Pace {
  readonly #clock: Clock
  /** When the next request would be sent if all requests had the same distance. */
  #nextMs = -Infinity

  constructor(clock: Clock = steadyClock) {
    this.#clock = clock
  }

  /** Resolves when the next request may be sent. */
  async turn(): Promise<void> {
    const now = this.#clock.now()
    this.#nextMs = Math.max(this.#nextMs, now - (burst * 1_000) / perSecond) + 1_000 / perSecond
    const waitMs = this.#nextMs - now
    if (waitMs > 0) await pause(this.#clock, waitMs, new AbortController().signal)
  }
}
