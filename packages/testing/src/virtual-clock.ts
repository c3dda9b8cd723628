// A clock that moves only when a test moves it.
import type { Clock } from '@beaver/core'

export interface VirtualClock extends Clock {
  /** Moves the time forward. Timers run in the order of their times. */
  advance(ms: number): void
}

export function virtualClock(start = Date.UTC(2026, 0, 1)): VirtualClock {
  let now = start
  let timers: { at: number; act: () => void }[] = []
  return {
    now: () => now,
    after(delayMs, act) {
      const timer = { at: now + delayMs, act }
      timers.push(timer)
      return { cancel: () => void (timers = timers.filter((each) => each !== timer)) }
    },
    advance(ms) {
      const until = now + ms
      for (;;) {
        const next = timers.filter((timer) => timer.at <= until).toSorted((a, b) => a.at - b.at)[0]
        if (next === undefined) break
        timers = timers.filter((timer) => timer !== next)
        now = next.at
        next.act()
      }
      now = until
    },
  }
}

/** Ids with a counter: `task_1`, `run_2`, … */
export function countingIds() {
  let last = 0
  return { next: (kind: string): string => `${kind}_${++last}` }
}
