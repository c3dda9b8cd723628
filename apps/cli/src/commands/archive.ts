// `beaver archive`: moves ended tasks from the journal to files, after it has checked the files. A session is
// archived as a whole, when all its tasks have ended before the given time, because the order of a session is
// checked with it. For each file, the command writes and syncs the file, reads it again and checks it, and
// writes a signed event for each task (`task_archived`). After all files, it writes signed events that name
// each message to delete (`messages_archived`), and deletes these messages. The files come before the
// deletions, because the read model is built again when messages are named, and lists few sessions until it
// is complete. The command may be interrupted at any point: the next archive completes the work.
// The first and the last entry of each task stay in the journal, so that its id stays taken and its session
// keeps its history. A message is deleted only while its file is where it was written, with the same content.
// A task whose log does not verify is reported and left out; the other tasks are archived. A stream of an
// earlier version refuses deletions, so an archive of it is a copy.
import { type LogId, pause, systemClock } from '@beaver/core'
import {
  appendSystemEvents,
  type ArchivableLog,
  type ArchivedMessages,
  archiveEvents,
  headBefore,
  newestRecord,
  operatorSigner,
  readKeyRing,
  RemovalLog,
} from '@beaver/core/journal'
import { archivableOf, callerName, deleteArchived, journalReader, mayShorten } from '@beaver/nats'
import { connect, type Connection } from '../connection.ts'
import { contextOf, type GlobalOptions } from '../context.ts'
import type { Screen } from '../screen.ts'
import {
  archiveCopies,
  type ArchivedFile,
  archivedTasks,
  type ArchiveWork,
  orRefused,
  type Refused,
} from '../system/archive-copies.ts'
import { isStillThere } from '../system/archive-file.ts'
import { findSystem } from '../system/find-system.ts'
import { count, counted } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { progressOn } from '../view/progress.ts'
import { keyPortsOf } from './keys.ts'
import { sinceWhen } from './since-when.ts'

export interface ArchiveOptions {
  readonly before: string
  readonly out: string
  readonly copy?: true
  readonly json?: true
}

export async function archive(options: ArchiveOptions, globals: GlobalOptions): Promise<number> {
  const { config, screen } = contextOf(globals)
  const before = sinceWhen(options.before, Date.now(), '--before')
  const system = findSystem(config, 'operator')
  await using connection = await connect(system)
  const ports = await keyPortsOf(connection, config)
  const signer = await operatorSigner(ports)
  const work = {
    connection,
    ports,
    by: callerName(system.url, system.login),
    writer: { source: '/beaver/operator', now: ports.now, ...signer },
  }
  const progress = progressOn(screen, options.json !== true)
  const refused: Refused[] = []
  const files: ArchivedFile[] = []
  let removed: Removal
  try {
    await archiveCopies(work, {
      ...{ before, folder: options.out, refused },
      onProgress: (done, all) =>
        progress.say(
          `Archiving: session ${count(done)} of ${count(all)}, ${counted(files.length, 'file')} complete`,
        ),
      onFile: (file) => void files.push(file),
    })
    removed = await removeArchived(work, {
      ...{ isSigned: signer.sign !== undefined, copy: options.copy === true, refused },
      onProgress: (done, all) =>
        progress.say(`Removing from the journal: task ${count(done)} of ${count(all)}`),
    })
  } catch (error) {
    progress.end()
    if (files.length > 0)
      screen.warn(
        `${counted(files.length, 'file')} of the archive ${files.length === 1 ? 'is' : 'are'} complete and recorded. Repeat the command to go on.`,
      )
    throw error
  }
  const behind =
    removed.removed === 0
      ? 0
      : await untilProjected(connection, (left) =>
          progress.say(`The projector reads again: ${counted(left, 'message')} left`),
        )
  progress.end()
  const [first] = files
  if (options.json === true)
    screen.json({
      file: first?.file ?? null,
      ...(first === undefined ? {} : { sha256: first.sha256 }),
      tasks: files.flatMap(({ tasks }) => tasks),
      files: files.map(({ file, sha256, sessions, tasks }) => ({
        file,
        sha256,
        sessions,
        tasks: tasks.length,
      })),
      ...removed,
      refused,
    })
  else screen.print(...linesOf(screen, { before, files, removed, refused, behind }))
  return removed.left === 0 && refused.length === 0 ? 0 : 1
}

