// Pages, which are texts with a source from tools, and what can be read from them without understanding.
import { z } from 'zod'
import { parseJson } from './conversation.ts'

export interface Page {
  readonly title: string
  /** A URL or a path. */
  readonly source: string
  /** Lines of the form `Label: value`. */
  readonly facts: readonly Fact[]
  readonly tables: readonly Table[]
  /** The text without its title. */
  readonly body: string
}

export interface Fact {
  readonly label: string
  readonly value: string
}

export interface Table {
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
  readonly text: string
}

const named = { title: z.string().optional(), text: z.string() }
const page = z.union([
  z.looseObject({ url: z.string(), ...named }).transform(({ url, ...rest }) => ({ source: url, ...rest })),
  z.looseObject({ path: z.string(), ...named }).transform(({ path, ...rest }) => ({ source: path, ...rest })),
])

/** The page in a tool's result, or `null`. */
export function pageIn(result: string): Page | null {
  const found = page.safeParse(parseJson(result)).data
  return found === undefined ? null : pageOf(found.source, found.text, found.title)
}

export function pageOf(source: string, text: string, title?: string): Page {
  const [, heading] = /^\s*#{1,6}[ \t]+(.+)\n?/.exec(text) ?? []
  const body = heading === undefined ? text : text.replace(/^\s*#.*\n?/, '')
  return {
    title: title ?? heading?.trim() ?? source,
    source,
    facts: factsIn(body),
    tables: tablesIn(body),
    body: body.trim(),
  }
}

function factsIn(text: string): Fact[] {
  return text.split('\n').flatMap((line) => {
    const [, label = '', value = ''] =
      /^[ \t]*(?:[-*][ \t]+)?([^\s:：|#>][^:：|]{0,39})(?::[ \t]|：)[ \t]*(\S.*)$/.exec(line) ?? []
    return label === '' ? [] : [{ label: label.trim(), value: value.trim() }]
  })
}

export function tablesIn(text: string): Table[] {
  const tables: Table[] = []
  const lines = text.split('\n')
  for (let at = 0; at + 1 < lines.length; at++) {
    if (!isRow(lines[at]) || !/^\s*\|[\s:|-]*-[\s:|-]*\|\s*$/.test(lines[at + 1] ?? '')) continue
    const head = cellsOf(lines[at] ?? '')
    const rows: string[][] = []
    const start = at
    for (at += 2; isRow(lines[at]); at++) rows.push(cellsOf(lines[at] ?? ''))
    tables.push({ head, rows, text: lines.slice(start, at).join('\n') })
  }
  return tables
}

const isRow = (line: string | undefined): boolean => line !== undefined && /^\s*\|.*\|\s*$/.test(line)

const cellsOf = (line: string): string[] =>
  line
    .trim()
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.replaceAll(String.raw`\|`, '|').trim())

/** The first paragraph of prose, at most `sentencesMax` sentences. May be empty. */
export function openingOf({ body }: Page, sentencesMax: number): string {
  const prose = body
    .split(/\n\s*\n/)
    .find(
      (paragraph) =>
        !/^\s*(?:[#|>`~]|[-*+][ \t]|\d+[.)]\s)/.test(paragraph) &&
        factsIn(paragraph.split('\n')[0] ?? '').length === 0,
    )
  const text = (prose ?? '').replace(/\s+/g, ' ').trim()
  const sentences = text.split(/(?<=[.!?]) (?=\P{Ll})|(?<=[。！？])(?=.)/u)
  return sentences
    .slice(0, sentencesMax)
    .reduce((all, next) => all + (/[。！？]$/.test(all) ? '' : ' ') + next, '')
    .trim()
}

/** The blocks between blank lines. A fence is not split. */
export function blocksOf(text: string): string[] {
  const blocks: string[][] = [[]]
  for (const { line, fenced } of linesOf(text)) {
    if (line.trim() === '' && !fenced) blocks.push([])
    else blocks.at(-1)?.push(line)
  }
  return blocks.filter((block) => block.length > 0).map((block) => block.join('\n'))
}

function linesOf(text: string): { line: string; fenced: boolean }[] {
  let fence: string | null = null
  return text.split('\n').map((line) => {
    const [, mark] = /^\s*(```+|~~~+)/.exec(line) ?? []
    const inside = fence !== null
    if (mark !== undefined && (fence === null || mark.startsWith(fence))) fence = fence === null ? mark : null
    return { line, fenced: inside || fence !== null }
  })
}

/** Moves the headings outside of fences so that the highest has this level. */
export function withHeadingsAt(level: number, text: string): string {
  const lines = linesOf(text).map(({ line, fenced }) => ({
    line,
    depth: fenced ? 0 : (/^(#{1,6})\s/.exec(line)?.[1]?.length ?? 0),
  }))
  const highest = Math.min(...lines.flatMap(({ depth }) => (depth === 0 ? [] : [depth])), 6)
  return lines
    .map(({ line, depth }) =>
      depth === 0 ? line : '#'.repeat(Math.min(6, depth - highest + level)) + line.slice(depth),
    )
    .join('\n')
}
