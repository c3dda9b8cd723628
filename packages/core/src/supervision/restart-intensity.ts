// How often a child may be started again, decided purely: OTP's intensity and period, and a pause that grows.
// R1. Deaths count for `periodMs`; more than `restartsMax` that count exceed the intensity.
import type { Backoff, Intensity } from './supervisor-spec.ts'

export type AfterDeath =
  | { readonly kind: 'restart'; readonly pauseMs: number; /** That count, this one included. */ readonly deaths: number }
  /** `againMs`: until one more restart is within the intensity; `null`: never. */
  | { readonly kind: 'exceeded'; readonly deaths: number; readonly againMs: number | null }

/** @param deaths when the child ended, in milliseconds, the last one included @param random a number in [0, 1) */
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

/** Those deaths that still count. A clock that was set back makes none count for longer than the period. */
export function recentDeaths(deaths: readonly number[], now: number, { periodMs }: Intensity): number[] {
  return deaths.filter((at) => periodMs === null || Math.abs(now - at) < periodMs)
}
