// Makes a backup: a folder with the files of a home that Beaver cannot make again, a snapshot of each stream,
// and a manifest. The parts are copied in an order in which they fit each other, although the system may run.
// The marks, the checkpoints and the accounts of budgets come first, because they must not be newer than the
// journal: nobody would close the entry of a task that the journal does not have. The blobs follow the
// journal, because a blob is stored before the entry that refers to it. The memories, the wakes and the
// channels come last: if they have more than the journal, this is repeated or harmless; for example, a
// message of a chat is submitted again under the same id. The manifest is written at the end, so a folder
// without it is not a backup. Afterwards, all files are read again and compared with it. A backup that fails
// removes what it wrote.
import { chmod, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { BeaverError, messageOf } from '@beaver/core'
import { lastSequenceOf, snapshotStream, type StreamDescription, type Subjects } from '@beaver/nats'
import type { Connection } from '../connection.ts'
import { bytes } from '../text/figures.ts'
import {
  type BackupFile,
  checkedBackup,
  homeFiles,
  type Manifest,
  manifestName,
  manifestText,
} from './backup-manifest.ts'
import { growingFile, syncFolder, writeSynced } from './synced-file.ts'
import { makeFolder } from '@beaver/platform'

/** The streams of a tenant, the journal first. */
export const streamsOf = (subjects: Subjects): string[] => [
  subjects.stream,
  `OBJ_${subjects.blobBucket}`,
  `KV_${subjects.memoryBucket}`,
  `KV_${subjects.budgetBucket}`,
  subjects.wakeStream,
  subjects.channelStream,
]

/** The same, in the order in which a backup copies them. */
function inCopyOrder(subjects: Subjects): string[] {
  const early = `KV_${subjects.budgetBucket}`
  return [early, ...streamsOf(subjects).filter((name) => name !== early)]
}

/**
 * What is copied, and where. `version` is the version of Beaver. `onProgress` receives texts for a person.
 */
export interface BackupOf {
  readonly connection: Pick<Connection, 'nc' | 'subjects'>
  readonly home: string
  /** The folder of the backup. It must be empty or not exist. */
  readonly folder: string
  readonly version: string
  readonly onProgress?: (doing: string) => void
}

/** @throws {BeaverError} `wrong_state`, `stream_missing`, `unreachable`, `timeout` */
export async function makeBackup({
  connection,
  home,
  folder,
  version,
  onProgress = () => {},
}: BackupOf): Promise<Manifest> {
  const { nc, subjects } = connection
  await emptyFolder(folder)
  try {
    const made_at = new Date().toISOString()
    const files = await copyHome(home, folder)
    const streams: Manifest['streams'] = []
    for (const stream of inCopyOrder(subjects)) {
      const copied = await copyStream({ nc, folder, stream, onProgress })
      if (copied === null && stream === subjects.stream)
        throw new BeaverError(
          'stream_missing',
          `There is nothing to back up: the journal stream ${stream} does not exist.`,
        )
      if (copied === null) continue
      files.push(copied.file)
      streams.push({ ...copied.described, file: copied.file.path })
    }
    const order = streamsOf(subjects)
    streams.sort((a, b) => order.indexOf(a.config.name) - order.indexOf(b.config.name))
    const [journal] = streams
    if (journal !== undefined) await requireExplained(nc, subjects, journal)
    const { namespace, tenant } = subjects
    const text = manifestText({
      made_at,
      beaver_version: version,
      nats_server_version: nc.info?.version ?? '',
      namespace,
      tenant,
      streams,
      files,
    })
    // The folder becomes a backup when the manifest gets its final name.
    await writeSynced(join(folder, `${manifestName}.partial`), Buffer.from(text))
    for (const part of new Set([
      '.',
      'streams',
      ...files.map(({ path }) => path.slice(0, path.lastIndexOf('/'))),
    ]))
      await syncFolder(join(folder, part))
    await rename(join(folder, `${manifestName}.partial`), join(folder, manifestName))
    await syncFolder(folder)
    return await checkedBackup(folder, (read, all) => onProgress(`Reading again: ${percent(read, all)}`))
  } catch (cause) {
    for (const part of [manifestName, `${manifestName}.partial`, 'home', 'streams'])
      await rm(join(folder, part), { recursive: true, force: true }).catch(() => {})
    if (cause instanceof BeaverError) throw cause
    throw new BeaverError(
      'wrong_state',
      `The backup could not be written to ${folder}: ${messageOf(cause)}. Beaver removed what it had written.`,
      { cause },
    )
  }
}

/** @throws {BeaverError} `wrong_state` if the folder is not empty or cannot be made */
async function emptyFolder(folder: string): Promise<void> {
  try {
    makeFolder(folder)
    const names = await readdir(folder)
    if (names.length > 0) {
      const isPart = names.every((name) => ['home', 'streams', `${manifestName}.partial`].includes(name))
      const why = isPart
        ? 'A backup was interrupted there: remove the folder'
        : 'It is not empty: choose a new folder'
      throw new BeaverError(
        'wrong_state',
        `The backup cannot be written to ${folder}. ${why}${isPart ? ', or choose another one' : ''}.`,
      )
    }
    await chmod(folder, 0o700)
  } catch (cause) {
    if (cause instanceof BeaverError) throw cause
    throw new BeaverError('wrong_state', `The backup cannot be written to ${folder}: ${messageOf(cause)}.`, {
      cause,
    })
  }
}

async function copyHome(home: string, folder: string): Promise<BackupFile[]> {
  const files: BackupFile[] = []
  if ((await stat(home).catch(() => null)) === null) return files
  for (const name of homeFiles(home)) {
    const content = await readFile(join(home, name)).catch((error: NodeJS.ErrnoException) =>
      error.code === 'ENOENT' ? null : Promise.reject(error),
    )
    if (content === null) continue // The file was removed in the meantime.
    files.push({ path: `home/${name}`, ...(await writeSynced(join(folder, 'home', name), content)) })
  }
  return files
}

/**
 * Checks that no archive or redaction ran during the copy. It would write an event to the journal and then
 * remove messages or texts, so the backup could lack them without having the event that explains this.
 *
 * @throws {BeaverError} `wrong_state`
 */
async function requireExplained(
  nc: Connection['nc'],
  subjects: Subjects,
  { state }: StreamDescription,
): Promise<void> {
  if ((await lastSequenceOf(nc, subjects.stream, subjects.system('redactions'))) <= state.last_seq) return
  throw new BeaverError(
    'wrong_state',
    'An archive or a redaction removed something while the streams were copied. Repeat the backup. Beaver removed what it had written.',
  )
}

interface CopyOf {
  readonly nc: Connection['nc']
  readonly folder: string
  readonly stream: string
  readonly onProgress: (doing: string) => void
}

/** Copies a stream; returns `null` if the stream does not exist. */
async function copyStream({ nc, folder, stream, onProgress }: CopyOf) {
  const path = `streams/${stream}.snapshot`
  const growing = await growingFile(join(folder, path))
  try {
    let taken = 0
    const described = await snapshotStream(nc, stream, async (piece) => {
      await growing.add(piece)
      onProgress(`Copying ${stream}: ${bytes((taken += piece.length))}`)
    })
    const written = await growing.end()
    if (described === null) {
      await rm(join(folder, path))
      return null
    }
    return { described, file: { path, ...written } }
  } finally {
    await growing.close()
  }
}

/** The share in whole percent, rounded down, such as `33 %`. */
export const percent = (part: number, whole: number): string =>
  `${whole === 0 ? 100 : Math.floor((100 * part) / whole)} %`
