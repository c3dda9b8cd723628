// list_files: lists what is in a folder, with sizes. Names carry the labels of their files.
import {
  defineTool,
  type OpenedFolder,
  openFolderInside,
  walk,
  type WalkedEntry,
  workspaceRoot,
} from '@beaver/agent/tool-kit'
import { z } from 'zod'
import { shownPath } from './new-path.ts'
import { mayFollow } from './read-file.ts'

const entriesDefault = 500

export interface ListedEntry {
  readonly path: string
  readonly kind: 'file' | 'symlink' | 'folder' | 'other'
  /** For files only. */
  readonly bytes?: number
}

export interface FileList {
  /** The folder's own name. */
  readonly folder: string
  readonly path: string
  /** Nearest first, then by path. A folder is listed only if `depth_max` kept the walk out of it. */
  readonly entries: readonly ListedEntry[]
  readonly entries_left_out: number
  /** Folders that were not entered because of their name. */
  readonly ignored: { readonly paths: readonly string[]; readonly left_out: number }
  readonly unreadable: { readonly paths: readonly string[]; readonly left_out: number }
}

export const listFiles = defineTool({
  name: 'list_files',
  description: 'Lists the files below a folder.',
  input: z.strictObject({
    path: z.string().default('.'),
    depth_max: z.int().min(1).max(1000).optional(),
    entries_max: z.int().min(1).max(5000).default(entriesDefault).meta({ brief: null }),
  }),
  idempotent: true,
  effects: 'reads',
  subject: ({ path }) => shownPath(path),
  subjectKind: 'path',
  async run(input, context): Promise<FileList> {
    await using from = await openFolderInside(workspaceRoot(context.workspace), input.path)
    mayFollow(input.path, from, context)
    const ignored = boundedList(20)
    const unreadable = boundedList(20)
    const kept: WalkedEntry[] = []
    let leftOut = 0
    const depthMax = input.depth_max ?? Infinity
    for await (const entry of walk(from, { signal: context.signal, depthMax })) {
      if (entry.kind === 'ignored_folder') ignored.add(entry.shown)
      else if (entry.kind === 'unreadable_folder') unreadable.add(entry.shown)
      else if (entry.kind === 'folder' && entry.depth < depthMax) continue
      else if (kept.length < input.entries_max) kept.push(entry)
      else leftOut++
    }
    const entries: ListedEntry[] = []
    for (const entry of kept) {
      context.signal.throwIfAborted()
      entries.push(await listed(entry))
    }
    const list: FileList = {
      folder: folderName(from),
      path: from.shown,
      entries,
      entries_left_out: leftOut,
      ignored: ignored.result(),
      unreadable: unreadable.result(),
    }
    const names = [...entries.map(({ path }) => path), ...list.ignored.paths, ...list.unreadable.paths]
    context.reads({ files: names.map((name) => realName(from, name)), namesOnly: true })
    return list
  },
})

/** The path after all links of what is shown below a folder. */
export function realName({ shown, real }: Pick<OpenedFolder, 'shown' | 'real'>, name: string): string {
  const below = shown === '.' ? name : name.slice(shown.length + 1)
  return real === '.' ? below : `${real}/${below}`
}

/** The name that a person would use for the folder. */
export function folderName({ folder }: OpenedFolder): string {
  return (
    folder.path
      .toString()
      .split(/[/\\]/)
      .findLast((part) => part !== '') ?? '/'
  )
}

async function listed(entry: WalkedEntry): Promise<ListedEntry> {
  if (entry.kind !== 'file') return { path: entry.shown, kind: entry.kind as 'symlink' | 'folder' | 'other' }
  const bytes = await entry.bytes().catch(() => null)
  return { path: entry.shown, kind: 'file', ...(bytes === null ? {} : { bytes }) }
}

// A list in a tool result that says how much it left out.

export interface BoundedList {
  readonly paths: readonly string[]
  readonly left_out: number
}

export function boundedList(pathsMax: number): { add(path: string): void; result(): BoundedList } {
  const paths: string[] = []
  let count = 0
  return {
    add(path) {
      if (count++ < pathsMax) paths.push(path)
    },
    result: () => ({ paths, left_out: count - paths.length }),
  }
}
