// Resolves a path from the model inside the workspace or inside a skill's folder. Every file tool relies on this fence.
// W1. A returned path is inside the folder after all symlinks are followed. Any other path is refused, and nothing is opened.
// W2. A refusal names the path and says what to give instead.
// W3. A refusal never reveals whether something exists outside.
import { readlink, realpath } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { ToolFailure } from '../tools/tool.ts'

export interface WorkspacePath {
  /** The real path, without symlinks. */
  readonly absolute: string
  /** The path relative to the workspace, with `/`, as given but normalised. `.` is the workspace itself. */
  readonly shown: string
}

/** The folder that contains the paths, and the words for it in refusals. */
export interface PathRoot {
  readonly folder: string
  /** The code of the refusal of a path outside. */
  readonly outside: 'outside_workspace' | 'outside_skill'
  readonly called: string
  readonly example: string
  /** Advice for a path at which nothing exists. */
  readonly look: string
}

const charactersMax = 4096
const symlinkHopsMax = 40

/**
 * @param path relative to the workspace; `''` and `.` are the workspace
 * @throws {ToolFailure} `outside_workspace`; `not_found` if nothing exists there
 */
export function resolveInWorkspace(workspace: string, path: string): Promise<WorkspacePath> {
  return resolveInside(workspaceRoot(workspace), path)
}

export function workspaceRoot(folder: string): PathRoot {
  const look = 'Call list_files to see what is there.'
  return { folder, outside: 'outside_workspace', called: 'the workspace', example: 'src/index.ts', look }
}

/** @throws {ToolFailure} `root.outside`; `not_found` if nothing exists there */
export async function resolveInside(root: PathRoot, path: string): Promise<WorkspacePath> {
  const fault = pathFault(path)
  if (fault !== null) throw refusal(root, path, fault)
  const parts = path.split('/').filter((part) => part !== '' && part !== '.')
  const folder = await realpath(root.folder)
  const wanted = join(folder, ...parts)
  const found = await realOf(wanted)
  if (!isInside(folder, found.real ?? (await nearestReal(wanted)))) throw refusal(root, path, `a symlink in it leads out of ${root.called}`)
  if (found.real !== null) return { absolute: found.real, shown: parts.join('/') || '.' }
  if (found.code === 'EACCES' || found.code === 'EPERM') throw new ToolFailure('unreadable', `${quoted(path)} may not be read (${found.code}).`)
  throw new ToolFailure('not_found', `There is nothing at ${quoted(path)} in ${root.called}. ${root.look}`)
}

/** The path as a message shows it: one line, escaped, of bounded length. */
export function quoted(path: string): string {
  return JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path)
}

/** What is wrong with the text of a path. It is checked before the disk is read. */
export function pathFault(path: string): string | null {
  if (path.includes('\0')) return 'it contains a NUL character'
  if (path.length > charactersMax) return `it is longer than ${charactersMax} characters`
  if (isAbsolute(path) || path.startsWith('/') || path.startsWith('\\')) return 'it is absolute'
  if (/^[a-z]:/i.test(path)) return 'it begins with a drive letter'
  if (path.split(/[/\\]/).includes('..')) return 'it holds ".."'
  return null
}

export function refusal(root: PathRoot, path: string, fault: string): ToolFailure {
  return new ToolFailure(
    root.outside,
    `The path ${quoted(path)} is refused: ${fault}. Give a path relative to ${root.called} without "..", such as ${JSON.stringify(root.example)}.`,
  )
}

/** Whether a real path is a given real folder or is below it. */
export const isInside = (root: string, path: string): boolean => {
  const way = relative(root, path)
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way))
}

async function realOf(path: string): Promise<{ real: string; code: null } | { real: null; code: string }> {
  try {
    return { real: await realpath(path), code: null }
  } catch (error) {
    return { real: null, code: (error as NodeJS.ErrnoException).code ?? 'EUNKNOWN' }
  }
}

/** The real path of the deepest part of `path` that exists. A symlink that leads nowhere is followed as far as it leads. */
async function nearestReal(path: string): Promise<string> {
  let hopsLeft = symlinkHopsMax
  for (let at = path; ;) {
    const { real } = await realOf(at)
    if (real !== null) return real
    const target = hopsLeft > 0 ? await readlink(at).catch(() => null) : null
    const parent = dirname(at)
    if (target !== null) hopsLeft--
    else if (parent === at) return at
    at = target === null ? parent : resolve((await realOf(parent)).real ?? parent, target)
  }
}
