// Spreads the requests of a client in time, so that a program may make thousands of calls at once: a daemon
// drops what one caller sends too often (docs/decisions/0072).
import { BeaverError, type Clock, pause, steadyClock } from '@beaver/core'

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

  /**
   * Resolves when the next request may be sent.
   *
   * @param leftMs how long the request may wait. If its turn would come later, it takes no turn
   * @returns how long it has waited, in milliseconds
   * @throws BeaverError `timeout` when `leftMs` are over
   */
  async turn(leftMs: number): Promise<number> {
    const now = this.#clock.now()
    const nextMs = Math.max(this.#nextMs, now - (burst * 1_000) / perSecond) + 1_000 / perSecond
    const waitMs = nextMs - now
    const isLate = waitMs > leftMs
    if (!isLate) this.#nextMs = nextMs
    if (waitMs > 0) await pause(this.#clock, Math.min(waitMs, leftMs), new AbortController().signal)
    if (isLate)
      throw new BeaverError(
        'timeout',
        `This program sends more than ${perSecond} requests a second, so this one had no turn within ${leftMs} ms.`,
      )
    return Math.max(0, waitMs)
  }
}
