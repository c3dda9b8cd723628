// The records of system logs: the form and the chain of task records (record.ts), with the log's name as
// `subject`, own events (system-catalog.ts), and `beaver.system.<type>.v1` as the type on the wire. A record
// that breaks the chain is left out and reported: a stranger who can only write must not stop all readers.
// The reader of each log judges who signed. An append that another writer overtook is decided again from the
// new state.
import { z } from 'zod'
import { BeaverError, messageOf } from '../errors.ts'
import {
  isSystemLogName,
  type SystemEvent,
  systemEventData,
  type SystemEventType,
  type SystemLogName,
  systemLogOf,
} from '../events/system-catalog.ts'
import { canonicalJson } from '../canonical-json.ts'
import type { Entry } from './journal.ts'
import {
  chainFault,
  emptyHead,
  headAfter,
  inlineBytesMax,
  joinBatch,
  type LogHead,
  sealing,
  splitBatch,
  type WireRecord,
} from './record.ts'
import type { SystemLog } from './system-log.ts'

/** An event of a system log with its place. */
export type RecordedSystemEvent = SystemEvent & {
  readonly taskseq: number
  readonly epoch: number
  readonly source: string
  /** RFC 3339, UTC. */
  readonly time: string
  readonly hash: string
  /** The position of its entry in the journal. */
  readonly revision: number
  /** The signature of its entry, which covers all records up to the entry's last one. */
  readonly signature: string | undefined
}

/** A system log as it was read. */
export interface ReadSystemLog {
  readonly events: readonly RecordedSystemEvent[]
  readonly head: LogHead
  /** What the next append expects. */
  readonly revision: number
  /**
   * Records and entries that do not belong there. They are left out, and the log continues from the record
   * before them.
   */
  readonly faults: readonly { readonly revision: number; readonly message: string }[]
}

/** A system log without entries. */
export const emptySystemLog: ReadSystemLog = { events: [], head: emptyHead, revision: 0, faults: [] }

const wireTypeOf = (type: SystemEventType): string => ['beaver', 'system', type, 'v1'].join('.')
const typeOfWire = new Map(
  Object.keys(systemEventData).map((type) => [wireTypeOf(type as SystemEventType), type as SystemEventType]),
)

/**
 * The events of a system log that follow what was read before. The content of an entry never makes it throw.
 *
 * @example
 * const { events: recorded } = readSystemEntries('checkpoints', await systemLog.read('checkpoints'))
 * recorded // => []
 */
export function readSystemEntries(
  name: SystemLogName,
  entries: readonly Entry[],
  from: ReadSystemLog = emptySystemLog,
): ReadSystemLog {
  const [events, faults] = [[...from.events], [...from.faults]]
  let { head, revision } = from
  for (const entry of entries) {
    revision = entry.revision
    const records = recordsOf(entry)
    if (typeof records === 'string') faults.push({ revision, message: records })
    for (const record of typeof records === 'string' ? [] : records) {
      const fault = systemFault(name, head, record)
      const event = fault ?? opened(name, record, entry)
      if (typeof event === 'string') faults.push({ revision, message: event })
      else events.push(event)
      if (fault === null) head = headAfter(record)
    }
  }
  return { events, head, revision, faults }
}

function recordsOf({ payload }: Entry): WireRecord[] | string {
  try {
    return splitBatch(payload)
  } catch (error) {
    return messageOf(error)
  }
}

/**
 * What is wrong with a record after `head`; `null` if it follows.
 *
 * @example
 * const [first] = await journal.read(log)
 * const [record] = first === undefined ? [] : splitBatch(first.payload)
 * if (record !== undefined) systemFault('keys', emptyHead, record) // => `event 1 belongs to ${task_id}`
 */
export function systemFault(name: SystemLogName, head: LogHead, record: WireRecord): string | null {
  try {
    const chain = chainFault(head, record)
    if (chain !== null) return chain
  } catch (error) {
    return `event ${record.taskseq} cannot be verified: ${messageOf(error)}`
  }
  if (record.subject !== name) return `event ${record.taskseq} belongs to ${record.subject}`
  return null
}

/** The event of a record, or why it has none. */
function opened(
  name: SystemLogName,
  record: WireRecord,
  { revision, signature }: Entry,
): RecordedSystemEvent | string {
  const type = typeOfWire.get(record.type)
  if (type === undefined || systemLogOf[type] !== name)
    return `event ${record.taskseq} has the unknown type ${record.type}; a newer Beaver wrote it`
  const parsed = systemEventData[type].safeParse(record.data)
  if (!parsed.success)
    return `event ${record.taskseq} does not have the shape of its type: ${z.prettifyError(parsed.error)}`
  const { taskseq, epoch, source, time, hash } = record
  return {
    type,
    data: parsed.data,
    taskseq,
    epoch,
    source,
    time,
    hash,
    revision,
    signature,
  } as RecordedSystemEvent
}

