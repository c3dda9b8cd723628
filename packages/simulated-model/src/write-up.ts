// Writes the final text of a worker, in the form that fits what the worker knows.
import { failureIn, parseJson } from './conversation.ts'
import type { MadeCall, WorkOrder } from './habit.ts'
import type { FileList, FilePart, FileStats, FolderSummary, Known, Recount } from './known.ts'
import {
  aboutPages,
  aboutReceived,
  bar,
  code,
  codeCell,
  heading,
  mermaidLabel,
  prose,
  table,
} from './page-report.ts'
import { pageIn } from './pages.ts'
import { simulatedModelName } from './simulated-model-name.ts'

export function writeUp(order: WorkOrder, calls: readonly MadeCall[], known: Known): string {
  const parts = [
    ...body(order, calls, known),
    ...known.failures.map(({ tool, code, message }) => `The tool ${tool} failed: ${message} (${code})`),
    ...vote(order),
  ]
  return parts.join('\n\n')
}

function body(order: WorkOrder, calls: readonly MadeCall[], known: Known): string[] {
  const resultOf = (tool: string): string | undefined =>
    calls.findLast((call) => call.name === tool && call.result !== null && failureIn(call.result) === null)
      ?.result ?? undefined
  const received = known.receivedJson.map(jsonBlock)
  const recounted = resultOf('recount_files')
  if (recounted !== undefined && known.recount !== null)
    return [...received, jsonBlock(recounted), verdict(known.recount)]
  const counted = resultOf('file_stats')
  if (counted !== undefined && known.stats !== null)
    return [...received, jsonBlock(counted), extremes(known.stats)]
  if (order.instruction.includes('"folder"') && known.list !== null)
    return [jsonBlock(JSON.stringify({ folder: describeFolder(known.list, known.parts) }))]
  if (calls.length === 0 && known.stats !== null) return [folderReport(known)]
  // The content of the pages matters, not how they were found.
  if (known.pages.length > 0) return aboutPages(order, known.pages)
  const findings = results(calls)
  if (findings.length > 0 || known.failures.length > 0) return [...findings, ...received]
  return handedOn(order)
}

function extremes({ types, largest }: NonNullable<Known['stats']>): string {
  const [type] = types
  const [file] = largest
  if (type === undefined || file === undefined) return 'The folder holds no files.'
  return `The type with the most bytes is ${type.type} (${type.bytes}); the largest file is ${file.path} (${file.bytes} bytes).`
}

const jsonBlock = (text: string): string => `\`\`\`json\n${text}\n\`\`\``

function results(calls: readonly MadeCall[]): string[] {
  return calls.flatMap(({ name, result }) => {
    if (result === null || failureIn(result) !== null || pageIn(result) !== null) return []
    return [`Result of ${name}:`, parseJson(result) === undefined ? result : jsonBlock(result)]
  })
}

const note = `Beaver's simulated model followed fixed habits here; it cannot reason about the instruction itself.`

function handedOn(order: WorkOrder): string[] {
  const { task, instruction, dependencies } = order
  if (dependencies.length === 0)
    return [`${note} The task was: ${task.replace(/\s+/g, ' ').trim() || instruction}`]
  if (instruction.includes('do not repeat what was said'))
    return [`${note} Heard before: ${dependencies.map(({ from }) => from).join(', ')}.`]
  return aboutReceived(order, note)
}

/** A voter has no opinion, and takes the first option. */
function vote({ instruction }: WorkOrder): string[] {
  if (!instruction.includes('"VOTE: ')) return []
  const [, first] =
    /The options, one of which you must write exactly: ("(?:[^"\\]|\\.)*")/.exec(instruction) ?? []
  return [`VOTE: ${first === undefined ? 'no opinion' : String(parseJson(first))}`]
}

// Describes a folder only with words from its files.

const sentenceCharsMax = 400

