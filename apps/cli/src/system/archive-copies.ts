// The files of `beaver archive`: chooses the sessions, and writes the files with them. It works in steps of a
// bounded size. A step is one file, which is checked and recorded before the next step begins, so that an
// interruption loses no step and the next run continues. A session is never split between files; a session
// that is larger than a step gets a file of its own. Memory holds the id of each session, the hash of each
// archived task, and the heads of the tasks of one step. A file that fails its check is removed, and written
// again without the sessions whose logs are at fault.
import { rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { TaskSummary } from '@beaver/contracts'
import { BeaverError, isTerminalTaskEvent, type LogId } from '@beaver/core'
import {
  appendSystemEvents,
  eventTypeOf,
  type KeyPorts,
  newestRecord,
  readKeyRing,
  readTrustedEvents,
  type SystemWriter,
} from '@beaver/core/journal'
import { type JournalReader, journalReader } from '@beaver/nats'
import type { Connection } from '../connection.ts'
import { ArchiveFault, type Head, verifiedArchive, writeArchive } from './archive-file.ts'
import { sessionsJournal } from './journal-source.ts'

/** What the steps of an archive need: the connection, the keys, and the writer of signed events. */
export interface ArchiveWork {
  readonly connection: Connection
  readonly ports: KeyPorts
  /** The name of the caller, which the events record. */
  readonly by: string
  readonly writer: SystemWriter
}

/** A task that is not archived because its log is at fault. */
export interface Refused {
  readonly task_id: string
  readonly message: string
}

/** A written file with its SHA-256, the number of its sessions and the ids of its tasks. */
export interface ArchivedFile {
  readonly file: string
  readonly sha256: string
  readonly sessions: number
  readonly tasks: readonly string[]
}

/** The bounds of one file. A file ends with the session that reaches a bound. */
export interface StepBounds {
  readonly sessionsMax: number
  readonly eventsMax: number
}

const stepBounds: StepBounds = { sessionsMax: 1_000, eventsMax: 200_000 }

/** Which sessions are copied, and where. */
export interface CopiesOf {
  /** An ISO time. Sessions are archived if all their tasks ended before it. */
  readonly before: string
  readonly folder: string
  /** Receives the tasks that are left out. */
  readonly refused: Refused[]
  /** Default: `stepBounds`. */
  readonly bounds?: StepBounds
  /** Called after each session. */
  readonly onProgress?: (done: number, all: number) => void
  /** Called after each file that was checked and recorded. */
  readonly onFile?: (file: ArchivedFile) => void
}

/**
 * Writes, checks and records the files of all sessions that are not archived yet, the oldest session first.
 */
export async function archiveCopies(work: ArchiveWork, of: CopiesOf): Promise<readonly ArchivedFile[]> {
  const { bounds = stepBounds, before, folder, refused } = of
  const reader = await journalReader(work.connection.nc, work.connection.subjects)
  const archived = new Map((await archivedTasks(work)).map(({ hash, log }) => [hash, log.session]))
  const sessions = await endedSessions(work.connection, before, countsIn(archived.values()))
  const files: ArchivedFile[] = []
  let step: Head[] = []
  let taken = { sessions: 0, events: 0 }
  const end = async (): Promise<void> => {
    const heads = step
    step = []
    taken = { sessions: 0, events: 0 }
    const file = await writtenWithout(work, heads, { folder, refused })
    if (file === null) return
    files.push(file)
    of.onFile?.(file)
  }
  for (const [i, session] of sessions.entries()) {
    const heads = await headsOf(work.connection, session, { before, reader, refused })
    const fresh = heads.filter(({ hash }) => !archived.has(hash))
    if (fresh.length > 0) taken.sessions++
    for (const head of fresh) taken.events += head.taskseq
    step.push(...fresh)
    of.onProgress?.(i + 1, sessions.length)
    if (taken.sessions >= bounds.sessionsMax || taken.events >= bounds.eventsMax) await end()
  }
  await end()
  return files
}

function countsIn(sessions: Iterable<string>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const session of sessions) counts.set(session, (counts.get(session) ?? 0) + 1)
  return counts
}

const pageMax = 200

/**
 * The ids of the sessions that may be archived, the oldest first, without the sessions whose tasks are all in
 * files already.
 */
async function endedSessions(
  { client, tenant }: Connection,
  before: string,
  archived: ReadonlyMap<string, number>,
): Promise<string[]> {
  const ended: string[] = []
  for (let cursor: number | undefined; ;) {
    const answer = await client.query('sessions', {
      tenant,
      limit: pageMax,
      ...(cursor === undefined ? {} : { before: cursor }),
    })
    for (const { session_id: id, open, tasks, last_at: at } of answer.sessions)
      if (open === 0 && at !== null && at < before && (archived.get(id) ?? 0) < tasks) ended.push(id)
    if (!answer.more || answer.next === null) return ended.toReversed()
    cursor = answer.next
  }
}

type EndedTask = Pick<TaskSummary, 'tenant' | 'session_id' | 'task_id' | 'ended_at'>

/** The tasks of a session, the oldest first. */
async function tasksOf({ client, tenant }: Connection, session: string): Promise<EndedTask[]> {
  const tasks: EndedTask[] = []
  for (let cursor: number | undefined; ;) {
    const answer = await client.query('tasks', {
      tenant,
      session_id: session,
      limit: pageMax,
      ...(cursor === undefined ? {} : { before: cursor }),
    })
    tasks.push(
      ...answer.tasks.map(({ tenant, session_id, task_id, ended_at }) => ({
        tenant,
        session_id,
        task_id,
        ended_at,
      })),
    )
    if (!answer.more || answer.next === null) return tasks.toReversed()
    cursor = answer.next
  }
}