/**
 * The short type of a record of a system log (`key_trusted`); `null` if this version does not know it.
 *
 * @example
 * const last = await journal.last(log)
 * const newest = last === null ? null : newestRecord(last)
 * if (newest !== null) systemEventTypeOf(newest) // => null
 */
export const systemEventTypeOf = (record: WireRecord): SystemEventType | null =>
  typeOfWire.get(record.type) ?? null

/** Who writes to a system log. */
export interface SystemWriter {
  /** For example `/beaver/operator`. */
  readonly source: string
  /** Milliseconds since 1970. */
  readonly now: () => number
  /**
   * The signature of a record, from its hash and from the log as it was before. Default: the entry is not
   * signed.
   */
  readonly sign?: (record: {
    readonly name: SystemLogName
    readonly hash: string
    readonly before: ReadSystemLog
  }) => string
}

const triesMax = 20

/**
 * Appends the event that `decide` makes of the log. If another writer was faster, the log is read and decided
 * again.
 *
 * @param decide returns `null` if nothing is to be written
 * @returns the log as it is afterwards
 * @throws {BeaverError} `unreachable`, `corrupt_journal`, `too_large`
 * @example
 * const blob_redacted = { type: 'blob_redacted', data: { sha256: '0'.repeat(64), reason: 'It had a secret.' } } as const
 * const after = await appendSystemEvent(systemLog, 'redactions', () => blob_redacted, { source: '/beaver/operator', now: () => 0 })
 * after.events.length // => 1
 */
export async function appendSystemEvent(
  log: SystemLog,
  name: SystemLogName,
  decide: (read: ReadSystemLog) => SystemEvent | null,
  writer: SystemWriter,
): Promise<ReadSystemLog> {
  for (let tries = 0; tries < triesMax; tries++) {
    const before = readSystemEntries(name, await log.read(name))
    const event = decide(before)
    if (event === null) return before
    const after = await appended(log, name, { before, event }, writer)
    if (after !== null) return after
  }
  throw notWritten(name)
}

/**
 * Appends events, one after the other. The log is read once, and again only if another writer was faster.
 *
 * @returns the log as it is afterwards
 * @throws {BeaverError} the codes of `appendSystemEvent`
 * @example
 * const task_archived = { tenant: 'local', session_id: 's', task_id: 't', taskseq: 1, hash: '0'.repeat(64), file: '/a', file_sha256: '0'.repeat(64), by: 'ada' }
 * const writer = { source: '/beaver/operator', now: () => 0 }
 * const after = await appendSystemEvents(systemLog, 'redactions', [{ type: 'task_archived', data: task_archived }], writer)
 * after.events.at(-1)?.type // => 'task_archived'
 */
export async function appendSystemEvents(
  log: SystemLog,
  name: SystemLogName,
  events: readonly SystemEvent[],
  writer: SystemWriter,
): Promise<ReadSystemLog> {
  let before = readSystemEntries(name, await log.read(name))
  for (const event of events) {
    let after = await appended(log, name, { before, event }, writer)
    for (let tries = 1; after === null; tries++) {
      if (tries === triesMax) throw notWritten(name)
      after = await appended(
        log,
        name,
        { before: readSystemEntries(name, await log.read(name)), event },
        writer,
      )
    }
    before = after
  }
  return before
}

const notWritten = (name: SystemLogName): BeaverError =>
  new BeaverError(
    'unreachable',
    `The system log ${name} could not be written: other writers were faster ${triesMax} times.`,
  )

/** The log after the event; `null` if another writer was faster. */
async function appended(
  log: SystemLog,
  name: SystemLogName,
  { before, event }: { readonly before: ReadSystemLog; readonly event: SystemEvent },
  writer: SystemWriter,
): Promise<ReadSystemLog | null> {
  const { payload, hash } = sealed(name, before, event, writer)
  const signature = writer.sign?.({ name, hash, before })
  const outcome = await log.append({ name, expectedRevision: before.revision, payload, signature })
  return outcome.kind === 'appended'
    ? readSystemEntries(
        name,
        [{ revision: outcome.revision, payload, timeMs: writer.now(), signature }],
        before,
      )
    : null
}

function sealed(
  name: SystemLogName,
  { head }: ReadSystemLog,
  { type, data }: SystemEvent,
  { source, now }: SystemWriter,
) {
  const dataJson = canonicalJson(data)
  if (Buffer.byteLength(dataJson) > inlineBytesMax)
    throw new BeaverError(
      'too_large',
      `The event ${type} of the system log ${name} has more than ${inlineBytesMax} bytes of data.`,
    )
  if (!isSystemLogName(name) || systemLogOf[type] !== name)
    throw new BeaverError('internal', `The event ${type} does not belong to the system log ${name}.`)
  const seal = sealing(
    { epoch: head.epoch, source, subject: name, time: new Date(now()).toISOString() },
    wireTypeOf,
  )
  const { record, head: after } = seal(head, { type, dataJson })
  return { payload: joinBatch([record]), hash: after.hash }
}
