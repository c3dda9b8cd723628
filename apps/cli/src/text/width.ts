// Measures how many columns a text takes in a terminal, and cuts texts to a number of columns. A cut text is
// never wider than requested and never ends within a character. Control characters and escape sequences take
// no column.
import { createRequire } from 'node:module'
import type stringWidth from 'string-width'

let graphemes: Intl.Segmenter | undefined
const graphemesOf = (text: string): Intl.Segments =>
  (graphemes ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' })).segment(text)

// Loading the library with its data takes longer than printing the help, so it is loaded with the first text
// that is not plain ASCII.
const printableAscii = /^[\x20-\x7e]*$/
let loaded: { readonly default: typeof stringWidth } | undefined
const library = (): typeof stringWidth =>
  (loaded ??= createRequire(import.meta.url)('string-width') as { default: typeof stringWidth }).default

/** @example textWidth('日本 ok') // 7 */
export const textWidth = (text: string): number => (printableAscii.test(text) ? text.length : library()(text))

/** Cuts `text` to at most `columns` columns, with `…` at the cut. */
export function cutToWidth(text: string, columns: number, ellipsis = '…'): string {
  if (columns <= 0) return ''
  if (textWidth(text) <= columns) return text
  const room = columns - textWidth(ellipsis)
  if (room < 0) return ''
  let cut = ''
  let width = 0
  for (const { segment } of graphemesOf(text)) {
    width += textWidth(segment)
    if (width > room) break
    cut += segment
  }
  return cut + ellipsis
}

/**
 * The part of `text` around the first occurrence of one of `words`, in at most `columns` columns, with `…` at
 * each cut. If no word occurs, the beginning of `text`.
 *
 * @example around('one two three four', ['three'], 9) // '… three …'
 */
export function around(text: string, words: readonly string[], columns: number, ellipsis = '…'): string {
  if (textWidth(text) <= columns) return text
  const lower = text.toLowerCase()
  const found = words
    .map((word) => ({ at: lower.indexOf(word.toLowerCase()), word }))
    .filter(({ at }) => at >= 0)
  const first = found.toSorted((a, b) => a.at - b.at)[0]
  if (first === undefined) return cutToWidth(text, columns, ellipsis)
  const before = columns - textWidth(ellipsis) - textWidth(text.slice(first.at, first.at + first.word.length))
  let from = first.at
  let room = Math.max(0, Math.floor(before / 3))
  for (const { segment } of [
    ...graphemesOf(text.slice(Math.max(0, first.at - columns), first.at)),
  ].toReversed()) {
    room -= textWidth(segment)
    if (room < 0) break
    from -= segment.length
  }
  return from === 0
    ? cutToWidth(text, columns, ellipsis)
    : ellipsis + cutToWidth(text.slice(from), columns - textWidth(ellipsis), ellipsis)
}

/** Adds spaces at the end until the text takes `columns` columns. */
export function padEnd(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - textWidth(text)))
}

/** Adds spaces at the beginning until the text takes `columns` columns. */
export function padStart(text: string, columns: number): string {
  return ' '.repeat(Math.max(0, columns - textWidth(text))) + text
}

/** How many rows of the terminal a line takes. */
export const rowsOf = (line: string, columns: number): number =>
  Math.max(1, Math.ceil(textWidth(line) / columns))
