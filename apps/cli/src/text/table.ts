// A table that fits its width. One column is cut, or left out if hardly anything of it fits. Columns that matter less are left out if there is no room.
// T1. No line is wider than `width`, unless the columns that must stay are wider.
// T2. A cell is one line.
import { cutToWidth, padEnd, padStart, textWidth } from './width.ts'

export interface Column<Row> {
  readonly title: string
  readonly cell: (row: Row) => string
  readonly align?: 'left' | 'right'
  /** This column takes the remaining room and is cut to it. A table has at most one such column. */
  readonly flexible?: true
  /** For the flexible column: cuts the cell of a row to the width, instead of at its end. */
  readonly fit?: (row: Row, width: number) => string
  /** For the flexible column: optional columns are left out before it becomes narrower than this. Default: 24. */
  readonly least?: number
  /** If there is no room, the column with the highest number is left out first. 0 or absent: never. */
  readonly optional?: number
  /** Applied to the padded cell. */
  readonly paint?: (cell: string, row: Row) => string
}

const gap = '  '
const flexibleMin = 24
/** A cell that is cut to less than this says nothing. */
const flexibleLeast = 4

/** @param options `width`: the columns of the terminal; with `Infinity`, nothing is cut. `title` paints the head. */
export function table<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  options: { width: number; title?: (text: string) => string; ellipsis?: string },
): string[] {
  const all = columns.map((column) => ({ column, cells: rows.map(column.cell), width: 0 }))
  for (const each of all) each.width = Math.max(textWidth(each.column.title), ...each.cells.map(textWidth))
  const fit = fitting(all, options.width)
  const flexible = fit.find(({ column }) => column.flexible)
  const rest = fit.reduce((sum, each) => sum + (each === flexible ? 0 : each.width), gap.length * (fit.length - 1))
  const room = options.width - rest
  const shown = flexible === undefined || room >= Math.min(flexibleLeast, flexible.width) ? fit : fit.filter((each) => each !== flexible)
  if (flexible !== undefined) flexible.width = Math.min(flexible.width, Math.max(1, room))

  const line = (cellOf: (each: (typeof all)[number]) => string, paint: (text: string, each: (typeof all)[number]) => string): string =>
    shown
      .map((each, i) => {
        const text = cutToWidth(cellOf(each), each.width, options.ellipsis)
        const padded = each.column.align === 'right' ? padStart(text, each.width) : i === shown.length - 1 ? text : padEnd(text, each.width)
        return paint(padded, each)
      })
      .join(gap)
      .trimEnd()
  return [
    line(
      (each) => each.column.title,
      (text) => options.title?.(text) ?? text,
    ),
    ...rows.map((row, r) =>
      line(
        (each) => (each === flexible && each.column.fit !== undefined ? each.column.fit(row, each.width) : (each.cells[r] ?? '')),
        (text, each) => each.column.paint?.(text, row) ?? text,
      ),
    ),
  ]
}

function fitting<Each extends { readonly column: Column<never>; readonly width: number }>(all: readonly Each[], width: number): Each[] {
  let shown = [...all]
  for (;;) {
    const needed = shown.reduce(
      (sum, { column, width: wide }) => sum + (column.flexible ? Math.min(wide, column.least ?? flexibleMin) : wide),
      gap.length * (shown.length - 1),
    )
    const leaves = Math.max(0, ...shown.map(({ column }) => column.optional ?? 0))
    if (needed <= width || leaves === 0) return shown
    shown = shown.filter(({ column }) => column.optional !== leaves)
  }
}
