// JournalSource: where a journal is read from, natsSource (a running system) or openExport (a file). Messages
// come in stream order, in bounded pages. Reading changes nothing.

export interface StreamMessage {
  readonly sequence: number
  /** When the server stored the message, in RFC 3339. */
  readonly time: string
  readonly subject: string
  readonly payload: Uint8Array
  /** The header `Beaver-Signature`, if there is one. */
  readonly signature?: string | undefined
  /** Proves that the message is in the journal. Messages of a part of a journal have one. */
  readonly proof?: ProofOfInclusion
}

export interface JournalAbout {
  readonly namespace: string
  readonly stream: string
  /** When the stream was created, in RFC 3339. A later stream with the same name has another time. */
  readonly created: string
  /** The last sequence to read. Later messages are left out. */
  readonly lastSequence: number
  /** When the export was written, in RFC 3339; `null` for a running system. */
  readonly exportedAt: string | null
  /** Whether all messages are read, not only those of some sessions. */
  readonly whole: boolean
}

export interface JournalSource {
  readonly about: JournalAbout
  /** What was given with the journal, for an audit. */
  readonly evidence?: Evidence
  pages(): AsyncGenerator<readonly StreamMessage[]>
  /** The messages of the system log `keys`, also for a part of a journal. */
  keys(): AsyncGenerator<readonly StreamMessage[]>
  /** The messages of the system log `redactions`, which names archived ones, also for a part of a journal. */
  redactions(): AsyncGenerator<readonly StreamMessage[]>
  /** The stored bytes of this name, unverified; `null` if there are none. */
  readBlob(sha256: string): Promise<Uint8Array | null>
}

/** The input cannot be checked: there is no stream, or the file is not an export. */
export class UnreadableJournal extends Error {}

// Evidence verifies a journal from outside: keys, signed checkpoints, and proofs. The evidence within an
// export proves nothing before a key that the reader knows has signed it.

/** A signed checkpoint and its origin. */
export interface GivenCheckpoint {
  readonly note: string
  /** For people, such as `checkpoint.txt`. */
  readonly from: string
}

export interface ProofOfConsistency {
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
  /** The checkpoint of the proofs. */
  readonly checkpoint: string | null
  /** A signed note with the ends of logs. */
  readonly heads: string | null
  readonly consistency: readonly ProofOfConsistency[]
}

export const noEvidence: Evidence = { keys: [], checkpoint: null, heads: null, consistency: [] }
