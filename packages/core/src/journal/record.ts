// The form of an event on the wire: a CloudEvents 1.0 record in canonical JSON, chained to the record before
// it.
// R1. `taskseq` counts 1, 2, 3 … without gaps within a task's log.
// R2. `epoch` never falls.
// R3. `hash` is the SHA-256 of the record's canonical JSON without `hash`. It covers `prevhash`, so a
// changed, missing or reordered event breaks the chain. `source` names the daemon process that writes, and is
// unique together with `id`.
// R5. No draft contains a secret that this process knows, or a text of the shape of a well-known key
// (secrets/process-secrets.ts). Data above `inlineBytesMax` is stored as a blob under its SHA-256; the record
// contains `dataref` (the CloudEvents claim check).
import { hash as digest } from 'node:crypto'
import { z } from 'zod'
import { BeaverError } from '../errors.ts'
import { type DataOf, type DomainEvent, type EventType, eventData } from '../events/catalog.ts'
import { eventVersions } from '../events/upcast.ts'
import { canonicalJson } from '../canonical-json.ts'
import { hasSecret, maskedData } from '../secrets/process-secrets.ts'

/** The largest data that a record contains itself, in bytes of UTF-8. */
export const inlineBytesMax = 64 * 1024
const versions = eventVersions()
/** The `prevhash` of the first record of a log. */
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

/** The end of a log, which the next record must follow. */
export interface LogHead {
  readonly taskseq: number
  readonly epoch: number
  readonly hash: string
}

/** The head of a log without records. */
export const emptyHead: LogHead = { taskseq: 0, epoch: 0, hash: genesisHash }

/**
 * An event whose data is canonical JSON text. A worker thread writes the text, so that the journal's thread
 * only seals it.
 */
export type Draft = DraftOf<EventType>

/** The same for the events of any catalogue. */
export interface DraftOf<T extends string> {
  readonly type: T
  readonly runId?: string
  readonly dataJson: string
}

/**
 * The draft of an event, without the secrets that its data contains.
 *
 * @throws {BeaverError} `invalid_arguments` if the data is nested too deeply
 * @example
 * draft(event('task_claimed', { daemon: 'daemon_01k' })).dataJson // => '{"daemon":"daemon_01k"}'
 */
export const draft = (event: DomainEvent): Draft => drafted(event).draft

/**
 * The draft of an event, and the event as it is recorded. Code that keeps an event in memory keeps this one,
 * so that a state in memory equals the state that is folded from the journal.
 *
 * @throws {BeaverError} `invalid_arguments` if the data is nested too deeply
 * @example
 * const said = event('user_message_added', { content: 'My id is AKIAIOSFODNN7EXAMPLE.' })
 * drafted(said).event.data // => { content: 'My id is [secret:aws_access_key].' }
 */
export function drafted<Event extends DomainEvent>(
  event: Event,
): { readonly draft: Draft; readonly event: Event } {
  const { type, runId } = event
  const written = canonicalJson(event.data)
  if (!hasSecret(written))
    return {
      draft: runId === undefined ? { type, dataJson: written } : { type, runId, dataJson: written },
      event,
    }
  const clean = { ...event, data: maskedData(event.data) }
  const dataJson = canonicalJson(clean.data)
  return { draft: runId === undefined ? { type, dataJson } : { type, runId, dataJson }, event: clean }
}

/** A payload under its SHA-256, in lower-case hexadecimal digits. */
export interface Blob {
  readonly sha256: string
  readonly bytes: Uint8Array
}

/**
 * The canonical JSON of a record. `blob` is its data if the data is too large for the record; store it before
 * the record.
 */
export interface SealedRecord {
  readonly text: string
  readonly blob: Blob | null
}

/** Who writes the record, and when. */
export interface Written {
  readonly epoch: number
  /** The daemon: `/beaver/daemons/<id>`. */
  readonly source: string
  /** The id of the task. */
  readonly subject: string
  /** RFC 3339, UTC. */
  readonly time: string
}

/** The record of one event, and the head of the log after it. */
export interface Sealed {
  readonly record: SealedRecord
  readonly head: LogHead
}

/**
 * Seals one event. Its record follows `head`.
 *
 * @example
 * const written = { epoch: 1, source: '/beaver/daemons/daemon_01k', subject: 'task_1', time: '2026-05-04T08:00:00.000Z' }
 * const { record, head } = seal(emptyHead, draft(event('task_claimed', { daemon: 'daemon_01k' })), written)
 * head.taskseq // => 1
 * record.blob // => null
 */