interface HeadsOf {
  readonly before: string
  readonly reader: JournalReader
  readonly refused: Refused[]
}

/**
 * The heads of the tasks of a session. Empty if a task has not ended before the given time, or if a log does
 * not verify; then `refused` receives the task.
 */
async function headsOf(
  connection: Connection,
  session: string,
  { before, reader, refused }: HeadsOf,
): Promise<readonly Head[]> {
  const tasks = await tasksOf(connection, session)
  if (!tasks.every(({ ended_at: at }) => at !== null && at < before)) return []
  const heads = await Promise.all(
    tasks.map((task) =>
      orRefused(task.task_id, refused, async () => headOf(task, await reader.last(logOf(task)))),
    ),
  )
  const whole = heads.filter((head) => head !== null)
  return whole.length < heads.length ? [] : whole
}

/** The result of `look`; `null` if the log of the task does not verify; then `refused` receives the task. */
export async function orRefused<T>(
  task: string,
  refused: Refused[],
  look: () => Promise<T> | T,
): Promise<T | null> {
  try {
    return await look()
  } catch (error) {
    if (!(error instanceof BeaverError && (error.code === 'corrupt_journal' || error.code === 'conflict')))
      throw error
    if (!refused.some(({ task_id }) => task_id === task))
      refused.push({ task_id: task, message: error.message })
    return null
  }
}

const logOf = ({ tenant, session_id: session, task_id: task }: EndedTask): LogId =>
  ({ tenant, session, task }) as LogId

function headOf(task: EndedTask, last: Parameters<typeof newestRecord>[0] | null): Head {
  if (last === null)
    throw new BeaverError(
      'corrupt_journal',
      `The read model has the task ${task.task_id}, and the journal does not.`,
    )
  const newest = newestRecord(last)
  if (newest === null)
    throw new BeaverError(
      'corrupt_journal',
      `The log of the task ${task.task_id} ends with a message that is no record.`,
    )
  if (!isTerminalTaskEvent(eventTypeOf(newest) ?? ''))
    throw new BeaverError(
      'corrupt_journal',
      `The read model says that the task ${task.task_id} has ended, and the journal does not. See "beaver audit".`,
    )
  const { taskseq, hash } = newest
  return { log: logOf(task), taskseq, hash }
}

/**
 * Writes the file with the sessions whose logs pass the check; returns `null` if none passes. `refused`
 * receives the tasks whose logs do not pass.
 */
async function writtenWithout(
  work: ArchiveWork,
  heads: readonly Head[],
  of: { readonly folder: string; readonly refused: Refused[] },
): Promise<ArchivedFile | null> {
  for (let left = heads; left.length > 0;) {
    try {
      return await writeAndRecord(work, left, of.folder)
    } catch (error) {
      const damaged =
        error instanceof ArchiveFault
          ? error.findings.filter(({ task_id: id }) => left.some(({ log }) => log.task === id))
          : []
      if (damaged.length === 0) throw error
      for (const { task_id: id, message } of damaged)
        if (id !== null && !of.refused.some(({ task_id: task }) => task === id))
          of.refused.push({ task_id: id, message })
      const sessions = new Set(
        left
          .filter(({ log }) => damaged.some(({ task_id: id }) => id === log.task))
          .map(({ log }) => log.session),
      )
      left = left.filter(({ log }) => !sessions.has(log.session))
    }
  }
  return null
}

/** Writes the file with the sessions of these tasks, checks it and records it. */
async function writeAndRecord(
  { connection, ports, by, writer }: ArchiveWork,
  heads: readonly Head[],
  folder: string,
): Promise<ArchivedFile> {
  const sessions = [...new Map(heads.map(({ log }) => [log.session, log])).values()]
  const source = await sessionsJournal(connection, sessions)
  const file = await writeArchive(source, resolve(folder), new Date().toISOString())
  const sha256 = await verifiedArchive(file, heads).catch(async (error: unknown) => {
    await rm(file, { force: true })
    throw error
  })
  const events = heads.map(({ log, taskseq, hash }) => ({
    type: 'task_archived' as const,
    data: {
      tenant: log.tenant,
      session_id: log.session,
      task_id: log.task,
      taskseq,
      hash,
      file,
      file_sha256: sha256,
      by,
    },
  }))
  await appendSystemEvents(ports.log, 'redactions', events, writer)
  return { file, sha256, sessions: sessions.length, tasks: heads.map(({ log }) => log.task) }
}

// The tasks that are in a file of an archive, according to signed events.

interface ArchivedTask {
  readonly log: LogId
  /** The hash of the last record of the task's log. */
  readonly hash: string
  readonly file: string
  readonly sha256: string
}

/** Each archived task with its newest file. */
export async function archivedTasks({
  ports,
  connection,
}: Pick<ArchiveWork, 'ports' | 'connection'>): Promise<readonly ArchivedTask[]> {
  const tasks = new Map<string, ArchivedTask>()
  for (const event of await readTrustedEvents('redactions', ports.log, await readKeyRing(ports))) {
    if (event.type !== 'task_archived' || event.data.tenant !== connection.tenant) continue
    const { tenant, session_id: session, task_id: task, hash, file, file_sha256: sha256 } = event.data
    tasks.set(hash, { log: { tenant, session, task } as LogId, hash, file, sha256 })
  }
  return [...tasks.values()]
}
