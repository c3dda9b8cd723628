// Joins a daemon to the keys of its journal: it signs what it writes, and it judges what it reads. A daemon
// writes nothing before the operator trusts its key. A daemon whose key is revoked stops. After that, nothing
// that it writes counts.
import {
  BeaverError,
  joinJournal,
  keyStatus,
  type KeyRing,
  checkOperator,
  type SigningKey,
  signTree,
} from '@beaver/core'
import { type JournalSignatures, journalTrust, natsSystemLog, type Subjects } from '@beaver/nats'
import { type Config, homeKeys, machineName } from '@beaver/platform'
import type { NatsConnection } from '@nats-io/nats-core'

export interface JournalKeys {
  readonly signatures: JournalSignatures
  /** The keys that count now. @throws {BeaverError} `unreachable`, `operator_changed` */
  readonly ring: () => Promise<KeyRing>
  /** Rejects when the daemon may not sign any more. */
  readonly failed: Promise<never>
  close(): void
}

/** @throws {BeaverError} `key_untrusted`, `operator_changed`, `unreachable` */
export async function journalKeys(
  nc: NatsConnection,
  subjects: Subjects,
  { keysFolder, nats }: Pick<Config, 'keysFolder' | 'nats'>,
  now: () => number,
): Promise<JournalKeys> {
  const { stream: namespace } = subjects
  const keys = homeKeys(keysFolder)
  const log = await natsSystemLog(nc, subjects, nats)
  const { ring, key } = await joinJournal('daemon', { log, keys, namespace, now, name: machineName() })
  const trust = journalTrust(
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
