// Resolves a path to write to, inside the workspace, whether it exists or not. Every link on the way is
// followed inside the workspace only (open-inside.ts). One that leads out, or nowhere, is refused before
// anything is made. The folder of the file is held from then on: folders are made, and files are written and
// renamed, from its descriptor. Some paths inside are refused too, because they decide what runs later: those
// of git and of Beaver always, and skills, profiles and workflow definitions unless a rule of the
// configuration allows them.
import type { Stats } from 'node:fs'
import { type FileHandle, lstat, mkdir } from 'node:fs/promises'
import { basename, dirname, isAbsolute, relative } from 'node:path'
import {
  foldedName,
  openHeldEntry,
  type OpenedFolder,
  openFolderInside,
  partsOf,
  quoted,
  reach,
  type ReachedPlace,
  refusal,
  type ToolContext,
  ToolFailure,
  workspaceRoot,
} from '@beaver/agent/tool-kit'

/** A place to write to. Close it. */
export interface NewPath extends AsyncDisposable {
  /** Relative to the workspace, with `/`, as given but normalised. */
  readonly shown: string
  /** The same after all links. */
  readonly real: string
  readonly name: string
  /** The file that is there, or `null`. */
  readonly found: Stats | null
  /** An entry of the file's folder, for a system call. The folder exists after `makeFolders`. */
  entry(name: string): Buffer
  /**
   * Opens an entry of the folder that is no link. Throws what the system says, and `EXDEV` if the folder is
   * elsewhere meanwhile.
   */
  open(name: string, flags: number): Promise<FileHandle>
  /** Makes the missing folders of the path. */
  makeFolders(): Promise<void>
}
import type { BuiltinToolOptions } from '../options.ts'

const alwaysProtected = new Set(['.git', 'git~1', '.beaver'])
const protectedFiles = new Set(['beaver.config.json'])
const definitionFiles = new Set(['agent_profile.json', 'skill.md'])
const foldersMax = 64

/**
 * What the configuration protects: the home, the configuration file and modules with tools; skills, workflows
 * and profiles.
 */
type Protected = BuiltinToolOptions['protected']

type PlaceContext = Pick<ToolContext, 'workspace' | 'permission'>

/** @throws {ToolFailure} `outside_workspace`, `protected_path`, `not_a_file`, `not_a_folder` */
export async function newInWorkspace(
  context: PlaceContext,
  path: string,
  guarded: Protected,
): Promise<NewPath> {
  const root = workspaceRoot(context.workspace)
  const parts = partsOf(path)
  const place = await reach(root, path).catch((error: unknown) => {
    throw error instanceof ToolFailure && error.code === 'not_found'
      ? refusal(root, path, 'a symlink in it leads out of the workspace, or nowhere')
      : error
  })
  try {
    if (place.name === null && place.missing.length === 0) throw aFolder(path)
    if (/[/\\]$/.test(path)) throw aFolder(path)
    if (parts.length > foldersMax) throw refusal(root, path, `it is deeper than ${foldersMax} folders`)
    if (place.dangling) throw refusal(root, path, 'a symlink in it leads out of the workspace, or nowhere')
    if (place.missing.includes('..')) throw refusal(root, path, 'it holds ".."')
    const found = place.name === null ? null : await lstat(place.folder.entry(place.name))
    if (found !== null && !found.isFile())
      throw new ToolFailure('not_a_file', `${quoted(path)} is there and is not a regular file.`)
    checkProtected(path, place, { context, guarded })
    return new HeldPlace(place, context.workspace, found)
  } catch (error) {
    await place[Symbol.asyncDispose]()
    throw error
  }
}

const aFolder = (path: string): ToolFailure =>
  new ToolFailure('not_a_file', `${quoted(path)} is a folder. Give the path of a file.`)

function checkProtected(
  path: string,
  { real, root }: ReachedPlace,
  { context, guarded }: { context: PlaceContext; guarded: Protected },
): void {
  const names = real.split('/').map(foldedName)
  const last = names.at(-1) ?? ''
  const at = `${root.path.toString()}/${real}`
  const isAt = (places: readonly string[]): boolean =>
    places.some((place) => isBelow(foldedPath(place), foldedPath(at)))
  if (names.some((name) => alwaysProtected.has(name)) || protectedFiles.has(last) || isAt(guarded.always))
    throw new ToolFailure(
      'protected_path',
      `${quoted(path)} must not be written, because git or Beaver keep files there that decide what runs. Choose another place.`,
    )
  if (
    (names[0] === 'skills' || definitionFiles.has(last) || isAt(guarded.unlessAllowed)) &&
    !isAllowed(context, real)
  )
    throw new ToolFailure(
      'protected_path',
      `${quoted(path)} must not be written, because skills, profiles and workflow definitions decide what agents do. Choose another place. A permission rule with a pattern for this path would allow it.`,
    )
}

function isAllowed({ permission }: PlaceContext, path: string): boolean {
  const { decision, explicit } = permission(path)
  return explicit && decision !== 'deny'
}

const foldedPath = (path: string): string => path.split(/[/\\]/).map(foldedName).join('/')

const isBelow = (folder: string, path: string): boolean => {
  const way = relative(folder, path)
  return way === '' || (!way.startsWith('..') && !isAbsolute(way))
}

class HeldPlace implements NewPath {
  readonly shown: string
  readonly real: string
  readonly name: string
  readonly found: Stats | null
  readonly #workspace: string
  readonly #place: ReachedPlace
  /** The folder that was made last. */
  #made: OpenedFolder | null = null

  constructor(place: ReachedPlace, workspace: string, found: Stats | null) {
    this.shown = place.shown
    this.real = place.real
    this.name = basename(place.real)
    this.found = found
    this.#workspace = workspace
    this.#place = place
  }

  get #folder(): ReachedPlace['folder'] {
    return (this.#made ?? this.#place).folder
  }

  entry(name: string): Buffer {
    return this.#folder.entry(name)
  }

  open(name: string, flags: number): Promise<FileHandle> {
    return openHeldEntry({ folder: this.#folder }, name, { flags })
  }

  async makeFolders(): Promise<void> {
    const folders = this.#place.missing.slice(0, -1)
    if (folders.length === 0) return
    // Each folder is made in the one that is held, so nothing is made behind a link.
    let made = dirname(this.real).split('/').slice(0, -folders.length).join('/')
    for (const name of folders) {
      await mkdir(this.#folder.entry(name)).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error
      })
      made = made === '' || made === '.' ? name : `${made}/${name}`
      const opened = await openFolderInside(workspaceRoot(this.#workspace), made)
      if (opened.real !== made) {
        await opened[Symbol.asyncDispose]()
        throw new ToolFailure(
          'outside_workspace',
          `The folders of ${quoted(this.shown)} changed while they were made. Try again.`,
        )
      }
      await this.#made?.[Symbol.asyncDispose]()
      this.#made = opened
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#made?.[Symbol.asyncDispose]()
    await this.#place[Symbol.asyncDispose]()
  }
}

/**
 * The path in the form for rules: normalised, so that one file has one spelling. Symlinks are not followed.
 */
export const shownPath = (path: string): string => partsOf(path).join('/') || '.'
