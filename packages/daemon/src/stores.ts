// Opens the stores of a daemon over one connection to NATS: the journal, its blobs, its queue, the memory and the search of sessions.
// S1. If a store cannot be opened, nothing is left behind: `undo` closes the stores that were opened before it.
import { type BlobStore, type Clock, type Replacements, replacementsOf } from '@beaver/core'
import { natsBlobStore, natsJournal, natsMemoryStore, natsSessionSearch, natsSystemLog, natsTaskQueue, type Subjects } from '@beaver/nats'
import type { Config } from '@beaver/platform'
import type { NatsConnection } from '@nats-io/nats-core'
import { journalKeys } from './journal-keys.ts'

export type Stores = Awaited<ReturnType<typeof openStores>>

export async function openStores(
  nc: NatsConnection,
  subjects: Subjects,
  { memory: limits, daemon, keysFolder }: Pick<Config, 'memory' | 'daemon' | 'keysFolder'>,
  { clock, undo }: { readonly clock: Clock; readonly undo: AsyncDisposableStack },
) {
  const keys = await journalKeys(nc, subjects, { keysFolder }, () => clock.now())
  undo.defer(async () => keys.close())
  const journal = await natsJournal(nc, subjects, keys.signatures)
  undo.defer(async () => journal.close())
  const stored = await natsBlobStore(nc, subjects)
  const replacements = replacementsOf(stored, await natsSystemLog(nc, subjects))
  await replacements.refresh()
  const blobs: BlobStore & Replacements = { put: (sha256, bytes) => stored.put(sha256, bytes), ...replacements }
  const memory = await natsMemoryStore(nc, subjects, { memory: limits.memory_chars_max, user: limits.user_chars_max })
  undo.defer(() => memory.close())
  const queue = await natsTaskQueue(nc, subjects, { leaseMs: daemon.lease_ms, now: () => journal.now() })
  return { keys, journal, blobs, memory, queue, sessions: natsSessionSearch(nc, subjects) }
}
