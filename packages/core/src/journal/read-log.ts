// Reads a log: splits its entries into records, checks the place of each (`placeFault`) and the shape of its
// data, and names each fault as a `LogFault`. `openEntry` reports faults and continues, so that the projector
// shows a broken log as far as it is readable. `LogReader` throws the first fault, because nobody may act on
// a log that does not verify. An unreachable blob store is not a fault of the log; its error is passed on.
//
// A message that is not a batch of records is *foreign*: no daemon wrote it. `LogReader` passes over it and
// counts it, so that the log can still be read and ended. It also continues behind entries that were moved to
// an archive (archived.ts); any other gap is a fault. It asks once what was redacted, before the first
// record: only records of ended tasks are redacted. It asks about a missing blob when it reads the blob.
import { hash } from 'node:crypto'
import { BeaverError, type ErrorCode, messageOf } from '../errors.ts'
import { headAcross } from './archived.ts'
import type { LogId } from '../ids.ts'
import type { BlobStore } from '../ports/blob-store.ts'
import type { ArchivedGap, Entry, Journal } from './journal.ts'
import { ReplacementBytes, type Replacements } from './redactions.ts'
import {
  blobOf,
  chainFault,
  emptyHead,
  eventTypeOf,
  headAfter,
  type LogHead,
  openRecord,
  type RecordedEvent,
  splitBatch,
  type WireRecord,
} from './record.ts'

/**
 * - `message`: an entry is not a batch of records.
 * - `chain`: a record does not follow the one before it.
 * - `identity`: a record is about another task.
 * - `blob_missing`, `blob_changed`: the data does not exist, or does not match its name.
 * - `signature`: an entry is not signed by a key that counts.
 * - `shape`: the data does not have the shape of its type, or the type is not known.
 */
export type LogFaultKind =
  | 'message'
  | 'signature'
  | 'chain'
  | 'identity'
  | 'blob_missing'
  | 'blob_changed'
  | 'shape'

/** A fault of a log. */
export interface LogFault {
  readonly kind: LogFaultKind
  /** What is wrong, in words. It does not name the task. */
  readonly message: string
}

/** A record with its event. `placeFault` checks whether the record is in its place. */
export interface OpenedRecord {
  readonly record: WireRecord
  /** The data as JSON text; `null` if it could not be read. */
  readonly dataJson: string | null
  /**
   * `null` if this version does not know the type, if the data could not be read, or if the data has another
   * shape.
   */
  readonly event: RecordedEvent | null
  readonly fault: LogFault | null
}

/** The records of an entry. */
export interface OpenedEntry {
  /** The list is empty if `fault` is not `null`. */
  readonly records: readonly OpenedRecord[]
  /** Why the entry as a whole could not be read. */
  readonly fault: LogFault | null
}

/**
 * Reads a blob by its SHA-256. It throws `blob_missing` or `blob_corrupt`, or another error if the store is
 * unreachable.
 */
export type ReadBlob = (sha256: string) => Promise<Uint8Array>
/**
 * Reads what is shown in place of the data of a record, by the record's hash; `null` if the record was not
 * redacted.
 */
export type ReplacedData = (hash: string) => Promise<Uint8Array> | null

/**
 * Where a reader of a log gets data that is not in the records. `Replacements` know what was removed; a plain
 * store of blobs is for a journal without redactions.
 */
export type LogBlobs = Pick<BlobStore, 'get'> & Partial<Replacements>

/**
 * The records of an entry with their events. The content of the entry and of its blobs never makes it throw.
 *
 * @param replacedData reads what is shown in place of the data of redacted records. Default: no record was
 * redacted
 * @throws the error of `readBlob` if the store is unreachable
 * @example
 * const last = await journal.last(log)
 * const opened = last === null ? null : await openEntry(last.payload, (sha256) => blobs.get(sha256))
 * opened?.records.at(-1)?.event?.type // => 'task_completed'
 */
