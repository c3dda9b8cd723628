// Tries something until it succeeds, cannot succeed, was tried often enough, or must stop.
import type { Handled } from '@beaver/contracts'
import { type Clock, messageOf, pause } from '@beaver/core'

/** What one try came to. `later`: another try may succeed, after `afterMs` at the earliest. */
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
/** A network may ask for a longer pause. */
const askedPauseMsMax = 600_000

/** The pause after this many tries. */
export const pauseAfter = (tries: number): number =>
  Math.min(pauseMsMax, firstPauseMs * 2 ** Math.min(tries - 1, 20))

/** @returns `dead` after the last try, `back` if `signal` aborts in a pause */
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
