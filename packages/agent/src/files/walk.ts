// Walks below a folder for every file tool, nearest first, in an order that does not depend on the disk.
// Symlinks are reported and never followed; folders in `ignoredFolders` are not entered, except as the start.
// A name that is not UTF-8 is shown with U+FFFD. Unreadable entries are reported and never end the walk. An
// entry that was moved or exchanged for a link meanwhile counts as unreadable.
import { constants, type Dirent, fstatSync } from 'node:fs'
import { type FileHandle, open, readdir } from 'node:fs/promises'
import { ToolFailure } from '../tools/tool-failure.ts'
import {
  type FolderAccess,
  folderAccesses,
  type HeldFolder,
  joined,
  noFollow,
  placeOnly,
} from './held-folder.ts'
import type { OpenedFolder } from './open-inside.ts'

/** Folders that are not entered: machines make them, and they are often larger than everything else. */
export const ignoredFolders = ['.git', 'node_modules', '.beaver'] as const

/** The most files and folders that one walk looks at. */
const walkedEntriesMax = 2_000_000

export interface WalkedEntry {
  readonly kind: 'file' | 'folder' | 'ignored_folder' | 'symlink' | 'other' | 'unreadable_folder'
  /**
   * Opens a file to read it, until the folder of the walk is closed.
   *
   * @throws {Error} with a `code` of the system; `EXDEV` if it is elsewhere meanwhile
   */
  open(): Promise<FileHandle>
  /** The size of a file. Throws as `open` does. */
  bytes(): Promise<number>
  /** The path relative to the workspace, with `/`. */
  readonly shown: string
  /** 1 for an entry of the folder itself. */
  readonly depth: number
}

interface WalkOptions {
  readonly signal: AbortSignal
  readonly depthMax?: number
  /** Default: the best one of the system. */
  readonly access?: FolderAccess
}

/** A folder of a level. `way`: from the folder of the walk; `null`: it is that folder. */
interface Level {
  readonly way: Buffer | null
  readonly prefix: string
}

/**
 * Gives everything below `from`: level by level, and by path within a level. `from` must stay open while the
 * walk and its entries are used.
 *
 * @param options `depthMax`: folders at this depth are reported and not entered
 * @throws {ToolFailure} `unreadable`, `too_many_files`; the abort of `signal`
 */
export async function* walk(from: OpenedFolder, options: WalkOptions): AsyncGenerator<WalkedEntry> {
  const { depthMax = Infinity, access = folderAccesses[0] as FolderAccess } = options
  const opened = (way: Buffer): Pick<WalkedEntry, 'open' | 'bytes'> => ({
    open: () => openBelow(from, way, access),
    bytes: () => bytesBelow(from, way, access),
  })
  let level: Level[] = [{ way: null, prefix: from.shown === '.' ? '' : `${from.shown}/` }]
  let walked = 0
  for (let depth = 1; level.length > 0; depth++) {
    const below: typeof level = []
    for (const folder of level) {
      options.signal.throwIfAborted()
      const children = await childrenOf(from, folder.way, access)
      if (!Array.isArray(children)) {
        if (folder.way === null)
          throw new ToolFailure(
            'unreadable',
            `${JSON.stringify(from.shown)} cannot be listed as a folder (${children.code}).`,
          )
        const kind = children.code === 'protected_path' ? 'ignored_folder' : 'unreadable_folder'
        yield { kind, shown: folder.prefix.slice(0, -1), depth, ...opened(folder.way) }
        continue
      }
      walked += children.length
      if (walked > walkedEntriesMax) {
        throw new ToolFailure(
          'too_many_files',
          `There are more than ${walkedEntriesMax} files and folders below ${JSON.stringify(from.shown)}. Give one of its subfolders.`,
        )
      }
      for (const child of children) {
        const kind = kindOf(child)
        const shown = folder.prefix + child.name.toString()
        const way = folder.way === null ? child.name : joined(folder.way, child.name)
        yield { kind, shown, depth, ...opened(way) }
        if (kind === 'folder' && depth < depthMax) below.push({ way, prefix: `${shown}/` })
      }
    }
    level = below
  }
}

const ignoredNames: ReadonlySet<string> = new Set(ignoredFolders)

async function childrenOf(
  { folder }: OpenedFolder,
  way: Buffer | null,
  access: FolderAccess,
): Promise<Dirent<Buffer>[] | { code: string }> {
  try {
    await using held = way === null ? null : await holdBelow({ folder }, way, access)
    const children = await readdir((held ?? folder).here, { withFileTypes: true, encoding: 'buffer' })
    return children.toSorted((a, b) => Buffer.compare(a.name, b.name))
  } catch (error) {
    return { code: (error as NodeJS.ErrnoException).code ?? 'EUNKNOWN' }
  }
}

function kindOf(entry: Dirent<Buffer>): WalkedEntry['kind'] {
  if (entry.isFile()) return 'file'
  if (entry.isSymbolicLink()) return 'symlink'
  if (entry.isDirectory()) return ignoredNames.has(entry.name.toString()) ? 'ignored_folder' : 'folder'
  return 'other'
}

// Opens what is below a held folder in one step, and then asks where it is. What was moved or exchanged for a
// link since its name was read is closed again unread.

type From = Pick<OpenedFolder, 'folder'>

const elsewhere = (): Error => Object.assign(new Error('It is at another place.'), { code: 'EXDEV' })

/**
 * Holds the folder at `way`, which is relative to `from` and contains no link. @throws {Error} with a `code`
 * of the system, or `EXDEV`
 */
export function holdBelow(
  { folder }: From,
  way: Buffer,
  access = folderAccesses[0] as FolderAccess,
): Promise<HeldFolder> {
  return access.hold(folder.entry(way), joined(folder.path, way))
}

/** Opens the regular file at `way`. @throws {Error} with a `code` of the system, or `EXDEV` */
export function openBelow(from: From, way: Buffer, access?: FolderAccess): Promise<FileHandle> {
  return opened(from, way, { access, flags: constants.O_RDONLY })
}

/**
 * The size of the regular file at `way`. It needs no right to read the file on Linux. @throws {Error} with a
 * `code` of the system, or `EXDEV`
 */
async function bytesBelow(from: From, way: Buffer, access?: FolderAccess): Promise<number> {
  await using handle = await opened(from, way, { access, flags: placeOnly })
  return (await handle.stat()).size
}

async function opened(
  { folder }: From,
  way: Buffer,
  {
    access = folderAccesses[0] as FolderAccess,
    flags,
  }: { readonly access: FolderAccess | undefined; readonly flags: number },
): Promise<FileHandle> {
  const handle = await open(folder.entry(way), flags | noFollow)
  const expected = joined(folder.path, way)
  const found = await access.placeOf(handle, expected).catch(() => null)
  if (found?.equals(expected) === true && fstatSync(handle.fd).isFile()) return handle
  await handle.close()
  throw elsewhere()
}