export async function openEntry(
  payload: Uint8Array,
  readBlob: ReadBlob,
  replacedData: ReplacedData = () => null,
): Promise<OpenedEntry> {
  const { records, fault } = splitEntry(payload)
  const opened: OpenedRecord[] = []
  for (const record of records) {
    const text = await textOf(record, readBlob, replacedData)
    opened.push(
      typeof text === 'object' && text !== null
        ? { record, dataJson: null, event: null, fault: text }
        : openWithText(record, text),
    )
  }
  return { records: opened, fault }
}

/**
 * What is wrong with the place of a record after `head`; `null` if the record follows it.
 *
 * @example
 * const [first] = await journal.read(log)
 * const [record] = first === undefined ? [] : splitBatch(first.payload)
 * if (record !== undefined) placeFault(log, emptyHead, record) // => null
 * if (record !== undefined) placeFault(log, headAfter(record), record)?.kind // => 'chain'
 */
export function placeFault(log: Pick<LogId, 'task'>, head: LogHead, record: WireRecord): LogFault | null {
  let chain: string | null
  try {
    chain = chainFault(head, record)
  } catch (error) {
    // Data that is nested too deeply has no canonical form.
    chain = `event ${record.taskseq} cannot be verified: ${messageOf(error)}`
  }
  if (chain !== null) return { kind: 'chain', message: chain }
  if (record.subject !== log.task)
    return { kind: 'identity', message: `event ${record.taskseq} is about the task ${record.subject}` }
  return null
}

/**
 * What is wrong with the event that begins a log: it may submit another task.
 *
 * @example
 * const [first] = events
 * if (first !== undefined) identityFault(log, first) // => null
 * if (first !== undefined) identityFault({ ...log, task: taskId.parse('another') }, first)?.kind // => 'identity'
 */
export function identityFault(log: LogId, event: RecordedEvent): LogFault | null {
  if (event.type !== 'task_submitted') return null
  const { tenant, session_id: session, task_id: task } = event.data
  if (tenant === log.tenant && session === log.session && task === log.task) return null
  return {
    kind: 'identity',
    message: `event ${event.taskseq} submits the task ${tenant}/${session}/${task}, which is not the task of this log`,
  }
}

/** Judges the signatures of entries, and says what was archived: a journal, or a reader of one. */
export type SignatureJudge = Pick<Journal, 'signatureFault'> & Partial<Pick<Journal, 'archived'>>

/** An entry, as far as a reader needs it. A judge of signatures needs its revision, too. */
type Readable = Pick<Entry, 'payload'> & Partial<Entry>

/**
 * Reads a log entry by entry and throws the first fault.
 *
 * @example
 * const reader = new LogReader(log, blobs)
 * const read: RecordedEvent[] = []
 * for (const entry of await journal.read(log)) read.push(...(await reader.read(entry)))
 * read.length === events.length // => true
 * reader.head.taskseq === events.at(-1)?.taskseq // => true
 */
export class LogReader {
  readonly #log: LogId
  readonly #blobs: LogBlobs
  readonly #judge: SignatureJudge | null
  #head: LogHead
  #foreign = 0
  #knowsRemoved = false
  #archived: ArchivedGap | null = null

  /**
   * @param options.from the head of the log before the first entry that is read. Default: the head of an
   * empty log
   * @param options.judge judges the signatures of entries, and says what was archived. Default: signatures
   * are not looked at, and nothing was archived
   */
  constructor(
    log: LogId,
    blobs: LogBlobs,
    { from = emptyHead, judge = null }: { from?: LogHead; judge?: SignatureJudge | null } = {},
  ) {
    this.#log = log
    this.#blobs = blobs
    this.#judge = judge
    this.#head = from
  }

  /** The head of the log after what was read. */
  get head(): LogHead {
    return this.#head
  }

  /**
   * The entries that the log does not have any more, because they are in an archive; `null` if nothing was
   * passed over so far.
   */
  get archived(): ArchivedGap | null {
    return this.#archived
  }

