// `beaver archive`: moves ended tasks from the journal to a file, which it proves to be whole.
// A1. A session is archived as a whole, when all of its tasks have ended before the given time: the order of a session is checked with it.
// A2. The order is: the file, synced; the file read again and checked; a signed event for each task (`task_archived`); signed events that name each message
//     that goes (`messages_archived`); the deletion. It may be interrupted anywhere: the next archive completes it.
// A3. The first and the last entry of each task stay: the id stays taken, and the session keeps its history.
// A4. A message is deleted only while its file is where it was written, with the same content.
// A5. A task whose log does not verify is left out and named. It does not keep the others from being archived.
// A6. A stream of an earlier version refuses deletions. There an archive is a copy.
import { resolve } from 'node:path'
import type { TaskSummary } from '@beaver/contracts'
import {
  appendSystemEvents,
  type ArchivableLog,
  archiveEvents,
  type ArchivedMessages,
  BeaverError,
  eventTypeOf,
  headBefore,
  isTerminalTaskEvent,
  type KeyPorts,
  type LogId,
  newestRecord,
  operatorSigner,
  pause,
  readKeyRing,
  readTrustedEvents,
  RemovalLog,
  systemClock,
  type SystemWriter,
} from '@beaver/core'
import { archivableOf, callerName, deleteArchived, journalReader, mayShorten } from '@beaver/nats'
import { type Connection, connect } from '../connection.ts'
import { contextOf, type GlobalOptions } from '../context.ts'
import type { Screen } from '../screen.ts'
import { type Head, isStillThere, verifiedArchive, writeArchive } from '../system/archive-file.ts'
import { findSystem } from '../system/find-system.ts'
import { sessionsJournal } from '../system/journal-source.ts'
import { counted } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { keyPortsOf } from './keys.ts'
import { sinceWhen } from './since-when.ts'

export interface ArchiveOptions {
  readonly before: string
  readonly out: string
  readonly copy?: true
  readonly json?: true
}

const sessionsMax = 1_000

export async function archive(options: ArchiveOptions, globals: GlobalOptions): Promise<number> {
  const { config, screen } = contextOf(globals)
  const before = sinceWhen(options.before, Date.now(), '--before')
  const system = findSystem(config, 'operator')
  await using connection = await connect(system)
  const ports = await keyPortsOf(connection, config)
  const signer = await operatorSigner(ports)
  const work = { connection, ports, by: callerName(system.url, system.login), writer: { source: '/beaver/operator', now: ports.now, ...signer } }
  const refused: Refused[] = []
  const heads = await headsToArchive(work, before, refused)
  const written = heads.length === 0 ? null : await writeAndRecord(work, heads, options.out)
  const removed = await remove(work, { isSigned: signer.sign !== undefined, copy: options.copy === true, refused })
  const behind = removed.removed === 0 ? 0 : await untilProjected(connection)
  if (options.json === true)
    screen.json({
      file: written?.file ?? null,
      ...(written === null ? {} : { sha256: written.sha256 }),
      tasks: heads.map(({ log }) => log.task),
      ...removed,
      refused,
    })
  else screen.print(...linesOf(screen, { before, heads, written, removed, refused, behind }))
  return removed.left === 0 && refused.length === 0 ? 0 : 1
}

interface Work {
  readonly connection: Connection
  readonly ports: KeyPorts
  readonly by: string
  readonly writer: SystemWriter
}

/** A task that is not archived because of its log. */
interface Refused {
  readonly task_id: string
  readonly message: string
}

/** A file, and its SHA-256. */
interface Written {
  readonly file: string
  readonly sha256: string
}

/** The file with the sessions of these tasks. It is checked, and it is part of the record. */
async function writeAndRecord({ connection, ports, by, writer }: Work, heads: readonly Head[], out: string): Promise<Written> {
  const sessions = [...new Map(heads.map(({ log }) => [log.session, log])).values()]
  const source = await sessionsJournal(connection, sessions)
  const file = await writeArchive(source, resolve(out), new Date().toISOString())
  const sha256 = await verifiedArchive(file, heads)
  const events = heads.map(({ log, taskseq, hash }) => ({
    type: 'task_archived' as const,
    data: { tenant: log.tenant, session_id: log.session, task_id: log.task, taskseq, hash, file, file_sha256: sha256, by },
  }))
  await appendSystemEvents(ports.log, 'redactions', events, writer)
  return { file, sha256 }
}

/** What became of the messages. */
interface Removal {
  /** How many messages were deleted. */
  readonly removed: number
  /** How many messages are named and still there, because their file is not where it was written, or has another content. */
  readonly left: number
  /** Why nothing was deleted, in words; `null` if it was tried. */
  readonly kept: string | null
  /** The files that are not where they were written. Their tasks stay in the journal. */
  readonly absent: readonly string[]
}

