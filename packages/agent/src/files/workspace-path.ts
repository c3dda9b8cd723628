// The words and the text of a path: what may be asked for at all, before the disk is read (open-inside.ts
// reads it). A refusal names the path and says what to give instead.
import { isAbsolute, relative, sep } from 'node:path'
import { ToolFailure } from '../tools/tool-failure.ts'

/** The folder that contains the paths, and the words for it in refusals. */
export interface PathRoot {
  readonly folder: string
  /** The code of the refusal of a path outside. */
  readonly outside: 'outside_workspace' | 'outside_skill'
  readonly called: string
  readonly example: string
  /** Advice for a path at which nothing exists. */
  readonly hint: string
}

const charactersMax = 4096

export function workspaceRoot(folder: string): PathRoot {
  const hint = 'Call list_files to see what is there.'
  return {
    folder,
    outside: 'outside_workspace',
    called: 'the workspace',
    example: 'src/index.ts',
    hint,
  }
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
