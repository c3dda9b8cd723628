// The Ids port: new ids come in from outside, so that tests can decide them. Its adapter stands beside it.
import { randomFillSync } from 'node:crypto'
import { monotonicFactory } from 'ulid'

/** Makes ids that sort by time: `task_01k…`. */
export interface Ids {
  next(kind: 'task' | 'session' | 'run' | 'team' | 'daemon'): string
}

/** A kind and a ULID, in lower case. The ids of one maker rise, within a millisecond too. */
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