/** Names what is in files and not named yet, and deletes what is named. */
async function remove(
  work: Work,
  { isSigned, copy, refused }: { readonly isSigned: boolean; readonly copy: boolean; readonly refused: Refused[] },
): Promise<Removal> {
  const { nc, subjects } = work.connection
  const kept = copy
    ? '--copy was given'
    : !isSigned
      ? 'the journal has no operator, so nobody can sign what may be deleted'
      : (await mayShorten(nc, subjects))
        ? null
        : `an earlier version made the stream ${subjects.stream} with the setting deny_delete, which cannot be taken back`
  if (kept !== null) return { removed: 0, left: 0, kept, absent: [] }
  const files = new Map<string, Promise<boolean>>()
  const isThere = (of: Written): Promise<boolean> => {
    const known = files.get(of.sha256 + of.file) ?? isStillThere(of)
    files.set(of.sha256 + of.file, known)
    return known
  }
  const absent = await nameMessages(work, isThere, refused)
  const archived = await archivedNow(work)
  const { deleted, left } = archived.size === 0 ? { deleted: 0, left: 0 } : await deleteArchived(nc, subjects, { archived, mayDelete: isThere })
  return { removed: deleted, left, kept, absent }
}

const archivedNow = async ({ ports, connection }: Work): Promise<ArchivedMessages> =>
  (await new RemovalLog(connection.tenant, ports.log, () => readKeyRing(ports)).now()).archived

/** Writes the events that name the messages of archived tasks. Returns the files that are not there. */
async function nameMessages(work: Work, isThere: (of: Written) => Promise<boolean>, refused: Refused[]): Promise<readonly string[]> {
  const { connection, ports, by, writer } = work
  const { nc, subjects } = connection
  const archived = await archivedNow(work)
  const reader = await journalReader(nc, subjects)
  const byFile = new Map<string, { readonly of: Written; readonly logs: ArchivableLog[] }>()
  const absent = new Set<string>()
  for (const { log, hash, file, sha256 } of await archivedTasks(work)) {
    if (isNamed(archived, log, await reader.last(log))) continue
    const parts = await orRefused(log.task, refused, () => archivableOf(nc, subjects, { log, hash }, archived))
    if (parts === null || parts.length === 0) continue
    const of = { file, sha256 }
    if (!(await isThere(of))) {
      absent.add(file)
      continue
    }
    const found = byFile.get(file + sha256) ?? { of, logs: [] }
    byFile.set(file + sha256, found)
    found.logs.push(...parts)
  }
  for (const { of, logs } of byFile.values()) {
    const events = archiveEvents({ file: of.file, file_sha256: of.sha256, by }, logs)
    await appendSystemEvents(
      ports.log,
      'redactions',
      events.map((data) => ({ type: 'messages_archived' as const, data })),
      writer,
    )
  }
  return [...absent]
}

/** What a log gives; `null` if the log does not verify, which is noted. */
async function orRefused<T>(task: string, refused: Refused[], look: () => Promise<T> | T): Promise<T | null> {
  try {
    return await look()
  } catch (error) {
    if (!(error instanceof BeaverError && (error.code === 'corrupt_journal' || error.code === 'conflict'))) throw error
    if (!refused.some(({ task_id }) => task_id === task)) refused.push({ task_id: task, message: error.message })
    return null
  }
}

/** Whether all messages before the last entry are named. */
function isNamed(archived: ArchivedMessages, log: LogId, last: Parameters<typeof headBeforeOf>[0]): boolean {
  const before = headBeforeOf(last)
  return archived.gapsOf(log).some(({ end }) => end.hash === before)
}

function headBeforeOf(last: Parameters<typeof newestRecord>[0] | null): string | null {
  return last === null || newestRecord(last) === null ? null : headBefore(last).hash
}

interface ArchivedTask extends Written {
  readonly log: LogId
  readonly hash: string
}

/** The tasks that are in a file, each with its newest file. */
async function archivedTasks({ ports, connection }: Pick<Work, 'ports' | 'connection'>): Promise<readonly ArchivedTask[]> {
  const tasks = new Map<string, ArchivedTask>()
  for (const event of await readTrustedEvents('redactions', ports.log, await readKeyRing(ports))) {
    if (event.type !== 'task_archived' || event.data.tenant !== connection.tenant) continue
    const { tenant, session_id: session, task_id: task, hash, file, file_sha256: sha256 } = event.data
    tasks.set(hash, { log: { tenant, session, task } as LogId, hash, file, sha256 })
  }
  return [...tasks.values()]
}

