// Reading a log: how its entries become events, and what may be wrong with them. Everybody who reads a log reads it by this module.
// L1. An entry is split into records; a record must follow the one before it (`chainFault`) and be about the log's task; its data, or
//     the blob that holds its data, must have the shape of its type. What is wrong is one `LogFault`, with the same words everywhere.
// L2. `openEntry` and `placeFault` report a fault and go on: the projector shows a broken log as far as it can be read.
//     `LogReader` is made of the same two and throws the first fault: nobody acts on a log that does not verify.
// L3. A blob store that cannot be reached is no fault of the log: what it throws is passed on.
import { hash } from 'node:crypto'
import { BeaverError, type ErrorCode, messageOf } from '../errors.ts'
import type { LogId } from '../ids.ts'
import type { BlobStore } from '../ports/blob-store.ts'
import type { Entry } from './journal.ts'
import { blobOf, chainFault, emptyHead, eventTypeOf, headAfter, type LogHead, openRecord, type RecordedEvent, splitBatch, type WireRecord } from './record.ts'

/**
 * - `message`: an entry is not a batch of records. `chain`: a record does not follow the one before it.
 * - `identity`: a record is about another task. `blob_missing`, `blob_changed`: the data is gone, or is not what its name says.
 * - `shape`: the data does not have the shape of its type, or the type is not known.
 */
export type LogFaultKind = 'message' | 'chain' | 'identity' | 'blob_missing' | 'blob_changed' | 'shape'

export interface LogFault {
  readonly kind: LogFaultKind
  /** What is wrong, without the name of the task. */
  readonly message: string
}

/** A record with its event. Whether it stands in its place is another question: `placeFault`. */
export interface OpenedRecord {
  readonly record: WireRecord
  /** The data as JSON text; `null` when it could not be read. */
  readonly dataJson: string | null
  /** `null` for a type this version does not know, and when the data could not be read or has another shape. */
  readonly event: RecordedEvent | null
  readonly fault: LogFault | null
}

export interface OpenedEntry {
  /** Empty when `fault` is not `null`. */
  readonly records: readonly OpenedRecord[]
  /** The entry as a whole could not be read. */
  readonly fault: LogFault | null
}

export type ReadBlob = (sha256: string) => Promise<Uint8Array>

/** The records of an entry with their events. Nothing the entry or its blobs hold makes it throw. @throws what `readBlob` throws when the store cannot be reached */
export async function openEntry(payload: Uint8Array, readBlob: ReadBlob): Promise<OpenedEntry> {
  const { records, fault } = splitEntry(payload)
  const opened: OpenedRecord[] = []
  for (const record of records) {
    const name = blobNameOf(record)
    const text = name === null ? null : await blobText(name, readBlob)
    opened.push(typeof text === 'object' && text !== null ? { record, dataJson: null, event: null, fault: text } : openWithText(record, text))
  }
  return { records: opened, fault }
}

/** What is wrong with the place of a record in a log that stands at `head`; `null` when it follows. */
export function placeFault(log: Pick<LogId, 'task'>, head: LogHead, record: WireRecord): LogFault | null {
  let chain: string | null
  try {
    chain = chainFault(head, record)
  } catch (error) {
    // Data nested deeper than the stack cannot be put in canonical form.
    chain = `event ${record.taskseq} cannot be verified: ${messageOf(error)}`
  }
  if (chain !== null) return { kind: 'chain', message: chain }
  if (record.subject !== log.task) return { kind: 'identity', message: `event ${record.taskseq} is about the task ${record.subject}` }
  return null
}

/** What is wrong with the event that begins a log: it may submit another task. */
export function identityFault(log: LogId, event: RecordedEvent): LogFault | null {
  if (event.type !== 'task_submitted') return null
  const { tenant, session_id: session, task_id: task } = event.data
  if (tenant === log.tenant && session === log.session && task === log.task) return null
  return { kind: 'identity', message: `event ${event.taskseq} submits the task ${tenant}/${session}/${task}, which is not the task of this log` }
}

/** Reads a log entry by entry and throws at the first thing that is wrong. */
export class LogReader {
  readonly #log: LogId
  readonly #readBlob: ReadBlob
  #head: LogHead

  /** @param from where the log stands before the first entry that is read; default: at its beginning */
  constructor(log: LogId, blobs: Pick<BlobStore, 'get'>, from: LogHead = emptyHead) {
    this.#log = log
    this.#readBlob = (sha256) => blobs.get(sha256)
    this.#head = from
  }

  /** Where the log stands after what was read. */
  get head(): LogHead {
    return this.#head
  }

  /** The events of the next entry. @throws {BeaverError} `corrupt_journal`, `blob_missing`, `blob_corrupt` */
  async read(entry: Pick<Entry, 'payload'>): Promise<RecordedEvent[]> {
    const events: RecordedEvent[] = []
    for await (const event of this.events(entry)) events.push(event)
    return events
  }

