// A terminal with a history, which obeys the sequences that the live view writes. Like tmux, it moves rows
// into its history that leave the screen at the top, and the whole screen if it is erased from its first row.

export interface SmallTerminal {
  readonly columns: number
  readonly rows: number
  write(text: string): void
  /** The rows of the screen, without the empty rows at its end. */
  screen(): string[]
  readonly history: readonly string[]
}

// oxlint-disable-next-line no-control-regex
const token = /\u001B\[([?\d;]*)([A-Za-z])|[\r\n]|[^\u001B\r\n]/gu

export function smallTerminal(columns: number, rows: number): SmallTerminal {
  const history: string[] = []
  let lines: string[] = Array.from({ length: rows }, () => '')
  let [row, column] = [0, 0]
  const down = (): void => {
    if (row < rows - 1) return void row++
    history.push(lines[0] ?? '')
    lines = [...lines.slice(1), '']
  }
  const put = (character: string): void => {
    if (column === columns) {
      down()
      column = 0
    }
    const line = (lines[row] ?? '').padEnd(column)
    lines[row] = line.slice(0, column) + character + line.slice(column + 1)
    column++
  }
  const obey = (count: number, name: string): void => {
    if (name === 'A') row = Math.max(0, row - count)
    else if (name === 'B') row = Math.min(rows - 1, row + count)
    else if (name === 'K') lines[row] = (lines[row] ?? '').slice(0, column)
    else if (name === 'J') {
      if (row === 0 && column === 0) history.push(...lines)
      lines = lines.map((line, i) => (i < row ? line : i === row ? line.slice(0, column) : ''))
    } else if (name !== 'h' && name !== 'l' && name !== 'm')
      throw new Error(`The terminal does not know the sequence ${name}.`)
  }
  return {
    columns,
    rows,
    history,
    write(text) {
      for (const [whole, count = '', name] of text.matchAll(token)) {
        if (name !== undefined) obey(Number(count.replace('?', '')) || 1, name)
        else if (whole === '\r') column = 0
        else if (whole === '\n') {
          down()
          column = 0
        } else put(whole)
      }
    },
    screen: () => lines.slice(0, lines.findLastIndex((line) => line !== '') + 1),
  }
}
