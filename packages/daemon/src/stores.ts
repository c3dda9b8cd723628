// Opens the stores of a daemon over one connection to NATS: the journal, its blobs and queue, the memory, the
// accounts of budgets and the search of sessions. If one cannot be opened, `undo` closes the others.
import { BeaverError, type BlobStore, type Clock, type Logger } from '@beaver/core'
import { isShared } from '@beaver/core/budget'
import {
  checkOperator,
  joinJournal,
  type KeyRing,
  keyStatus,
  type Replacements,
  replacementsOf,
  type SigningKey,
  signTree,
} from '@beaver/core/journal'
import {
  type JournalSignatures,
  JournalTrust,
  type JournalWatch,
  markStore,
  natsBlobStore,
  natsBudgetAccounts,
  natsJournal,
  type NatsJournal,
  natsMemoryStore,
  natsSessionSearch,
  natsSystemLog,
  natsTaskQueue,
  type Subjects,
  watchJournal,
} from '@beaver/nats'
import { type Config, homeKeys, journalFiles, knownOperator, machineName } from '@beaver/platform'
import type { NatsConnection } from '@nats-io/nats-core'

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
    budgets,
  }: Pick<Config, 'budgets' | 'memory' | 'daemon' | 'home' | 'keysFolder' | 'nats'>,
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
  // Servers whose users were made by an older version give no right to the accounts.
  const accounts = budgets.some(isShared) ? await natsBudgetAccounts(nc, subjects) : null
  const queue = await natsTaskQueue(nc, subjects, { leaseMs: daemon.lease_ms, now: () => journal.now() })
  return { keys, journal, watch, blobs, memory, accounts, queue, sessions: natsSessionSearch(nc, subjects) }
}

// A watched journal: nothing is written before the journal was compared with what a daemon of this home saw
// last, or while it differs. A write that gets a place before the last one shows another journal: the daemon
// stops before its next write. Reads continue, so that people can see what is there.

function watchedJournal(journal: NatsJournal, watch: JournalWatch, subjects: Subjects): NatsJournal {
  const gated = async <Outcome>(write: () => Promise<Outcome>): Promise<Outcome> => {
    const wait = watch.gate()
    if (wait !== null) await wait
    return write()
  }
  /** @param before the last message that was seen before the write */
  const noted = async (
    sequence: number,
    subject: string,
    payload: Uint8Array | undefined,
    before: number,
  ): Promise<void> => {
    if (sequence <= before) await watch.doubt()
    else if (payload !== undefined) watch.acknowledged({ sequence, subject, payload })
  }
  const append: NatsJournal['append'] = (entry) =>
    gated(async () => {
      const before = watch.sequence
      const outcome = await journal.append(entry)
      if (outcome.kind === 'appended')
        await noted(outcome.revision, subjects.events(entry.log), entry.payloads.at(-1), before)
      return outcome
    })
  const accept: NatsJournal['accept'] = (acceptance) =>
    gated(async () => {
      const before = watch.sequence
      const outcome = await journal.accept(acceptance)
      const { log, payloads, followers = [] } = acceptance
      if (outcome.kind !== 'accepted') return outcome
      const last = followers.at(-1)
      const subject =
        last !== undefined
          ? subjects.accepted(last.log)
          : payloads.length === 1
            ? subjects.accepted(log)
            : subjects.events(log)
      await noted(outcome.lastRevision, subject, last?.payload ?? payloads.at(-1), before)
      return outcome
    })
  // The prototype keeps everything else the journal's own, including its getters.
  return Object.assign(Object.create(journal) as NatsJournal, { append, accept })
}

// The keys of a daemon: it signs what it writes, and judges what it reads. It writes nothing before the
// operator trusts its key, and stops if its key is revoked: nothing that it writes after that counts.

interface JournalKeys {
  readonly signatures: JournalSignatures
  /** The keys that count now. @throws {BeaverError} `unreachable`, `operator_changed` */
  readonly ring: () => Promise<KeyRing>
  /** Rejects when the daemon's key is revoked. */
  readonly failed: Promise<never>
  close(): void
}

/** @throws {BeaverError} `key_untrusted`, `operator_changed`, `unreachable` */
async function journalKeys(
  nc: NatsConnection,
  subjects: Subjects,
  { keysFolder, nats }: Pick<Config, 'keysFolder' | 'nats'>,
  now: () => number,
): Promise<JournalKeys> {
  const { stream: namespace } = subjects
  const keys = homeKeys(keysFolder)
  const log = await natsSystemLog(nc, subjects, nats)
  const { ring, key } = await joinJournal('daemon', { log, keys, namespace, now, name: machineName() })
  const trust = new JournalTrust(
    { nc, subjects, log, check: (next) => checkOperator(next, { keys, namespace }) },
    ring,
  )
  const { promise: failed, reject } = Promise.withResolvers<never>()
  failed.catch(() => {}) // The daemon waits for it later.
  trust.onChange((next) => {
    if (isRevoked(next, key))
      reject(
        new BeaverError(
          'key_untrusted',
          `The operator revoked the key ${key.id} of this daemon. Start it again to get a new key.`,
        ),
      )
  })
  const { journal } = ring
  return {
    signatures: { trust, sign: (leaves) => signTree(key, journal, leaves) },
    ring: () => trust.ring(),
    failed,
    close: () => trust.close(),
  }
}

function isRevoked(ring: KeyRing, { id }: SigningKey): boolean {
  const known = ring.find(id)
  return known !== null && keyStatus(known) === 'revoked'
}
