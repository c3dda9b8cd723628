// JournalSource: where a journal is read from. The adapters are natsSource (a running system) and openExport
// (a file). Messages come in stream order, in pages of bounded size. Reading changes nothing and leaves
// nothing behind.

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

// Evidence: what somebody gives beside a journal, so that the journal can be verified: keys, signed
// checkpoints, and proofs. Evidence of an export is part of the export, so it proves nothing by itself before
// a key that the reader knows has signed it.

/** A signed checkpoint, and where it is from. */
export interface GivenCheckpoint {
  readonly note: string
  /** For people, such as `checkpoint.txt`. */
  readonly from: string
}

export interface ProofOfConsistency {
  /** The size of the older tree. */
  readonly size: number
  readonly hashes: readonly Uint8Array[]
}

export interface ProofOfInclusion {
  /** The number of the leaf, from 0. */
  readonly index: number
  readonly hashes: readonly Uint8Array[]
}

export interface Evidence {
  /** Public keys as name+id+base64. */
  readonly keys: readonly string[]
  /** The checkpoint to which the proofs belong. */
  readonly checkpoint: string | null
  /** A signed note with the ends of logs. */
  readonly heads: string | null
  readonly consistency: readonly ProofOfConsistency[]
}

export const noEvidence: Evidence = { keys: [], checkpoint: null, heads: null, consistency: [] }
