// Builds Markdown from foreign text: names of files may contain anything.

export const heading = (level: number, text: string): string => `${'#'.repeat(level)} ${prose(text)}`

/**
 * The text on one line, without anything that makes a table cell, a tag or a fence. A word that a viewer
 * would read as emphasis or as a link, such as `2*3*4`, is inline code, because an escape would change its
 * text.
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

/**
 * A table with padded columns, so that it is readable unrendered. All columns except the first are figures.
 */
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

/** Control characters and line breaks as escapes. */
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
