// KeyRing: whose signatures count, and where in the journal. It is the fold of the system log `keys`. The
// first valid event announces the operator's key, is signed by it, and names the journal: all later
// signatures are bound to this name. Every other event counts only if an operator's key that counts at its
// position signed it; an announcement trusts nothing. A signature counts if its key has the right role and
// its message lies between trust and revocation. Anybody who can write to the stream can add events: what
// does not count is kept in `ignored` and changes nothing.
import type { KeyObject } from 'node:crypto'
import type { KeyRole, SystemLogName } from '../events/system-catalog.ts'
import type { LogId } from '../ids.ts'
import type { SignedEntry } from './journal.ts'
import { leafContent, readSignature, SignatureVerifier, verifyingKey } from './signature.ts'
import type { SystemLog } from './system-log.ts'
import { type ReadSystemLog, type RecordedSystemEvent, readSystemEntries } from './system-record.ts'

/** A key of the ring. Positions are those of the journal stream; `null`: this did not happen. */
export interface KnownKey {
  readonly id: string
  readonly publicKey: string
  readonly role: KeyRole
  readonly name: string
  /** The number of the key among the trusted ones, from 1; `null` for a key that only asks for trust. */
  readonly epoch: number | null
  readonly announcedAt: string | null
  readonly trustedAt: string | null
  readonly trustedFrom: number | null
  readonly revokedAt: string | null
  readonly revokedFrom: number | null
  readonly reason: string | null
}

/** `asks` for trust, `trusted`, or `revoked`. */
export type KeyStatus = 'asks' | 'trusted' | 'revoked'

/**
 * The state of a key.
 *
 * @example
 * const { ring, key } = await joinJournal('daemon', keyPorts)
 * ring.keys.filter(({ id }) => id === key.id).map(keyStatus) // => ['trusted']
 */
export const keyStatus = ({ trustedFrom, revokedFrom }: KnownKey): KeyStatus =>
  revokedFrom !== null ? 'revoked' : trustedFrom !== null ? 'trusted' : 'asks'

/** The role that signs each log. */
const roleOfLog: Readonly<Record<SystemLogName, KeyRole>> = {
  keys: 'operator',
  checkpoints: 'projector',
  redactions: 'operator',
}

/**
 * Whose signatures count. It never changes; a newer state of the log makes another ring.
 *
 * @example
 * const { ring } = await joinJournal('daemon', keyPorts)
 * ring.faultOf('redactions', { lastHash: null, signature: undefined, revision: 9 }) // => 'it is not signed'
 */
export class KeyRing {
  readonly #namespace: string
  readonly #keys = new Map<string, { known: KnownKey; key: KeyObject }>()
  readonly #verifier: SignatureVerifier
  readonly ignored: { readonly revision: number; readonly message: string }[] = []
  #operator: string | null = null
  #journal: string
  #epochs = 0

  constructor(
    namespace: string,
    { events, faults }: Pick<ReadSystemLog, 'events' | 'faults'>,
    verifier = new SignatureVerifier(),
  ) {
    this.#namespace = namespace
    this.#journal = namespace
    this.#verifier = verifier
    this.ignored.push(...faults)
    for (const event of events) {
      const why = this.#take(event)
      if (why !== null)
        this.ignored.push({
          revision: event.revision,
          message: `event ${event.taskseq} (${event.type}) does not count: ${why}`,
        })
    }
  }

  /** The id of the first operator's key, on which all trust rests; `null` if the log has none. */
  get operator(): string | null {
    return this.#operator
  }

  /** The name of the journal, to which the signatures in all logs except `keys` are bound. */
  get journal(): string {
    return this.#journal
  }

  /**
   * The position from which on every entry of a task must be signed; `null` if the journal has no operator.
   */
  get signedFrom(): number | null {
    return this.#operator === null ? null : (this.find(this.#operator)?.trustedFrom ?? null)
  }

  /** The number that the next trusted key gets. */
  get nextEpoch(): number {
    return this.#epochs + 1
  }

  get keys(): readonly KnownKey[] {
    return [...this.#keys.values()].map(({ known }) => known)
  }

  find(id: string): KnownKey | null {
    return this.#keys.get(id)?.known ?? null
  }

  /** Whether a key is an operator's key that counts now. */
  mayOperate(id: string): boolean {
    const known = this.find(id)
    return known?.role === 'operator' && keyStatus(known) === 'trusted'
  }

  /** Whether a signature names a key that is not in this ring, so that a newer ring may know it. */
  lacks({ signature }: Pick<SignedEntry, 'signature'>): boolean {
    const read = signature === undefined ? null : readSignature(signature)
    return read !== null && this.find(read.keyId)?.trustedFrom === undefined
  }

  /** Why the signature of an entry does not count, in words; `null` if it counts. */
  faultOf(log: LogId | SystemLogName, { lastHash, signature, revision }: SignedEntry): string | null {
    const role = typeof log === 'string' ? roleOfLog[log] : 'daemon'
    if (signature === undefined) return 'it is not signed'
    const read = readSignature(signature)
    if (read === null) return 'its signature cannot be read'
    const found = this.#keys.get(read.keyId)
    // The words are the same for a key that becomes known later, so that a rebuilt read model says the same.
    if (found === undefined || found.known.trustedFrom === null || found.known.trustedFrom >= revision)
      return `it is signed by the key ${read.keyId}, which the operator did not trust`
    const { known, key } = found
    if (known.revokedFrom !== null && known.revokedFrom <= revision)
      return `it is signed by the key ${known.id}, which the operator revoked before`
    if (known.role !== role)
      return `it is signed by the key ${known.id}, which is a key of the role ${known.role}, not ${role}`
    if (
      lastHash === null ||
      !this.#verifier.verifies(
        key,
        log === 'keys' ? this.#namespace : this.#journal,
        leafContent(log, lastHash),
        read,
      )
    )
      return `its signature by the key ${known.id} is not one of this content at this place`
    return null
  }

