// The keys of a journal, from the system log `keys`, read by code of this package: whose signatures count,
// and where. The first valid announcement of an operator's key names the journal, and this key signs it. Any
// other event needs the signature of an operator's key that counts at its place; an announcement, which
// trusts nothing, may have that of the announced key instead. A key counts for its role between the messages
// that trust it and revoke it. An event that does not count is reported and changes nothing.
import type { KeyObject } from 'node:crypto'
import { z } from 'zod'
import { placeOf } from './layout.ts'
import { judgeNote, noteKey, type ReadNote } from './note.ts'
import { readEntry, type ReadRecord, systemTypeOf } from './record.ts'
import type { Report } from './rules.ts'
import { publicKeyOf, readSignature, type SignedLog, Verifier } from './signature.ts'
import type { JournalSource, StreamMessage } from './source.ts'

type Role = 'operator' | 'daemon' | 'projector'

interface Key {
  readonly id: string
  readonly role: Role
  readonly publicKey: KeyObject
  readonly bytes: Uint8Array
  readonly trustedAt: number | null
  readonly revokedAt: number | null
}

export interface SignedMessage {
  readonly sequence: number
  readonly signature?: string | undefined
  /** The hash of its last record. */
  readonly lastHash: string
}

const announced = z.object({
  key_id: z.string(),
  public_key: z.string(),
  role: z.enum(['operator', 'daemon', 'projector']),
})
const trusted = announced.extend({ key_epoch: z.number() })
const revoked = z.object({ key_id: z.string() })

const roleOf = (log: SignedLog): Role =>
  typeof log !== 'string' ? 'daemon' : log === 'checkpoints' ? 'projector' : 'operator'

export class KeyLog {
  readonly #stream: string
  readonly #origin: string
  readonly #keys = new Map<string, Key>()
  readonly #verifier = new Verifier()
  /** Why events of a message do not count, for each message that was read. */
  readonly #read = new Map<number, string[]>()
  #operator: string | null = null
  #journal = ''
  #from = Infinity
  #epochs = 0

  private constructor({ about }: JournalSource) {
    this.#stream = about.stream
    this.#origin = `${about.stream}@${about.created}`
  }

  static async read(source: JournalSource): Promise<KeyLog> {
    const keys = new KeyLog(source)
    const trails = new SystemTrails()
    for await (const page of source.keys()) for (const message of page) keys.#takeMessage(message, trails)
    return keys
  }

  get operator(): string | null {
    return this.#operator
  }

  /** Why events of this message of the log `keys` do not count. */
  ignored(sequence: number): readonly string[] {
    return this.#read.get(sequence) ?? ['the message was not read with the keys']
  }

  /** Whether an unsigned message is older than the journal's operator. */
  isBefore({ sequence, signature }: Pick<SignedMessage, 'sequence' | 'signature'>): boolean {
    return signature === undefined && sequence < this.#from
  }

  /** Why the signature of a message does not count, in words; `null` if it counts. */
  faultOf(log: SignedLog, { sequence, signature, lastHash }: SignedMessage): string | null {
    if (signature === undefined) return 'it is not signed'
    const read = readSignature(signature)
    if (read === null) return 'its signature cannot be read'
    const key = this.#keys.get(read.keyId)
    if (key === undefined || !isTrusted(key, sequence))
      return `it is signed by the key ${read.keyId}, which the operator did not trust`
    if (isRevoked(key, sequence))
      return `it is signed by the key ${key.id}, which the operator revoked before`
    if (key.role !== roleOf(log))
      return `it is signed by the key ${key.id}, which is a key of the role ${key.role}, not ${roleOf(log)}`
    const journal = log === 'keys' ? this.#stream : this.#journal
    return this.#verifier.verifies(key.publicKey, journal, { log, recordHash: lastHash }, read)
      ? null
      : `its signature by the key ${key.id} is not one of this content at this place`
  }

