// A limit per minute (the generic cell rate algorithm): one number says when the next unit is due.
// G1. In any minute at most `perMinute` units start besides the burst, however calls come.
// G2. A call that comes first gets the earlier slot.
// G3. Times are whole nanoseconds. They are rounded so that never too many units start.

/** Nanoseconds since a moment that is the same for all threads that share a limit. */
export type Nanoseconds = bigint

export interface Rate {
  readonly perMinute: number
  /** The number of units that may start at once after a quiet time. */
  readonly burst: number
}

const minuteNs = 60_000_000_000n

/** The burst is a tenth of a minute's units, and at least one. */
export function rateOf(perMinute: number): Rate {
  return { perMinute, burst: Math.max(1, Math.floor(perMinute / 10)) }
}

export function costNs(rate: Rate, units: number): Nanoseconds {
  const perMinute = BigInt(rate.perMinute)
  return (BigInt(units) * minuteNs + perMinute - 1n) / perMinute
}

/** How much before its time a unit may start. */
export const toleranceNs = (rate: Rate): Nanoseconds =>
  (BigInt(rate.burst - 1) * minuteNs) / BigInt(rate.perMinute)

export interface Slot {
  readonly start: Nanoseconds
  /** When the next unit is due. */
  readonly due: Nanoseconds
}

/**
 * The slot of the next call, for a limit whose next unit is due at `due`.
 *
 * @param asked `earliest` is the first possible start, and `cost` is the time for its units
 */
export function nextSlot(
  due: Nanoseconds,
  asked: { earliest: Nanoseconds; cost: Nanoseconds; tolerance: Nanoseconds },
): Slot {
  const start = later(asked.earliest, due - asked.tolerance)
  return { start, due: later(due, start) + asked.cost }
}

export const later = (a: Nanoseconds, b: Nanoseconds): Nanoseconds => (a > b ? a : b)
