// What a daemon reads and writes over one connection to NATS: the journal, its blobs, its queue, the memory and the search of sessions.
// S1. A store that does not open leaves nothing behind: what was opened before it is closed by `undo`.
import { natsBlobStore, natsJournal, natsMemoryStore, natsSessionSearch, natsTaskQueue, type Subjects } from '@beaver/nats'
import type { Config } from '@beaver/platform'
import type { NatsConnection } from '@nats-io/nats-core'

export type Stores = Awaited<ReturnType<typeof openStores>>

export async function openStores(
  nc: NatsConnection,
  subjects: Subjects,
  { memory: limits, daemon }: Pick<Config, 'memory' | 'daemon'>,
  undo: AsyncDisposableStack,
) {
  const journal = await natsJournal(nc, subjects)
  undo.defer(async () => journal.close())
  const blobs = await natsBlobStore(nc, subjects)
  const memory = await natsMemoryStore(nc, subjects, { memory: limits.memory_chars_max, user: limits.user_chars_max })
  undo.defer(() => memory.close())
  const queue = await natsTaskQueue(nc, subjects, { leaseMs: daemon.lease_ms, now: () => journal.now() })
  return { journal, blobs, memory, queue, sessions: natsSessionSearch(nc, subjects) }
}
