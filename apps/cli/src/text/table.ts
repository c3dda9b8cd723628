// Formats a table that fits its width. If room is short, cells become brief, then less important columns are
// left out, and then the flexible column is cut, or left out if almost nothing of it fits. A line is wider
// than `width` only if the columns that must stay are wider. A cell is one line.
import { cutToWidth, padEnd, padStart, textWidth } from './width.ts'

export interface Column<Row> {
  readonly title: string
  readonly cell: (row: Row) => string
  /** The shorter text of the cell, used if not everything fits. Default: `cell`. */
  readonly brief?: (row: Row) => string
  readonly align?: 'left' | 'right'
  /** Whether this column takes the remaining room and is cut to it. A table has at most one such column. */
  readonly flexible?: true
  /** For the flexible column: the cell of a row, cut to the width. Default: the cell is cut at its end. */
  readonly fit?: (row: Row, width: number) => string
  /**
   * For the flexible column: optional columns are left out before this column becomes narrower than this.
   * Default: 24.
   */
  readonly least?: number
  /**
   * If room is short, the columns with the highest number are left out first. 0 or absent: the column always
   * stays.
   */
  readonly optional?: number
  /** Applied to the padded cell. */
  readonly paint?: (cell: string, row: Row) => string
}

const gap = '  '
const flexibleMin = 24
/** A flexible column that is cut to fewer columns than this tells nothing, so it is left out. */
const flexibleLeast = 4

/**
 * The lines of the table: its head, and one line for each row.
 *
 * @param options `width`: the columns of the terminal; with `Infinity`, nothing is cut. `title` paints the
 * head
 */
export function table<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  options: { width: number; title?: (text: string) => string; ellipsis?: string },
): string[] {
  const laidOut = (cellOf: (column: Column<Row>) => (row: Row) => string) =>
    columns.map((column) => {
      const cells = rows.map(cellOf(column))
      return { column, cells, width: Math.max(textWidth(column.title), ...cells.map(textWidth)) }
    })
  const whole = laidOut(({ cell }) => cell)
  const all = neededBy(whole) <= options.width ? whole : laidOut(({ cell, brief }) => brief ?? cell)
  const fit = fitting(all, options.width)
  const flexible = fit.find(({ column }) => column.flexible)
  const rest = fit.reduce(
    (sum, each) => sum + (each === flexible ? 0 : each.width),
    gap.length * (fit.length - 1),
  )
  const room = options.width - rest
  const shown =
    flexible === undefined || room >= Math.min(flexibleLeast, flexible.width)
      ? fit
      : fit.filter((each) => each !== flexible)
  if (flexible !== undefined) flexible.width = Math.min(flexible.width, Math.max(1, room))

  const line = (
    cellOf: (each: (typeof all)[number]) => string,
    paint: (text: string, each: (typeof all)[number]) => string,
  ): string =>
    shown
      .map((each, i) => {
        const text = cutToWidth(cellOf(each), each.width, options.ellipsis)
        const padded =
          each.column.align === 'right'
            ? padStart(text, each.width)
            : i === shown.length - 1
              ? text
              : padEnd(text, each.width)
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
        (each) =>
          each === flexible && each.column.fit !== undefined
            ? each.column.fit(row, each.width)
            : (each.cells[r] ?? ''),
        (text, each) => each.column.paint?.(text, row) ?? text,
      ),
    ),
  ]
}

interface LaidOut {
  readonly column: Column<never>
  readonly width: number
}

const neededBy = (shown: readonly LaidOut[]): number =>
  shown.reduce(
    (sum, { column, width }) =>
      sum + (column.flexible ? Math.min(width, column.least ?? flexibleMin) : width),
    gap.length * (shown.length - 1),
  )

function fitting<Each extends LaidOut>(all: readonly Each[], width: number): Each[] {
  let shown = [...all]
  for (;;) {
    const leaves = Math.max(0, ...shown.map(({ column }) => column.optional ?? 0))
    if (neededBy(shown) <= width || leaves === 0) return shown
    shown = shown.filter(({ column }) => column.optional !== leaves)
  }
}
