// Reads and verifies the signatures of messages, written from docs/decisions/0036, not from core. One
// signature covers a commit: the root of a tree over its messages. Each message has the path of its leaf,
// which names the log and the hash of the last record. The signed text names the journal.
import { createPublicKey, hash, type KeyObject, verify } from 'node:crypto'
import type { LogPlace } from './layout.ts'
import { rootBy } from './tree.ts'

/** The place of a task's log, or the name of a system log. */
export type SignedLog = LogPlace | string

export interface ReadSignature {
  readonly keyId: string
  readonly index: number
  readonly size: number
  readonly signed: Buffer
  readonly path: readonly Uint8Array[]
}

export function readSignature(text: string): ReadSignature | null {
  const [version, keyId = '', index = '', size = '', signed = '', hashes = '', ...rest] = text.split(' ')
  if (
    version !== 'v1' ||
    rest.length > 0 ||
    !/^[0-9a-f]{32}$/.test(keyId) ||
    !/^[A-Za-z0-9_-]{86}$/.test(signed)
  )
    return null
  if (
    !/^(?:0|[1-9]\d{0,5})$/.test(index) ||
    !/^[1-9]\d{0,5}$/.test(size) ||
    !/^(?:-|[A-Za-z0-9_-]{43,1400})$/.test(hashes)
  )
    return null
  const bytes = hashes === '-' ? Buffer.alloc(0) : Buffer.from(hashes, 'base64url')
  if (bytes.length % 32 !== 0) return null
  const path = Array.from({ length: bytes.length / 32 }, (_, i) => bytes.subarray(32 * i, 32 * i + 32))
  return { keyId, index: Number(index), size: Number(size), signed: Buffer.from(signed, 'base64url'), path }
}

/** The Ed25519 key in base64url if its SHA-256 begins with the id; else `null`. */
export function publicKeyOf(id: string, base64url: string): KeyObject | null {
  if (
    !/^[A-Za-z0-9_-]{43}$/.test(base64url) ||
    hash('sha256', Buffer.from(base64url, 'base64url')).slice(0, 32) !== id
  )
    return null
  try {
    return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: base64url }, format: 'jwk' })
  } catch {
    return null
  }
}

function leafOfMessage(log: SignedLog, recordHash: string): Buffer {
  const parts = typeof log === 'string' ? ['system', log] : ['task', log.tenant, log.session, log.task]
  return hash(
    'sha256',
    Buffer.concat([Buffer.of(0), Buffer.from([...parts, recordHash].join('\u0000'))]),
    'buffer',
  )
}

const verdictsMax = 1_000

/** Verifies signatures, and remembers the newest verdicts, because a commit has one signature. */
export class Verifier {
  readonly #verdicts = new Map<string, boolean>()

  /** @param journal the journal's name in the signed text */
  verifies(
    key: KeyObject,
    journal: string,
    { log, recordHash }: { readonly log: SignedLog; readonly recordHash: string },
    read: ReadSignature,
  ): boolean {
    const root = rootBy(leafOfMessage(log, recordHash), read.index, read.size, read.path)
    if (root === null) return false
    const text = `beaver-signature/v1\n${journal}\n${read.size}\n${root.toString('hex')}\n`
    const name = `${read.keyId} ${read.signed.toString('base64')} ${text}`
    const known = this.#verdicts.get(name)
    if (known !== undefined) return known
    const verdict = verify(null, Buffer.from(text), key, read.signed)
    if (this.#verdicts.size >= verdictsMax) this.#verdicts.delete(this.#verdicts.keys().next().value ?? '')
    this.#verdicts.set(name, verdict)
    return verdict
  }
}
