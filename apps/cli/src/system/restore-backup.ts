// Restores a backup into a new home and a server. Everything is checked before anything is written: each file
// of the backup, that the home is empty, and that the server has no other data. The home is made in a folder
// beside its final place and moved there when it is complete. An interrupted restoration therefore leaves no
// home, and the next one removes only what the first one made. The journal is restored last, because nothing
// counts without it. A stream that is already equal to the one in the backup stays, so that the next
// restoration continues an interrupted one. Each stream is compared with the backup after it was restored.
import { createReadStream } from 'node:fs'
import { chmod, lstat, mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { BeaverError, messageOf } from '@beaver/core'
import {
  deleteEmptyStream,
  describeStream,
  embeddedIdentities,
  findNatsServer,
  judgeMark,
  restoreStream,
  startEmbeddedServer,
  type StreamDescription,
  type Subjects,
} from '@beaver/nats'
import { type Config, homeMark, isMarked, lockHome, markHome, makeFolder } from '@beaver/platform'
import { connect, type Connection } from '../connection.ts'
import { bytes } from '../text/figures.ts'
import { checkedBackup, type Manifest } from './backup-manifest.ts'
import { findSystem, loginAt } from './find-system.ts'
import { percent, streamsOf } from './make-backup.ts'
import { syncFolder, writeSynced } from './synced-file.ts'

export interface Restored {
  readonly manifest: Manifest
  /** How many marks of the backup agree with the restored journal. */
  readonly marks: number
  /** The reasons, from the marks of the backup, why daemons will refuse to write. */
  readonly findings: readonly string[]
}

/**
 * Restores the backup in `folder` to the home of the configuration. `onProgress` receives texts for a person.
 *
 * @throws {BeaverError} `not_found`, `invalid_arguments`, `wrong_state`, `unreachable`, and the errors of a
 * start of the server
 */
export async function restoreBackup(
  config: Config,
  folder: string,
  onProgress: (doing: string) => void = () => {},
): Promise<Restored> {
  const manifest = await checkedBackup(folder, (read, all) =>
    onProgress(`Checking the backup: ${percent(read, all)}`),
  )
  const { namespace, tenant } = manifest
  if (namespace !== config.namespace || tenant !== config.tenant)
    throw new BeaverError(
      'wrong_state',
      `The backup is of the tenant ${tenant} in the namespace ${namespace}, and this command works for ${config.tenant} in ${config.namespace}. Set BEAVER_NAMESPACE=${namespace} and BEAVER_TENANT=${tenant}.`,
    )
  await requireEmpty(config.home)
  const beside = `${config.home}.restoring`
  try {
    await makeBeside(beside)
    const unlock = lockHome(beside)
    try {
      return { manifest, ...(await madeBeside(config, beside, { manifest, folder, onProgress })) }
    } catch (error) {
      await rm(beside, { recursive: true, force: true }).catch(() => {})
      throw error
    } finally {
      unlock()
    }
  } catch (cause) {
    if (cause instanceof BeaverError) throw cause
    throw new BeaverError(
      'wrong_state',
      `The backup could not be restored to ${config.home}: ${messageOf(cause)}. Beaver made no home. The server may have streams of the backup: repeat the command.`,
      { cause },
    )
  }
}

/**
 * Makes the home in a folder beside its final place, and moves it there. The caller holds the lock of that
 * folder.
 */
async function madeBeside(config: Config, beside: string, of: RestoreOf): Promise<Judged> {
  for (const name of await readdir(beside))
    if (name !== 'run' && name !== homeMark) await rm(join(beside, name), { recursive: true })
  const judged =
    config.nats_url === undefined
      ? await intoOwnServer({ ...config, keysFolder: join(beside, 'keys') }, beside, of)
      : await intoServer(await connect(findSystem(config, 'operator')), beside, of)
  for (const name of ['nats/ports', 'nats/nats-server.conf'])
    await rm(join(beside, name), { recursive: true, force: true })
  await syncFolder(beside)
  await rename(beside, config.home)
  // The folder `run` contains the lock, so it is removed only when the home is at its place.
  await rm(join(config.home, 'run'), { recursive: true, force: true })
  await syncFolder(dirname(config.home))
  return judged
}

/** @throws {BeaverError} `wrong_state` if the home is not empty */
async function requireEmpty(home: string): Promise<void> {
  const names = await readdir(home).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT') return []
    throw new BeaverError('wrong_state', `The backup cannot be restored to ${home}: ${messageOf(cause)}.`, {
      cause,
    })
  })
  if (names.length === 0) return await requireMovable(home)
  throw new BeaverError(
    'wrong_state',
    `The backup cannot be restored to ${home}, which has ${names.slice(0, 3).join(', ')}${names.length > 3 ? ' and more' : ''}. Name a new folder with --home, or move this one away. Nothing was changed.`,
  )
}

