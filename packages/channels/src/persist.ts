// Repeats a try until it succeeds, fails finally, reaches the limit of tries, or must stop.
import type { Handled } from '@beaver/contracts'
import { type Clock, messageOf, pause } from '@beaver/core'

/** The outcome of one try. `later`: another try may succeed, after `afterMs` milliseconds at the earliest. */
export type Tried =
  | Handled
  | { readonly kind: 'later'; readonly reason: string; readonly afterMs?: number | undefined }

export interface Persistence {
  readonly triesMax: number
  readonly clock: Clock
  readonly signal: AbortSignal
}

const firstPauseMs = 1_000
const pauseMsMax = 60_000
/** The longest pause that a network may ask for, in milliseconds. */
const askedPauseMsMax = 600_000

/** The pause after this many tries, in milliseconds: one second, doubled each time, at most one minute. */
export const pauseAfter = (tries: number): number =>
  Math.min(pauseMsMax, firstPauseMs * 2 ** Math.min(tries - 1, 20))

/**
 * Tries until there is an outcome. An error that `attempt` throws counts as `later`.
 *
 * @returns `dead` after the last try; `back` if `signal` aborts
 */
export async function persist(
  { triesMax, clock, signal }: Persistence,
  attempt: () => Promise<Tried>,
): Promise<Handled> {
  for (let tries = 1; ; tries++) {
    const tried = await attempt().catch((error: unknown): Tried => ({
      kind: 'later',
      reason: messageOf(error),
    }))
    if (tried.kind !== 'later') return tried
    if (signal.aborted) return { kind: 'back' }
    if (tries >= triesMax) return { kind: 'dead', reason: `${tried.reason} (tried ${tries} times)` }
    await pause(clock, Math.max(pauseAfter(tries), Math.min(tried.afterMs ?? 0, askedPauseMsMax)), signal)
    if (signal.aborted) return { kind: 'back' }
  }
}
