// Turns under a rate limit that a daemon has reserved for runs that wait without a loop. Such a run was
// dropped from its thread, and the limit counts its turn in the memory of this process. Nothing here is
// journaled: when the process ends, the reservation ends with it. A turn is used once. A turn that nobody
// uses within `lateMs` is forgotten. A call that comes later takes a new turn.
import type { Clock } from '@beaver/core'

export interface Admissions {
  /** @param atMs when the turn comes, by the daemon's clock */
  keep(runId: string, atMs: number): void
  /** Whether the run has a turn; it is used then. */
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
