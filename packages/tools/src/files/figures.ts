// The four figures of a folder, for file_stats, recount_files and the report.
import { z } from 'zod'

export const figures = z.strictObject({
  files: z.int().nonnegative(),
  lines: z.int().nonnegative(),
  words: z.int().nonnegative(),
  bytes: z.int().nonnegative(),
})
export type Figures = z.infer<typeof figures>

export const figureNames = ['files', 'lines', 'words', 'bytes'] as const satisfies readonly (keyof Figures)[]

export const noFigures = (): Figures => ({ files: 0, lines: 0, words: 0, bytes: 0 })

export function addFigures(to: Figures, more: Figures): void {
  for (const name of figureNames) to[name] += more[name]
}
