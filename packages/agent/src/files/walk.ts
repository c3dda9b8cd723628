// Walks over a folder for every file tool: it gives what is below the folder, nearest first, in an order that does not depend on the disk.
// K1. Symlinks are reported and never followed.
// K2. Folders named in `ignoredFolders` are reported and not entered. The folder in which the walk starts is always entered.
// K3. Names are bytes: a name that is not UTF-8 is walked like any other and shown with U+FFFD.
// K4. Entries that cannot be read are reported; they never end the walk.
import type { Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { ToolFailure } from '../tools/tool.ts'
import type { WorkspacePath } from './workspace-path.ts'

/** Folders that are not entered: machines make them, and they are often larger than everything else. */
export const ignoredFolders = ['.git', 'node_modules', '.beaver'] as const

/** The most files and folders that one walk looks at. */
const walkedEntriesMax = 2_000_000

export interface WalkedEntry {
  readonly kind: 'file' | 'folder' | 'ignored_folder' | 'symlink' | 'other' | 'unreadable_folder'
  /** The absolute path as the disk spells it. */
  readonly path: Buffer
  /** The path relative to the workspace, with `/`. */
  readonly shown: string
  /** 1 for an entry of the folder itself. */
  readonly depth: number
}

/**
 * Gives everything below `from`: level by level, and by path within a level.
 *
 * @param options `depthMax`: folders at this depth are reported and not entered
 * @throws {ToolFailure} `not_a_folder`, `too_many_files`; the abort of `signal`
 */
export async function* walk(from: WorkspacePath, options: { signal: AbortSignal; depthMax?: number }): AsyncGenerator<WalkedEntry> {
  const depthMax = options.depthMax ?? Infinity
  let level: { path: Buffer; prefix: string }[] = [{ path: Buffer.from(from.absolute), prefix: from.shown === '.' ? '' : `${from.shown}/` }]
  let walked = 0
  for (let depth = 1; level.length > 0; depth++) {
    const below: typeof level = []
    for (const folder of level) {
      options.signal.throwIfAborted()
      const children = await childrenOf(folder.path)
      if (!Array.isArray(children)) {
        if (depth === 1)
          throw new ToolFailure(
            children.code === 'ENOTDIR' ? 'not_a_folder' : 'unreadable',
            `${JSON.stringify(from.shown)} cannot be listed as a folder (${children.code}).`,
          )
        yield { kind: 'unreadable_folder', path: folder.path, shown: folder.prefix.slice(0, -1), depth }
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
        const path = Buffer.concat([folder.path, slash, child.name])
        yield { kind, path, shown, depth }
        if (kind === 'folder' && depth < depthMax) below.push({ path, prefix: `${shown}/` })
      }
    }
    level = below
  }
}

const slash = Buffer.from('/')
const ignoredNames: ReadonlySet<string> = new Set(ignoredFolders)

async function childrenOf(folder: Buffer): Promise<Dirent<Buffer>[] | { code: string }> {
  try {
    const children = await readdir(folder, { withFileTypes: true, encoding: 'buffer' })
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
