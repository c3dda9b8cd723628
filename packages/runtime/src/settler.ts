// Decides when a task that seems to wait is looked at: first after a short pause, then after longer and
// longer ones.
import type { Clock } from '@beaver/core'

const pauseMsMin = 1_000
const pauseMsMax = 30_000

export class Settler {
  readonly #clock: Clock
  readonly #look: () => void
  #pauseMs = pauseMsMin
  #timer: { cancel(): void } | null = null
  #stopped = false

  constructor({ clock }: { readonly clock: Clock }, look: () => void) {
    this.#clock = clock
    this.#look = look
  }

  /** Something new begins to wait: the pauses are short again. */
  arm(): void {
    this.#pauseMs = pauseMsMin
    this.#set()
  }

  /** What waits cannot be let go of yet. */
  again(): void {
    this.#pauseMs = Math.min(this.#pauseMs * 2, pauseMsMax)
    this.#set()
  }

  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
  }

  #set(): void {
    if (this.#stopped) return
    this.#timer?.cancel()
    this.#timer = this.#clock.after(this.#pauseMs, () => {
      this.#timer = null
      this.#look()
    })
  }
}
