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
