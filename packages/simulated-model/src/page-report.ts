// Writes about pages. The words of the instruction decide which sections: compare, validate, chart, report,
// summary. Figures, sentences and sources are copied. A report says that it is simulated.
import { type Comparison, compare, differencesFrom, figureIn } from './comparison.ts'
import type { WorkOrder } from './habit.ts'
import { wordsFor } from './language.ts'
import { bar, heading, mermaidLabel, table } from './markdown.ts'
import { blocksOf, openingOf, type Page, pageOf, tablesIn, withHeadingsAt } from './pages.ts'
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

/** If a worker writes the result for the task, the words of the task decide too. */
function wantedIn({ instruction, task }: WorkOrder): Wanted {
  const text = instruction.includes('result for the <task>') ? `${instruction}\n${task}` : instruction
  return Object.fromEntries(Object.entries(asked).map(([what, words]) => [what, words.test(text)])) as Wanted
}

const sentencesMax = 2

/** A worker's text about the pages that it read. */
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

/** A worker's text about what it received from others. */
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

/**
 * What the worker received, each part under a heading of its own. A text that one part contains is not
 * repeated by another.
 */
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

/** The rows with numbers as data, and the first of them as a picture. */
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

/** For readers whose viewer draws no picture. */
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
