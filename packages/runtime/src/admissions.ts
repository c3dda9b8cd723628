// Turns under a rate limit that a daemon has reserved for runs whose loops were dropped while they wait.
// Nothing here is journaled: the limit counts in this process, so reservations end with it. A turn is used
// once, and is forgotten after `lateMs`.
import type { Clock } from '@beaver/core'

export interface Admissions {
  /** @param atMs when the turn comes, by the daemon's clock */
  keep(runId: string, atMs: number): void
  /** Uses the run's turn. @returns whether it had one */
  take(runId: string): boolean
}

const lateMs = 60_000

export function admissions(clock: Pick<Clock, 'now'>): Admissions {
  const turns = new Map<string, { readonly runId: string; readonly atMs: number }>()

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
