// Plain tables for the commands of the repository.

/** @param right the columns whose cells stand at the right */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  right: readonly number[] = [],
): string[] {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  )
  const line = (cells: readonly string[]): string =>
    widths
      .map((width, column) =>
        right.includes(column) ? (cells[column] ?? '').padStart(width) : (cells[column] ?? '').padEnd(width),
      )
      .join('  ')
      .trimEnd()
  return [head, ...rows].map(line)
}
