// JournalSource: where a journal is read from. The adapters are natsSource (a running system) and openExport
// (a file). Messages come in stream order, in pages of bounded size. Reading changes nothing and leaves
// nothing behind.
import type { Evidence, ProofOfInclusion } from './evidence.ts'

/** One message of the journal stream. */
export interface StreamMessage {
  readonly sequence: number
  /** When the server stored the message, in RFC 3339. */
  readonly time: string
  readonly subject: string
  readonly payload: Uint8Array
  /** The header `Beaver-Signature`, if the message has one. */
  readonly signature?: string | undefined
  /** What proves that it is in the journal. Messages of a part of a journal have one. */
  readonly proof?: ProofOfInclusion
}

/** What a source contains. */
export interface JournalAbout {
  readonly namespace: string
  readonly stream: string
  /**
   * When the stream was created, in RFC 3339. It distinguishes a stream from a later one with the same name.
   */
  readonly created: string
  /** The sequence of the last message that is read. Later messages are left out. */
  readonly lastSequence: number
  /** When the export was written, in RFC 3339; `null` for a running system. */
  readonly exportedAt: string | null
  /** Whether all messages are read, not only those of some sessions. */
  readonly whole: boolean
}

/** A journal that can be read. */
export interface JournalSource {
  readonly about: JournalAbout
  /** What was given with the journal, for an audit. */
  readonly evidence?: Evidence
  pages(): AsyncGenerator<readonly StreamMessage[]>
  /** The messages of the system log `keys`, also of a part of a journal. */
  keys(): AsyncGenerator<readonly StreamMessage[]>
  /** The messages of the system log `redactions`, also of a part of a journal. It says what was archived. */
  redactions(): AsyncGenerator<readonly StreamMessage[]>
  /** The bytes that are stored under this name, without verification; `null` if there are none. */
  readBlob(sha256: string): Promise<Uint8Array | null>
}

/** The input cannot be checked at all: there is no stream, or the file is not an export. */
export class UnreadableJournal extends Error {}
