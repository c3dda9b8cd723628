// Breaks texts into lines that fit the terminal. Spaces at the start of a text and where a line is broken are
// not kept.
import { createRequire } from 'node:module'
import type wrapAnsi from 'wrap-ansi'

let loaded: { readonly default: typeof wrapAnsi } | undefined
// Loaded when a text is broken: most commands break none.
const library = (): typeof wrapAnsi =>
  (loaded ??= createRequire(import.meta.url)('wrap-ansi') as { default: typeof wrapAnsi }).default

/**
 * Breaks Beaver's own sentences between words.
 *
 * @param indent put before every line but the first
 */
export function wrapWords(text: string, columns: number, indent = ''): string[] {
  const lines = library()(text, columns).split('\n')
  if (indent === '' || lines.length === 1) return lines
  const [first = '', ...rest] = lines
  const below = library()(rest.join(' '), columns - indent.length).split('\n')
  return [first, ...below.map((line) => indent + line)]
}

/** Breaks any text into lines of at most `columns`, between words if there are any, otherwise anywhere. */
export function wrapText(text: string, columns: number): string[] {
  const room = Math.max(2, columns)
  return wrapWords(text, room).flatMap((line) => library()(line, room, { hard: true }).split('\n'))
}
