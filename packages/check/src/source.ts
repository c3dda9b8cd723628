// JournalSource: where a journal is read from. Adapters: natsSource (a running system), openExport (a file).
// S1. Messages come in stream order, a bounded page at a time. S2. Reading changes nothing and leaves nothing behind.

/** One message of the journal stream. */
export interface StreamMessage {
  readonly sequence: number
  /** RFC 3339: when the server stored it. */
  readonly time: string
  readonly subject: string
  readonly payload: Uint8Array
}

export interface JournalAbout {
  readonly namespace: string
  readonly stream: string
  /** RFC 3339: tells a stream from a later one of the same name. */
  readonly created: string
  /** The last message that is read; what is stored later is left out. */
  readonly lastSequence: number
  /** RFC 3339; `null` for a running system. */
  readonly exportedAt: string | null
  /** All messages are read, not those of some sessions only. */
  readonly whole: boolean
}

export interface JournalSource {
  readonly about: JournalAbout
  pages(): AsyncGenerator<readonly StreamMessage[]>
  /** The bytes stored under this name, unverified; `null` when there are none. */
  readBlob(sha256: string): Promise<Uint8Array | null>
}

/** An input that cannot be checked at all: no stream, no export. */
export class UnreadableJournal extends Error {}
