// Breaks texts into lines that fit the terminal.
import { cutToWidth, textWidth } from './width.ts'

/**
 * Breaks Beaver's own sentences between words.
 *
 * @param indent put before every line but the first
 */
export function wrapWords(text: string, columns: number, indent = ''): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`
    if (line !== '' && textWidth(longer) > columns) {
      lines.push(line)
      line = indent + word
    } else line = longer
  }
  return [...lines, line]
}

/** Breaks any text into lines of at most `columns`, between words if there are any, otherwise anywhere. */
export function wrapText(text: string, columns: number): string[] {
  const room = Math.max(2, columns)
  return text.split('\n').flatMap((line) => wrapWords(line, room).flatMap((part) => broken(part, room)))
}

function broken(line: string, columns: number): string[] {
  const parts: string[] = []
  let rest = line
  while (textWidth(rest) > columns) {
    const part = cutToWidth(rest, columns, '')
    if (part === '') break
    parts.push(part)
    rest = rest.slice(part.length)
  }
  return [...parts, rest]
}