export function seal(head: LogHead, event: Draft, written: Written): Sealed {
  return sealer(written)(head, event)
}

/**
 * Returns a function that seals events which are written together, one after the other.
 *
 * @example
 * const next = sealer({ epoch: 1, source: '/beaver/daemons/daemon_01k', subject: 'task_1', time: '2026-05-04T08:00:00.000Z' })
 * const first = next(emptyHead, draft(event('task_claimed', { daemon: 'daemon_01k' })))
 * const second = next(first.head, draft(event('task_released', { daemon: 'daemon_01k', reason: 'The daemon stops.' })))
 * second.head.taskseq // => 2
 */
export function sealer(written: Written): (head: LogHead, event: Draft) => Sealed {
  return sealing(written, (type: EventType) => versions.wireTypeOf(type))
}

/**
 * The same for the events of any catalogue. `wireTypeOf` gives the type that a record has for a type of
 * event.
 */
export function sealing<T extends string>(
  written: Written,
  wireTypeOf: (type: T) => string,
): (head: LogHead, event: DraftOf<T>) => Sealed {
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
      `${source}${taskseq},"time":"${written.time}","type":"${wireTypeOf(event.type)}"}`
    const hash = digest('sha256', before + after)
    return {
      record: { text: `${before}"hash":"${hash}",${after}`, blob },
      head: { taskseq, epoch: written.epoch, hash },
    }
  }
}

const idOf = ({ subject, epoch }: Written, taskseq: number): string => `${subject}/${epoch}.${taskseq}`

/**
 * The event of a record that was just sealed. It equals the result of `openRecord`, without a second check of
 * the shape.
 *
 * @example
 * const written = { epoch: 1, source: '/beaver/daemons/daemon_01k', subject: 'task_1', time: '2026-05-04T08:00:00.000Z' }
 * const claimed = draft(event('task_claimed', { daemon: 'daemon_01k' }))
 * const { record, head } = seal(emptyHead, claimed, written)
 * const [sent] = splitBatch(joinBatch([record]))
 * if (sent !== undefined) sealedEvent(emptyHead, claimed, written, head) // => openRecord(sent)
 */
export function sealedEvent(
  before: LogHead,
  { type, runId, dataJson }: Draft,
  written: Written,
  after: LogHead,
): RecordedEvent {
  const { source, time } = written
  const place = {
    taskseq: after.taskseq,
    epoch: after.epoch,
    id: idOf(written, after.taskseq),
    source,
    time,
    prevhash: before.hash,
    hash: after.hash,
  }
  return {
    type,
    data: JSON.parse(dataJson) as DataOf<EventType>,
    ...(runId === undefined ? {} : { runId }),
    ...place,
  } as RecordedEvent
}

/**
 * One journal message: a CloudEvents batch.
 *
 * @example
 * const written = { epoch: 1, source: '/beaver/daemons/daemon_01k', subject: 'task_1', time: '2026-05-04T08:00:00.000Z' }
 * const { record } = seal(emptyHead, draft(event('task_claimed', { daemon: 'daemon_01k' })), written)
 * splitBatch(joinBatch([record])).map(({ type }) => type) // => ['beaver.task_claimed.v1']
 */
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
/** A record as it was read. Unknown members are kept, because the hash covers them. */
export type WireRecord = z.infer<typeof wireRecord>

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * The records of one journal message. They are not verified.
 *
 * @throws {BeaverError} `corrupt_journal` if the bytes are not a batch of records
 * @example
 * const first = await journal.first(log)
 * if (first !== null) splitBatch(first.payload)[0]?.type // => 'beaver.task_submitted.v1'
 * splitBatch(new TextEncoder().encode('{}')) // throws corrupt_journal
 */
