// Deadlines of nodes and teams, measured by the task's own clock. A deadline stops while the run waits for a
// person (D-63). It is checked when it is due, and set again if time is left.
import type { Clock } from '@beaver/core'

export interface Deadline {
  cancel(): void
}

export interface DeadlineOf {
  /** A run or a team run: whose waits for a person do not count. */
  readonly id: string
  /** By the task's clock; `null`: from now on. */
  readonly sinceMs: number | null
}

export class Deadlines {
  readonly #clock: Clock
  readonly #personWaitedMs: (id: string) => number
  readonly #open = new Set<Deadline>()

  constructor({ clock, personWaitedMs }: { clock: Clock; personWaitedMs: (id: string) => number }) {
    this.#clock = clock
    this.#personWaitedMs = personWaitedMs
  }

  /** @param ms `null`: no deadline @param act is told the deadline in seconds */
  set(ms: number | null, { id, sinceMs }: DeadlineOf, act: (seconds: number) => void): Deadline | null {
    if (ms === null) return null
    const from = sinceMs ?? this.#clock.now()
    const leftMs = (): number => from + ms + this.#personWaitedMs(id) - this.#clock.now()
    let timer: { cancel(): void } | null = null
    const arm = (): void => {
      timer = this.#clock.after(Math.max(0, leftMs()), () => (leftMs() > 0 ? arm() : act(ms / 1000)))
    }
    const deadline = {
      cancel: (): void => {
        this.#open.delete(deadline)
        timer?.cancel()
      },
    }
    this.#open.add(deadline)
    arm()
    return deadline
  }

  cancelAll(): void {
    for (const deadline of [...this.#open]) deadline.cancel()
  }
}