const projectedMsMax = 60_000
const lookMs = 100

/**
 * Waits a bounded time until the projector has built its read model again. Returns how many messages it still
 * has to read.
 */
async function untilProjected({ client }: Connection, tell: (left: number) => void): Promise<number> {
  const end = Date.now() + projectedMsMax
  for (;;) {
    // Without a projector, there is nothing to wait for.
    const { behind } = await client.query('status').catch(() => ({ behind: 0 }))
    if (behind === 0 || Date.now() > end) return behind ?? 0
    tell(behind ?? 0)
    await pause(systemClock, lookMs, new AbortController().signal)
  }
}

interface Done {
  readonly before: string
  readonly files: readonly ArchivedFile[]
  readonly removed: Removal
  readonly refused: readonly Refused[]
  /** How many messages the projector still has to read. */
  readonly behind: number
}

function linesOf(
  { symbols, style }: Pick<Screen, 'symbols' | 'style'>,
  { before, files, removed, refused, behind }: Done,
): string[] {
  const { removed: deleted, left, kept, absent, rests_on: restsOn } = removed
  const sum = (of: (file: ArchivedFile) => number): number => files.reduce((all, file) => all + of(file), 0)
  const tasks = sum(({ tasks }) => tasks.length)
  const earlier = restsOn.filter((file) => !files.some((each) => each.file === file))
  return [
    ...(files.length === 0 ? [`No session ended before ${before} that is not archived yet.`] : []),
    ...files.flatMap(({ file, sha256, sessions, tasks }) => [
      `${symbols.done} ${counted(tasks.length, 'task')} of ${counted(sessions, 'session')} in ${file}`,
      `The file was read again and checked. SHA-256 ${sha256}`,
    ]),
    ...(files.length > 1
      ? [
          `${counted(tasks, 'task')} of ${counted(
            sum(({ sessions }) => sessions),
            'session',
          )} in ${counted(files.length, 'file')}.`,
        ]
      : []),
    ...(kept !== null && files.length > 0 ? [`The journal keeps the messages: ${kept}.`] : []),
    ...(deleted > 0
      ? [
          `${counted(deleted, 'message')} removed from the journal. The first and the last entry of each task stay.`,
        ]
      : []),
    ...(kept === null && tasks > 0 && deleted <= tasks
      ? [
          `${counted(tasks, 'message')} added to the journal, one for each task. Tasks as short as these make it no smaller.`,
        ]
      : []),
    ...earlier.map(
      (file) =>
        `The removal also rests on ${file}, from an earlier run of this command. Keep this file, too.`,
    ),
    ...(behind > 0
      ? [
          `The projector builds its read model again. It has ${counted(behind, 'message')} left; until then, some tasks are not shown.`,
        ]
      : []),
    ...refused.map(({ task_id, message }) =>
      style.red(`The task ${oneLine(task_id)} is not archived: ${oneLine(message)}`),
    ),
    ...absent.map(
      (file) =>
        `The tasks of ${file} stay in the journal, because the file is not there any more, or was changed.`,
    ),
    ...(left > 0
      ? [
          style.red(
            `${counted(left, 'message')} could not be removed: the file of their archive is not there any more, or its content or theirs was changed. Put the file back and repeat the command.`,
          ),
        ]
      : []),
  ]
}

// The removal part of `beaver archive`: it writes events, signed by the operator, that name the messages in
// files, and deletes the named messages. It also completes archives that were interrupted. It works in
// portions of a bounded size.

interface Place {
  readonly file: string
  readonly sha256: string
}

/** What happened to the messages. */
interface Removal {
  /** How many messages were deleted. */
  readonly removed: number
  /**
   * How many messages are named and still in the journal, because their file is missing or has another
   * content.
   */
  readonly left: number
  /**
   * The reason why nothing was deleted, in words; `null` if the command deleted, or had nothing to delete.
   */
  readonly kept: string | null
  /** The files that are missing or were changed. Their tasks stay in the journal. */
  readonly absent: readonly string[]
  /** The files whose messages were named or deleted now, including those of an interrupted archive. */
  readonly rests_on: readonly string[]
}

