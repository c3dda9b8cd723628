// Resolves a path to write to, inside the workspace, whether it exists or not.
// N1. Every symlink on the way is followed. A symlink that leads out, or nowhere, is refused before anything is made.
// N2. Some paths inside are refused too: the folders of git and of Beaver, and Beaver's configuration, because they decide what runs later.
import type { Stats } from 'node:fs'
import { lstat, mkdir, realpath } from 'node:fs/promises'
import { basename, dirname, join, relative, sep } from 'node:path'
import { isInside, pathFault, quoted, refusal, ToolFailure, workspaceRoot } from '@beaver/agent/tool-kit'

export interface NewPath {
  /** Contains no symlink. */
  readonly absolute: string
  /** Relative to the workspace, with `/`, as given but normalised. */
  readonly shown: string
  /** Whether a regular file exists there. */
  readonly exists: boolean
}

const ownFolders = new Set(['.git', '.beaver'])
const ownFiles = new Set(['beaver.config.json'])
const foldersMax = 64

/** @throws {ToolFailure} `outside_workspace`, `protected_path`, `not_a_file`, `not_a_folder` */
export async function newInWorkspace(workspace: string, path: string): Promise<NewPath> {
  const refused = (why: string): ToolFailure => refusal(workspaceRoot(workspace), path, why)
  const fault = pathFault(path)
  if (fault !== null) throw refused(fault)
  const parts = partsOf(path)
  const root = await realpath(workspace)
  if (parts.length === 0 || /[/\\]$/.test(path)) throw new ToolFailure('not_a_file', `${quoted(path)} is a folder. Give the path of a file.`)
  if (parts.length > foldersMax) throw refused(`it is deeper than ${foldersMax} folders`)
  let at = root
  let missing = false
  for (const [index, part] of parts.entries()) {
    at = join(at, part)
    const found: Stats | null = missing ? null : await lstat(at).catch(absent)
    missing ||= found === null
    if (found === null) continue
    if (found.isSymbolicLink()) {
      const real = await realpath(at).catch(() => null)
      if (real === null || !isInside(root, real)) throw refused('a symlink in it leads out of the workspace, or nowhere')
      at = real
    }
    const { isFile, isFolder } = await kindOf(at)
    if (index < parts.length - 1 && !isFolder) throw new ToolFailure('not_a_folder', `${quoted(parts.slice(0, index + 1).join('/'))} is not a folder.`)
    if (index === parts.length - 1 && !isFile) throw new ToolFailure('not_a_file', `${quoted(path)} is there and is not a regular file.`)
  }
  const inside = relative(root, at).split(sep)
  const own = inside.some((part) => ownFolders.has(part.toLowerCase())) || ownFiles.has(basename(at).toLowerCase())
  if (own)
    throw new ToolFailure(
      'protected_path',
      `${quoted(path)} must not be written, because git or Beaver keep files there that decide what runs. Choose another place.`,
    )
  return { absolute: at, shown: parts.join('/'), exists: !missing }
}

/** Makes the missing folders of a path. */
export async function makeFolders({ absolute, shown }: NewPath): Promise<void> {
  const folder = dirname(absolute)
  await mkdir(folder, { recursive: true })
  // Another process may have put a symlink there meanwhile.
  if ((await realpath(folder)) !== folder)
    throw new ToolFailure('outside_workspace', `The folders of ${quoted(shown)} changed while they were made. Try again.`)
}

/** The path in the form for rules: normalised, so that one file has one spelling. Symlinks are not followed. */
export const shownPath = (path: string): string => partsOf(path).join('/') || '.'

const partsOf = (path: string): string[] => path.split('/').filter((part) => part !== '' && part !== '.')

async function kindOf(path: string): Promise<{ isFile: boolean; isFolder: boolean }> {
  const found = await lstat(path)
  return { isFile: found.isFile(), isFolder: found.isDirectory() }
}

function absent(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null
  throw new ToolFailure('unreadable', `A folder on the path may not be read (${error.code ?? error.message}).`)
}
