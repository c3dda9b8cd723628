// Writes about pages. The instruction's words choose the sections: compare, validate, chart, report, summary.
// Figures, sentences and sources are copied. A report says that it is simulated.
import type { WorkOrder } from './habit.ts'
import { blocksOf, openingOf, type Page, pageOf, type Table, tablesIn, withHeadingsAt } from './pages.ts'
import { simulatedModelName } from './simulated-model-name.ts'

const asked = {
  summary: /summar|概括|摘要|总结/i,
  table: /\bwith (?:its|the|their) tables?\b/i,
  comparison: /compar|对比|比较/i,
  check: /validat|verif|校验|核对/i,
  chart: /chart|mermaid|图表/i,
  report: /\breport\b|报告/i,
}

type Wanted = Readonly<Record<keyof typeof asked, boolean>>

/** For a worker that writes the task's result, the task's words count too. */
function wantedIn({ instruction, task }: WorkOrder): Wanted {
  const text = instruction.includes('result for the <task>') ? `${instruction}\n${task}` : instruction
  return Object.fromEntries(Object.entries(asked).map(([what, words]) => [what, words.test(text)])) as Wanted
}

const sentencesMax = 2

export function aboutPages(order: WorkOrder, pages: readonly Page[]): string[] {
  const wanted = wantedIn(order)
  const words = wordsFor(order)
  if (wanted.summary && !wanted.report)
    return pages.map(
      (page) => `${page.title}: ${openingOf(page, sentencesMax) || '…'} ${words.quoted(page.source)}`,
    )
  const tables =
    wanted.table && !wanted.report && !wanted.comparison && !wanted.check
      ? pages.flatMap((page) => tablesOf(page, order))
      : []
  if (tables.length > 0) return tables
  const comparison = wanted.comparison || wanted.check ? compare(pages) : null
  const opening = wanted.report ? reportOpening(order) : []
  if (comparison === null)
    return [
      ...opening,
      ...pages.flatMap((page) => wholePage(page, order)),
      ...(wanted.report ? received(order) : []),
    ]
  return [
    ...opening,
    heading(2, words.comparison),
    comparisonTable(comparison, order),
    ...(wanted.check ? [heading(2, words.check), checks(comparison, order)] : []),
    ...(wanted.chart ? [heading(2, words.chart), ...charts(comparison)] : []),
    heading(2, words.sources),
    pages
      .map((page) => `- ${page.title}: ${page.source}\n  ${openingOf(page, sentencesMax)}`.trimEnd())
      .join('\n'),
  ]
}

export function aboutReceived(order: WorkOrder, note: string): string[] {
  const wanted = wantedIn(order)
  if (wanted.report) return [...reportOpening(order), ...received(order, [note])]
  if (wanted.summary)
    return [
      order.dependencies
        .map(({ from, text }) => `- ${from}: ${openingOf(pageOf(from, text), sentencesMax) || '…'}`)
        .join('\n'),
      note,
    ]
  const task = `Task: ${oneLine(order.task)}`
  return [task, ...received(order, [task, note]), note]
}

