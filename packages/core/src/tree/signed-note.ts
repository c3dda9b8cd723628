// SignedNote: a text with signatures below it, as in C2SP signed-note, and the checkpoint of a tree as such a
// text (C2SP tlog-checkpoint). The private key stays with the caller, who signs the text. A name has no
// spaces and no plus sign, and a text has no control characters, so that a note has one meaning.
import { hash as digest } from 'node:crypto'
import { BeaverError } from '../errors.ts'
import { hashBytes } from './tree-hash.ts'

/** A public Ed25519 key under the name by which notes call it. */
export interface NoteKey {
  readonly name: string
  /** 32 bytes. */
  readonly publicKey: Uint8Array
}

/** The head of a tree: what a checkpoint says. */
export interface TreeHead {
  /** Names the tree. Another stream has another origin. */
  readonly origin: string
  readonly size: number
  readonly root: Uint8Array
}

const ed25519 = 1
const keyIdBytes = 4
// oxlint-disable-next-line no-control-regex -- a note must not have them
const textRule = /^(?:[^\u0000-\u001f]+\n)+$/
const nameRule = /^[^\s+]+$/u

/** The four bytes by which a signature names its key. */
function keyIdOf({ name, publicKey }: NoteKey): Buffer {
  return digest(
    'sha256',
    Buffer.concat([Buffer.from(`${name}\n`), Buffer.from([ed25519]), publicKey]),
    'buffer',
  ).subarray(0, keyIdBytes)
}

/**
 * The key as one word, as programs for notes read it (`name+id+key`).
 *
 * @example
 * const key = { name: 'example.com/main', publicKey: new Uint8Array(32) }
 * noteKeyText(key).startsWith('example.com/main+') // => true
 */
export function noteKeyText(key: NoteKey): string {
  const bytes = Buffer.concat([Buffer.from([ed25519]), key.publicKey])
  return `${key.name}+${keyIdOf(key).toString('hex')}+${bytes.toString('base64')}`
}

/**
 * A note with one signature.
 *
 * @param sign signs bytes with the private key of `key` (Ed25519)
 * @throws {BeaverError} `invalid_arguments` for a text or a name that a note cannot have
 * @example
 * const key = { name: 'example.com/main', publicKey: new Uint8Array(32) }
 * signNote('a text\n', key, () => new Uint8Array(64)).split('\n')[0] // => 'a text'
 * signNote('no end of line', key, () => new Uint8Array(64)) // throws invalid_arguments
 */
export function signNote(text: string, key: NoteKey, sign: (bytes: Uint8Array) => Uint8Array): string {
  if (!textRule.test(text))
    throw new BeaverError(
      'invalid_arguments',
      'The text of a note must be lines that are not empty, without control characters.',
    )
  if (!nameRule.test(key.name))
    throw new BeaverError(
      'invalid_arguments',
      `The name ${JSON.stringify(key.name)} of a key must have no spaces and no "+".`,
    )
  const signature = Buffer.concat([keyIdOf(key), sign(Buffer.from(text))])
  return `${text}\n— ${key.name} ${signature.toString('base64')}\n`
}

/**
 * The text of a checkpoint.
 *
 * @example
 * checkpointText({ origin: 'o', size: 0, root: Buffer.from('ab') }) // => 'o\n0\nYWI=\n'
 */
export const checkpointText = ({ origin, size, root }: TreeHead): string =>
  `${origin}\n${size}\n${Buffer.from(root).toString('base64')}\n`

/**
 * What the text of a checkpoint says; `null` if the note is not a checkpoint. The signatures are not
 * verified.
 *
 * @example
 * readCheckpoint('not a checkpoint') // => null
 */
export function readCheckpoint(note: string): TreeHead | null {
  const [origin = '', size = '', root = '', ...rest] = note.split('\n')
  const bytes = Buffer.from(root, 'base64')
  if (
    origin === '' ||
    !/^(?:0|[1-9]\d{0,15})$/.test(size) ||
    bytes.length !== hashBytes ||
    bytes.toString('base64') !== root
  )
    return null
  return rest.includes('') ? { origin, size: Number(size), root: bytes } : null
}
