// Makes a backup: the files of a home that cannot be made again, and a snapshot of each stream, in a folder
// with a manifest. The order makes the parts fit each other while the system runs: the marks and the kept
// checkpoints first, because they must not be newer than the journal; then the journal; then the blobs,
// because an entry is written after the blobs to which it refers; then the memories, the wakes and the
// channels. What these have more than the journal is repeated or is harmless: a message of a chat is
// submitted again under the same id. The manifest is written last, so a folder without it is no backup. A
// backup that fails removes what it wrote. Every file is read again, and has the content that was written.
import { chmod, mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
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

/** The streams of a tenant, in the order in which they are copied. */
export const streamsOf = (subjects: Subjects): string[] => [
  subjects.stream,
  `OBJ_${subjects.blobBucket}`,
  `KV_${subjects.memoryBucket}`,
  subjects.wakeStream,
  subjects.channelStream,
]

export interface BackupOf {
  readonly connection: Pick<Connection, 'nc' | 'subjects'>
  readonly home: string
  /** Must not exist, or be empty. */
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
    for (const stream of streamsOf(subjects)) {
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
    // A backup counts from the moment at which the manifest has its name.
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

/** @throws {BeaverError} `wrong_state` if the folder holds something, or cannot be made */
async function emptyFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
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
    if (content === null) continue // It was removed meanwhile.
    files.push({ path: `home/${name}`, ...(await writeSynced(join(folder, 'home', name), content)) })
  }
  return files
}

/**
 * An archive or a redaction removes messages and texts after it has said so in the journal. What it removed
 * while the streams were copied would be missing without the event that explains it.
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

/** `null`: there is no such stream. */
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

export const percent = (part: number, whole: number): string =>
  `${whole === 0 ? 100 : Math.floor((100 * part) / whole)} %`
