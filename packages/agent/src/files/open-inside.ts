// Opens a file or a folder inside the workspace or a skill's folder: the fence of every file tool. The path
// is followed part by part from the root, each folder is held (held-folder.ts), and links follow the same
// rule, so nothing outside is opened, whatever other programs do meanwhile. A refusal never reveals whether
// something exists outside. A file with a second name (a hard link) is refused, because that name may be
// outside.
import { constants } from 'node:fs'
import { type FileHandle, lstat, open, readlink, realpath } from 'node:fs/promises'
import { dirname, isAbsolute, relative, resolve, sep } from 'node:path'
import { ToolFailure } from '../tools/tool-failure.ts'
import { type FolderAccess, folderAccesses, type HeldFolder, joined, noFollow } from './held-folder.ts'
import { isInside, pathFault, type PathRoot, quoted, refusal } from './workspace-path.ts'

/** What a path leads to. Close it. */
export interface ReachedPlace extends AsyncDisposable {
  /** The folder that contains the entry, or the root itself. */
  readonly folder: HeldFolder
  /** The name of the entry. `null`: the path is the root. */
  readonly name: string | null
  /** The names of folders and of a file that do not exist, after `folder`. Empty if the path exists. */
  readonly missing: readonly string[]
  /** Whether a link leads to what is missing. */
  readonly dangling: boolean
  readonly root: HeldFolder
  /** The path relative to the root, with `/`, as given but normalised. `.` is the root. */
  readonly shown: string
  /** The same after all links. */
  readonly real: string
}

const hopsMax = 40
/** How often a path is followed again because something on it was exchanged meanwhile. */
const triesMax = 10

type Access = { readonly access?: FolderAccess | undefined }

/**
 * Follows a path as far as it exists.
 *
 * @throws {ToolFailure} `root.outside`, `not_a_folder`, `not_found` for links that lead in a circle,
 * `unreadable`; an error of the system if there is no root
 */
export async function reach(
  root: PathRoot,
  path: string,
  { access = folderAccesses[0] as FolderAccess }: Access = {},
): Promise<ReachedPlace> {
  const fault = pathFault(path)
  if (fault !== null) throw refusal(root, path, fault)
  const parts = partsOf(path)
  const folder = await realpath(root.folder, { encoding: 'buffer' })
  for (let tries = 1; ; tries++) {
    const way = new Way(root, path, access)
    try {
      return await way.follow(folder, parts)
    } catch (error) {
      await way.close()
      if (error instanceof ToolFailure) throw error
      const { code = 'EUNKNOWN' } = error as NodeJS.ErrnoException
      if (!exchanged.has(code) || tries === triesMax) throw faultOf(code, path, root)
    }
  }
}

/** The parts of a path without `.` and empty ones. */
export const partsOf = (path: string): string[] =>
  path.split('/').filter((part) => part !== '' && part !== '.')

/** What the system says if an entry is not any more what it was a moment ago. */
const exchanged = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EXDEV', 'EINVAL', 'ESTALE'])

function faultOf(code: string, path: string, root: PathRoot): ToolFailure {
  if (code === 'EACCES' || code === 'EPERM')
    return new ToolFailure('unreadable', `${quoted(path)} may not be read (${code}).`)
  if (code === 'ENAMETOOLONG' || code === 'EMFILE' || code === 'EIO')
    return new ToolFailure('unreadable', `${quoted(path)} cannot be opened (${code}).`)
  return refusal(root, path, 'something on it changes while it is followed')
}

/** One attempt to follow a path. */
class Way {
  readonly #root: PathRoot
  readonly #path: string
  readonly #access: FolderAccess
  /** The held folders from the root on, with their names. */
  readonly #held: { readonly folder: HeldFolder; readonly name: string }[] = []
  #hops = 0

  constructor(root: PathRoot, path: string, access: FolderAccess) {
    this.#root = root
    this.#path = path
    this.#access = access
  }

