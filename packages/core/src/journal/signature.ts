// Makes and verifies signatures of journal messages; key-ring.ts decides whose signatures count. A signature
// covers the last record of a message, and by the chain all records before it. The messages of one commit
// share one Ed25519 signature over the root of a Merkle tree; each has the path of its leaf. A leaf names the
// log and the signed text names the journal, so a signature is worth nothing elsewhere. Verification never
// throws, whatever the text of a signature is.
import { createPrivateKey, createPublicKey, hash, type KeyObject, sign, verify } from 'node:crypto'
import { type LogId, logKey } from '../ids.ts'
import type { SystemLogName } from '../events/system-catalog.ts'
import { rootOf, treeOf } from '../tree/commit-tree.ts'
import { leafHash } from '../tree/tree-hash.ts'

/** The log of a leaf. */
export type SignedLog = LogId | SystemLogName

/**
 * The content of a leaf: the log, and the hash of a message's last record.
 *
 * @example
 * leafContent('keys', 'ab').split('\u0000') // => ['system', 'keys', 'ab']
 */
export const leafContent = (log: SignedLog, recordHash: string): string =>
  typeof log === 'string'
    ? `system\u0000${log}\u0000${recordHash}`
    : `task\u0000${logKey(log)}\u0000${recordHash}`

/** A key that signs. */
export interface SigningKey {
  readonly id: string
  /** 32 bytes in base64url. */
  readonly publicKey: string
  readonly privateKey: KeyObject
}

const keyIdOf = (publicKey: string): string =>
  hash('sha256', Buffer.from(publicKey, 'base64url')).slice(0, 32)

/**
 * The PKCS #8 text of a key in PEM.
 *
 * @example
 * signingKeyFromPem(pemOf(signingKey)).id === signingKey.id // => true
 */
export const pemOf = ({ privateKey }: SigningKey): string =>
  privateKey.export({ type: 'pkcs8', format: 'pem' }) as string

/**
 * The key of a PKCS #8 text in PEM.
 *
 * @throws if the text is not an Ed25519 key
 * @example
 * signingKeyFromPem(pemOf(signingKey)).publicKey === signingKey.publicKey // => true
 */
export function signingKeyFromPem(pem: string): SigningKey {
  const key = createPrivateKey(pem)
  if (key.asymmetricKeyType !== 'ed25519')
    throw new Error(`the key is of the type ${key.asymmetricKeyType}, not Ed25519`)
  return signingKeyOf(key)
}

/**
 * A key with its id, from a private key.
 *
 * @example
 * signingKeyOf(signingKey.privateKey).id === signingKey.id // => true
 */
export function signingKeyOf(privateKey: KeyObject): SigningKey {
  const publicKey = createPublicKey(privateKey).export({ format: 'jwk' }).x as string
  return { id: keyIdOf(publicKey), publicKey, privateKey }
}

/**
 * The public key with this id; `null` if it is none, or if the id is that of another key.
 *
 * @example
 * verifyingKey(signingKey.id, signingKey.publicKey)?.asymmetricKeyType // => 'ed25519'
 * verifyingKey('ab', signingKey.publicKey) // => null
 */
export function verifyingKey(id: string, publicKey: string): KeyObject | null {
  try {
    return keyIdOf(publicKey) === id
      ? createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: publicKey }, format: 'jwk' })
      : null
  } catch {
    return null
  }
}

const version = 'v1'
/** The text that is signed. */
const statement = (journal: string, size: number, root: Uint8Array): Buffer =>
  Buffer.from(`beaver-signature/${version}\n${journal}\n${size}\n${Buffer.from(root).toString('hex')}\n`)

/**
 * The signatures of the messages of one commit, in order.
 *
 * @param journal the name of the journal, which the signature is bound to
 * @param leaves the content of each message's leaf
 * @example
 * signTree(signingKey, 'default/ab', [leafContent(log, 'cd'), leafContent(log, 'ef')]).length // => 2
 */
export function signTree(key: SigningKey, journal: string, leaves: readonly string[]): string[] {
  const { root, paths } = treeOf(leaves.map((leaf) => leafHash(leaf)))
  const signed = sign(null, statement(journal, leaves.length, root), key.privateKey).toString('base64url')
  return paths.map((path, index) => [version, key.id, index, leaves.length, signed, hashesOf(path)].join(' '))
}

/** It is never empty, because a header loses the spaces at its end. */
const hashesOf = (path: readonly Uint8Array[]): string =>
  path.length === 0 ? '-' : Buffer.concat(path).toString('base64url')

/** A signature as it was read from a message. */
export interface ReadSignature {
  readonly keyId: string
  readonly index: number
  readonly size: number
  readonly signed: Buffer
  readonly path: readonly Uint8Array[]
}

const form =
  /^v1 ([0-9a-f]{32}) (0|[1-9]\d{0,5}) ([1-9]\d{0,5}) ([A-Za-z0-9_-]{86}) (-|[A-Za-z0-9_-]{43,1400})$/

/** Reads the text of a signature; `null` if it is none. */
export function readSignature(text: string): ReadSignature | null {
  const match = form.exec(text)
  if (match === null) return null
  const [, keyId = '', index, size, signed = '', hashes = ''] = match
  const bytes = Buffer.from(hashes === '-' ? '' : hashes, 'base64url')
  if (bytes.length % 32 !== 0) return null
  const path = Array.from({ length: bytes.length / 32 }, (_, i) => bytes.subarray(i * 32, i * 32 + 32))
  return { keyId, index: Number(index), size: Number(size), signed: Buffer.from(signed, 'base64url'), path }
}

const verdictsMax = 2_000

/**
 * Verifies signatures. It remembers the verdicts on roots, because the messages of a commit share one.
 *
 * @example
 * const verifier = new SignatureVerifier()
 * const ring = new KeyRing('default', { events: [], faults: [] }, verifier)
 * ring.keys // => []
 */
export class SignatureVerifier {
  readonly #verdicts = new Map<string, boolean>()

  /** Whether the key made the signature for this leaf in this journal. */
  verifies(
    key: KeyObject,
    journal: string,
    leaf: string,
    { keyId, index, size, signed, path }: ReadSignature,
  ): boolean {
    const root = rootOf(leafHash(leaf), { index, size }, path)
    if (root === null) return false
    const text = statement(journal, size, root)
    const name = `${keyId} ${signed.toString('latin1')} ${text.toString('latin1')}`
    let verdict = this.#verdicts.get(name)
    if (verdict === undefined) {
      verdict = verify(null, text, key, signed)
      if (this.#verdicts.size >= verdictsMax)
        this.#verdicts.delete(this.#verdicts.keys().next().value as string)
      this.#verdicts.set(name, verdict)
    }
    return verdict
  }
}

const marker = Buffer.from('"hash":"')

/**
 * The hash of the last record of a message that this process sealed itself, found without parsing; `null` if
 * there is none. Do not use it to verify: a stranger's record may contain the marker. Nothing that Beaver
 * writes behind a record's hash can, because a quotation mark within a text is escaped.
 *
 * @example
 * const last = await journal.last(log)
 * if (last !== null) lastHashOf(last.payload) === newestRecord(last)?.hash // => true
 */
export function lastHashOf(payload: Uint8Array): string | null {
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength)
  const at = bytes.lastIndexOf(marker)
  if (at === -1) return null
  const text = bytes.toString('latin1', at + marker.length, at + marker.length + 65)
  return /^[0-9a-f]{64}"$/.test(text) ? text.slice(0, 64) : null
}
