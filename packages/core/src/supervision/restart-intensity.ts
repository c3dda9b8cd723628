// The restart budget: whether something that died is started again, and after which pause (OTP's intensity
// and period, with a growing pause). Every restart in Beaver asks here; supervisors.ts holds the numbers. A
// death counts for `periodMs`; more than `restartsMax` exceed the intensity. The pause grows with the deaths
// that count, and falls back to the first one after `periodMs` without a death.

/** How many deaths are accepted. */
export interface Intensity {
  /** If more than this many deaths happen within the period, the supervisor escalates. */
  readonly restartsMax: number
  /** `null` means the child's whole life. */
  readonly periodMs: number | null
  /**
   * Which deaths count together. OTP counts `all_children`. `each_child` is the same as one supervisor for
   * each child.
   */
  readonly counts: 'each_child' | 'all_children'
}

/**
 * The pause before a restart. It doubles with each death within the period. With `jitter` it is between half
 * and all of this.
 */
export interface Backoff {
  /**
   * The pause after the first death within the period. The next pauses begin with `pauseMsMin`. Default:
   * `pauseMsMin` is the first pause.
   */
  readonly pauseMsFirst?: number
  readonly pauseMsMin: number
  readonly pauseMsMax: number
  readonly jitter: boolean
}

/** Whether the child is started again, and after which pause in milliseconds. */
export type AfterDeath =
  | {
      readonly kind: 'restart'
      readonly pauseMs: number
      /** The deaths that count, including this one. */ readonly deaths: number
    }
  /** `againMs` is the time until one more restart is within the intensity. `null` means never. */
  | { readonly kind: 'exceeded'; readonly deaths: number; readonly againMs: number | null }

/**
 * Decides what happens after the last of these deaths.
 *
 * @param deaths the times of the deaths in milliseconds, oldest first, including the last one @param random a
 * number in [0, 1)
 * @example
 * const intensity = { restartsMax: 1, periodMs: 60_000, counts: 'each_child' } as const
 * const backoff = { pauseMsMin: 100, pauseMsMax: 5_000, jitter: false }
 * afterDeath([1_000], { now: 1_000, random: 0, intensity, backoff }) // => { kind: 'restart', pauseMs: 100, deaths: 1 }
 * afterDeath([1_000, 2_000], { now: 2_000, random: 0, intensity, backoff }) // => { kind: 'exceeded', deaths: 2, againMs: 59_000 }
 */
export function afterDeath(
  deaths: readonly number[],
  {
    now,
    random,
    intensity,
    backoff,
  }: { now: number; random: number; intensity: Intensity; backoff: Backoff },
): AfterDeath {
  const { restartsMax, periodMs } = intensity
  const recent = recentDeaths(deaths, now, intensity)
  if (!isExceeded(recent.length, intensity))
    return { kind: 'restart', deaths: recent.length, pauseMs: pauseBefore(recent.length, backoff, random) }
  const oldest = recent.at(-restartsMax - 1) ?? now
  return {
    kind: 'exceeded',
    deaths: recent.length,
    againMs: periodMs === null || restartsMax === 0 ? null : oldest + periodMs - now,
  }
}

/**
 * The deaths that still count. If the clock is set back by more than the period, earlier deaths no longer
 * count.
 *
 * @example
 * recentDeaths([1_000, 50_000], 62_000, { periodMs: 60_000 }) // => [50_000]
 */
export function recentDeaths(
  deaths: readonly number[],
  now: number,
  { periodMs }: Pick<Intensity, 'periodMs'>,
): number[] {
  return deaths.filter((at) => periodMs === null || Math.abs(now - at) < periodMs)
}

/**
 * Whether so many deaths are too many. Call it directly if the journal counts the deaths.
 *
 * @example isExceeded(4, { restartsMax: 3 }) // => true
 */
export const isExceeded = (deaths: number, { restartsMax }: Pick<Intensity, 'restartsMax'>): boolean =>
  deaths > restartsMax

/**
 * The pause before the next start, in milliseconds.
 *
 * @param deaths the deaths that count, including the last one, at least 1
 * @param random a number in [0, 1), for the jitter
 * @example pauseBefore(3, { pauseMsMin: 100, pauseMsMax: 5_000, jitter: false }) // => 400
 */
export function pauseBefore(deaths: number, backoff: Backoff, random = 0): number {
  const ceiling = ceilingOf(Math.max(1, deaths), backoff)
  return backoff.jitter ? Math.round(ceiling / 2 + (random * ceiling) / 2) : ceiling
}

function ceilingOf(deaths: number, { pauseMsFirst, pauseMsMin, pauseMsMax }: Backoff): number {
  const doublings = deaths - (pauseMsFirst === undefined ? 1 : 2)
  // The bound of the exponent keeps the product finite, however many deaths count.
  return doublings < 0
    ? (pauseMsFirst ?? pauseMsMin)
    : Math.min(pauseMsMax, pauseMsMin * 2 ** Math.min(doublings, 40))
}
