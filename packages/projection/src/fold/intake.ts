// Reads many messages as entries, as @beaver/core does (read-log.ts), and fetches their blobs, so that
// everything slow or failing happens before a transaction is open. audit.ts decides whether records follow
// one another. Unreadable content becomes a finding; if the blob store is unreachable, `takeIn` rejects and
// the batch is tried again.
import type { LogId } from '@beaver/core'
import {
  type LogFault,
  type LogFaultKind,
  openEntry,
  type OpenedRecord,
  type ReadBlob,
  type ReplacedData,
} from '@beaver/core/journal'

/** One message of the journal stream, of any log. */
export interface JournalMessage {
  /** Its place in the stream. */
  readonly sequence: number
  /** `null`: its subject is none that Beaver gives to an entry of a log. */
  readonly log: LogId | null
  /** The subject of a message without a log. */
  readonly subject?: string
  readonly payload: Uint8Array
  readonly signature?: string | undefined
}

/** A fault of a log, or `repeat`: a record claims a place that is already taken. */
export type FindingKind = LogFaultKind | 'repeat'

export interface Finding {
  readonly kind: FindingKind
  readonly message: string
}

export interface IncomingMessage {
  readonly sequence: number
  readonly log: LogId | null
  readonly subject: string | null
  readonly payload: Uint8Array
  readonly signature: string | undefined
  readonly records: readonly OpenedRecord[]
  /** Set if the message as a whole could not be read. */
  readonly fault: LogFault | null
}

/** How many blobs are fetched at the same time. */
const concurrentBlobsMax = 8

/** The messages with parsed records and fetched blobs, in the same order. */
export function takeIn(
  messages: readonly JournalMessage[],
  readBlob: ReadBlob,
  replacedData?: ReplacedData,
): Promise<IncomingMessage[]> {
  const read = inLanes(readBlob)
  return Promise.all(
    messages.map(async ({ sequence, log, subject = null, payload, signature }) => ({
      ...{ sequence, log, subject, payload, signature },
      ...(log === null ? { records: [], fault: strayFault } : await openEntry(payload, read, replacedData)),
    })),
  )
}

const strayFault: LogFault = {
  kind: 'message',
  message: 'A message is published under a subject that belongs to no log',
}

/** Fetches each blob once, with a bounded number of fetches at a time. */
function inLanes(readBlob: ReadBlob): ReadBlob {
  const asked = new Map<string, Promise<Uint8Array>>()
  const waiting: (() => void)[] = []
  let free = concurrentBlobsMax
  const fetched = async (sha256: string): Promise<Uint8Array> => {
    if (free === 0) await new Promise<void>((resolve) => waiting.push(resolve))
    else free--
    try {
      return await readBlob(sha256)
    } finally {
      const next = waiting.shift()
      if (next === undefined) free++
      else next()
    }
  }
  return (sha256) => {
    const known = asked.get(sha256) ?? fetched(sha256)
    asked.set(sha256, known)
    return known
  }
}
