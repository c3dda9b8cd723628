// Opens the stores of a daemon over one connection to NATS: the journal, its blobs, its queue, the memory and
// the search of sessions. The watch compares the journal with what a daemon of this home saw last, before
// anything is written. If a store cannot be opened, nothing is left behind: `undo` closes the stores that
// were opened before it.
import { type BlobStore, type Clock, type Logger, type Replacements, replacementsOf } from '@beaver/core'
import {
  markStore,
  natsBlobStore,
  natsJournal,
  natsMemoryStore,
  natsSessionSearch,
  natsTaskQueue,
  type Subjects,
  watchJournal,
} from '@beaver/nats'
import { type Config, homeKeys, journalFiles, knownOperator } from '@beaver/platform'
import type { NatsConnection } from '@nats-io/nats-core'
import { journalKeys } from './journal-keys.ts'
import { watchedJournal } from './watched-journal.ts'

export type Stores = Awaited<ReturnType<typeof openStores>>

export async function openStores(
  nc: NatsConnection,
  subjects: Subjects,
  {
    memory: limits,
    daemon,
    home,
    keysFolder,
    nats,
  }: Pick<Config, 'memory' | 'daemon' | 'home' | 'keysFolder' | 'nats'>,
  {
    clock,
    logger,
    undo,
  }: { readonly clock: Clock; readonly logger: Logger; readonly undo: AsyncDisposableStack },
) {
  const keys = await journalKeys(nc, subjects, { keysFolder, nats }, () => clock.now())
  undo.defer(async () => keys.close())
  const { trust } = keys.signatures
  const own = await natsJournal(nc, subjects, keys.signatures)
  undo.defer(async () => own.close())
  const { mark, acceptances } = journalFiles(home, subjects.stream, 'daemon')
  const watch = await watchJournal(nc, {
    subjects,
    store: markStore(mark, acceptances, {
      stream: subjects.stream,
      operator: () => knownOperator(homeKeys(keysFolder), subjects.stream),
    }),
    logger,
    archived: async () => (await trust.removals()).archived,
  })
  undo.defer(() => watch.close())
  const journal = watchedJournal(own, watch, subjects)
  const stored = await natsBlobStore(nc, subjects)
  const replacements = replacementsOf(stored, () => trust.removals())
  const blobs: BlobStore & Replacements = {
    put: (sha256, bytes) => stored.put(sha256, bytes),
    ...replacements,
  }
  const memory = await natsMemoryStore(nc, subjects, {
    memory: limits.memory_chars_max,
    user: limits.user_chars_max,
  })
  undo.defer(() => memory.close())
  const queue = await natsTaskQueue(nc, subjects, { leaseMs: daemon.lease_ms, now: () => journal.now() })
  return { keys, journal, watch, blobs, memory, queue, sessions: natsSessionSearch(nc, subjects) }
}
