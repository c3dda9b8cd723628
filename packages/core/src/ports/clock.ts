// The Clock port. Time comes from outside, so that tests can control it.
/** A clock with timers. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /**
   * Runs `act` once after `delayMs`, unless it is cancelled before. `Infinity` is as long as the clock can
   * wait.
   */
  after(delayMs: number, act: () => void): { cancel(): void }
}

/** The longest delay of a timer of Node.js, 24 days. It takes a longer one for 1 ms. */
const timerMsMax = 2 ** 31 - 1

/** The clock of the operating system. It may jump. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after: (delayMs, act) => {
    const timer = setTimeout(act, Math.min(delayMs, timerMsMax))
    return { cancel: () => clearTimeout(timer) }
  },
}

/**
 * The clock of the operating system at the start of the process, plus the time that has passed since. A jump
 * of the system's clock does not move it. Use it to measure how long something takes.
 */
export const steadyClock: Clock = {
  now: () => Math.round(performance.timeOrigin + performance.now()),
  after: systemClock.after,
}

/**
 * Resolves after `delayMs`, or at once if `signal` aborts. It never rejects.
 *
 * @example
 * const stop = new AbortController()
 * const paused = pause(systemClock, 60_000, stop.signal)
 * stop.abort()
 * await paused // => undefined
 */
export function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const done = (): void => {
      timer.cancel()
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = clock.after(delayMs, done)
    signal.addEventListener('abort', done, { once: true })
  })
}
