// Archived messages: entries of ended tasks that an operator moved to a verified file and names in a signed
// event (`messages_archived`) before deleting them. Every reader that finds a gap asks here whether such an
// event explains it. An unsigned event names nothing. The first and the last entry of a log stay, and the
// event says how the chain continues between them. A named message counts as deleted as soon as the event is
// durable, so an interrupted archive changes no answer.
// V4. If two events name one message, the first one counts.
import { logKey, type LogId } from '../ids.ts'
import { canonicalJson } from '../canonical-json.ts'
import type { SystemDataOf } from '../events/system-catalog.ts'
import type { ArchivedGap, ArchivedGaps } from './journal.ts'
import type { KeyRing } from './key-ring.ts'
import { inlineBytesMax, type LogHead, type WireRecord } from './record.ts'
import type { RecordedSystemEvent } from './system-record.ts'

type LogPart = SystemDataOf<'messages_archived'>['logs'][number]

/** One archived message. */
export interface ArchivedMessage {
  readonly sequence: number
  readonly log: LogId
  /** In hexadecimal digits. */
  readonly payloadSha256: string
  /** The file that has it, and its SHA-256. */
  readonly file: string
  readonly sha256: string
}

/** What is known of a message that is named. `payload`: the SHA-256 of its payload in base64url. */
interface Named {
  readonly gap: ArchivedGap
  readonly payload: string
}

/**
 * The archived messages of a journal. It never changes; more events make another one.
 *
 * @example
 * const archived = new ArchivedMessages('local', [])
 * archived.size // => 0
 * archived.gapsOf(log) // => []
 */
export class ArchivedMessages implements ArchivedGaps {
  readonly #gaps = new Map<string, ArchivedGap[]>()
  readonly #named = new Map<number, Named>()

  /**
   * @param tenant the tenant of the journal. What is said of another tenant's logs counts for nothing
   * @param events events of the system log `redactions` whose signatures count
   */
  constructor(tenant: string, events: readonly RecordedSystemEvent[]) {
    for (const event of events) {
      if (event.type !== 'messages_archived') continue
      const { file, file_sha256: sha256, logs } = event.data
      for (const part of logs)
        if (part.tenant === tenant && isSound(part, event.revision)) this.#take(part, { file, sha256 })
    }
  }

  /** How many messages are archived. */
  get size(): number {
    return this.#named.size
  }

  /** The archived messages of a log, in the order of the log. */
  gapsOf(log: LogId): readonly ArchivedGap[] {
    return this.#gaps.get(logKey(log)) ?? []
  }

