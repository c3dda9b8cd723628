// The key with which a projector signs checkpoints: an Ed25519 key in a file of its own in the home, which only its owner can read.
// K1. The file is made whole and private, or not at all. If two processes make it at the same time, both use the one that was first.
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { BeaverError, messageOf } from '@beaver/core'

export interface SigningKey {
  /** 32 bytes. */
  readonly publicKey: Uint8Array
  sign(bytes: Uint8Array): Uint8Array
}

/** The key in this file. Makes it if there is none. @throws {BeaverError} `start_failed` */
export function signingKey(file: string): SigningKey {
  const key = read(file) ?? make(file)
  const publicKey = createPublicKey(key).export({ type: 'spki', format: 'der' }).subarray(-32)
  return { publicKey, sign: (bytes) => sign(null, bytes, key) }
}

function read(file: string): KeyObject | null {
  try {
    const key = createPrivateKey(readFileSync(file))
    if (key.asymmetricKeyType !== 'ed25519') throw new Error(`it holds a key of the type ${key.asymmetricKeyType}`)
    return key
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new BeaverError('start_failed', `The signing key ${file} cannot be read: ${messageOf(cause)}.`, { cause })
  }
}

function make(file: string): KeyObject {
  const { privateKey } = generateKeyPairSync('ed25519')
  const partial = `${file}.${randomUUID()}`
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    writeFileSync(partial, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600, flag: 'wx' })
    linkSync(partial, file)
    return privateKey
  } catch (cause) {
    const other = (cause as NodeJS.ErrnoException).code === 'EEXIST' ? read(file) : null
    if (other !== null) return other
    throw new BeaverError('start_failed', `The signing key ${file} cannot be written: ${messageOf(cause)}.`, { cause })
  } finally {
    rmSync(partial, { force: true })
  }
}
