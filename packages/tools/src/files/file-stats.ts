// file_stats: counts the files, lines, words and bytes of a folder per type, as `find` and `wc` do. The
// figures equal those of `find <folder> -type f` and `LC_ALL=C.UTF-8 wc` of GNU coreutils 9.1.
// Memory is bounded, whatever the files are. The same files give the same result, whatever their order on the
// disk.
import { extname } from 'node:path'
import { defineTool, openFolderInside, walk, type WalkedEntry, workspaceRoot } from '@beaver/agent/tool-kit'
import { z } from 'zod'
import { type BoundedList, boundedList, folderName, realName } from './list-files.ts'
import { addFigures, type Figures, noFigures } from './figures.ts'
import { shownPath } from './new-path.ts'
import { mayFollow } from './read-file.ts'

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
    mayFollow(path, from, context)
    const totals = noFigures()
    const types = new Map<string, Figures>()
    const largest: LargeFile[] = []
    const ignored = boundedList(20)
    const unreadable = boundedList(20)
    /** The first file of each type: its name says the type. */
    const firsts: string[] = []
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
        if (!types.has(typeOf(entry.shown))) firsts.push(entry.shown)
        addFigures(figuresOf(types, typeOf(entry.shown)), found)
        if (counted !== null) keepLargest(largest, { path: entry.shown, bytes, lines })
      }
    })
    const stats: FileStats = {
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
    const shown = [...largest.map((file) => file.path), ...stats.ignored.paths, ...stats.unreadable.paths]
    const names = [...firsts, ...shown].map((name) => realName(from, name))
    context.reads({ files: names, namesOnly: true })
    return stats
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

// Counts lines, words and bytes as `LC_ALL=C.UTF-8 wc -lwc` does, byte by byte, in constant memory. The sum
// does not depend on where the chunks are cut.

export class TextCounter {
  lines = 0
  words = 0
  bytes = 0
  /** Some byte was neither printable nor a separator, so versions of wc may count words differently. */
  uncertain = false

  #inWord = false
  /**
   * The multi-byte character under way: the bits so far, the bytes to come, and the least code point of its
   * length.
   */
  #codePoint = 0
  #bytesToCome = 0
  #least = 0

  add(chunk: Uint8Array): void {
    let { lines, words } = this
    let inWord = this.#inWord
    this.bytes += chunk.length
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i] as number
      let found: number
      if (byte < 0x80) {
        if (this.#bytesToCome > 0) this.#brokenOff()
        if (byte === 0x0a) lines++
        found = asciiClasses[byte] as number
      } else {
        found = this.#multiByte(byte)
      }
      if (found === wordClass.printable) {
        if (!inWord) words++
        inWord = true
      } else if (found === wordClass.separator) {
        inWord = false
      } else if (found === wordClass.nothing) {
        this.uncertain = true
      }
    }
    this.lines = lines
    this.words = words
    this.#inWord = inWord
  }

  /** Ends the file: the next byte begins another. */
  endFile(): void {
    if (this.#bytesToCome > 0) this.#brokenOff()
    this.#inWord = false
  }

  /** The class of the character that this byte completes. `unknown` while it is incomplete. */
  #multiByte(byte: number): number {
    if (byte < 0xc0) {
      if (this.#bytesToCome === 0) return wordClass.nothing
      this.#codePoint = (this.#codePoint << 6) | (byte & 0x3f)
      if (--this.#bytesToCome > 0) return wordClass.unknown
      return this.#codePoint < this.#least || this.#codePoint > 0x10_ffff
        ? wordClass.nothing
        : classOf(this.#codePoint)
    }
    if (this.#bytesToCome > 0) this.#brokenOff()
    if (byte >= 0xf5 || byte < 0xc2) return wordClass.nothing
    const bytesToCome = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3
    this.#bytesToCome = bytesToCome
    this.#codePoint = byte & (0x3f >> bytesToCome)
    this.#least = bytesToCome === 1 ? 0x80 : bytesToCome === 2 ? 0x800 : 0x1_0000
    return wordClass.unknown
  }

  #brokenOff(): void {
    this.#bytesToCome = 0
    this.uncertain = true
  }
}

// The classes that `wc -w` gives to characters: GNU coreutils 9.1 with glibc 2.36 in the locale C.UTF-8,
// checked code point by code point. A word is a run without separators that contains a printable character.
// Other characters neither begin nor end a word: control characters, bytes that are not UTF-8, code points
// that Unicode has not assigned. Versions differ: coreutils 9.5 and later begin a word at such bytes too, and
// a newer C library knows characters that Unicode 14 (glibc 2.36) did not. `nothing` marks exactly these
// places, so that a count can say that it depends on the version.

const wordClass = { unknown: 0, nothing: 1, separator: 2, printable: 3 } as const

/** The class of a code point from U+0080 on. */
function classOf(codePoint: number): number {
  const known = classes[codePoint]
  if (known !== undefined && known !== wordClass.unknown) return known
  const found = findClass(codePoint)
  classes[codePoint] = found
  return found
}

/** The classes of the ASCII characters, by code. */
const asciiClasses: Uint8Array = Uint8Array.from({ length: 128 }, (_, code) => {
  if (code === 0x20 || (code >= 0x09 && code <= 0x0d)) return wordClass.separator
  return code > 0x20 && code < 0x7f ? wordClass.printable : wordClass.nothing
})

const classes = new Uint8Array(0x11_0000)

// The spaces of Unicode, including the no-break ones (U+00A0, U+2007, U+202F) and the word joiner, as in wc.
const separators = /[\u00a0\u1680\u2000-\u200a\u202f\u205f\u2060\u3000]/u
const unprintable = /[\p{Cc}\p{Cn}\p{Cs}\u2028\u2029]/u

function findClass(codePoint: number): number {
  const character = String.fromCodePoint(codePoint)
  if (separators.test(character)) return wordClass.separator
  if (unprintable.test(character)) return wordClass.nothing
  return newerThanUnicode14.some(([first, last]) => codePoint >= first && codePoint <= last)
    ? wordClass.nothing
    : wordClass.printable
}

// Characters of Unicode 15 to 17. A range may contain code points that are not assigned.
const newerThanUnicode14: readonly (readonly [number, number])[] = (
  '88f 897 c5c cdc cf3 ece 1acf-1aeb 1b4e-1b4f 1b7f 1c89-1c8a 20c1 2427-2429 2b96 2ffc-2fff 31e4-31ef a7cb-a7cf a7d2 a7d4 ' +
  'a7da-a7f1 fbc3-fbd2 fd90-fd91 fdc8-fdce 105c0-105f3 10940-10959 10d40-10d8f 10ec2-10eff 1123f-11241 11380-113e2 ' +
  '116d0-116e3 11b00-11bf9 11db0-11de9 11f00-11f5a 1342f 13439-143fa 16100-16139 16d40-16d79 16ea0-16ed3 16ff2-16ff6 ' +
  '187f8-187ff 18cff 18d09-18df2 1b132 1b155 1cc00-1cef0 1d2c0-1d2d3 1df25-1df2a 1e030-1e08f 1e4d0-1e6ff 1f6d8-1f6dc ' +
  '1f774-1f77f 1f7d9 1f8b2-1f8d8 1fa54-1fa57 1fa75-1fa77 1fa87-1fa8f 1faad-1faaf 1fabb-1fabf 1fac6-1facf 1fada-1fadf ' +
  '1fae8-1faef 1faf7-1faf8 1fbcb-1fbef 1fbfa 2b739-2b73f 2cea2-2cead 2ebf0-2ee5d 31350-33479'
)
  .split(' ')
  .map((range) => {
    const [first = '', last = first] = range.split('-')
    return [Number.parseInt(first, 16), Number.parseInt(last, 16)]
  })
