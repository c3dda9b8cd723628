// Reads signed notes and checkpoints, written from C2SP signed-note and tlog-checkpoint, not from core.
// Signatures of unknown keys are ignored; a wrong signature of a given key refuses the note.
import { createPublicKey, hash, verify } from 'node:crypto'
import { z } from 'zod'
import { type ReadRecord, systemTypeOf } from './record.ts'

export interface VerifierKey {
  readonly name: string
  /** Eight hexadecimal digits. */
  readonly id: string
  /** 32 bytes. */
  readonly publicKey: Uint8Array
}

/** A checkpoint of a tree. `lines` are those after the three of a checkpoint. */
export interface ReadNote {
  readonly origin: string
  readonly size: number
  readonly root: Uint8Array
  readonly lines: readonly string[]
  /** The signed text. */
  readonly text: string
  readonly signatures: readonly {
    readonly name: string
    readonly id: string
    readonly signature: Uint8Array
  }[]
}

const signaturesMax = 64
const noteCharsMax = 1 << 20

/** Reads the usual text of a key, `name+id+base64`. `null` for anything else, also for another key's id. */
export function readVerifierKey(text: string): VerifierKey | null {
  const [, name = '', id = '', base64 = ''] =
    /^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/.exec(text.trim()) ?? []
  const bytes = Buffer.from(base64, 'base64')
  if (bytes.length !== 33 || bytes[0] !== 1) return null
  return noteKeyId(name, bytes) === id ? { name, id, publicKey: bytes.subarray(1) } : null
}

/** The key with the name that notes use. */
export function noteKey(name: string, publicKey: Uint8Array): VerifierKey {
  return { name, id: noteKeyId(name, Buffer.concat([Buffer.of(1), publicKey])), publicKey }
}

const noteKeyId = (name: string, typed: Uint8Array): string =>
  hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), typed])).slice(0, 8)

/** Reads a checkpoint. Returns a text if something is wrong. */
export function readNote(note: string): ReadNote | string {
  if (note.length > noteCharsMax) return 'it is too long'
  const end = note.lastIndexOf('\n\n')
  if (end === -1) return 'it has no signature lines'
  const text = note.slice(0, end + 1)
  const [origin = '', size = '', root64 = '', ...lines] = text.slice(0, -1).split('\n')
  const root = Buffer.from(root64, 'base64')
  if (
    origin === '' ||
    !/^(?:0|[1-9]\d{0,14})$/.test(size) ||
    root.length !== 32 ||
    root.toString('base64') !== root64
  )
    return 'it is not a checkpoint'
  const signatures = note
    .slice(end + 2)
    .split('\n')
    .slice(0, signaturesMax)
    .flatMap((line) => {
      const [, name, base64 = ''] = /^— ([^\s+]+) ([A-Za-z0-9+/=]+)$/.exec(line) ?? []
      const bytes = Buffer.from(base64, 'base64')
      return name === undefined || bytes.length < 5
        ? []
        : [{ name, id: bytes.subarray(0, 4).toString('hex'), signature: bytes.subarray(4) }]
    })
  return { origin, size: Number(size), root, lines, text, signatures }
}

const checkpointMade = z.looseObject({ note: z.string() })

/** The notes in records of the system log `checkpoints`. */
export const notesOf = (records: readonly ReadRecord[]): string[] =>
  records.flatMap(({ record: { type, data } }) =>
    systemTypeOf(type) === 'checkpoint_made' ? [checkpointMade.safeParse(data).data?.note ?? ''] : [],
  )

/** `signed` by a given key; `unknown`: by none; `wrong`: a given key's signature does not match the text. */
export type NoteVerdict = 'signed' | 'unknown' | 'wrong'

export function judgeNote({ text, signatures }: ReadNote, keys: readonly VerifierKey[]): NoteVerdict {
  const known = signatures.flatMap((each) =>
    keys.filter(({ name, id }) => name === each.name && id === each.id).map((key) => ({ ...each, key })),
  )
  if (known.length === 0) return 'unknown'
  return known.every(({ signature, key }) => verifies(Buffer.from(text), signature, key.publicKey))
    ? 'signed'
    : 'wrong'
}

/** The first bytes of every Ed25519 public key in DER. */
const derBefore = Buffer.from('302a300506032b6570032100', 'hex')

function verifies(bytes: Uint8Array, signature: Uint8Array, publicKey: Uint8Array): boolean {
  try {
    return verify(
      null,
      bytes,
      createPublicKey({ key: Buffer.concat([derBefore, publicKey]), format: 'der', type: 'spki' }),
      signature,
    )
  } catch {
    return false
  }
}