  /**
   * Why an entry is not to be believed, for a reader of the record: as `faultOf`. An unsigned entry from
   * before the journal had an operator is believed, because nothing could be signed then, and nobody can add
   * an entry there later.
   */
  recordFault(log: LogId | SystemLogName, entry: SignedEntry): string | null {
    const isBefore = this.signedFrom === null || entry.revision < this.signedFrom
    return isBefore && entry.signature === undefined ? null : this.faultOf(log, entry)
  }

  /** Takes an event of the log. Returns why it does not count; `null` if it counts. */
  #take(event: RecordedSystemEvent): string | null {
    switch (event.type) {
      case 'key_announced':
        return this.#announced(event, event.data)
      case 'key_trusted':
        return this.faultOf('keys', { ...event, lastHash: event.hash }) ?? this.#trusted(event, event.data)
      case 'key_revoked':
        return this.faultOf('keys', { ...event, lastHash: event.hash }) ?? this.#revoked(event, event.data)
      default:
        return 'it is no event of this log'
    }
  }

  #announced(
    event: RecordedSystemEvent,
    { key_id: id, public_key: publicKey, role, name }: Announced,
  ): string | null {
    if (this.#keys.has(id)) return 'the key is known already'
    const key = verifyingKey(id, publicKey)
    const read = event.signature === undefined ? null : readSignature(event.signature)
    if (key === null) return 'the id is not that of the key'
    if (
      read?.keyId !== id ||
      !this.#verifier.verifies(key, this.#namespace, leafContent('keys', event.hash), read)
    )
      return 'the key itself did not sign it'
    const first = this.#operator === null && role === 'operator'
    const asks: KnownKey = {
      id,
      publicKey,
      role,
      name,
      announcedAt: event.time,
      epoch: null,
      trustedAt: null,
      trustedFrom: null,
      revokedAt: null,
      revokedFrom: null,
      reason: null,
    }
    this.#keys.set(id, {
      key,
      known: first
        ? { ...asks, epoch: ++this.#epochs, trustedAt: event.time, trustedFrom: event.revision }
        : asks,
    })
    if (first) {
      this.#operator = id
      this.#journal = `${this.#namespace}/${event.hash}`
    }
    return null
  }

  #trusted(
    event: RecordedSystemEvent,
    { key_id: id, public_key: publicKey, role, name, key_epoch: epoch }: Announced & { key_epoch: number },
  ): string | null {
    const before = this.find(id)
    const key = verifyingKey(id, publicKey)
    if (key === null) return 'the id is not that of the key'
    if (before !== null && before.trustedFrom !== null) return `the key is ${keyStatus(before)} already`
    if (epoch !== this.nextEpoch) return `it is the key ${epoch} after the key ${this.#epochs}`
    this.#epochs = epoch
    const { time: trustedAt, revision: trustedFrom } = event
    const known = {
      announcedAt: before?.announcedAt ?? null,
      revokedAt: null,
      revokedFrom: null,
      reason: null,
    }
    this.#keys.set(id, { key, known: { id, publicKey, role, name, epoch, trustedAt, trustedFrom, ...known } })
    return null
  }

  #revoked(
    event: RecordedSystemEvent,
    { key_id: id, reason }: { key_id: string; reason: string },
  ): string | null {
    const found = this.#keys.get(id)
    if (found === undefined) return 'the key is not known'
    if (found.known.revokedFrom !== null) return 'the key is revoked already'
    found.known = { ...found.known, revokedAt: event.time, revokedFrom: event.revision, reason }
    return null
  }
}

interface Announced {
  readonly key_id: string
  readonly public_key: string
  readonly role: KeyRole
  readonly name: string
}

/**
 * The events of a system log whose signatures count. The others are left out.
 *
 * @throws {BeaverError} `unreachable`
 * @example
 * const { ring } = await joinJournal('daemon', keyPorts)
 * await readTrustedEvents('redactions', keyPorts.log, ring) // => []
 */
export async function readTrustedEvents(
  name: SystemLogName,
  log: Pick<SystemLog, 'read'>,
  ring: KeyRing,
): Promise<readonly RecordedSystemEvent[]> {
  const { events } = readSystemEntries(name, await log.read(name))
  return events.filter((event) => ring.recordFault(name, { ...event, lastHash: event.hash }) === null)
}
