// The form of an event on the wire: a CloudEvents 1.0 record in canonical JSON, chained to the one before it.
// R1. `taskseq` is 1, 2, 3 … without gaps within a task's log. R2. `epoch` never falls.
// R3. `hash` = SHA-256 over the record's canonical JSON without `hash`; it covers `prevhash`, so a changed, missing or
//     reordered event breaks the chain. R4. `source` and `id` together are unique: `source` names the writing daemon process.
// R5. Data above `inlineBytesMax` is a blob under its SHA-256; the record holds `dataref` (CloudEvents claim check).
import { hash as digest } from 'node:crypto'
import { z } from 'zod'
import { BeaverError } from '../errors.ts'
import { type DataOf, type DomainEvent, type EventType, eventData } from '../events/catalog.ts'
import { eventVersions } from '../events/upcast.ts'
import { canonicalJson } from '../json.ts'

export const inlineBytesMax = 64 * 1024
export const batchContentType = 'application/cloudevents-batch+json'
const versions = eventVersions()
export const genesisHash = '0'.repeat(64)

/** An event with its place in the log. */
export type RecordedEvent = DomainEvent & {
  readonly taskseq: number
  readonly epoch: number
  readonly id: string
  readonly source: string
  /** RFC 3339, UTC. */
  readonly time: string
  readonly prevhash: string
  readonly hash: string
}

/** Where a log stands: what the next record must follow. */
export interface LogHead {
  readonly taskseq: number
  readonly epoch: number
  readonly hash: string
}

export const emptyHead: LogHead = { taskseq: 0, epoch: 0, hash: genesisHash }

/** An event whose data is canonical JSON text already: a worker writes the text, the journal's thread only seals it. */
export interface Draft {
  readonly type: EventType
  readonly runId?: string
  readonly dataJson: string
}

export function draft(event: DomainEvent): Draft {
  const dataJson = canonicalJson(event.data)
  return event.runId === undefined ? { type: event.type, dataJson } : { type: event.type, runId: event.runId, dataJson }
}

export interface Blob {
  readonly sha256: string
  readonly bytes: Uint8Array
}

export interface SealedRecord {
  readonly text: string
  readonly blob: Blob | null
}

/** Who writes, and when. */
export interface Written {
  readonly epoch: number
  /** `/beaver/daemons/<id>`. */
  readonly source: string
  /** The task. */
  readonly subject: string
  /** RFC 3339, UTC. */
  readonly time: string
}

/** The record of one event, and the head after it. */
export interface Sealed {
  readonly record: SealedRecord
  readonly head: LogHead
}

/** Seals one event: its record follows `head`. */
export function seal(head: LogHead, event: Draft, written: Written): Sealed {
  return sealer(written)(head, event)
}

/** Seals events that are written together, one after the other. */
export function sealer(written: Written): (head: LogHead, event: Draft) => Sealed {
  const subject = canonicalJson(written.subject)
  const source = `"source":${canonicalJson(written.source)},"specversion":"1.0","subject":${subject},"taskseq":`
  return (head, event) => {
    const taskseq = head.taskseq + 1
    let body = `"data":${event.dataJson}`
    let blob: Blob | null = null
    if (event.dataJson.length > inlineBytesMax / 3) {
      const bytes = Buffer.from(event.dataJson)
      if (bytes.length > inlineBytesMax) {
        const sha256 = digest('sha256', bytes)
        blob = { sha256, bytes }
        body = `"dataref":"blob:sha256:${sha256}"`
      }
    }
    const before = `{${body},"epoch":${written.epoch},`
    const after =
      `"id":${canonicalJson(idOf(written, taskseq))},"prevhash":"${head.hash}",` +
      (event.runId === undefined ? '' : `"runid":${canonicalJson(event.runId)},`) +
      `${source}${taskseq},"time":"${written.time}","type":"${versions.wireTypeOf(event.type)}"}`
    const hash = digest('sha256', before + after)
    return { record: { text: `${before}"hash":"${hash}",${after}`, blob }, head: { taskseq, epoch: written.epoch, hash } }
  }
}

const idOf = ({ subject, epoch }: Written, taskseq: number): string => `${subject}/${epoch}.${taskseq}`

/** The event of a record that was sealed here: what `openRecord` makes of that record, whose shape need not be checked again. */
export function sealedEvent(before: LogHead, { type, runId, dataJson }: Draft, written: Written, after: LogHead): RecordedEvent {
  const { source, time } = written
  const place = { taskseq: after.taskseq, epoch: after.epoch, id: idOf(written, after.taskseq), source, time, prevhash: before.hash, hash: after.hash }
  return { type, data: JSON.parse(dataJson) as DataOf<EventType>, ...(runId === undefined ? {} : { runId }), ...place } as RecordedEvent
}

/** One journal message: a CloudEvents batch. */
export function joinBatch(records: readonly SealedRecord[]): Uint8Array {
  return Buffer.from(`[${records.map((record) => record.text).join(',')}]`)
}