/** What the worker received, each part under its own heading, without texts that another part contains. */
function received({ dependencies }: WorkOrder, known: readonly string[] = []): string[] {
  const said = new Set(known)
  return dependencies.flatMap(({ from, text }) => {
    const blocks = blocksOf(text).filter((block) => !said.has(block))
    for (const block of blocks) said.add(block)
    const [first = ''] = blocks
    if (blocks.every((block) => /^#{1,6}\s/.test(block))) return []
    const left = blocks.join('\n\n')
    return /^#{1,6}\s/.test(first) ? [withHeadingsAt(2, left)] : [heading(2, from), withHeadingsAt(3, left)]
  })
}

function reportOpening(order: WorkOrder): string[] {
  const task = oneLine(order.task)
  const title = task.length > titleCharsMax ? `${task.slice(0, titleCharsMax).toWellFormed()}…` : task
  return [heading(1, title), `> ${wordsFor(order).note(simulatedModelName)}`]
}

const titleCharsMax = 120
const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim()

function tablesOf({ title, source, tables }: Page, order: WorkOrder): string[] {
  return tables.length === 0
    ? []
    : [...tables.map(({ text }) => text), `${title} ${wordsFor(order).quoted(source)}`]
}

function wholePage({ title, source, body }: Page, order: WorkOrder): string[] {
  return [heading(2, title), `${wordsFor(order).source}${source}`, withHeadingsAt(3, body)]
}

function comparisonTable({ label, column, subjects, rows }: Comparison, order: WorkOrder): string {
  const first = `${label || wordsFor(order).metric}${column === null ? '' : ` (${column})`}`
  return table(
    [first, ...subjects].map(cell),
    rows.map((row) => [row.label, ...row.values].map(cell)),
  )
}

const cell = (text: string): string => text.replaceAll('|', String.raw`\|`)

function checks(comparison: Comparison, order: WorkOrder): string {
  const words = wordsFor(order)
  const { subjects, facts, alone } = comparison
  const different = differencesFrom(
    comparison,
    order.dependencies.flatMap(({ text }) => tablesIn(text)),
  )
  const lines = [
    ...facts.map(({ label, values }) =>
      new Set(values).size === 1
        ? words.same(label, values[0] ?? '')
        : words.differs(label, values.map((value, index) => `${subjects[index]}: ${value}`).join('; ')),
    ),
    ...alone.map(({ subject, label }) => words.alone(subject, label)),
    ...(different === null
      ? []
      : different.length === 0
        ? [words.agrees]
        : different.map((each) => words.disagrees(each))),
  ]
  return lines.map((line) => `- ${line}`).join('\n')
}

/** The rows with numbers as data, and the first one as a picture. */
function charts({ subjects, rows }: Comparison): string[] {
  const series = rows.flatMap(({ label, values }) => {
    const figures = values.map(figureIn)
    return figures.every((figure) => figure !== null) ? [{ name: label, values: figures }] : []
  })
  const [first] = series
  if (first === undefined) return []
  const listed = (values: readonly unknown[]): string =>
    `[${values.map((value) => JSON.stringify(value)).join(', ')}]`
  const data = [
    '{',
    `  "x": ${listed(subjects)},`,
    '  "series": [',
    series
      .map(({ name, values }) => `    {"name": ${JSON.stringify(name)}, "values": ${listed(values)}}`)
      .join(',\n'),
    '  ]',
    '}',
  ]
  const picture = [
    'xychart-beta',
    `    title "${mermaidLabel(first.name)}"`,
    `    x-axis ${listed(subjects.map(mermaidLabel))}`,
    `    bar ${listed(first.values)}`,
  ]
  return [
    fenced('json', data),
    fenced('mermaid', picture),
    ...bars(subjects, first.values, rows.find(({ label }) => label === first.name)?.values ?? []),
  ]
}

/** For viewers that draw no picture. */
function bars(subjects: readonly string[], figures: readonly number[], shown: readonly string[]): string[] {
  const most = Math.max(...figures)
  if (most <= 0 || Math.min(...figures) < 0) return []
  const width = Math.max(...subjects.map((subject) => subject.length))
  return [
    fenced(
      'text',
      subjects.map(
        (subject, index) => `${subject.padEnd(width)}  ${bar((figures[index] ?? 0) / most)} ${shown[index]}`,
      ),
    ),
  ]
}

const fenced = (language: string, lines: readonly string[]): string =>
  `\`\`\`${language}\n${lines.join('\n')}\n\`\`\``

// The language of a write-up: the requested one, else that of the instruction or the task.

const english = {
  note: (model: string) =>
    `Written by Beaver's simulated model (${model}): fixed rules, no language model was asked. Figures and quotations are copied from the sources named.`,
  source: 'Source: ',
  sources: 'Sources',
  comparison: 'Comparison',
  metric: 'Figure',
  check: 'Validation',
  same: (label: string, value: string) => `${label}: the same in all sources (${value}).`,
  differs: (label: string, values: string) => `${label}: differs. ${values}`,
  alone: (subject: string, label: string) => `Only in the source of ${subject}, so not compared: ${label}.`,
  agrees: 'Read again in the sources: every figure received stands there.',
  disagrees: (cell: string) => `Received, and different in the source: ${cell}.`,
  chart: 'Chart data',
  quoted: (source: string) => `(${source}, quoted by Beaver's simulated model)`,
}
type Words = typeof english

const chinese: Words = {
  note: (model) =>
    `本文由 Beaver 的模拟模型（${model}）按固定规则写成，没有询问语言模型；数字和引文照抄自所列来源。`,
  source: '来源：',
  sources: '来源',
  comparison: '对比',
  metric: '指标',
  check: '校验',
  same: (label, value) => `${label}：各来源一致（${value}）。`,
  differs: (label, values) => `${label}：不一致。${values}`,
  alone: (subject, label) => `只有 ${subject} 的来源给出，未作对比：${label}。`,
  agrees: '已重新读取来源：收到的每个数字都在其中。',
  disagrees: (cell) => `收到的数字与来源不同：${cell}。`,
  chart: '图表数据',
  quoted: (source) => `（${source}，由 Beaver 的模拟模型摘录）`,
}

function wordsFor({ instruction, task }: Pick<WorkOrder, 'instruction' | 'task'>): Words {
  if (/中文|汉语|Chinese/i.test(instruction)) return chinese
  if (/English|英文|英语/i.test(instruction)) return english
  return /\p{Script=Han}/u.test(`${instruction}${task}`) ? chinese : english
}

// Compares the figures of several pages in the rows that all of them have. Every figure is an unchanged cell
// of a table. What only some pages have is named, not compared.

interface Comparison {
  readonly subjects: readonly string[]
  /** The heads of the first two columns, if all pages agree on them. */
  readonly label: string
  readonly column: string | null
  readonly rows: readonly { readonly label: string; readonly values: readonly string[] }[]
  /** Facts whose label all pages have, except the one that names the subject. */
  readonly facts: readonly { readonly label: string; readonly values: readonly string[] }[]
  readonly alone: readonly { readonly subject: string; readonly label: string }[]
}

/** Returns `null` if no two tables of the pages have a common row. */
export function compare(pages: readonly Page[]): Comparison | null {
  const sides = pages.flatMap((page) => {
    const [table] = page.tables
    return table === undefined || table.head.length < 2
      ? []
      : [{ page, table, subject: page.facts[0]?.value ?? page.title }]
  })
  const [first] = sides
  if (
    first === undefined ||
    sides.length < 2 ||
    new Set(sides.map(({ subject }) => subject)).size < sides.length
  )
    return null
  const labels = first.table.rows
    .map(([label = '']) => label)
    .filter((label) => sides.every(({ table }) => cellOf(table, label) !== null))
  if (labels.length === 0) return null
  const same = (column: number): string | null => {
    const heads = new Set(sides.map(({ table }) => table.head[column]))
    return heads.size === 1 ? (first.table.head[column] ?? null) : null
  }
  return {
    subjects: sides.map(({ subject }) => subject),
    label: same(0) ?? '',
    column: same(1),
    rows: labels.map((label) => ({ label, values: sides.map(({ table }) => cellOf(table, label) ?? '') })),
    facts: first.page.facts.slice(1).flatMap(({ label }) => {
      const values = sides.map(({ page }) => page.facts.find((fact) => fact.label === label)?.value)
      return values.every((value) => value !== undefined) ? [{ label, values }] : []
    }),
    alone: sides.flatMap(({ table, subject }) =>
      table.rows.flatMap(([label = '']) => (labels.includes(label) ? [] : [{ subject, label }])),
    ),
  }
}

const cellOf = ({ rows }: Table, label: string): string | null =>
  rows.find(([name]) => name === label)?.[1] ?? null

/** The cells of received tables that differ from the comparison. `null` if none of them is about it. */
export function differencesFrom(
  { subjects, rows }: Comparison,
  received: readonly Table[],
): readonly string[] | null {
  const about = received.filter(({ head }) => subjects.every((subject) => head.includes(subject)))
  if (about.length === 0) return null
  return about.flatMap((table) =>
    rows.flatMap(({ label, values }) => {
      const row = table.rows.find(([name]) => name === label)
      return subjects.flatMap((subject, index) => {
        const cell = row?.[table.head.indexOf(subject)]
        return cell === values[index] ? [] : [`${subject}, ${label}: ${cell ?? '–'} ≠ ${values[index]}`]
      })
    }),
  )
}

/** The number in a cell. `null` if it is none, or has more digits than a JavaScript number keeps. */
export function figureIn(cell: string): number | null {
  const [, number = ''] = /^(-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)\s*%?$/.exec(cell.trim()) ?? []
  return number === '' || number.replace(/\D/g, '').length > digitsMax
    ? null
    : Number(number.replaceAll(',', ''))
}

const digitsMax = 15

export const heading = (level: number, text: string): string => `${'#'.repeat(level)} ${prose(text)}`

/**
 * Foreign text on one line, without anything that makes a table cell, a tag or a fence. A word that looks
 * like emphasis or a link, such as `2*3*4`, becomes inline code, because an escape would change its text.
 */
export function prose(text: string): string {
  return visible(text)
    .replace(/([^\s|<>`]+)|[|<>`]/g, (part, word?: string) => {
      if (word === undefined) return `\\${part}`
      const {
        before = '',
        middle = '',
        after = '',
      } = /^(?<before>[("']*)(?<middle>.*?)(?<after>[.,;:!?)"']*)$/su.exec(word)?.groups ?? {}
      return marked.test(middle) ? before + code(middle) + after : word
    })
    .trim()
}

const marked = /\*|~~|(?:^|[^\p{L}\p{N}_])_|_(?:$|[^\p{L}\p{N}_])|\]\(/u

/** Inline code with a fence longer than any run of backticks in it. */
export function code(text: string): string {
  const shown = visible(text)
  const longest = Math.max(0, ...[...shown.matchAll(/`+/g)].map(([run]) => run.length))
  const fence = '`'.repeat(longest + 1)
  const pad = /^[` ]|[` ]$/.test(shown) || shown === '' ? ' ' : ''
  return `${fence}${pad}${shown}${pad}${fence}`
}

/** Inline code in a cell of a table. A bar ends a cell even in code, so it is escaped. */
export const codeCell = (text: string): string => code(text).replaceAll('|', String.raw`\|`)

/** A table with padded columns, readable unrendered. All columns but the first are figures. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(3, width(title), ...rows.map((row) => width(row[column] ?? ''))),
  )
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => padded(cell, widths[column] ?? 0, column > 0)).join(' | ')} |`
  const rule = `|${widths.map((columns, column) => (column === 0 ? `:${'-'.repeat(columns + 1)}` : `${'-'.repeat(columns + 1)}:`)).join('|')}|`
  return [line(head), rule, ...rows.map(line)].join('\n')
}

export const mermaidLabel = (text: string): string => visible(text).replace(/["#;]/g, "'")

const barWidth = 20

/** A bar of blocks. `part` is from 0 to 1, and any part above 0 is visible. */
export function bar(part: number): string {
  const filled = part === 0 ? 0 : Math.min(barWidth, Math.max(1, Math.round(part * barWidth)))
  return '█'.repeat(filled) + '░'.repeat(barWidth - filled)
}

/** Escapes control characters and line breaks. */
function visible(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]/gu, (character) =>
    JSON.stringify(character)
      .slice(1, -1)
      .replace('\u007f', String.raw`\u007f`),
  )
}

const padded = (cell: string, columns: number, right: boolean): string => {
  const space = ' '.repeat(Math.max(0, columns - width(cell)))
  return right ? space + cell : cell + space
}

/** The columns on a terminal. Chinese, Japanese and Korean characters take two. */
function width(text: string): number {
  let columns = 0
  for (const character of text)
    columns +=
      /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6]/.test(
        character,
      )
        ? 2
        : 1
  return columns
}
