// `beaver archive`: moves ended tasks from the journal to files, which it proves to be whole. A session is
// archived as a whole, when all of its tasks have ended before the given time: the order of a session is
// checked with it. The order is, for each file: the file, synced; the file read again and checked; a signed
// event for each task (`task_archived`). Then, for all files: signed events that name each message that goes
// (`messages_archived`); the deletion. It may be interrupted anywhere: the next archive completes it. The
// files come first, because the read model is built again when messages are named, and lists few sessions
// until then. The first and the last entry of each task stay: the id stays taken, and the session keeps its
// history. A message is deleted only while its file is where it was written, with the same content. A task
// whose log does not verify is left out and named. It does not keep the others from being archived. A stream
// of an earlier version refuses deletions. There an archive is a copy.
import { operatorSigner, pause, systemClock } from '@beaver/core'
import { callerName } from '@beaver/nats'
import { type Connection, connect } from '../connection.ts'
import { contextOf, type GlobalOptions } from '../context.ts'
import type { Screen } from '../screen.ts'
import { archiveCopies, type ArchivedFile, type Refused } from '../system/archive-copies.ts'
import { type Removal, removeArchived } from '../system/archive-removal.ts'
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
 * Waits for a while until the projector has built its read model again. Returns how many messages it has
 * left.
 */
async function untilProjected({ client }: Connection, tell: (left: number) => void): Promise<number> {
  const end = Date.now() + projectedMsMax
  for (;;) {
    const { behind } = await client.query('status').catch(() => ({ behind: 0 })) // Without a projector there is nothing to wait for.
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
  /** How many messages the projector has still to read again. */
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