const wireRecord = z.looseObject({
  specversion: z.literal('1.0'),
  id: z.string(),
  source: z.string(),
  subject: z.string(),
  type: z.string(),
  time: z.string(),
  taskseq: z.number().int().positive(),
  epoch: z.number().int().nonnegative(),
  runid: z.string().optional(),
  prevhash: z.string(),
  hash: z.string(),
  data: z.unknown().optional(),
  dataref: z.string().optional(),
})
export type WireRecord = z.infer<typeof wireRecord>
const wireBatch = z.array(wireRecord).min(1)

/**
 * The records of one journal message, unverified.
 * @throws {BeaverError} `corrupt_journal` when the bytes are not a batch of records
 */
export function splitBatch(bytes: Uint8Array): WireRecord[] {
  try {
    const batch: unknown = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString())
    return isWireBatch(batch) ? batch : wireBatch.parse(batch)
  } catch (cause) {
    throw new BeaverError('corrupt_journal', 'A journal message is not a batch of CloudEvents records', { cause })
  }
}

/**
 * Whether the value is surely a batch of records: the schema's own checks, without a copy, so that the members keep the order in
 * which they were written. What this does not know, an extension for one, is the schema's to judge.
 */
function isWireBatch(value: unknown): value is WireRecord[] {
  return Array.isArray(value) && value.length > 0 && value.every(isKnownRecord)
}

function isKnownRecord(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const record = value as Record<string, unknown>
  for (const name of Object.keys(record)) if (name !== 'data' && knownMembers.get(name)?.(record[name]) !== true) return false
  return requiredMembers.every((name) => record[name] !== undefined)
}

const isText = (value: unknown): boolean => typeof value === 'string'
const knownMembers: ReadonlyMap<string, (value: unknown) => boolean> = new Map([
  ['specversion', (value) => value === '1.0'],
  ['id', isText],
  ['source', isText],
  ['subject', isText],
  ['type', isText],
  ['time', isText],
  ['taskseq', (value) => Number.isSafeInteger(value) && (value as number) > 0],
  ['epoch', (value) => Number.isSafeInteger(value) && (value as number) >= 0],
  ['runid', isText],
  ['prevhash', isText],
  ['hash', isText],
  ['dataref', isText],
])
const requiredMembers = ['specversion', 'id', 'source', 'subject', 'type', 'time', 'taskseq', 'epoch', 'prevhash', 'hash']

/** Why a record does not follow `head`, or `null` when it does. */
export function chainFault(head: LogHead, record: WireRecord): string | null {
  if (record.taskseq !== head.taskseq + 1) return `event ${record.taskseq} follows event ${head.taskseq}`
  if (record.epoch < head.epoch) return `event ${record.taskseq} has epoch ${record.epoch}, older than ${head.epoch}`
  if (record.prevhash !== head.hash) return `event ${record.taskseq} does not name the hash of the event before it`
  const { hash, ...rest } = record
  if (digest('sha256', canonicalJson(rest)) !== hash) return `event ${record.taskseq} does not have the content its hash was made of`
  return null
}

export function headAfter(record: Pick<WireRecord, 'taskseq' | 'epoch' | 'hash'>): LogHead {
  return { taskseq: record.taskseq, epoch: record.epoch, hash: record.hash }
}

/**
 * The SHA-256 of the blob that holds the record's data, if it is one.
 * @throws {BeaverError} `corrupt_journal` for another kind of reference
 */
export function blobOf(record: WireRecord): string | null {
  if (record.dataref === undefined) return null
  const sha256 = /^blob:sha256:([0-9a-f]{64})$/.exec(record.dataref)?.[1]
  if (sha256 === undefined)
    throw new BeaverError('corrupt_journal', `Event ${record.taskseq} refers to its data by ${JSON.stringify(record.dataref)}, which is no blob.`)
  return sha256
}

/** `run_started` of `beaver.run_started.v1`; `null` for a type this version does not know. */
export function eventTypeOf(record: WireRecord): EventType | null {
  return versions.eventTypeOf(record.type)
}

/**
 * The typed event of a record whose blob, if it has one, was fetched; data of an older version is brought to the newest one (upcast.ts).
 * @throws {BeaverError} `corrupt_journal` for an unknown type or data of another shape
 */
export function openRecord(record: WireRecord, blobText?: string): RecordedEvent {
  const type = eventTypeOf(record)
  if (type === null) throw new BeaverError('corrupt_journal', `Event ${record.taskseq} has the unknown type ${record.type}; a newer Beaver wrote it`)
  const parsed = eventData[type].safeParse(versions.newest(record.type, blobText === undefined ? record.data : readBlob(record, blobText)))
  if (!parsed.success) {
    throw new BeaverError('corrupt_journal', `Event ${record.taskseq} (${type}) does not have the shape of its type: ${z.prettifyError(parsed.error)}`)
  }
  const { taskseq, epoch, id, source, time, prevhash, hash, runid } = record
  const place = { taskseq, epoch, id, source, time, prevhash, hash }
  return { type, data: parsed.data as DataOf<EventType>, ...(runid === undefined ? {} : { runId: runid }), ...place } as RecordedEvent
}

function readBlob(record: WireRecord, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new BeaverError('corrupt_journal', `The blob of event ${record.taskseq} is not JSON`, { cause })
  }
}