  async close(): Promise<void> {
    for (const { folder } of this.#held.splice(0)) await folder[Symbol.asyncDispose]()
  }

  async follow(folder: Buffer, parts: readonly string[]): Promise<ReachedPlace> {
    this.#held.push({ folder: await this.#access.hold(folder, folder), name: '' })
    const left = [...parts]
    /** How many of those left are parts of links. */
    let linked = 0
    for (let part = left.shift(); part !== undefined; part = left.shift(), linked = Math.max(0, linked - 1)) {
      const at = this.#top()
      if (part === '..') {
        await this.#up()
        continue
      }
      const stats = await lstat(at.entry(part)).catch(absent)
      if (stats === null)
        return this.#reached(parts, null, { missing: [part, ...left], dangling: linked > 0 })
      if (stats.isSymbolicLink()) {
        const more = await this.#linked(at, part)
        left.unshift(...more)
        linked = Math.max(1, linked) + more.length
      } else if (left.length === 0) return this.#reached(parts, part)
      else if (!stats.isDirectory()) return this.#notAFolder(part)
      else
        this.#held.push({
          folder: await this.#access.hold(at.entry(part), joined(at.path, part)),
          name: part,
        })
    }
    return this.#ended(parts)
  }

  #top(): HeldFolder {
    return (this.#held.at(-1) as { folder: HeldFolder }).folder
  }

  #real(): string[] {
    return this.#held.slice(1).map(({ name }) => name)
  }

  async #up(): Promise<void> {
    const left = this.#held.pop()
    await left?.folder[Symbol.asyncDispose]()
  }

  /** The parts to follow in place of a link. Those that lead out of the root are refused. */
  async #linked(at: HeldFolder, part: string): Promise<string[]> {
    const outside = refusal(this.#root, this.#path, `a symlink in it leads out of ${this.#root.called}`)
    if (++this.#hops > hopsMax)
      throw new ToolFailure(
        'not_found',
        `There is nothing at ${quoted(this.#path)} in ${this.#root.called}. ${this.#root.hint}`,
      )
    const target = await readlink(at.entry(part))
    const parts = partsOf(target)
    if (!isAbsolute(target) && !leavesFrom(this.#held.length - 1, parts)) return parts
    // The way of the link leaves the root. It may lead back.
    const root = (this.#held[0] as { folder: HeldFolder }).folder.path.toString()
    const wanted = resolve(at.path.toString(), target)
    const inside = isInside(root, wanted) ? wanted : await nearestInside(root, wanted)
    if (inside === null) throw outside
    while (this.#held.length > 1) await this.#up()
    return relative(root, inside)
      .split(sep)
      .filter((each) => each !== '')
  }

  #notAFolder(part: string): never {
    throw new ToolFailure('not_a_folder', `${quoted([...this.#real(), part].join('/'))} is not a folder.`)
  }

  /** The path ended at a held folder: at the root, or after a link with `..`. */
  async #ended(parts: readonly string[]): Promise<ReachedPlace> {
    if (this.#held.length === 1) return this.#reached(parts, null)
    const { name } = this.#held.at(-1) as { name: string }
    await this.#up()
    return this.#reached(parts, name)
  }

  async #reached(
    parts: readonly string[],
    name: string | null,
    { missing, dangling } = nothingMissing,
  ): Promise<ReachedPlace> {
    const real = [...this.#real(), ...(name === null ? missing : [name])].join('/') || '.'
    const held = this.#held.splice(0)
    const root = (held[0] as { folder: HeldFolder }).folder
    const folder = (held.at(-1) as { folder: HeldFolder }).folder
    for (const each of held.slice(1, -1)) await each.folder[Symbol.asyncDispose]()
    const close = async (): Promise<void> => {
      if (folder !== root) await folder[Symbol.asyncDispose]()
      await root[Symbol.asyncDispose]()
    }
    return {
      folder,
      name,
      missing,
      dangling,
      root,
      shown: parts.join('/') || '.',
      real,
      [Symbol.asyncDispose]: close,
    }
  }
}

const nothingMissing: Pick<ReachedPlace, 'missing' | 'dangling'> = { missing: [], dangling: false }

function absent(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null
  throw error
}

/** Whether a relative way leaves the root, at which `depth` folders deep it begins. */
function leavesFrom(depth: number, parts: readonly string[]): boolean {
  let at = depth
  return parts.some((part) => (part === '..' ? --at : ++at) < 0)
}

/**
 * The place of a path whose deepest existing part is inside the root. It is only a proposal: it is followed
 * from the root again.
 */
async function nearestInside(root: string, path: string): Promise<string | null> {
  for (let at = path, rest = ''; ;) {
    const real = await realpath(at).catch(() => null)
    if (real !== null) return isInside(root, real) ? resolve(real, rest) : null
    const parent = dirname(at)
    if (parent === at) return null
    rest = rest === '' ? relative(parent, at) : `${relative(parent, at)}${sep}${rest}`
    at = parent
  }
}

/** A file where a folder is expected means, for a reader, that nothing is there. */
async function reachToRead(root: PathRoot, path: string, options: Access): Promise<ReachedPlace> {
  try {
    return await reach(root, path, options)
  } catch (error) {
    throw error instanceof ToolFailure && error.code === 'not_a_folder' ? notFound(root, path) : error
  }
}

/** An open file with its place. Close it. */
export interface OpenedFile extends AsyncDisposable {
  readonly handle: FileHandle
  readonly shown: string
  /** The path relative to the root after all links. */
  readonly real: string
}

/**
 * Opens a regular file to read it.
 *
 * @throws {ToolFailure} `root.outside`, `not_found`, `not_a_file`, `not_a_folder`, `unreadable`, `hard_link`
 */
export async function openFileInside(
  root: PathRoot,
  path: string,
  options: Access & { readonly hardLinks?: (real: string) => boolean } = {},
): Promise<OpenedFile> {
  for (let tries = 1; ; tries++) {
    await using place = await reachToRead(root, path, options)
    if (place.missing.length > 0) throw notFound(root, path)
    if (place.name === null) throw notAFile(path)
    try {
      const handle = await openHeldEntry(place, place.name, options)
      try {
        const stats = await handle.stat()
        if (!stats.isFile()) throw notAFile(path)
        if (stats.nlink > 1 && options.hardLinks?.(place.real) !== true && (await stillLinked(handle)))
          throw hardLink(path)
        return { handle, shown: place.shown, real: place.real, [Symbol.asyncDispose]: () => handle.close() }
      } catch (error) {
        await handle.close()
        throw error
      }
    } catch (error) {
      if (error instanceof ToolFailure) throw error
      const { code = 'EUNKNOWN' } = error as NodeJS.ErrnoException
      if (code === 'EISDIR') throw notAFile(path)
      if (code === 'ENXIO' || code === 'EOPNOTSUPP') throw notAFile(path)
      if (!exchanged.has(code) || tries === triesMax) throw faultOf(code, path, root)
    }
  }
}

/**
 * Opens an entry of the folder of a place, which is no link, and asks where it is.
 *
 * @throws {Error} with a `code` of the system; `EXDEV` if it is elsewhere
 */
export async function openHeldEntry(
  { folder }: Pick<ReachedPlace, 'folder'>,
  name: string | Buffer,
  options: Access & { readonly flags?: number } = {},
): Promise<FileHandle> {
  const access = options.access ?? (folderAccesses[0] as FolderAccess)
  const handle = await open(folder.entry(name), (options.flags ?? constants.O_RDONLY) | noFollow, 0o666)
  const expected = joined(folder.path, name)
  const found = await access.placeOf(handle, expected).catch(() => null)
  if (found?.equals(expected) === true) return handle
  await handle.close()
  throw Object.assign(new Error('The file is at another place.'), { code: 'EXDEV' })
}

const linkLooksMax = 50

/**
 * A file that write_file just made has two names for a moment, until its process asks the system to remove
 * the first one.
 */
async function stillLinked(handle: FileHandle): Promise<boolean> {
  for (let looks = 0; looks < linkLooksMax; looks++) if ((await handle.stat()).nlink < 2) return false
  return true
}

/** A folder inside the root that is held. Close it. */
export interface OpenedFolder extends AsyncDisposable {
  readonly folder: HeldFolder
  readonly shown: string
  readonly real: string
}

/**
 * Holds a folder inside the root.
 *
 * @throws {ToolFailure} `root.outside`, `not_found`, `not_a_folder`, `unreadable`
 */
export async function openFolderInside(
  root: PathRoot,
  path: string,
  options: Access = {},
): Promise<OpenedFolder> {
  const access = options.access ?? (folderAccesses[0] as FolderAccess)
  for (let tries = 1; ; tries++) {
    const place = await reachToRead(root, path, options)
    const { shown, real, name } = place
    try {
      if (place.missing.length > 0) throw notFound(root, path)
      if (name === null)
        return {
          folder: place.folder,
          shown,
          real,
          [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
        }
      const folder = await access.hold(place.folder.entry(name), joined(place.folder.path, name))
      await place[Symbol.asyncDispose]()
      return { folder, shown, real, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() }
    } catch (error) {
      await place[Symbol.asyncDispose]()
      if (error instanceof ToolFailure) throw error
      const { code = 'EUNKNOWN' } = error as NodeJS.ErrnoException
      if (code === 'ENOTDIR' && tries > 1)
        throw new ToolFailure('not_a_folder', `${quoted(shown)} cannot be listed as a folder (${code}).`)
      if (!exchanged.has(code) || tries === triesMax) throw faultOf(code, path, root)
    }
  }
}

const notFound = (root: PathRoot, path: string): ToolFailure =>
  new ToolFailure('not_found', `There is nothing at ${quoted(path)} in ${root.called}. ${root.hint}`)

const notAFile = (path: string): ToolFailure =>
  new ToolFailure('not_a_file', `${quoted(path)} is not a regular file. For a folder use list_files.`)

const hardLink = (path: string): ToolFailure =>
  new ToolFailure(
    'hard_link',
    `${quoted(path)} has a second name (a hard link), which may be outside the workspace, so it is not opened. Work on a copy of it, or ask for a permission rule that allows this path.`,
  )
