// Folders that are held open while a path is followed, and the question where an open file is. On Linux a
// folder is a descriptor from which the system resolves names, so nobody can exchange a folder on the way for
// a link. Elsewhere Node.js has no `openat`: a folder is its real path, and the opened file is compared with
// what is at that path afterwards, which notices an exchange unless it is undone within the same moment. Only
// a file at the expected place below the root is read or written.
import { constants, existsSync, fstatSync, readlinkSync, statSync } from 'node:fs'
import { type FileHandle, lstat, open, realpath } from 'node:fs/promises'
import { ToolFailure } from '../tools/tool-failure.ts'

// The folders that no tool opens: the home of Beaver and the folder of its keys. They are compared as the
// folders that they are (device and inode), so no other name, no link and no case of letters leads into them.
// They are the same for all tools of a process.

const closedFolders = new Set<string>()

/** No tool of this thread opens these folders from now on, whether they exist already or not. */
export function closeFolders(paths: readonly string[]): void {
  for (const path of paths) closedFolders.add(path)
}

type FolderId = { readonly dev: bigint; readonly ino: bigint }

/** The closed folders that exist. */
export const closedFolderIds = (): FolderId[] =>
  [...closedFolders].flatMap((path) => statSync(path, { bigint: true, throwIfNoEntry: false }) ?? [])

function refuseClosed({ dev, ino }: FolderId): void {
  if (closedFolderIds().some((each) => each.dev === dev && each.ino === ino))
    throw new ToolFailure(
      'protected_path',
      'The home of Beaver is not opened: it has the keys and the records of all tasks. Do the work without it.',
    )
}

/** A folder that is held. */
export interface HeldFolder extends AsyncDisposable {
  /** Its real path. Names are bytes. */
  readonly path: Buffer
  /** The folder for a system call. */
  readonly here: Buffer
  /** An entry of the folder, or an entry further below, for a system call. */
  entry(name: string | Buffer): Buffer
}

/** A way to hold folders. */
export interface FolderAccess {
  /**
   * Holds a folder that is no link.
   *
   * @param at the folder for a system call
   * @param path its real path
   * @throws {Error} with a `code` of the system; `EXDEV` if the folder is at another place; ToolFailure
   * `protected_path` if the folder is closed
   */
  hold(at: string | Buffer, path: Buffer): Promise<HeldFolder>
  /** The real path of an open file. `null`: it is not known to be anywhere. */
  placeOf(handle: FileHandle, expected: Buffer): Promise<Buffer | null>
}

/** Flags that open nothing that a link leads to, and wait for nobody. */
export const noFollow = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)
const folderFlags = constants.O_RDONLY | noFollow | (constants.O_DIRECTORY ?? 0)
/**
 * On Linux, opens the place and not the content, which needs no right to read. Node.js does not name this
 * flag.
 */
export const placeOnly = process.platform === 'linux' ? 0o10_000_000 : constants.O_RDONLY

const slash = Buffer.from('/')
export const joined = (folder: Buffer, name: string | Buffer): Buffer =>
  Buffer.concat(folder.equals(slash) ? [folder, Buffer.from(name)] : [folder, slash, Buffer.from(name)])

/** Of a file that was deleted after it was opened. */
const deleted = Buffer.from(' (deleted)')

const byDescriptor: FolderAccess = {
  async hold(at, path) {
    const handle = await open(at, folderFlags | placeOnly)
    try {
      const found = placeAt(handle.fd)
      if (!found.equals(path)) throw elsewhere()
      refuseClosed(fstatSync(handle.fd, { bigint: true }))
    } catch (error) {
      await handle.close()
      throw error
    }
    const here = Buffer.from(`/proc/self/fd/${handle.fd}`)
    return { path, here, entry: (name) => joined(here, name), [Symbol.asyncDispose]: () => handle.close() }
  },
  async placeOf(handle, expected) {
    const found = placeAt(handle.fd)
    return found.equals(Buffer.concat([expected, deleted])) ? expected : found
  },
}

/** The kernel answers this from memory. In the thread pool it would take longer than to open the file. */
const placeAt = (fd: number): Buffer => readlinkSync(`/proc/self/fd/${fd}`, { encoding: 'buffer' })

const byPath: FolderAccess = {
  async hold(at, path) {
    const stats = await lstat(at, { bigint: true })
    if (!stats.isDirectory()) throw Object.assign(new Error('It is no folder.'), { code: 'ENOTDIR' })
    refuseClosed(stats)
    if (!(await realpath(at, { encoding: 'buffer' })).equals(path)) throw elsewhere()
    return {
      path,
      here: path,
      entry: (name) => joined(path, name),
      [Symbol.asyncDispose]: async () => undefined,
    }
  },
  async placeOf(handle, expected) {
    const [opened, there] = [
      await handle.stat({ bigint: true }),
      await lstat(expected, { bigint: true }).catch(() => null),
    ]
    if (there === null || opened.dev !== there.dev || opened.ino !== there.ino) return null
    return await realpath(expected, { encoding: 'buffer' })
  },
}

const elsewhere = (): Error => Object.assign(new Error('The folder is at another place.'), { code: 'EXDEV' })

/** The ways to hold folders that this system has, the best one first. */
export const folderAccesses: readonly FolderAccess[] =
  process.platform === 'linux' && existsSync('/proc/self/fd') ? [byDescriptor, byPath] : [byPath]