interface RemovalOf {
  readonly isSigned: boolean
  readonly copy: boolean
  /** Receives the tasks that are left out. */
  readonly refused: Refused[]
  /**
   * How many messages are collected, at least, before the events that name them are written. Default: 10,000.
   */
  readonly messagesMax?: number
  /** Called after each task whose messages were named. */
  readonly onProgress?: (done: number, all: number) => void
}

/** Names the messages in files that are not named yet, and deletes all named messages. */
export async function removeArchived(work: ArchiveWork, of: RemovalOf): Promise<Removal> {
  const { nc, subjects } = work.connection
  const kept = of.copy
    ? '--copy was given'
    : !of.isSigned
      ? 'the journal has no operator, so nobody can sign what may be deleted'
      : (await mayShorten(nc, subjects))
        ? null
        : `an earlier version made the stream ${subjects.stream} with the setting deny_delete, which cannot be taken back`
  if (kept !== null) return { removed: 0, left: 0, kept, absent: [], rests_on: [] }
  const files = new Map<string, Promise<boolean>>()
  const restsOn = new Set<string>()
  const isThere = async (place: Place): Promise<boolean> => {
    const known = files.get(place.sha256 + place.file) ?? isStillThere(place)
    files.set(place.sha256 + place.file, known)
    if (await known) restsOn.add(place.file)
    return await known
  }
  const absent = await nameMessages(work, isThere, of)
  const archived = await archivedNow(work)
  const { deleted, left } =
    archived.size === 0
      ? { deleted: 0, left: 0 }
      : await deleteArchived(nc, subjects, { archived, mayDelete: isThere })
  return { removed: deleted, left, kept, absent, rests_on: [...restsOn] }
}

const archivedNow = async ({ ports, connection }: ArchiveWork): Promise<ArchivedMessages> =>
  (await new RemovalLog(connection.tenant, ports.log, () => readKeyRing(ports)).now()).archived

const portionMessages = 10_000

/**
 * Writes the events that name the messages of archived tasks. Returns the files that are missing or were
 * changed.
 */
async function nameMessages(
  work: ArchiveWork,
  isThere: (place: Place) => Promise<boolean>,
  { refused, messagesMax = portionMessages, onProgress }: RemovalOf,
): Promise<readonly string[]> {
  const { nc, subjects } = work.connection
  const archived = await archivedNow(work)
  const reader = await journalReader(nc, subjects)
  const tasks = await archivedTasks(work)
  const absent = new Set<string>()
  let portion: Portion = { place: { file: '', sha256: '' }, logs: [] }
  for (const [i, { log, hash, file, sha256 }] of tasks.entries()) {
    onProgress?.(i + 1, tasks.length)
    if (isNamed(archived, log, await reader.last(log))) continue
    const parts = await orRefused(log.task, refused, () =>
      archivableOf(nc, subjects, { log, hash }, archived),
    )
    if (parts === null || parts.length === 0) continue
    if (!(await isThere({ file, sha256 }))) {
      absent.add(file)
      continue
    }
    const isOther = portion.place.file !== file || portion.place.sha256 !== sha256
    if (isOther || messagesIn(portion) >= messagesMax) {
      await writePortion(work, portion)
      portion = { place: { file, sha256 }, logs: [] }
    }
    portion.logs.push(...parts)
  }
  await writePortion(work, portion)
  return [...absent]
}

interface Portion {
  readonly place: Place
  readonly logs: ArchivableLog[]
}

const messagesIn = ({ logs }: Portion): number => logs.reduce((sum, { messages }) => sum + messages.length, 0)

async function writePortion(
  { ports, by, writer }: ArchiveWork,
  { place: { file, sha256 }, logs }: Portion,
): Promise<void> {
  const events = archiveEvents({ file, file_sha256: sha256, by }, logs)
  await appendSystemEvents(
    ports.log,
    'redactions',
    events.map((data) => ({ type: 'messages_archived' as const, data })),
    writer,
  )
}

/** Whether all messages before the last entry are named. */
function isNamed(archived: ArchivedMessages, log: LogId, last: Parameters<typeof headBeforeOf>[0]): boolean {
  const before = headBeforeOf(last)
  return archived.gapsOf(log).some(({ end }) => end.hash === before)
}

function headBeforeOf(last: Parameters<typeof newestRecord>[0] | null): string | null {
  return last === null || newestRecord(last) === null ? null : headBefore(last).hash
}