/** The heads of the tasks to archive, oldest session first. A task that is in a file already is left out. */
async function headsToArchive(work: Work, before: string, refused: Refused[]): Promise<Head[]> {
  const { connection } = work
  const { nc, subjects } = connection
  const sessions = new Map<string, TaskSummary[]>()
  for (let cursor: number | undefined; ;) {
    const answer = await connection.client.query('tasks', { tenant: connection.tenant, limit: 200, ...(cursor === undefined ? {} : { before: cursor }) })
    for (const task of answer.tasks) sessions.set(task.session_id, [...(sessions.get(task.session_id) ?? []), task])
    if (!answer.more || answer.next === null) break
    cursor = answer.next
  }
  const ended = [...sessions.values()].filter((tasks) => tasks.every(({ ended_at: at }) => at !== null && at < before)).toReversed()
  const reader = await journalReader(nc, subjects)
  const archived = new Set((await archivedTasks(work)).map(({ hash }) => hash))
  const heads: Head[] = []
  let taken = 0
  for (const tasks of ended) {
    const ofSession = await Promise.all(
      tasks.toReversed().map((task) => orRefused(task.task_id, refused, async () => headOf(task, await reader.last(logOf(task))))),
    )
    const whole = ofSession.filter((head) => head !== null)
    const fresh = whole.length < ofSession.length ? [] : whole.filter(({ hash }) => !archived.has(hash))
    if (fresh.length === 0) continue
    heads.push(...fresh)
    if (++taken === sessionsMax) break
  }
  return heads
}

const logOf = ({ tenant, session_id: session, task_id: task }: TaskSummary): LogId => ({ tenant, session, task }) as LogId

function headOf(task: TaskSummary, last: Parameters<typeof newestRecord>[0] | null): Head {
  if (last === null) throw new BeaverError('corrupt_journal', `The read model has the task ${task.task_id}, and the journal does not.`)
  const newest = newestRecord(last)
  if (newest === null) throw new BeaverError('corrupt_journal', `The log of the task ${task.task_id} ends with a message that is no record.`)
  if (!isTerminalTaskEvent(eventTypeOf(newest) ?? ''))
    throw new BeaverError('corrupt_journal', `The read model says that the task ${task.task_id} has ended, and the journal does not. See "beaver audit".`)
  const { taskseq, hash } = newest
  return { log: logOf(task), taskseq, hash }
}

const projectedMsMax = 60_000
const lookMs = 100

/** Waits for a while until the projector has built its read model again. Returns how many messages it has left. */
async function untilProjected({ client }: Connection): Promise<number> {
  const end = Date.now() + projectedMsMax
  for (;;) {
    const { behind } = await client.query('status').catch(() => ({ behind: 0 })) // Without a projector there is nothing to wait for.
    if (behind === 0 || Date.now() > end) return behind ?? 0
    await pause(systemClock, lookMs, new AbortController().signal)
  }
}

interface Done {
  readonly before: string
  readonly heads: readonly Head[]
  readonly written: Written | null
  readonly removed: Removal
  readonly refused: readonly Refused[]
  /** How many messages the projector has still to read again. */
  readonly behind: number
}

function linesOf({ symbols, style }: Pick<Screen, 'symbols' | 'style'>, { before, heads, written, removed, refused, behind }: Done): string[] {
  const sessions = new Set(heads.map(({ log }) => log.session)).size
  const { removed: deleted, left, kept, absent } = removed
  return [
    ...(written === null
      ? [`No session ended before ${before} that is not archived yet.`]
      : [
          `${symbols.done} ${counted(heads.length, 'task')} of ${counted(sessions, 'session')} in ${written.file}`,
          `The file was read again and checked. SHA-256 ${written.sha256}`,
        ]),
    ...(kept !== null && written !== null ? [`The journal keeps the messages: ${kept}.`] : []),
    ...(deleted > 0 ? [`${counted(deleted, 'message')} removed from the journal. The first and the last entry of each task stay.`] : []),
    ...(behind > 0 ? [`The projector builds its read model again. It has ${counted(behind, 'message')} left; until then, some tasks are not shown.`] : []),
    ...refused.map(({ task_id, message }) => style.red(`The task ${oneLine(task_id)} is not archived: ${oneLine(message)}`)),
    ...absent.map((file) => `The tasks of ${file} stay in the journal, because the file is not there any more, or was changed.`),
    ...(left > 0
      ? [
          style.red(
            `${counted(left, 'message')} could not be removed: the file of their archive is not there any more, or its content or theirs was changed. Put the file back and repeat the command.`,
          ),
        ]
      : []),
  ]
}
