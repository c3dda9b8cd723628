// Ids that sort by time: a kind and a ULID, in lower case.
// I1. Ids of one process rise, within a millisecond too.
import { randomFillSync } from 'node:crypto'
import type { Ids } from '@beaver/core'
import { monotonicFactory } from 'ulid'

export function ulidIds(): Ids {
  const ulid = monotonicFactory(pooledRandom())
  return { next: (kind) => `${kind}_${ulid().toLowerCase()}` }
}

/** Random numbers in [0, 1), from the system's generator, fetched many at a time: one by one they cost a call each. */
function pooledRandom(): () => number {
  const pool = new Uint32Array(1_024)
  let next = pool.length
  return () => {
    if (next === pool.length) {
      randomFillSync(pool)
      next = 0
    }
    return (pool[next++] as number) / 2 ** 32
  }
}
