// How much of a turn of the watchdog counts as silence of the main thread. This file loads nothing, because
// the watchdog's thread loads it. A thread that waits for a processor or for the disk is not blocked: on a
// busy machine it may get neither for seconds, and a new process would get them no sooner. If the machine
// holds the main thread up, a turn counts for the processor time of the main thread: an endless loop uses its
// whole share. If the main thread sleeps while another thread is held up, for which it may wait, a turn
// counts for the processor time of the process. If all threads sleep, only a call that does not return keeps
// the main thread, so the turn counts in full. It also counts in full if the system does not report what
// threads do.

/** What the system knows about a thread. */
export interface ThreadSeen {
  /** It has a processor, or waits for one or for the disk. */
  readonly isHeldUp: boolean
  /** The processor time that it has used since it began, in ms. */
  readonly ms: number
}

/**
 * Reads /proc/[pid]/task/[tid]/stat, whose times are in hundredths of a second. The name of a thread, in
 * parentheses, may contain anything.
 */
export function threadSeen(stat: string): ThreadSeen {
  const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  // R: it is on a processor or waits for one. D: it waits for the disk.
  return { isHeldUp: state === 'R' || state === 'D', ms: (Number(fields[10]) + Number(fields[11])) * 10 }
}

/** What the system knows about the process at the end of a turn. */
export interface ThreadsSeen {
  /** It has a processor, or waits for one or for the disk. */
  readonly mainIsHeldUp: boolean
  readonly anotherIsHeldUp: boolean
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
  if (now.mainIsHeldUp) return Math.min(turnMs, now.mainMs - before.mainMs)
  if (now.anotherIsHeldUp) return Math.min(turnMs, now.processMs - before.processMs)
  return turnMs
}
