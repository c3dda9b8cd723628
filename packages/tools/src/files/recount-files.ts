// recount_files: counts a folder's files again by other means than file_stats, and compares. It shares no
// counting code with file_stats: it uses the system's own `find` and `wc`, or a second algorithm if they are
// missing. No shell runs, and the programs and their arguments are fixed. The programs are killed if the call
// is cancelled or too slow.
import { defineTool, ignoredFolders, openFolderInside, workspaceRoot } from '@beaver/agent/tool-kit'
import { z } from 'zod'
import { type Figures, figureNames, figures } from './figures.ts'
import { shownPath } from './new-path.ts'
import { recountInProcess } from './recount-in-process.ts'
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