export function describeFolder(list: FileList, parts: readonly FilePart[]): FolderSummary {
  const notes = parts.map((part) => ({ path: part.path, note: noteOn(part) }))
  const readme = parts.map(readmeOf).find((found) => found !== null)
  const manifest = parts.map(manifestOf).find((found) => found !== null)
  const sentences = [readme?.heading, readme?.paragraph, manifest?.description].filter(
    (text) => text !== undefined && text !== '',
  )
  const said = [...new Set(sentences)]
    .map((text) => (/[.!?。！？]$/.test(text ?? '') ? text : `${text}.`))
    .join(' ')
  return { name: list.folder, path: list.path, what_it_is: said || whatItHolds(list), notable_files: notes }
}

function noteOn(part: FilePart): string {
  if (part.text === null) return 'binary'
  const readme = readmeOf(part)
  if (readme !== null) return readme.heading || 'readme'
  const manifest = manifestOf(part)
  if (manifest !== null) return manifest.name === '' ? 'manifest' : `manifest of ${manifest.name}`
  return clip(
    part.text
      .split('\n')
      .find((line) => line.trim() !== '')
      ?.trim()
      .replace(/^#{1,6}\s+/, '') ?? 'empty',
    80,
  )
}

/** The first heading and the first paragraph of prose. */
function readmeOf({ path, text }: FilePart): { heading: string; paragraph: string } | null {
  if (text === null || !/(^|\/)(readme[^/]*|index\.md|about\.(md|txt))$/i.test(path)) return null
  let heading = ''
  const paragraph: string[] = []
  let fenced = false
  for (const line of text.split('\n').map((each) => each.trim())) {
    if (/^(```|~~~)/.test(line)) fenced = !fenced
    const isProse =
      !fenced && line !== '' && !/^(#|=+$|-+$|<|\[!|!\[|\[\[|\||>|```|~~~|---|[*+-] |\d+\. )/.test(line)
    if (heading === '' && /^#+\s/.test(line)) heading = plainProse(line.replace(/^#+\s*/, ''))
    else if (isProse) paragraph.push(line)
    else if (paragraph.length > 0) break
  }
  return { heading: clip(heading, 120), paragraph: clip(plainProse(paragraph.join(' ')), sentenceCharsMax) }
}

function manifestOf({ path, text }: FilePart): { name: string; description: string } | null {
  if (text === null) return null
  if (/(^|\/)(package|composer|deno)\.json$/.test(path)) {
    const value = parseJson(text) as { name?: unknown; description?: unknown } | null | undefined
    if (typeof value !== 'object' || value === null) return null
    return {
      name: clip(typeof value.name === 'string' ? value.name : '', 80),
      description:
        typeof value.description === 'string' ? clip(oneLine(value.description), sentenceCharsMax) : '',
    }
  }
  if (!/(^|\/)(cargo|pyproject)\.toml$/i.test(path)) return null
  const field = (name: string): string => clip(oneLine(tomlText(text, name)), sentenceCharsMax)
  return { name: field('name'), description: field('description') }
}

/** A field's text on one line. Empty if there is none. */
function tomlText(toml: string, field: string): string {
  const [, literal, basic] =
    new RegExp(String.raw`^${field}[ \t]*=[ \t]*(?:'([^'\n]*)'|("(?:[^"\\\n]|\\.)*"))`, 'm').exec(toml) ?? []
  if (literal !== undefined || basic === undefined) return literal ?? ''
  const read = parseJson(basic)
  return typeof read === 'string' ? read : basic.slice(1, -1)
}

function whatItHolds(list: FileList): string {
  if (list.entries.length === 0) return 'The folder is empty.'
  const names = list.entries.slice(0, 5).map((entry) => entry.path)
  return clip(
    `No readme or manifest says what the folder is. The listing begins with ${names.join(', ')}.`,
    sentenceCharsMax,
  )
}

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim()

const clip = (text: string, charactersMax: number): string =>
  text.length > charactersMax ? `${text.slice(0, charactersMax).toWellFormed()}…` : text

// Reads a line of Markdown without its marks, as a person does. Inline code, names such as `OPENAI_API_KEY`
// and figures such as `2*3*4` stay. The time is bounded by the length of the text.

/** HTML elements in readmes. Other text in angle brackets stays, such as `List<String>`. */
const elements = new Set(
  'a abbr b big blockquote br center cite code dd del details div dl dt em figcaption figure font h1 h2 h3 h4 h5 h6 hr i img ins kbd li mark nobr ol p picture pre q s samp section small source span strike strong sub summary sup svg table tbody td th thead tr tt u ul video wbr'.split(
    ' ',
  ),
)

function plainProse(markdown: string): string {
  return splitCode(markdown)
    .map(({ text, code }) => (code ? text : withoutMarks(text)))
    .join('')
    .replace(/\s+/g, ' ')
    .trim()
}

function withoutMarks(text: string): string {
  const unlinked = text
    .replace(/!\[[^[\]]{0,500}\]\([^()\s]{0,1000}(?:\s+"[^"]{0,300}")?\)/g, '')
    .replace(
      /(?<![\p{L}\p{N}_)\]])\[([^[\]]{0,500})\]\([^()\s]{0,1000}(?:\([^()\s]{0,500}\)[^()\s]{0,500})?(?:\s+"[^"]{0,300}")?\)/gu,
      '$1',
    )
    .replace(/<!--[\s\S]{0,2000}?-->/g, '')
    .replace(/<(https?:\/\/[^<>\s]{1,1000})>/g, '$1')
    .replace(/<\/?([a-z][a-z0-9]*)(?:\s[^<>]{0,1000})?\/?>/gi, (whole, name: string) =>
      elements.has(name.toLowerCase()) ? '' : whole,
    )
  let left = unlinked
  for (let depth = 0; depth < depthMax; depth++)
    for (const mark of emphasis)
      left = left.replace(mark, (whole, _, inside: string) => (isName(whole) ? whole : inside))
  return left
}

/** Emphasis within emphasis is read to this depth. */
const depthMax = 3

// A mark of emphasis begins or ends a word. Inside a word, `_` and `*` belong to a name or a formula.
const emphasis = ['\\*{1,3}', '_{1,3}', '~~'].map(
  (mark) =>
    new RegExp(
      String.raw`(?<![\p{L}\p{N}_*~\\/])(${mark})(?![\s*_~])([^*~\n]{1,500}?)(?<![\s*_~\\])\1(?![\p{L}\p{N}_*~/])`,
      'gu',
    ),
)

/** Whether a text with such marks is a name, such as `__init__`. */
const isName = (text: string): boolean => /^__[^\s_]+(?:_[^\s_]+)*__$/.test(text)

/** Splits a text into inline code, without its backticks, and the text between. */
function splitCode(markdown: string): { text: string; code: boolean }[] {
  const parts: { text: string; code: boolean }[] = []
  const runs = [...markdown.matchAll(/`+/g)]
  /** The places of the remaining runs, by their length. */
  const places = new Map<number, number[]>()
  for (const { 0: run, index } of runs.toReversed()) {
    const same = places.get(run.length)
    if (same === undefined) places.set(run.length, [index])
    else same.push(index)
  }
  let at = 0
  for (const { 0: run, index } of runs) {
    const same = places.get(run.length)
    same?.pop()
    const end = index < at ? undefined : same?.at(-1)
    if (end === undefined) continue
    const inside = markdown.slice(index + run.length, end)
    parts.push({ text: markdown.slice(at, index), code: false })
    parts.push({ text: inside.trim() === '' ? inside : inside.replace(/^ (.+) $/s, '$1'), code: true })
    at = end + run.length
  }
  return [...parts, { text: markdown.slice(at), code: false }]
}

// Writes the report on a folder, in Markdown for terminals and GitHub, with figures from tools only.

const slicesMax = 8

function folderReport(known: Known): string {
  const { stats, folder, recount } = known
  if (stats === null) return 'There are no figures to report: no file_stats result was handed on.'
  return [
    heading(1, `Folder report: ${folder?.name ?? stats.folder}`),
    `> Written by Beaver's simulated model (${simulatedModelName}): the sentences follow fixed rules, no language model was asked. Every figure was computed by tools from the files themselves.`,
    heading(2, 'What this folder is'),
    prose(folder?.what_it_is ?? 'No description was handed on.'),
    ...notableFiles(known),
    heading(2, 'Figures'),
    figureTable(stats),
    heading(3, 'Bytes by type'),
    pie(stats),
    ...bars(stats),
    heading(2, 'Largest files'),
    largestFiles(stats),
    heading(2, 'Validation'),
    ...validation(recount),
    ...notes(stats),
  ].join('\n\n')
}

function notableFiles({ folder }: Known): string[] {
  const files = folder?.notable_files ?? []
  return files.length === 0
    ? []
    : [files.map(({ path, note }) => `- ${code(path)} – ${prose(note)}`).join('\n')]
}

function figureTable({ types, totals }: FileStats): string {
  const row = (name: string, totals: FileStats['totals'], mark = ''): string[] => [
    name,
    ...[totals.files, totals.lines, totals.words, totals.bytes].map((figure) => `${mark}${figure}${mark}`),
  ]
  return table(
    ['Type', 'Files', 'Lines', 'Words', 'Bytes'],
    [...types.map((type) => row(prose(type.type), type)), row('**Total**', totals, '**')],
  )
}

/** Each slice is one type. Other types are only in the table, so that no figure is computed here. */
function pie({ types }: FileStats): string {
  const slices = types.filter((type) => type.bytes > 0).slice(0, slicesMax)
  const lines =
    slices.length === 0
      ? ['pie', '    "no bytes" : 1']
      : ['pie showData', ...slices.map(({ type, bytes }) => `    "${mermaidLabel(type)}" : ${bytes}`)]
  return ['```mermaid', ...lines, '```'].join('\n')
}

function bars({ types }: FileStats): string[] {
  const shown = types.filter((type) => type.bytes > 0).slice(0, slicesMax)
  if (shown.length === 0) return []
  const width = Math.max(...shown.map(({ type }) => type.length))
  const lines = shown.map(
    ({ type, bytes_percent: percent }) =>
      `${type.padEnd(width)}  ${bar(percent / 100)} ${percent.toFixed(1).padStart(5)} %`,
  )
  return [['```text', ...lines, '```'].join('\n')]
}

function largestFiles({ largest }: FileStats): string {
  if (largest.length === 0) return 'There are no files.'
  return table(
    ['File', 'Lines', 'Bytes'],
    largest.map(({ path, lines, bytes }) => [codeCell(path), String(lines), String(bytes)]),
  )
}

function validation(recount: Recount | null): string[] {
  if (recount === null) return ['The figures were not counted a second time.']
  const differences = recount.differences.map(
    ({ figure, expected, found }) =>
      `- ${prose(figure)}: file_stats has ${expected}, the second count ${found}`,
  )
  return [
    prose(verdict(recount)),
    ...(differences.length === 0 ? [] : [differences.join('\n')]),
    ...(recount.problems.length === 0
      ? []
      : [`It reported:\n\n${recount.problems.map((problem) => `- ${code(problem)}`).join('\n')}`]),
    'To check by hand:',
    `\`\`\`sh\n${recount.command}\n\`\`\``,
  ]
}

function notes(stats: FileStats): string[] {
  const { ignored, unreadable } = stats
  const lines = [
    ...(ignored.paths.length === 0 ? [] : [`Not entered: ${listed(ignored)}.`]),
    ...(stats.symlinks_not_followed === 0 ? [] : [`Symlinks not followed: ${stats.symlinks_not_followed}.`]),
    ...(unreadable.paths.length === 0 ? [] : [`Could not be read: ${listed(unreadable)}.`]),
    ...(stats.files_with_uncertain_words === 0
      ? []
      : [
          `Files that are not plain text: ${stats.files_with_uncertain_words}. Versions of wc count words in such files differently; the figures are those of GNU wc 9.1.`,
        ]),
  ]
  return lines.length === 0 ? [] : [heading(2, 'Notes'), lines.map((line) => `- ${line}`).join('\n')]
}

const listed = ({ paths, left_out }: { paths: readonly string[]; left_out: number }): string =>
  paths.map(code).join(', ') + (left_out === 0 ? '' : ` and ${left_out} more`)

function verdict({ agrees, differences, method }: Recount): string {
  if (agrees === null)
    return `The folder was counted again (${method}); there were no figures to compare with.`
  if (agrees) return `The independent count (${method}) agrees in every figure.`
  return `The independent count (${method}) does not agree: ${differences.map(({ figure, expected, found }) => `${figure} ${expected} against ${found}`).join(', ')}.`
}
