// How much of a turn of the watchdog counts as silence of the main thread. It loads nothing, because the watchdog's thread loads it.
// A thread that waits for a processor is not blocked: on a busy machine it may get none for seconds. So a turn counts
// T1. for the processor time that the main thread used, if it is runnable: an endless loop uses its whole share;
// T2. for the processor time that the process used, if the main thread sleeps while another thread is runnable: it may wait for that one;
// T3. in full, if all threads sleep: nothing but a call that does not return keeps the main thread.
// Where the system does not tell what threads do, a turn counts in full.

/** What the system knows about the process at the end of a turn. */
export interface ThreadsSeen {
  readonly mainIsRunnable: boolean
  readonly anotherIsRunnable: boolean
  /** The processor time that the main thread has used since it began, in ms. */
  readonly mainMs: number
  /** The processor time that the process has used since it began, in ms. */
  readonly processMs: number
}

/**
 * The part of a turn of `turnMs` that counts, in ms.
 *
 * @param before what was seen at the end of the turn before; `null`: nothing can be seen
 */
export function silentTime(turnMs: number, before: ThreadsSeen | null, now: ThreadsSeen | null): number {
  if (before === null || now === null) return turnMs
  if (now.mainIsRunnable) return Math.min(turnMs, now.mainMs - before.mainMs)
  if (now.anotherIsRunnable) return Math.min(turnMs, now.processMs - before.processMs)
  return turnMs
}