/**
 * Checks that the home can be replaced: a link or a volume of its own cannot.
 *
 * @throws {BeaverError} `wrong_state`
 */
async function requireMovable(home: string): Promise<void> {
  const [found, parent] = [await lstat(home).catch(() => null), await stat(dirname(home)).catch(() => null)]
  if (found === null || parent === null) return
  const what = found.isSymbolicLink() ? 'a link' : found.dev === parent.dev ? null : 'a volume of its own'
  if (what === null) return
  throw new BeaverError(
    'wrong_state',
    `The backup cannot be restored to ${home}, because it is ${what}. Name a new folder ${what === 'a link' ? 'without a link' : 'in it'} with --home. Nothing was changed.`,
  )
}

/**
 * Makes the folder beside the home. A folder that an earlier restoration left has Beaver's mark and is used
 * again.
 *
 * @throws {BeaverError} `wrong_state` if the folder is not Beaver's
 */
async function makeBeside(beside: string): Promise<void> {
  makeFolder(dirname(beside), 0o777)
  const found = await lstat(beside).catch(() => null)
  if (found === null) await mkdir(beside, { mode: 0o700 })
  else if (!found.isDirectory() || !isMarked(beside))
    throw new BeaverError(
      'wrong_state',
      `The folder ${beside}, in which the home is to be made, is there already, and Beaver did not make it. Move it away.`,
    )
  markHome(beside)
}

interface RestoreOf {
  readonly manifest: Manifest
  readonly folder: string
  readonly onProgress: (doing: string) => void
}
type Judged = Pick<Restored, 'marks' | 'findings'>

async function intoOwnServer(config: Config, home: string, of: RestoreOf): Promise<Judged> {
  await copyHome(home, of)
  return await withOwnServer(config, home, async (connection) => {
    await restoreStreams(connection, of)
    return await judgeMarks(connection, of)
  })
}

async function intoServer(connected: Connection, home: string, of: RestoreOf): Promise<Judged> {
  await using connection = connected
  await requireFree(connection, of.manifest)
  await copyHome(home, of)
  await restoreStreams(connection, of)
  return await judgeMarks(connection, of)
}

async function copyHome(home: string, { manifest, folder }: RestoreOf): Promise<void> {
  const parts = new Set<string>()
  for (const { path } of manifest.files) {
    if (!path.startsWith('home/')) continue
    const file = join(home, path.slice('home/'.length))
    await writeSynced(file, await readFile(join(folder, path)))
    parts.add(dirname(file))
  }
  for (const part of parts) {
    await chmod(part, 0o700)
    await syncFolder(part)
  }
}

/**
 * Whether a stream of a server is equal to the one in the backup. A wake stream may have more: the server
 * publishes wakes when they are due.
 */
function isSame(
  found: StreamDescription,
  { config: { name }, created, state }: StreamDescription,
  { stream, wakeStream }: Subjects,
): boolean {
  if (found.created !== created) return false
  if (name === wakeStream) return found.state.last_seq >= state.last_seq
  // A snapshot may lack messages that were removed or replaced while it was taken: an answered message of a
  // chat, an older memory or account, a blob that was written again.
  if (name !== stream)
    return found.state.last_seq === state.last_seq && found.state.messages <= state.messages
  const isEmpty = state.messages === 0 // A server counts the first message of an empty stream as 0 or 1.
  return (
    found.state.messages === state.messages &&
    found.state.last_seq === state.last_seq &&
    (isEmpty || found.state.first_seq === state.first_seq)
  )
}

