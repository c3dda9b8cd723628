// file_stats: counts the files, lines, words and bytes of a folder per type, as `find` and `wc` do. The
// figures equal those of `find <folder> -type f` and `LC_ALL=C.UTF-8 wc` (word-classes.ts names the version).
// Memory is bounded, whatever the files are. The same files give the same result, whatever their order on the
// disk.
import { extname } from 'node:path'
import { defineTool, openFolderInside, walk, type WalkedEntry, workspaceRoot } from '@beaver/agent/tool-kit'
import { z } from 'zod'
import { type BoundedList, boundedList } from './bounded-list.ts'
import { addFigures, type Figures, noFigures } from './figures.ts'
import { folderName } from './list-files.ts'
import { shownPath } from './new-path.ts'
import { TextCounter } from './text-counter.ts'

const concurrentFilesMax = 6
const chunkBytes = 256 * 1024
const largestMax = 5
const typesMax = 50

export interface TypeFigures extends Figures {
  /** `.ts`, `no extension`, or `N other types`. */
  readonly type: string
  /** The share of all bytes, with one decimal. */
  readonly bytes_percent: number
}

export interface LargeFile {
  readonly path: string
  readonly bytes: number
  readonly lines: number
}

export interface FileStats {
  readonly folder: string
  readonly path: string
  readonly totals: Figures
  /** Sorted by bytes, largest first. */
  readonly types: readonly TypeFigures[]
  /** Sorted by bytes, largest first. */
  readonly largest: readonly LargeFile[]
  readonly symlinks_not_followed: number
  readonly ignored: BoundedList
  /** They count as files, but without lines, words and bytes. */
  readonly unreadable: BoundedList
  /** Files with bytes that are not UTF-8 or not printable. Versions of wc count their words differently. */
  readonly files_with_uncertain_words: number
}

export const fileStats = defineTool({
  name: 'file_stats',
  description: 'Counts files, lines, words and bytes below a folder. Copy the figures exactly.',
  input: z.strictObject({ path: z.string().default('.') }),
  idempotent: true,
  effects: 'reads',
  subject: ({ path }) => shownPath(path),
  subjectKind: 'path',
  async run({ path }, context): Promise<FileStats> {
    await using from = await openFolderInside(workspaceRoot(context.workspace), path)
    const totals = noFigures()
    const types = new Map<string, Figures>()
    const largest: LargeFile[] = []
    const ignored = boundedList(20)
    const unreadable = boundedList(20)
    let symlinks = 0
    let uncertain = 0

    const entries = walk(from, { signal: context.signal })
    await inParallel(concurrentFilesMax, async () => {
      const chunk = Buffer.allocUnsafeSlow(chunkBytes)
      for (let next = await entries.next(); next.done !== true; next = await entries.next()) {
        const entry = next.value
        if (entry.kind === 'symlink') symlinks++
        else if (entry.kind === 'ignored_folder') ignored.add(entry.shown)
        else if (entry.kind === 'unreadable_folder') unreadable.add(entry.shown)
        if (entry.kind !== 'file') continue
        const counted = await countFile(entry, chunk, context.signal)
        if (counted === null) unreadable.add(entry.shown)
        const { lines, words, bytes } = counted ?? noFigures()
        if (counted?.uncertain === true) uncertain++
        const found: Figures = { files: 1, lines, words, bytes }
        addFigures(totals, found)
        addFigures(figuresOf(types, typeOf(entry.shown)), found)
        if (counted !== null) keepLargest(largest, { path: entry.shown, bytes, lines })
      }
    })
    return {
      folder: folderName(from),
      path: from.shown,
      totals,
      types: typeTable(types, totals.bytes),
      largest,
      symlinks_not_followed: symlinks,
      ignored: ignored.result(),
      unreadable: unreadable.result(),
      files_with_uncertain_words: uncertain,
    }
  },
})

/**
 * The lower-case extension with its dot. `no extension` for `Makefile`, `.gitignore`, `a.` and names that
 * only seem to have one.
 */
export function typeOf(path: string): string {
  const extension = extname(path)
  return /^\.[\p{L}\p{M}\p{N}_+~#-]{1,16}$/u.test(extension) ? extension.toLowerCase() : 'no extension'
}

/** Runs `work` `times` times in parallel, waits for all, and then throws the first failure. */
async function inParallel(times: number, work: () => Promise<void>): Promise<void> {
  const settled = await Promise.allSettled(Array.from({ length: times }, work))
  for (const each of settled) if (each.status === 'rejected') throw each.reason
}

function figuresOf(types: Map<string, Figures>, type: string): Figures {
  const known = types.get(type)
  if (known !== undefined) return known
  const fresh = noFigures()
  types.set(type, fresh)
  return fresh
}

async function countFile(
  entry: WalkedEntry,
  chunk: Buffer,
  signal: AbortSignal,
): Promise<TextCounter | null> {
  const counter = new TextCounter()
  try {
    await using file = await entry.open()
    for (;;) {
      signal.throwIfAborted()
      const { bytesRead } = await file.read(chunk, 0, chunk.length, null)
      if (bytesRead === 0) break
      counter.add(chunk.subarray(0, bytesRead))
    }
  } catch (error) {
    if (signal.aborted) throw error
    return null
  }
  counter.endFile()
  return counter
}

function keepLargest(largest: LargeFile[], file: LargeFile): void {
  const at = largest.findIndex((other) => isBefore(file, other))
  if (at === -1 && largest.length >= largestMax) return
  largest.splice(at === -1 ? largest.length : at, 0, file)
  if (largest.length > largestMax) largest.pop()
}

const isBefore = (a: LargeFile, b: LargeFile): boolean =>
  a.bytes > b.bytes || (a.bytes === b.bytes && a.path < b.path)

function typeTable(types: ReadonlyMap<string, Figures>, allBytes: number): TypeFigures[] {
  const rows = [...types].toSorted(([a, x], [b, y]) => y.bytes - x.bytes || (a < b ? -1 : 1))
  if (rows.length > typesMax) {
    const rest = rows.splice(typesMax - 1)
    const sum = noFigures()
    for (const [, each] of rest) addFigures(sum, each)
    rows.push([`${rest.length} other types`, sum])
  }
  return rows.map(([type, each]) => ({
    type,
    ...each,
    bytes_percent: allBytes === 0 ? 0 : Math.round((each.bytes / allBytes) * 1000) / 10,
  }))
}
