// Compares the figures of several pages: the rows that all of them have, and what the pages say about their
// figures. Every figure is an unchanged cell of a page's table. What only some pages have is named, not
// compared.
import type { Page, Table } from './pages.ts'

export interface Comparison {
  readonly subjects: readonly string[]
  /** The heads of the first two columns, if all pages agree on them. */
  readonly label: string
  readonly column: string | null
  readonly rows: readonly { readonly label: string; readonly values: readonly string[] }[]
  /** Facts whose label all pages have, except the one that names the subject. */
  readonly facts: readonly { readonly label: string; readonly values: readonly string[] }[]
  readonly alone: readonly { readonly subject: string; readonly label: string }[]
}

/** Returns `null` if the pages have no two tables with a common row. */
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

/** The cells of received tables that differ from the comparison. `null` if no received table is about it. */
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

/** The number in a cell. `null` if it is none, or if it has more digits than a JavaScript number keeps. */
export function figureIn(cell: string): number | null {
  const [, number = ''] = /^(-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)\s*%?$/.exec(cell.trim()) ?? []
  return number === '' || number.replace(/\D/g, '').length > digitsMax
    ? null
    : Number(number.replaceAll(',', ''))
}

const digitsMax = 15
