// The arithmetic of a limit per minute (the generic cell rate algorithm): one number says when the next unit is due.
// G1. However callers come, in no minute more than `perMinute` units start besides the burst. G2. Who comes first has the
//     earlier slot. G3. Nanoseconds in whole numbers, rounded so that never too much is let through.

/** Nanoseconds since some moment that all who share a limit have in common. */
export type Nanoseconds = bigint

export interface Rate {
  readonly perMinute: number
  /** Units that may start at once after a quiet time. */
  readonly burst: number
}

const minuteNs = 60_000_000_000n

/** A tenth of a minute's units may come at once, at least one. */
export function rateOf(perMinute: number): Rate {
  return { perMinute, burst: Math.max(1, Math.floor(perMinute / 10)) }
}

/** The time that units take at a rate. */
export function costNs(rate: Rate, units: number): Nanoseconds {
  const perMinute = BigInt(rate.perMinute)
  return (BigInt(units) * minuteNs + perMinute - 1n) / perMinute
}

/** How far ahead of its time a unit may start. */
export const toleranceNs = (rate: Rate): Nanoseconds => (BigInt(rate.burst - 1) * minuteNs) / BigInt(rate.perMinute)

export interface Slot {
  /** When the call may start. */
  readonly start: Nanoseconds
  /** When the next unit is due. */
  readonly due: Nanoseconds
}

/**
 * The slot of the next call, for a limit whose next unit is due at `due`.
 *
 * @param asked `earliest`: it cannot start before. `cost`: the time its units take.
 */
export function nextSlot(due: Nanoseconds, asked: { earliest: Nanoseconds; cost: Nanoseconds; tolerance: Nanoseconds }): Slot {
  const start = later(asked.earliest, due - asked.tolerance)
  return { start, due: later(due, start) + asked.cost }
}

export const later = (a: Nanoseconds, b: Nanoseconds): Nanoseconds => (a > b ? a : b)
