// The keys of a home: the Ed25519 keys that sign the journal, and the operators that the home knows. Core
// decides whose keys count (key-ring.ts). A key is made when it is first needed, and processes that make it
// at once use the same one. Only its owner can read a key file from its first moment (0600, in a folder of
// 0700). Beaver never replaces the first operator that a home sees in a namespace.
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { BeaverError, type KeyStore, messageOf } from '@beaver/core'
import { pemOf, type SigningKey, signingKeyFromPem, signingKeyOf } from '@beaver/core/journal'
import { makeFolder } from './make-folder.ts'

/** The name of this machine, for people who read a list of keys. */
export const machineName = (): string => hostname()

type Role = 'operator' | 'daemon' | 'projector'

/** The keys in a folder, which is made when the first key is. */
export function homeKeys(folder: string): KeyStore {
  const fileOf = (role: Role): string => join(folder, `${role}.key`)
  const pinOf = (namespace: string): string => join(folder, 'operators', namespace)
  const made = (role: Role): SigningKey => {
    const known = readKey(fileOf(role))
    if (known !== null) return known
    writeOnce(folder, fileOf(role), pemOf(signingKeyOf(generateKeyPairSync('ed25519').privateKey)))
    return readKey(fileOf(role)) as SigningKey
  }
  return {
    place: folder,
    operator: () => readKey(fileOf('operator')),
    makeOperator: () => made('operator'),
    own: made,
    putAside(role, id) {
      if (readKey(fileOf(role))?.id === id) renameSync(fileOf(role), join(folder, `${role}-${id}.revoked`))
    },
    pinned: (namespace) => read(pinOf(namespace))?.trim() ?? null,
    pin: (namespace, operator) => writeOnce(join(folder, 'operators'), pinOf(namespace), `${operator}\n`),
  }
}

/** The id of the operator's key that a home knows in a journal; `null`: it knows none. */
export const knownOperator = (keys: KeyStore, stream: string): string | null =>
  keys.pinned(stream) ?? keys.operator()?.id ?? null

function readKey(file: string): SigningKey | null {
  const pem = read(file)
  if (pem === null) return null
  try {
    return signingKeyFromPem(pem)
  } catch (cause) {
    throw new BeaverError(
      'start_failed',
      `The file ${file} is not an Ed25519 key in PEM: ${messageOf(cause)}. Restore it, or move it away to get a new key.`,
      {
        cause,
      },
    )
  }
}

function read(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new BeaverError('start_failed', `The file ${file} cannot be read: ${messageOf(cause)}.`, { cause })
  }
}

/**
 * Writes a file that is not there yet, whole or not at all. If another process was faster, its file stays.
 */
function writeOnce(folder: string, file: string, text: string): void {
  const draft = `${file}.${randomUUID()}`
  try {
    makeFolder(folder)
    writeFileSync(draft, text, { mode: 0o600, flag: 'wx', flush: true })
    linkSync(draft, file)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST')
      throw new BeaverError('start_failed', `The file ${file} cannot be written: ${messageOf(cause)}.`, {
        cause,
      })
  } finally {
    rmSync(draft, { force: true })
  }
}