  /**
   * Why no authorised key signed a note, in words; `null` if a projector's key that counts did.
   *
   * @param at the place of the note in the journal
   */
  noteFault(note: ReadNote, at: number): string | null {
    const named = [...this.#keys.values()]
      .map((key) => ({ key, of: noteKey(this.#origin, key.bytes) }))
      .filter(({ of }) => judgeNote(note, [of]) !== 'unknown')
    const known = named.filter(({ key }) => isTrusted(key, at))
    if (known.length === 0) return 'is not signed by a key that the operator trusted'
    if (known.some(({ of }) => judgeNote(note, [of]) === 'wrong'))
      return 'has a signature that is not one of its text'
    const [first] = known
    if (first !== undefined && known.every(({ key }) => isRevoked(key, at)))
      return `is signed by the key ${first.key.id}, which the operator revoked before`
    if (known.some(({ key }) => key.role === 'projector' && !isRevoked(key, at))) return null
    return `is signed by the key ${first?.key.id}, which is a key of the role ${first?.key.role}, not projector`
  }

  #takeMessage({ sequence, subject, payload, signature }: StreamMessage, trails: SystemTrails): void {
    const place = placeOf(subject)
    const entry = readEntry(payload)
    if (place.kind !== 'system' || place.name !== 'keys') return
    const faults = this.#read.get(sequence) ?? []
    this.#read.set(sequence, faults)
    if (entry.kind === 'unreadable') return // The check of the journal reports it.
    for (const each of entry.records) {
      if (!trails.judge('keys', each, () => {})) continue
      const why = this.#take(each, { sequence, signature, lastHash: each.record.hash })
      if (why !== null) faults.push(`event ${each.record.taskseq} of the log keys does not count: ${why}`)
    }
  }

  #take({ record: { type, data } }: ReadRecord, message: SignedMessage): string | null {
    switch (systemTypeOf(type)) {
      case 'key_announced':
        return this.#announce(data, message)
      case 'key_trusted':
        return this.faultOf('keys', message) ?? this.#trust(data, message)
      case 'key_revoked':
        return this.faultOf('keys', message) ?? this.#revoke(data, message)
      default:
        return null // The check of the journal reports it.
    }
  }

  #announce(data: unknown, { sequence, signature, lastHash }: SignedMessage): string | null {
    const { data: announcement } = announced.safeParse(data)
    const publicKey =
      announcement === undefined ? null : publicKeyOf(announcement.key_id, announcement.public_key)
    if (announcement === undefined || publicKey === null) return 'the id is not that of the key'
    if (this.#keys.has(announcement.key_id)) return 'the key is known already'
    const read = readSignature(signature ?? '')
    if (
      read?.keyId !== announcement.key_id ||
      !this.#verifier.verifies(publicKey, this.#stream, { log: 'keys', recordHash: lastHash }, read)
    )
      return 'the key itself did not sign it'
    const first = this.#operator === null && announcement.role === 'operator'
    this.#set(announcement, publicKey, first ? sequence : null)
    if (!first) return null
    this.#operator = announcement.key_id
    this.#journal = `${this.#stream}/${lastHash}`
    this.#from = sequence
    this.#epochs++
    return null
  }

  #trust(data: unknown, { sequence }: SignedMessage): string | null {
    const { data: trust } = trusted.safeParse(data)
    const publicKey = trust === undefined ? null : publicKeyOf(trust.key_id, trust.public_key)
    if (trust === undefined || publicKey === null) return 'the id is not that of the key'
    if (this.#keys.get(trust.key_id)?.trustedAt !== (this.#keys.has(trust.key_id) ? null : undefined))
      return 'the key was trusted already'
    if (trust.key_epoch !== this.#epochs + 1)
      return `it is the key ${trust.key_epoch} after the key ${this.#epochs}`
    this.#epochs++
    this.#set(trust, publicKey, sequence)
    return null
  }

  #revoke(data: unknown, { sequence }: SignedMessage): string | null {
    const { data: revocation } = revoked.safeParse(data)
    const key = revocation === undefined ? undefined : this.#keys.get(revocation.key_id)
    if (key === undefined) return 'the key is not known'
    if (key.revokedAt !== null) return 'the key is revoked already'
    this.#keys.set(key.id, { ...key, revokedAt: sequence })
    return null
  }

  #set(
    { key_id: id, public_key: text, role }: z.infer<typeof announced>,
    publicKey: KeyObject,
    trustedAt: number | null,
  ): void {
    this.#keys.set(id, {
      id,
      role,
      publicKey,
      bytes: Buffer.from(text, 'base64url'),
      trustedAt,
      revokedAt: null,
    })
  }
}

const isTrusted = ({ trustedAt }: Key, at: number): boolean => trustedAt !== null && trustedAt < at
const isRevoked = ({ revokedAt }: Key, at: number): boolean => revokedAt !== null && revokedAt <= at

// Follows the chained records of the system logs. A record with a fault is skipped, and the log continues
// from the previous record, as writers do.

const types: Readonly<Record<string, readonly string[]>> = {
  keys: ['key_announced', 'key_trusted', 'key_revoked'],
  checkpoints: ['checkpoint_made'],
  redactions: ['blob_redacted', 'record_redacted', 'task_archived', 'messages_archived', 'streams_placed'],
}

export class SystemTrails {
  /** The removed blobs, each with the reason. */
  readonly redacted = new Map<string, string>()
  readonly #heads = new Map<
    string,
    { readonly taskseq: number; readonly hash: string; readonly epoch: number }
  >()

  /**
   * Returns whether the record is in its place and unchanged.
   *
   * @param isTrusted whether the writer may write it. Otherwise it is in the chain, but removes nothing
   */
  judge(name: string, { record, sha256 }: ReadRecord, tell: Report, isTrusted = true): boolean {
    let sound = true
    const report: Report = (rule, message) => {
      sound = false
      tell(rule, message)
    }
    const { taskseq, epoch, prevhash, hash } = record
    const head = this.#heads.get(name) ?? { taskseq: 0, hash: '0'.repeat(64), epoch: 0 }
    if (taskseq !== head.taskseq + 1)
      report('taskseq', `event ${taskseq} of the system log ${name} follows event ${head.taskseq}`)
    else if (prevhash !== head.hash)
      report(
        'chain',
        `event ${taskseq} of the system log ${name} names another hash than that of the event before it`,
      )
    if (hash !== sha256)
      report(
        'hash',
        `event ${taskseq} of the system log ${name} does not have the content that its hash says`,
      )
    if (epoch < head.epoch)
      report(
        'epoch',
        `event ${taskseq} of the system log ${name} has epoch ${epoch}, after epoch ${head.epoch}`,
      )
    if (record.subject !== name)
      report('identity', `event ${taskseq} is of ${record.subject}, and lies in the system log ${name}`)
    if (sound) this.#heads.set(name, { taskseq, hash, epoch })
    const inPlace = sound
    const type = systemTypeOf(record.type)
    if (type === undefined || types[name]?.includes(type) !== true)
      report(
        'event_type',
        `event ${taskseq} of the system log ${name} is of the type ${record.type}, which is not known there`,
      )
    if (type === 'blob_redacted' && isTrusted) {
      const { sha256: blob, reason } = (record.data ?? {}) as { sha256?: unknown; reason?: unknown }
      if (typeof blob === 'string') this.redacted.set(blob, String(reason))
    }
    return inPlace
  }
}
