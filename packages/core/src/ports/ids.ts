// The Ids port. New ids come from outside, so that tests can control them. The adapter of the port is in this
// file.
import { randomFillSync } from 'node:crypto'
import { monotonicFactory } from 'ulid'

/** Makes ids that sort by time: `task_01k…`. */
export interface Ids {
  next(kind: 'task' | 'session' | 'run' | 'team' | 'daemon' | 'request'): string
}

/**
 * Makes ids from the kind and a ULID in lower case. Each id of one instance is larger than the one before,
 * even within a millisecond.
 *
 * @example
 * const ids = ulidIds()
 * const first = ids.next('task')
 * first.startsWith('task_') // => true
 * first < ids.next('task') // => true
 */
export function ulidIds(): Ids {
  const ulid = monotonicFactory(pooledRandom())
  return { next: (kind) => `${kind}_${ulid().toLowerCase()}` }
}

/**
 * Random numbers in [0, 1) from the system's generator. They are fetched many at a time, because each fetch
 * costs a system call.
 */
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
