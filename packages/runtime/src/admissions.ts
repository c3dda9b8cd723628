// Turns under a limit that runs of this daemon have reserved and wait for elsewhere: their loops were dropped, and the limits they
// were counted in are in this process's memory. Nothing of it is journaled: without this process the reservation is gone as well.
// A1. A turn is used once. A2. One that nobody came for within `lateMs` is forgotten: a late call takes a turn like any other.
import { type Clock, TransientMap } from '@beaver/core'

export interface Admissions {
  /** @param atMs when the turn comes, by the daemon's clock */
  keep(runId: string, atMs: number): void
  /** Whether the run has a turn; it is used then. */
  take(runId: string): boolean
}

const lateMs = 60_000

export function admissions(clock: Pick<Clock, 'now'>): Admissions {
  const turns = new TransientMap<string, { readonly runId: string; readonly atMs: number }>()

  function forgetLate(): void {
    for (const { runId, atMs } of [...turns.values()]) if (atMs + lateMs < clock.now()) turns.delete(runId)
  }

  let forgetAt = 0
  return {
    keep(runId, atMs) {
      if (clock.now() >= forgetAt) {
        forgetLate()
        forgetAt = clock.now() + lateMs
      }
      turns.set(runId, { runId, atMs })
    },
    take(runId) {
      const turn = turns.get(runId)
      turns.delete(runId)
      return turn !== undefined && turn.atMs + lateMs >= clock.now()
    },
  }
}
