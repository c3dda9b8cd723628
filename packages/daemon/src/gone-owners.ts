// Remembers for a moment which owners are gone. After a death, each task of the dead daemon asks for its
// owner before it is claimed: with hundreds of tasks these questions, which nobody answers, take as long as
// the claims. What is remembered is as old as a slow answer may be. If the owner is there again, the fence of
// the journal decides, as after any late answer.
import type { Clock } from '@beaver/core'

/** For how long an owner counts as gone without another question, in milliseconds. */
const goneMs = 250
const keptMax = 1_000

export interface GoneOwners {
  add(owner: string): void
  has(owner: string): boolean
}

export function goneOwners(clock: Pick<Clock, 'now'>): GoneOwners {
  const since = new Map<string, number>()
  return {
    add(owner) {
      if (since.size >= keptMax) since.clear()
      since.set(owner, clock.now())
    },
    has(owner) {
      const at = since.get(owner)
      return at !== undefined && clock.now() - at < goneMs
    },
  }
}