  /** The archived messages of all logs. */
  *gaps(): Generator<ArchivedGap> {
    for (const gaps of this.#gaps.values()) yield* gaps
  }

  /** Whether the message with this place in the stream is archived. */
  has(sequence: number): boolean {
    return this.#named.has(sequence)
  }

  /** The archived message with this place in the stream; `null` if it is not archived. */
  at(sequence: number): ArchivedMessage | null {
    const named = this.#named.get(sequence)
    if (named === undefined) return null
    const { log, file, sha256 } = named.gap
    return {
      sequence,
      log,
      payloadSha256: Buffer.from(named.payload, 'base64url').toString('hex'),
      file,
      sha256,
    }
  }

  /** The places of all archived messages. */
  sequences(): IterableIterator<number> {
    return this.#named.keys()
  }

  #take(
    { tenant, session_id, task_id, after, end, sequences, payloads }: LogPart,
    { file, sha256 }: Pick<ArchivedGap, 'file' | 'sha256'>,
  ): void {
    if (sequences.some((sequence) => this.#named.has(sequence))) return // V4
    const log = { tenant, session: session_id, task: task_id } as LogId
    const key = logKey(log)
    const gap = { log, after, end, messages: sequences.length, file, sha256 }
    for (const [i, sequence] of sequences.entries())
      this.#named.set(sequence, { gap, payload: payloads[i] ?? '' })
    this.#gaps.set(
      key,
      [...(this.#gaps.get(key) ?? []), gap].toSorted((a, b) => a.after.taskseq - b.after.taskseq),
    )
  }
}

function isSound({ after, end, sequences, payloads }: LogPart, revision: number): boolean {
  const rises = sequences.every((sequence, i) => sequence > (sequences[i - 1] ?? 0))
  return (
    rises &&
    sequences.length === payloads.length &&
    (sequences.at(-1) ?? revision) < revision &&
    after.taskseq < end.taskseq
  )
}

/**
 * The head of a log from which a record continues, if the messages between what was read and the record are
 * archived; `null` if they are not.
 *
 * @param gaps of the log
 * @param head the head after what was read. It may lie between archived messages, if these were deleted while
 * somebody read them
 * @example
 * const [first] = await journal.read(log)
 * const [record] = first === undefined ? [] : splitBatch(first.payload)
 * if (record !== undefined) headAcross([], emptyHead, record) // => null
 */
export function headAcross(
  gaps: readonly ArchivedGap[],
  head: LogHead,
  { taskseq, prevhash }: Pick<WireRecord, 'taskseq' | 'prevhash'>,
): LogHead | null {
  const last = gaps.find(({ end }) => end.taskseq === taskseq - 1 && end.hash === prevhash)
  let { after } = last ?? { after: null }
  // Several events may name the messages of one log. Each continues where the one before it ends.
  while (after !== null && after.taskseq > head.taskseq) {
    const { taskseq: due, hash } = after
    after = gaps.find(({ end }) => end.taskseq === due && end.hash === hash)?.after ?? null
  }
  if (last === undefined || after === null || head.taskseq >= last.end.taskseq) return null
  return after.taskseq === head.taskseq && after.hash !== head.hash ? null : last.end
}

/**
 * The archived messages that these events of the log `redactions` name. An event without a signature names
 * none, also in a journal without an operator.
 *
 * @example
 * const { ring } = await joinJournal('daemon', keyPorts)
 * archivedIn('local', [], ring).size // => 0
 */
export const archivedIn = (
  tenant: string,
  events: readonly RecordedSystemEvent[],
  ring: KeyRing,
): ArchivedMessages =>
  new ArchivedMessages(
    tenant,
    events.filter(
      (event) =>
        event.type === 'messages_archived' &&
        ring.faultOf('redactions', { ...event, lastHash: event.hash }) === null,
    ),
  )

/** A message that goes to an archive. */
export interface ArchivableMessage {
  readonly sequence: number
  /** In base64url. */
  readonly payloadSha256: string
  /** The head of the log after the message. */
  readonly head: LogHead
}

/** The messages of a log that go to an archive: all between its first and its last one. */
export interface ArchivableLog {
  readonly log: LogId
  /** The last record before the messages. */
  readonly after: Pick<LogHead, 'taskseq' | 'hash'>
  readonly messages: readonly ArchivableMessage[]
}

/** An event has at most this many bytes: what a record may hold, less what surrounds the logs. */
const eventBytesMax = inlineBytesMax - 4_096
const messagesMax = 500

/**
 * The data of as few events as possible that name these messages. A log with very many messages is in several
 * events, one after the other.
 *
 * @example
 * archiveEvents({ file: '/archive/a.ndjson', file_sha256: 'f'.repeat(64), by: 'ada' }, []) // => []
 */
export function archiveEvents(
  archive: Omit<SystemDataOf<'messages_archived'>, 'logs'>,
  logs: readonly ArchivableLog[],
): SystemDataOf<'messages_archived'>[] {
  const events: LogPart[][] = []
  let bytes = Infinity
  for (const part of logs.flatMap(partsOf)) {
    const size = Buffer.byteLength(canonicalJson(part)) + 1
    if (bytes + size > eventBytesMax) {
      events.push([])
      bytes = 0
    }
    events.at(-1)?.push(part)
    bytes += size
  }
  return events.map((parts) => ({ ...archive, logs: parts }))
}

function partsOf({ log, after, messages }: ArchivableLog): LogPart[] {
  const parts: LogPart[] = []
  let before = after
  for (let from = 0; from < messages.length; from += messagesMax) {
    const some = messages.slice(from, from + messagesMax)
    const end = some.at(-1)?.head
    if (end === undefined) break
    parts.push({
      ...{
        tenant: log.tenant,
        session_id: log.session,
        task_id: log.task,
        after: { taskseq: before.taskseq, hash: before.hash },
        end: { ...end },
      },
      sequences: some.map(({ sequence }) => sequence),
      payloads: some.map(({ payloadSha256 }) => payloadSha256),
    })
    before = end
  }
  return parts
}
