// What a worker knows: the tools' results and the received JSON blocks, recognised by their shape.
import { z } from 'zod'
import { failureIn, parseJson } from './conversation.ts'
import type { MadeCall, WorkOrder } from './habit.ts'
import { type Page, pageIn } from './pages.ts'

const count = z.number().nonnegative()
const figures = z.object({ files: count, lines: count, words: count, bytes: count })
const paths = z.object({ paths: z.array(z.string()), left_out: count })

const fileList = z.looseObject({
  folder: z.string(),
  path: z.string(),
  entries: z.array(z.looseObject({ path: z.string(), kind: z.string(), bytes: count.optional() })),
  entries_left_out: count,
})
const filePart = z.looseObject({ path: z.string(), text: z.string().nullable(), encoding: z.string() })
const fileStats = z.looseObject({
  folder: z.string(),
  path: z.string(),
  totals: figures,
  types: z.array(figures.extend({ type: z.string(), bytes_percent: z.number() })),
  largest: z.array(z.object({ path: z.string(), bytes: count, lines: count })),
  symlinks_not_followed: count.default(0),
  ignored: paths.default({ paths: [], left_out: 0 }),
  unreadable: paths.default({ paths: [], left_out: 0 }),
  files_with_uncertain_words: count.default(0),
})
const recount = z.looseObject({
  method: z.string(),
  totals: figures,
  agrees: z.boolean().nullable(),
  differences: z.array(z.object({ figure: z.string(), expected: count, found: count })),
  problems: z.array(z.string()).default([]),
  command: z.string(),
})
const folderSummary = z.object({
  folder: z.object({
    name: z.string(),
    path: z.string(),
    what_it_is: z.string(),
    notable_files: z.array(z.object({ path: z.string(), note: z.string() })).default([]),
  }),
})

export type FileList = z.infer<typeof fileList>
export type FilePart = z.infer<typeof filePart>
export type FileStats = z.infer<typeof fileStats>
export type Recount = z.infer<typeof recount>
export type FolderSummary = z.infer<typeof folderSummary>['folder']

export interface Known {
  readonly list: FileList | null
  readonly parts: readonly FilePart[]
  /** The tools' results that are a text with a source. */
  readonly pages: readonly Page[]
  readonly folder: FolderSummary | null
  readonly stats: FileStats | null
  readonly recount: Recount | null
  /** The different received JSON texts, unchanged and in order. */
  readonly receivedJson: readonly string[]
  readonly failures: readonly { readonly tool: string; readonly code: string; readonly message: string }[]
}

export function readKnown(order: WorkOrder, calls: readonly MadeCall[]): Known {
  const received = new Set<string>()
  for (const { text } of order.dependencies) for (const block of jsonBlocks(text)) received.add(block)
  const values: unknown[] = [...received].map(parseJson)
  const pages: Page[] = []
  const failures: { tool: string; code: string; message: string }[] = []
  for (const { name, result } of calls) {
    if (result === null) continue
    const failed = failureIn(result)
    const page = failed === null ? pageIn(result) : null
    if (failed === null) values.push(parseJson(result))
    else failures.push({ tool: name, ...failed })
    if (page !== null) pages.push(page)
  }
  return {
    list: last(fileList, values),
    parts: values.flatMap((value) => filePart.safeParse(value).data ?? []),
    pages,
    folder: last(folderSummary, values)?.folder ?? null,
    stats: last(fileStats, values),
    recount: last(recount, values),
    receivedJson: [...received],
    failures,
  }
}

function last<T>(schema: z.ZodType<T>, values: readonly unknown[]): T | null {
  for (const value of values.toReversed()) {
    const parsed = schema.safeParse(value)
    if (parsed.success) return parsed.data
  }
  return null
}

/** The fenced blocks that are marked json and are JSON. */
function jsonBlocks(text: string): string[] {
  const blocks = [...text.matchAll(/^```json[ \t]*\n([\s\S]*?)\n```[ \t]*$/gm)].map(([, block = '']) => block)
  return blocks.filter((block) => parseJson(block) !== undefined)
}