  /** The same, one event after the other: those before a broken record are given. @throws {BeaverError} as `read` */
  async *events({ payload }: Pick<Entry, 'payload'>): AsyncGenerator<RecordedEvent> {
    const { records, fault } = splitEntry(payload)
    this.#refuse(fault)
    for (const record of records) {
      this.#refuse(placeFault(this.#log, this.#head, record))
      const name = blobNameOf(record)
      const text = name === null ? null : await blobText(name, this.#readBlob)
      if (typeof text === 'object') this.#refuse(text)
      const { event, fault: misshapen } = openEvent(record, typeof text === 'string' ? text : undefined)
      this.#refuse(misshapen)
      this.#head = headAfter(record)
      if (event === null) throw this.#broken({ kind: 'shape', message: `event ${record.taskseq} has the unknown type ${record.type}: a newer Beaver wrote it` })
      this.#refuse(identityFault(this.#log, event))
      yield event
    }
  }

  #refuse(fault: LogFault | null): void {
    if (fault !== null) throw this.#broken(fault)
  }

  #broken({ kind, message }: LogFault): BeaverError {
    return new BeaverError(errorCodeOf[kind], `The log of task ${this.#log.task} is broken: ${message}.`)
  }
}

const errorCodeOf = {
  message: 'corrupt_journal',
  chain: 'corrupt_journal',
  identity: 'corrupt_journal',
  shape: 'corrupt_journal',
  blob_missing: 'blob_missing',
  blob_changed: 'blob_corrupt',
} as const satisfies Record<LogFaultKind, ErrorCode>

/** Where a log stood before an entry, as the entry says of itself: for who reads an entry without those before it. */
export function headBefore({ payload }: Pick<Entry, 'payload'>): LogHead {
  const [first] = splitBatch(payload) as [WireRecord]
  return { taskseq: first.taskseq - 1, epoch: first.epoch, hash: first.prevhash }
}

/** The last record of an entry, not verified: enough to see whose it is and of which type. */
export function newestRecord({ payload }: Pick<Entry, 'payload'>): WireRecord {
  return splitBatch(payload).at(-1) as WireRecord
}

function splitEntry(payload: Uint8Array): { records: readonly WireRecord[]; fault: LogFault | null } {
  try {
    return { records: splitBatch(payload), fault: null }
  } catch (error) {
    return { records: [], fault: { kind: 'message', message: messageOf(error) } }
  }
}

/** The SHA-256 a record's data is under, or whatever else it refers to: that is looked for nowhere, and found missing. */
export function blobNameOf(record: WireRecord): string | null {
  try {
    return blobOf(record)
  } catch {
    return record.dataref ?? null
  }
}

const namedCharsMax = 200

async function blobText(name: string, readBlob: ReadBlob): Promise<string | LogFault> {
  // What is no name of a blob is not asked for: a store may refuse it in a way that looks like an outage.
  if (!/^[0-9a-f]{64}$/.test(name)) return { kind: 'blob_missing', message: `the reference ${JSON.stringify(name.slice(0, namedCharsMax))} names no blob` }
  try {
    const bytes = await readBlob(name)
    const found = hash('sha256', bytes)
    if (found !== name) return { kind: 'blob_changed', message: `the blob ${name} holds other content, with the SHA-256 ${found}` }
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
    return isJson(text) ? text : { kind: 'shape', message: `the blob ${name} is not JSON` }
  } catch (error) {
    if (error instanceof BeaverError && error.code === 'blob_corrupt') return { kind: 'blob_changed', message: error.message }
    if (error instanceof BeaverError && error.code === 'blob_missing') return { kind: 'blob_missing', message: `the blob ${name} is missing` }
    throw error
  }
}

function openWithText(record: WireRecord, text: string | null): OpenedRecord {
  try {
    const dataJson = text ?? (record.data === undefined ? null : JSON.stringify(record.data))
    return { record, dataJson, ...openEvent(record, text ?? undefined) }
  } catch (error) {
    // Data nested deeper than the stack.
    const message = `event ${record.taskseq} has data that cannot be read: ${messageOf(error)}`
    return { record, dataJson: null, event: null, fault: { kind: 'shape', message } }
  }
}

function openEvent(record: WireRecord, blobText: string | undefined): Pick<OpenedRecord, 'event' | 'fault'> {
  // A newer version wrote it: it is kept as it is.
  if (eventTypeOf(record) === null) return { event: null, fault: null }
  try {
    return { event: openRecord(record, blobText), fault: null }
  } catch (error) {
    return { event: null, fault: { kind: 'shape', message: messageOf(error) } }
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
