// recount_files: counts a folder's files again by other means than file_stats, and compares. It shares no
// counting code with file_stats: it uses the system's own `find` and `wc`, or a second algorithm if they are
// missing. No shell runs, and the programs and their arguments are fixed. The programs are killed if the call
// is cancelled or too slow.
import { type FileHandle, opendir } from 'node:fs/promises'
import {
  defineTool,
  holdBelow,
  ignoredFolders,
  openBelow,
  type OpenedFolder,
  openFolderInside,
  workspaceRoot,
} from '@beaver/agent/tool-kit'
import { z } from 'zod'
import { figureNames, type Figures, figures, noFigures } from './figures.ts'
import { shownPath } from './new-path.ts'
import { recountBySystem, systemCounts } from './recount-by-system.ts'

export interface Difference {
  readonly figure: keyof Figures
  readonly expected: number
  readonly found: number
}

export interface Recount {
  readonly path: string
  readonly method: 'find and wc' | 'second algorithm in process'
  readonly totals: Figures
  /** `null` if there were no figures to compare. */
  readonly agrees: boolean | null
  readonly differences: readonly Difference[]
  /** The error messages of `find` and `wc`, if there were any. */
  readonly problems: readonly string[]
  /** A shell line that prints the same figures. */
  readonly command: string
}

export const recountFiles = defineTool({
  name: 'recount_files',
  description: 'Counts again. "expected": the totals of file_stats.',
  input: z.strictObject({
    path: z.string().default('.'),
    expected: figures.partial().optional(),
  }),
  idempotent: true,
  effects: 'reads',
  subject: ({ path }) => shownPath(path),
  subjectKind: 'path',
  async run({ path, expected }, context): Promise<Recount> {
    await using from = await openFolderInside(workspaceRoot(context.workspace), path)
    const bySystem = await systemCounts(context.signal)
    const { totals, problems } = bySystem
      ? await recountBySystem(from, context.signal)
      : await recountInProcess(from, context.signal)
    const differences = differencesOf(expected ?? {}, totals)
    return {
      path: from.shown,
      method: bySystem ? 'find and wc' : 'second algorithm in process',
      totals,
      agrees: expected === undefined || Object.keys(expected).length === 0 ? null : differences.length === 0,
      differences,
      problems,
      command: checkCommand(from.folder.path.toString()),
    }
  },
})

function differencesOf(
  expected: { readonly [K in keyof Figures]?: number | undefined },
  found: Figures,
): Difference[] {
  return figureNames.flatMap((figure) => {
    const wanted = expected[figure]
    return wanted === undefined || wanted === found[figure]
      ? []
      : [{ figure, expected: wanted, found: found[figure] }]
  })
}

/**
 * For a POSIX shell. Every path from `find` begins with `./`, so a line with only `total` is one of wc's
 * sums.
 */
export function checkCommand(folder: string): string {
  const ignored = ignoredFolders.map((name) => `-name ${name}`).join(' -o ')
  return (
    `(cd '${folder.replaceAll("'", String.raw`'\''`)}' && find . -type d \\( ${ignored} \\) -prune -o -type f -print0 | LC_ALL=C.UTF-8 xargs -0 -r wc -lwc | ` +
    `awk '$4 != "total" {f++; l+=$1; w+=$2; b+=$3} END {printf "%.0f files, %.0f lines, %.0f words, %.0f bytes\\n", f, l, w, b}')`
  )
}

// Recounts if the system has no `find` and `wc`: it reads the folder depth first, and splits the decoded text
// with regular expressions. By design it shares neither the walk nor the counting with file_stats.

/**
 * A piece is cut at its last line break. Only a line longer than this is cut elsewhere, and then a word may
 * count twice.
 */
const pieceBytesMax = 8 * 1024 * 1024
const problemsMax = 5
const ignored = /^(?:\.git|node_modules|\.beaver)$/
const word = /[^\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u202f\u205f\u2060\u3000]+/gu
const nothing = /[\p{Cc}\p{Cn}\p{Cs}\u2028\u2029\ufffd]/gu
const blank = /[\t\n\v\f\r]/

export async function recountInProcess(
  from: OpenedFolder,
  signal: AbortSignal,
): Promise<{ totals: Figures; problems: string[] }> {
  const totals = noFigures()
  const problems: string[] = []
  const complain = (error: unknown): void => {
    signal.throwIfAborted()
    if (problems.length < problemsMax) problems.push((error as Error).message)
  }
  /** Relative to the folder. `null`: the folder itself. */
  const folders: (Buffer | null)[] = [null]
  for (let at = folders.pop(); at !== undefined; at = folders.pop()) {
    signal.throwIfAborted()
    try {
      await using held = at === null ? null : await holdBelow(from, at)
      // The names are read as bytes, which the types of opendir do not declare.
      for await (const entry of await opendir((held ?? from.folder).here.toString(), {
        encoding: 'buffer' as BufferEncoding,
      })) {
        const name = entry.name as unknown as Buffer
        const path = at === null ? name : Buffer.concat([at, Buffer.from('/'), name])
        if (entry.isDirectory() && !ignored.test(name.toString())) folders.push(path)
        if (!entry.isFile()) continue
        totals.files++
        await openBelow(from, path)
          .then((handle) => recountFile(handle, totals, signal))
          .catch(complain)
      }
    } catch (error) {
      complain(error)
    }
  }
  return { totals, problems }
}

/** Closes the file. */
async function recountFile(handle: FileHandle, totals: Figures, signal: AbortSignal): Promise<void> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of handle.createReadStream({
    signal,
    highWaterMark: 1024 * 1024,
  }) as AsyncIterable<Buffer>) {
    totals.bytes += chunk.length
    const all = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    const cut = all.lastIndexOf(0x0a) + 1 || (all.length > pieceBytesMax ? all.length : 0)
    recountPiece(all.subarray(0, cut), totals)
    rest = all.subarray(cut)
  }
  recountPiece(rest, totals)
}

function recountPiece(piece: Buffer, totals: Figures): void {
  // A U+FFFD in the file is printable, so it is replaced first. After this, a U+FFFD in the decoded text
  // means invalid bytes.
  const text = piece.toString('latin1').includes('\xef\xbf\xbd')
    ? Buffer.from(piece.toString('latin1').replaceAll('\xef\xbf\xbd', 'x'), 'latin1').toString()
    : piece.toString()
  totals.lines += text.split('\n').length - 1
  const plain = text.replace(nothing, (character) => (blank.test(character) ? character : ''))
  totals.words += plain.match(word)?.length ?? 0
}
