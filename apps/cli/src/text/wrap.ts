// Sentences of our own, broken between words so that they fit the terminal.
import { textWidth } from './width.ts'

/** @param indent put before every line but the first */
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