/** @throws {BeaverError} `wrong_state` if the server has data that is not in the backup */
async function requireFree({ nc, subjects }: Connection, { streams }: Manifest): Promise<void> {
  for (const name of streamsOf(subjects)) {
    const found = await describeStream(nc, name)
    const due = streams.find(({ config }) => config.name === name)
    if (found === null || found.state.messages === 0 || (due !== undefined && isSame(found, due, subjects)))
      continue
    throw new BeaverError(
      'wrong_state',
      `The server has a stream ${name} with other messages than the backup, up to message ${found.state.last_seq}. Restore to another server, or remove that stream. Nothing was changed.`,
    )
  }
}

async function restoreStreams(
  { nc, subjects }: Connection,
  { manifest, folder, onProgress }: RestoreOf,
): Promise<void> {
  for (const name of streamsOf(subjects).toReversed()) {
    const due = manifest.streams.find(({ config }) => config.name === name)
    if (due === undefined) continue
    const before = await describeStream(nc, name)
    if (before === null || !isSame(before, due, subjects)) {
      await deleteEmptyStream(nc, name)
      await restoreStream(
        nc,
        due,
        piecesOf(join(folder, due.file), (read) => onProgress(`Restoring ${name}: ${bytes(read)}`)),
      )
    }
    const found = await describeStream(nc, name)
    if (found === null || !isSame(found, due, subjects))
      throw new BeaverError(
        'wrong_state',
        `The stream ${name} was restored up to message ${found?.state.last_seq ?? 0}, and the backup has ${due.state.last_seq}.`,
      )
  }
}

const pieceBytes = 128 << 10

async function* piecesOf(file: string, onRead: (read: number) => void): AsyncGenerator<Uint8Array> {
  let read = 0
  for await (const piece of createReadStream(file, { highWaterMark: pieceBytes })) {
    yield piece as Buffer
    onRead((read += (piece as Buffer).length))
  }
}

/** Compares the restored journal with the marks of the backup, as a daemon does when it starts. */
async function judgeMarks({ nc, subjects }: Connection, { manifest, folder }: RestoreOf): Promise<Judged> {
  let marks = 0
  const findings: string[] = []
  for (const role of ['daemon', 'projector']) {
    const path = `home/marks/${subjects.stream}.${role}.json`
    const isThere = manifest.files.some((file) => file.path === path)
    const found = isThere ? await judgeMark(nc, subjects, await readFile(join(folder, path), 'utf8')) : null
    if (found === null) continue
    const harmful = found.filter(({ harmful }) => harmful).map(({ message }) => message)
    if (harmful.length === 0) marks++
    findings.push(...harmful)
  }
  return { marks, findings: [...new Set(findings)] }
}

// Runs the nats-server of a home without the other parts, for a command that works on the streams while the
// system is down.

/**
 * Runs the server with the data of a home while `act` runs. The caller holds the lock of the home.
 *
 * @throws {BeaverError} `server_missing`, `server_too_old`, `start_failed`, and the errors of `act`
 */
export async function withOwnServer<T>(
  config: Config,
  home: string,
  act: (connection: Connection) => Promise<T>,
): Promise<T> {
  const { namespace, tenant, keysFolder } = config
  const dataDir = join(home, 'nats')
  const { binary } = await findNatsServer(config.natsServerBinary, process.env['PATH'])
  const server = await startEmbeddedServer({
    binary,
    dataDir,
    identities: embeddedIdentities(dataDir, config),
  })
  try {
    await using connection = await connect({
      url: server.url,
      login: loginAt(home, 'operator'),
      namespace,
      tenant,
      pid: null,
      keysFolder,
    })
    return await act(connection)
  } finally {
    await server.stop()
  }
}
