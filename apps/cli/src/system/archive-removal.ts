// The removal of `beaver archive`: names the messages that are in files, in events that the operator signs,
// and deletes what is named. It takes everything that is left, also of an archive that was interrupted, in
// portions of a bounded size.
import {
  type ArchivableLog,
  archiveEvents,
  type ArchivedMessages,
  appendSystemEvents,
  headBefore,
  type LogId,
  newestRecord,
  readKeyRing,
  RemovalLog,
} from '@beaver/core'
import { archivableOf, deleteArchived, journalReader, mayShorten } from '@beaver/nats'
import { type ArchiveWork, orRefused, type Refused } from './archive-copies.ts'
import { isStillThere } from './archive-file.ts'
import { archivedTasks } from './archived-tasks.ts'

interface Place {
  readonly file: string
  readonly sha256: string
}

/** What became of the messages. */
export interface Removal {
  /** How many messages were deleted. */
  readonly removed: number
  /**
   * How many messages are named and still there, because their file is not where it was written, or has
   * another content.
   */
  readonly left: number
  /** Why nothing was deleted, in words; `null` if it was tried. */
  readonly kept: string | null
  /** The files that are not where they were written. Their tasks stay in the journal. */
  readonly absent: readonly string[]
  /** The files with what was named or deleted now, also those of an archive that was interrupted. */
  readonly rests_on: readonly string[]
}

export interface RemovalOf {
  readonly isSigned: boolean
  readonly copy: boolean
  /** Receives the tasks that are left out. */
  readonly refused: Refused[]
  /** How many messages are named together, at least, before more is read. Default: 10,000. */
  readonly messagesMax?: number
  /** Called after each task whose messages are named. */
  readonly onProgress?: (done: number, all: number) => void
}

/** Names what is in files and not named yet, and deletes what is named. */
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

/** Writes the events that name the messages of archived tasks. Returns the files that are not there. */
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
