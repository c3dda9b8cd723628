// The Clock port. Time comes in from outside, so that tests can decide it.
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Runs `act` once after `delayMs`, unless cancelled first. */
  after(delayMs: number, act: () => void): { cancel(): void }
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after: (delayMs, act) => {
    const timer = setTimeout(act, delayMs)
    return { cancel: () => clearTimeout(timer) }
  },
}

/**
 * The system's clock as it was when the process started, and from then on the time that passed: no jump of the wall clock moves it.
 * For everything that measures how long something takes.
 */
export const steadyClock: Clock = { now: () => Math.round(performance.timeOrigin + performance.now()), after: systemClock.after }

/** Resolves after `delayMs`, or at once when `signal` aborts; never rejects. */
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
