// JournalLeaf: what the tree over the journal contains. Each message of the stream is one leaf, in stream
// order, so the newest message of a log proves the log's head. While the stream has no gap, message n is the
// leaf n - 1. A leaf depends only on the place, the subject and the bytes, so unreadable content is a leaf,
// too.
import { hash as digest } from 'node:crypto'
import { hashBytes, leafHash } from './tree-hash.ts'

/** A message of the journal stream, of any subject. */
export interface JournalLeaf {
  readonly sequence: number
  readonly subject: string
  readonly payload: Uint8Array
}

/** A message whose payload is not in the journal any more. */
export interface ArchivedLeaf extends Pick<JournalLeaf, 'sequence' | 'subject'> {
  /** In hexadecimal digits. */
  readonly payloadSha256: string
}

/**
 * The hash of a message's leaf. Its data is one line: the sequence, the subject, and the SHA-256 of the
 * payload in hexadecimal digits.
 *
 * @example
 * const leaf = journalLeaf({ sequence: 1, subject: 'beaver.default.log.local.s.t.accepted', payload: new Uint8Array() })
 * leaf.length // => 32
 */
export const journalLeaf = ({ sequence, subject, payload }: JournalLeaf): Uint8Array =>
  leafHash(`${sequence} ${subject} ${digest('sha256', payload)}\n`)

/**
 * The leaves of messages, one after the other. A buffer for each of them would cost more than the hashes.
 *
 * @example
 * journalLeaves([{ sequence: 1, subject: 'beaver.default.log.local.s.t.accepted', payload: new Uint8Array() }]).length // => 32
 */
export function journalLeaves(messages: readonly (JournalLeaf | ArchivedLeaf)[]): Uint8Array {
  const row = Buffer.allocUnsafe(messages.length * hashBytes)
  for (const [i, message] of messages.entries()) {
    const { sequence, subject } = message
    const payloadSha256 = 'payload' in message ? digest('sha256', message.payload) : message.payloadSha256
    row.write(
      digest('sha256', `\0${sequence} ${subject} ${payloadSha256}\n`, 'latin1'),
      i * hashBytes,
      'latin1',
    )
  }
  return row
}
