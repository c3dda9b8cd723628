// Shortens the journal in two steps, which `beaver archive` calls in this order: name the messages of
// archived tasks in signed events, then delete the named messages. Both steps can be repeated, so the next
// archive completes an interrupted one. The server's answers decide, not the read model.
import { BeaverError, isTerminalTaskEvent, type LogId, logKey } from '@beaver/core'
import {
  type ArchivableLog,
  type ArchivedMessages,
  emptyHead,
  eventTypeOf,
  foreignFault,
  headAcross,
  headAfter,
  type LogHead,
  placeFault,
  splitBatch,
} from '@beaver/core/journal'
import { jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/nats-core'
import { createHash } from 'node:crypto'
import { entriesOf } from './journal-reader.ts'
import type { Found } from './leader-read.ts'
import { lookAt, lookAtDeleted } from './stream-pulse.ts'
import type { Subjects } from './subjects.ts'

export interface ArchivedHead {
  readonly log: LogId
  readonly hash: string
}

/** Whether the server deletes messages of the journal. A stream of an earlier version never does. */
export async function mayShorten(nc: NatsConnection, { stream }: Subjects): Promise<boolean> {
  const look = await lookAt(nc, stream)
  if (look.kind !== 'there')
    throw new BeaverError('unreachable', `The journal stream ${stream} does not answer.`)
  return look.config['deny_delete'] !== true
}

/**
 * The messages of a task that can be named: those between its first and its last entry that no event names
 * yet. The log is verified first, up to the head that the archive has.
 *
 * @throws {BeaverError} `corrupt_journal` if the log does not verify, `conflict` if it does not end with the
 * head of the archive or has not ended
 */
export async function archivableOf(
  nc: NatsConnection,
  subjects: Subjects,
  { log, hash }: ArchivedHead,
  archived: ArchivedMessages,
): Promise<readonly ArchivableLog[]> {
  const jsm = await jetstreamManager(nc, { checkAPI: false, timeout: 10_000 })
  const entries: Found[] = []
  for await (const entry of entriesOf(nc, jsm, subjects, log)) entries.push(entry)
  const parts: { after: LogHead; messages: ArchivableLog['messages'][number][] }[] = []
  let head: LogHead = emptyHead
  let type: string | null = null
  let part: (typeof parts)[number] | null = null
  for (const [i, entry] of entries.entries()) {
    if (archived.has(entry.revision)) continue
    const before = head
    ;({ head, type } = verified(log, head, entry, archived))
    const continues = before === part?.messages.at(-1)?.head
    if (i === 0 || i === entries.length - 1) continue
    if (part === null || !continues) parts.push((part = { after: startOf(entry), messages: [] }))
    part.messages.push({
      sequence: entry.revision,
      payloadSha256: createHash('sha256').update(entry.payload).digest('base64url'),
      head,
    })
  }
  if (head.hash !== hash || type === null || !isTerminalTaskEvent(type))
    throw new BeaverError(
      'conflict',
      `The log of the task ${log.task} does not end with the record that its archive has as its end.`,
    )
  return parts.map(({ after, messages }) => ({ log, after, messages }))
}

/** The head of a log before a verified entry, as the entry says. */
function startOf({ payload }: Found): LogHead {
  const [first] = splitBatch(payload)
  return { taskseq: (first?.taskseq ?? 1) - 1, epoch: first?.epoch ?? 0, hash: first?.prevhash ?? '' }
}

function verified(
  log: LogId,
  from: LogHead,
  entry: Found,
  archived: ArchivedMessages,
): { readonly head: LogHead; readonly type: string | null } {
  const broken = (why: string): BeaverError =>
    new BeaverError(
      'corrupt_journal',
      `The log of the task ${log.task} is broken: ${why}. See "beaver check".`,
    )
  const foreign = foreignFault(entry)
  if (foreign !== null) throw broken(foreign)
  let head = from
  let type: string | null = null
  for (const record of splitBatch(entry.payload)) {
    if (record.taskseq > head.taskseq + 1) head = headAcross(archived.gapsOf(log), head, record) ?? head
    const fault = placeFault(log, head, record)
    if (fault !== null) throw broken(fault.message)
    head = headAfter(record)
    type = eventTypeOf(record)
  }
  return { head, type }
}

export interface Removed {
  readonly deleted: number
  /** How many named messages stay: their file was refused, or their content is not that of the event. */
  readonly left: number
}

/**
 * Deletes the named messages that are still there and have the content that the event says.
 *
 * @param removal.mayDelete whether the messages of this file may be deleted: the file is in its place and has its
 * SHA-256
 * @throws {BeaverError} `unreachable`, `not_allowed`
 */
export async function deleteArchived(
  nc: NatsConnection,
  subjects: Subjects,
  removal: {
    readonly archived: ArchivedMessages
    readonly mayDelete: (file: { readonly file: string; readonly sha256: string }) => Promise<boolean>
  },
): Promise<Removed> {
  const jsm = await jetstreamManager(nc, { checkAPI: false, timeout: 10_000 })
  const { look, deleted: gone } = await lookAtDeleted(nc, subjects.stream)
  if (look.kind !== 'there')
    throw new BeaverError('unreachable', `The journal stream ${subjects.stream} does not answer.`)
  let [deleted, left] = [0, 0]
  for (const log of logsStillThere(removal.archived, new Set(gone))) {
    const places: number[] = []
    for await (const { revision, payload } of entriesOf(nc, jsm, subjects, log)) {
      const named = removal.archived.at(revision)
      if (named === null) continue
      const isSame =
        logKey(named.log) === logKey(log) &&
        named.payloadSha256 === createHash('sha256').update(payload).digest('hex')
      if (isSame && (await removal.mayDelete(named))) places.push(revision)
      else left++
    }
    // The bytes are not overwritten, which takes 4 ms for each message. The server frees them later.
    for (let from = 0; from < places.length; from += atOnceMax)
      await Promise.all(
        places
          .slice(from, from + atOnceMax)
          .map((sequence) => jsm.streams.deleteMessage(subjects.stream, sequence, false)),
      )
    deleted += places.length
  }
  return { deleted, left }
}

const atOnceMax = 100

function logsStillThere(archived: ArchivedMessages, gone: ReadonlySet<number>): Iterable<LogId> {
  const logs = new Map<string, LogId>()
  for (const sequence of archived.sequences()) {
    const named = gone.has(sequence) ? null : archived.at(sequence)
    if (named !== null) logs.set(logKey(named.log), named.log)
  }
  return logs.values()
}