  /** How many of the entries that were read are foreign messages. */
  get foreign(): number {
    return this.#foreign
  }

  /**
   * The events of the next entry. A foreign message has none.
   *
   * @throws {BeaverError} `corrupt_journal`, `untrusted_record`, `blob_missing`, `blob_corrupt`
   */
  async read(entry: Readable): Promise<RecordedEvent[]> {
    const events: RecordedEvent[] = []
    for await (const event of this.events(entry)) events.push(event)
    return events
  }

  /**
   * The events of the next entry, one after the other. The events before a broken record are yielded.
   *
   * @throws {BeaverError} the codes of `read`
   */
  async *events(entry: Readable): AsyncGenerator<RecordedEvent> {
    const { records, fault } = splitEntry(entry.payload)
    if (fault !== null) {
      this.#foreign++
      return
    }
    const signed = {
      revision: entry.revision ?? 0,
      signature: entry.signature,
      lastHash: records.at(-1)?.hash ?? null,
    }
    const unsigned = (await this.#judge?.signatureFault(this.#log, signed)) ?? null
    this.#refuse(
      unsigned === null
        ? null
        : {
            kind: 'signature',
            message: `the entry with event ${records[0]?.taskseq ?? 0} is not trusted: ${unsigned}`,
          },
    )
    if (!this.#knowsRemoved) await this.#blobs.refresh?.()
    this.#knowsRemoved = true
    const [next] = records
    if (
      next !== undefined &&
      next.taskseq !== this.#head.taskseq + 1 &&
      (await this.#isArchived(entry.revision ?? 0, next))
    )
      return
    for (const record of records) {
      this.#refuse(placeFault(this.#log, this.#head, record))
      const text = await textOf(record, this.#readBlob, this.#replacedData)
      if (typeof text === 'object') this.#refuse(text)
      const { event, fault: misshapen } = openEvent(record, typeof text === 'string' ? text : undefined)
      this.#refuse(misshapen)
      this.#head = headAfter(record)
      if (event === null)
        throw this.#broken({
          kind: 'shape',
          message: `event ${record.taskseq} has the unknown type ${record.type}: a newer Beaver wrote it`,
        })
      this.#refuse(identityFault(this.#log, event))
      yield event
    }
  }

  readonly #readBlob: ReadBlob = (sha256) => this.#blobs.get(sha256)

  readonly #replacedData: ReplacedData = (hash) => this.#blobs.of?.(hash) ?? null

  /**
   * Whether an entry is archived, but not deleted yet. If the entries before it are archived, the head moves
   * behind them.
   */
  async #isArchived(revision: number, first: WireRecord): Promise<boolean> {
    if (this.#judge?.archived === undefined) return false
    const archived = await this.#judge.archived()
    const gaps = archived.gapsOf(this.#log)
    if (archived.has(revision)) return true
    const head = headAcross(gaps, this.#head, first)
    if (head === null) return false
    this.#head = head
    this.#archived = gaps.at(-1) ?? null
    return false
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
  signature: 'untrusted_record',
  chain: 'corrupt_journal',
  identity: 'corrupt_journal',
  shape: 'corrupt_journal',
  blob_missing: 'blob_missing',
  blob_changed: 'blob_corrupt',
} as const satisfies Record<LogFaultKind, ErrorCode>

/**
 * The head of the log before an entry, as the entry itself claims. Use it to read an entry without those
 * before it.
 *
 * @example
 * const [first] = await journal.read(log)
 * if (first !== undefined) headBefore(first).taskseq // => 0
 */
export function headBefore({ payload }: Pick<Entry, 'payload'>): LogHead {
  const [first] = splitBatch(payload) as [WireRecord]
  return { taskseq: first.taskseq - 1, epoch: first.epoch, hash: first.prevhash }
}

/**
 * The last record of an entry; `null` if the entry is a foreign message. The record is not verified; it shows
 * who wrote the entry and what type its last event has.
 *
 * @example
 * const last = await journal.last(log)
 * const newest = last === null ? null : newestRecord(last)
 * if (newest !== null) eventTypeOf(newest) // => 'task_completed'
 * newestRecord({ payload: new TextEncoder().encode('a message of a stranger') }) // => null
 */
export function newestRecord({ payload }: Pick<Entry, 'payload'>): WireRecord | null {
  return splitEntry(payload).records.at(-1) ?? null
}

/**
 * Why an entry is a foreign message, in words; `null` if it is a batch of records.
 *
 * @example
 * const [first] = await journal.read(log)
 * if (first !== undefined) foreignFault(first) // => null
 * foreignFault({ payload: new TextEncoder().encode('[]') }) // => 'A journal message is not a batch of CloudEvents records: it is not a list of records'
 */
export function foreignFault({ payload }: Pick<Entry, 'payload'>): string | null {
  return splitEntry(payload).fault?.message ?? null
}

function splitEntry(payload: Uint8Array): { records: readonly WireRecord[]; fault: LogFault | null } {
  try {
    return { records: splitBatch(payload), fault: null }
  } catch (error) {
    return { records: [], fault: { kind: 'message', message: messageOf(error) } }
  }
}

/**
 * The SHA-256 of the blob with the record's data. For a reference that is not a SHA-256, it is the reference
 * itself, which no store has.
 *
 * @example
 * const [first] = await journal.read(log)
 * const record = first === undefined ? null : newestRecord(first)
 * if (record !== null) blobNameOf(record) // => null
 */
export function blobNameOf(record: WireRecord): string | null {
  try {
    return blobOf(record)
  } catch {
    return record.dataref ?? null
  }
}

/**
 * The data of a record that is not in the record, or that is read in place of it; `null` if the record
 * contains its data.
 */
async function textOf(
  record: WireRecord,
  readBlob: ReadBlob,
  replacedData: ReplacedData,
): Promise<string | LogFault | null> {
  const name = blobNameOf(record)
  if (name !== null) return blobText(name, readBlob)
  const replaced = replacedData(record.hash)
  return replaced === null ? null : Buffer.from(await replaced).toString()
}

const namedCharsMax = 200

async function blobText(name: string, readBlob: ReadBlob): Promise<string | LogFault> {
  // A name that is not a SHA-256 is not looked up, because the error of the store could look like an outage.
  if (!/^[0-9a-f]{64}$/.test(name))
    return {
      kind: 'blob_missing',
      message: `the reference ${JSON.stringify(name.slice(0, namedCharsMax))} names no blob`,
    }
  try {
    const bytes = await readBlob(name)
    const found = bytes instanceof ReplacementBytes ? name : hash('sha256', bytes)
    if (found !== name)
      return {
        kind: 'blob_changed',
        message: `the blob ${name} holds other content, with the SHA-256 ${found}`,
      }
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
    return isJson(text) ? text : { kind: 'shape', message: `the blob ${name} is not JSON` }
  } catch (error) {
    if (error instanceof BeaverError && error.code === 'blob_corrupt')
      return { kind: 'blob_changed', message: error.message }
    if (error instanceof BeaverError && error.code === 'blob_missing')
      return { kind: 'blob_missing', message: `the blob ${name} is missing` }
    throw error
  }
}

function openWithText(record: WireRecord, text: string | null): OpenedRecord {
  try {
    const dataJson = text ?? (record.data === undefined ? null : JSON.stringify(record.data))
    return { record, dataJson, ...openEvent(record, text ?? undefined) }
  } catch (error) {
    // The data is nested too deeply to be written as JSON.
    const message = `event ${record.taskseq} has data that cannot be read: ${messageOf(error)}`
    return { record, dataJson: null, event: null, fault: { kind: 'shape', message } }
  }
}

function openEvent(record: WireRecord, blobText: string | undefined): Pick<OpenedRecord, 'event' | 'fault'> {
  // A newer version wrote the record. It is kept as it is.
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
