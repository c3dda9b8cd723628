// Taking messages in: from bytes to records with their data at hand. Everything slow or failing happens here, before a
// transaction is open. Whether a record follows the one before it is decided later, by audit.ts, against the stored head.
// I1. What a message or blob holds never stops the projector: what cannot be read becomes a finding.
// I2. A blob store that cannot be reached is no finding: `takeIn` rejects and the batch is tried again.
import { BeaverError, blobOf, type LogId, messageOf, openRecord, type RecordedEvent, eventTypeOf, splitBatch, type WireRecord } from '@beaver/core'
import { hash } from 'node:crypto'
import { clip } from './text.ts'

/** One message of the journal stream, of any log. */
export interface JournalMessage {
  /** Its place in the stream. */
  readonly sequence: number
  readonly log: LogId
  readonly payload: Uint8Array
}

export type ReadBlob = (sha256: string) => Promise<Uint8Array>

/**
 * - `chain`: a record does not follow the one before it. `message`: a message is not a batch of records.
 * - `repeat`: a record claims a place that is taken. `identity`: a task's first event names another task.
 * - `blob_missing`, `blob_changed`: a payload is gone, or is not what its name says. `shape`: data is not of its type's shape.
 */
export type FindingKind = 'chain' | 'message' | 'repeat' | 'identity' | 'blob_missing' | 'blob_changed' | 'shape'

export interface Finding {
  readonly kind: FindingKind
  readonly message: string
}

export interface IncomingRecord {
  readonly record: WireRecord
  /** JSON text; `null` when the blob it was in is not to be had. */
  readonly dataJson: string | null
  /** `null` for a type this version does not know, and when the data is missing or of another shape. */
  readonly event: RecordedEvent | null
  readonly finding: Finding | null
}

export interface IncomingMessage {
  readonly sequence: number
  readonly log: LogId
  readonly records: readonly IncomingRecord[]
  /** The message as a whole could not be read. */
  readonly finding: Finding | null
}

/** Blobs fetched at the same time. */
const concurrentBlobsMax = 8

/** The messages with their records parsed and their blobs fetched, in the same order. */
export async function takeIn(messages: readonly JournalMessage[], readBlob: ReadBlob): Promise<IncomingMessage[]> {
  const split = messages.map((message) => ({ ...message, ...splitSafely(message.payload) }))
  const wanted = new Set<string>()
  for (const message of split) {
    for (const record of message.records) {
      const sha256 = referenceOf(record)
      if (sha256 !== null) wanted.add(sha256)
    }
  }
  const blobs = await fetchAll([...wanted], readBlob)
  return split.map(({ sequence, log, records, finding }) => ({ sequence, log, finding, records: records.map((record) => withData(record, blobs)) }))
}

function splitSafely(payload: Uint8Array): { records: WireRecord[]; finding: Finding | null } {
  try {
    return { records: splitBatch(payload), finding: null }
  } catch (error) {
    return { records: [], finding: { kind: 'message', message: messageOf(error) } }
  }
}

type Fetched = { readonly text: string } | Finding

async function fetchAll(names: readonly string[], readBlob: ReadBlob): Promise<ReadonlyMap<string, Fetched>> {
  const fetched = new Map<string, Fetched>()
  let next = 0
  const lane = async (): Promise<void> => {
    for (let name = names[next++]; name !== undefined; name = names[next++]) fetched.set(name, await fetchOne(name, readBlob))
  }
  await Promise.all(Array.from({ length: Math.min(concurrentBlobsMax, names.length) }, lane))
  return fetched
}

async function fetchOne(sha256: string, readBlob: ReadBlob): Promise<Fetched> {
  // What is no name of a blob is not asked for: a store may refuse it in a way that looks like an outage.
  if (!/^[0-9a-f]{64}$/.test(sha256)) return { kind: 'blob_missing', message: `the reference ${JSON.stringify(clip(sha256, 200))} names no blob` }
  try {
    const bytes = await readBlob(sha256)
    const found = hash('sha256', bytes)
    if (found !== sha256) return { kind: 'blob_changed', message: `the blob ${sha256} holds other content, with the SHA-256 ${found}` }
    return { text: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString() }
  } catch (error) {
    if (error instanceof BeaverError && error.code === 'blob_corrupt') return { kind: 'blob_changed', message: error.message }
    if (error instanceof BeaverError && error.code === 'blob_missing') return { kind: 'blob_missing', message: `the blob ${sha256} is missing` }
    throw error
  }
}

/** The SHA-256 a record's data is under, or whatever else it refers to: that is looked for nowhere, and found missing. */
export function referenceOf(record: WireRecord): string | null {
  try {
    return blobOf(record)
  } catch {
    return record.dataref ?? null
  }
}

function withData(record: WireRecord, blobs: ReadonlyMap<string, Fetched>): IncomingRecord {
  const sha256 = referenceOf(record)
  if (sha256 === null) return inline(record)
  const blob = blobs.get(sha256)
  if (blob === undefined || !('text' in blob)) return { record, dataJson: null, event: null, finding: blob ?? null }
  if (!isJson(blob.text)) return { record, dataJson: null, event: null, finding: { kind: 'shape', message: `the blob ${sha256} is not JSON` } }
  return opened(record, blob.text, blob.text)
}

function inline(record: WireRecord): IncomingRecord {
  try {
    return opened(record, record.data === undefined ? null : JSON.stringify(record.data), undefined)
  } catch (error) {
    // Data nested deeper than the stack.
    return {
      record,
      dataJson: null,
      event: null,
      finding: { kind: 'shape', message: `event ${record.taskseq} has data that cannot be read: ${messageOf(error)}` },
    }
  }
}

function opened(record: WireRecord, dataJson: string | null, blobText: string | undefined): IncomingRecord {
  if (eventTypeOf(record) === null) return { record, dataJson, event: null, finding: null }
  try {
    return { record, dataJson, event: openRecord(record, blobText), finding: null }
  } catch (error) {
    return { record, dataJson, event: null, finding: { kind: 'shape', message: messageOf(error) } }
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
