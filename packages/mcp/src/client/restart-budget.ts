// How often a server is connected anew, decided purely: more than `restartsMax` within ten minutes, and it is left alone.
// B1. Pauses are jittered and grow with the deaths of the last ten minutes.

const periodMs = 600_000
const pauseMsMin = 500
const pauseMsMax = 30_000

export type AfterDeath =
  | { readonly kind: 'restart'; readonly pauseMs: number }
  /** `againMs`: until one more restart is within the bound. */
  | { readonly kind: 'give_up'; readonly deaths: number; readonly againMs: number }

/** @param deaths when it died, in milliseconds, the last one included @param random a number in [0, 1) */
export function afterDeath(deaths: readonly number[], now: number, { restartsMax, random }: { restartsMax: number; random: number }): AfterDeath {
  const recent = deaths.filter((at) => now - at < periodMs)
  if (recent.length > restartsMax) return { kind: 'give_up', deaths: recent.length, againMs: (recent.at(-restartsMax - 1) ?? now) + periodMs - now }
  const ceiling = Math.min(pauseMsMax, pauseMsMin * 2 ** Math.max(0, recent.length - 1))
  return { kind: 'restart', pauseMs: Math.round(ceiling / 2 + (random * ceiling) / 2) }
}

/** Those deaths that still count. */
export function recentDeaths(deaths: readonly number[], now: number): number[] {
  return deaths.filter((at) => now - at < periodMs)
}
