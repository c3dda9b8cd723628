// Breaks texts into lines that fit the terminal. Spaces at the start of a text and at a break are dropped.
import { createRequire } from 'node:module'
import type wrapAnsi from 'wrap-ansi'

let loaded: { readonly default: typeof wrapAnsi } | undefined
// The library is loaded with the first text that is broken, because most commands break none.
const library = (): typeof wrapAnsi =>
  (loaded ??= createRequire(import.meta.url)('wrap-ansi') as { default: typeof wrapAnsi }).default

/**
 * Breaks Beaver's own sentences between words.
 *
 * @param indent put before each line except the first. Default: empty
 */
export function wrapWords(text: string, columns: number, indent = ''): string[] {
  const lines = library()(text, columns).split('\n')
  if (indent === '' || lines.length === 1) return lines
  const [first = '', ...rest] = lines
  const below = library()(rest.join(' '), columns - indent.length).split('\n')
  return [first, ...below.map((line) => indent + line)]
}

/**
 * Breaks any text into lines of at most `columns` (at least 2), between words if possible, otherwise
 * anywhere.
 */
export function wrapText(text: string, columns: number): string[] {
  const room = Math.max(2, columns)
  return wrapWords(text, room).flatMap((line) => library()(line, room, { hard: true }).split('\n'))
}
