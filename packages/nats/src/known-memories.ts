// KnownMemories: the newest value of each key of the bucket, as far as this process has seen it. How the
// bucket is read is decided in memory-watch.ts, and what follows from the values in memory-store.ts. The
// known value of a key only moves forward. A watch that ends is started again. The known values stay, and the
// new watch begins with all values of the bucket.
import { type Clock, pause } from '@beaver/core'
import type { NatsConnection } from '@nats-io/nats-core'
import { type MemoryValue, readMemory } from './memory-value.ts'
import { type MemoryWatch, type WatchedBucket, watchMemories } from './memory-watch.ts'

const watchPauseMs = 500

export class KnownMemories {
  readonly #values = new Map<string, MemoryValue>()

  get(key: string): MemoryValue | null {
    return this.#values.get(key) ?? null
  }

  keep(key: string, value: MemoryValue): void {
    if (value.revision > (this.#values.get(key)?.revision ?? 0)) this.#values.set(key, value)
  }

  /**
   * Takes in all values of the bucket and then each change, until the returned function is called. Resolves
   * when all existing values are known.
   */
  async follow(nc: NatsConnection, bucket: WatchedBucket, clock: Clock): Promise<() => Promise<void>> {
    const begin = (): Promise<MemoryWatch> =>
      watchMemories(nc, bucket, (seen) => this.keep(seen.key, readMemory(seen)))
    const stopping = new AbortController()
    let watch = await begin()
    const following = (async (): Promise<void> => {
      while (!stopping.signal.aborted) {
        await watch.ended
        if (stopping.signal.aborted || nc.isClosed()) return
        await pause(clock, watchPauseMs, stopping.signal)
        await watch.stop()
        watch = await begin().catch(() => watch)
        if (stopping.signal.aborted) await watch.stop()
      }
    })()
    return async () => {
      stopping.abort()
      await Promise.all([watch.stop(), following])
    }
  }
}
