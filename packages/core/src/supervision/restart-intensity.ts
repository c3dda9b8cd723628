// Decides whether a child is started again after a death: OTP's intensity and period, and a pause that grows. Pure.
// R1. A death counts for `periodMs`. If more than `restartsMax` deaths count, the intensity is exceeded.
import type { Backoff, Intensity } from './supervisor-spec.ts'

/** Whether the child is started again, and after which pause in milliseconds. */
export type AfterDeath =
  | { readonly kind: 'restart'; readonly pauseMs: number; /** The deaths that count, including this one. */ readonly deaths: number }
  /** `againMs` is the time until one more restart is within the intensity. `null` means never. */
  | { readonly kind: 'exceeded'; readonly deaths: number; readonly againMs: number | null }

/**
 * Decides what happens after the last of these deaths.
 *
 * @param deaths the times of the deaths in milliseconds, including the last one @param random a number in [0, 1)
 * @example
 * const intensity = { restartsMax: 1, periodMs: 60_000, counts: 'each_child' } as const
 * const backoff = { pauseMsMin: 100, pauseMsMax: 5_000, jitter: false }
 * afterDeath([1_000], { now: 1_000, random: 0, intensity, backoff }) // => { kind: 'restart', pauseMs: 100, deaths: 1 }
 * afterDeath([1_000, 2_000], { now: 2_000, random: 0, intensity, backoff }) // => { kind: 'exceeded', deaths: 2, againMs: 59_000 }
 */
export function afterDeath(
  deaths: readonly number[],
  { now, random, intensity, backoff }: { now: number; random: number; intensity: Intensity; backoff: Backoff },
): AfterDeath {
  const { restartsMax, periodMs } = intensity
  const recent = recentDeaths(deaths, now, intensity)
  if (recent.length > restartsMax) {
    const oldest = recent.at(-restartsMax - 1) ?? now
    return { kind: 'exceeded', deaths: recent.length, againMs: periodMs === null || restartsMax === 0 ? null : oldest + periodMs - now }
  }
  const ceiling = ceilingOf(Math.max(1, recent.length), backoff)
  return { kind: 'restart', deaths: recent.length, pauseMs: backoff.jitter ? Math.round(ceiling / 2 + (random * ceiling) / 2) : ceiling }
}

function ceilingOf(deaths: number, { pauseMsFirst, pauseMsMin, pauseMsMax }: Backoff): number {
  if (pauseMsFirst === undefined) return Math.min(pauseMsMax, pauseMsMin * 2 ** (deaths - 1))
  return deaths === 1 ? pauseMsFirst : Math.min(pauseMsMax, pauseMsMin * 2 ** (deaths - 2))
}

/** The deaths that still count. If the clock is set back by more than the period, earlier deaths no longer count. */
export function recentDeaths(deaths: readonly number[], now: number, { periodMs }: Intensity): number[] {
  return deaths.filter((at) => periodMs === null || Math.abs(now - at) < periodMs)
}