export function splitBatch(bytes: Uint8Array): WireRecord[] {
  const fault = 'A journal message is not a batch of CloudEvents records'
  // Other bytes must not become the same text, because the hash of a record covers the text.
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch (cause) {
    throw new BeaverError('corrupt_journal', `${fault}: it is not UTF-8`, { cause })
  }
  let batch: unknown
  try {
    batch = JSON.parse(text)
  } catch (cause) {
    throw new BeaverError('corrupt_journal', `${fault}: it is not JSON`, { cause })
  }
  if (!Array.isArray(batch) || batch.length === 0)
    throw new BeaverError('corrupt_journal', `${fault}: it is not a list of records`)
  // The check stops at the first value that is no record: a stranger's message may have thousands of them.
  return batch.map((value: unknown, i) => {
    const record = wireRecord.safeParse(value)
    // The members stay in the order in which they were written, so the hash is checked faster.
    if (record.success) return value as WireRecord
    const [issue] = record.error.issues
    throw new BeaverError(
      'corrupt_journal',
      `${fault}: value ${i + 1} is not a record (${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''})`,
    )
  })
}

/** Why a record does not follow `head`; `null` if it follows. */
export function chainFault(head: LogHead, record: WireRecord): string | null {
  if (record.taskseq !== head.taskseq + 1) return `event ${record.taskseq} follows event ${head.taskseq}`
  if (record.epoch < head.epoch)
    return `event ${record.taskseq} has epoch ${record.epoch}, older than ${head.epoch}`
  if (record.prevhash !== head.hash)
    return `event ${record.taskseq} does not name the hash of the event before it`
  const { hash, ...rest } = record
  if (digest('sha256', canonicalJson(rest)) !== hash)
    return `event ${record.taskseq} does not have the content that its hash says`
  return null
}

/**
 * The head of a log after this record.
 *
 * @example
 * const last = await journal.last(log)
 * const newest = last === null ? null : newestRecord(last)
 * if (newest !== null) headAfter(newest).taskseq === events.length // => true
 */
export function headAfter(record: Pick<WireRecord, 'taskseq' | 'epoch' | 'hash'>): LogHead {
  return { taskseq: record.taskseq, epoch: record.epoch, hash: record.hash }
}

/**
 * The SHA-256 of the blob with the record's data; `null` if the record contains its data.
 *
 * @throws {BeaverError} `corrupt_journal` if the reference is of another kind
 */
export function blobOf(record: WireRecord): string | null {
  if (record.dataref === undefined) return null
  const sha256 = /^blob:sha256:([0-9a-f]{64})$/.exec(record.dataref)?.[1]
  if (sha256 === undefined)
    throw new BeaverError(
      'corrupt_journal',
      `Event ${record.taskseq} refers to its data by ${JSON.stringify(record.dataref)}, which is not the name of a blob.`,
    )
  return sha256
}

/**
 * The event type of a record: `run_started` for `beaver.run_started.v1`; `null` if this version does not know
 * the type.
 *
 * @example
 * const last = await journal.last(log)
 * const newest = last === null ? null : newestRecord(last)
 * if (newest !== null) eventTypeOf(newest) // => 'task_completed'
 */
export function eventTypeOf(record: WireRecord): EventType | null {
  return versions.eventTypeOf(record.type)
}

/**
 * The typed event of a record. Data of an older version is converted to the newest one (upcast.ts).
 *
 * @param blobText the content of the record's blob, if `blobNameOf` names one
 * @throws {BeaverError} `corrupt_journal` if the type is unknown or the data has another shape
 * @example
 * const last = await journal.last(log)
 * const [record] = last === null ? [] : splitBatch(last.payload).toReversed()
 * if (record !== undefined) openRecord(record).type // => 'task_completed'
 */
export function openRecord(record: WireRecord, blobText?: string): RecordedEvent {
  const type = eventTypeOf(record)
  if (type === null)
    throw new BeaverError(
      'corrupt_journal',
      `Event ${record.taskseq} has the unknown type ${record.type}; a newer Beaver wrote it`,
    )
  const parsed = eventData[type].safeParse(
    versions.newest(record.type, blobText === undefined ? record.data : readBlob(record, blobText)),
  )
  if (!parsed.success) {
    throw new BeaverError(
      'corrupt_journal',
      `Event ${record.taskseq} (${type}) does not have the shape of its type: ${z.prettifyError(parsed.error)}`,
    )
  }
  const { taskseq, epoch, id, source, time, prevhash, hash, runid } = record
  const place = { taskseq, epoch, id, source, time, prevhash, hash }
  return {
    type,
    data: parsed.data as DataOf<EventType>,
    ...(runid === undefined ? {} : { runId: runid }),
    ...place,
  } as RecordedEvent
}

function readBlob(record: WireRecord, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new BeaverError('corrupt_journal', `The blob of event ${record.taskseq} is not JSON`, { cause })
  }
}
