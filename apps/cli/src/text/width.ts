// Measures how many columns a text takes in a terminal, and cuts texts to a number of columns. A cut text is
// never wider than requested and never contains half a character. Control characters take no column.
// plain-text.ts removes them before.

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** East Asian Wide and Fullwidth (Unicode TR 11), and the blocks of emoji that are drawn wide. */
const wideRanges: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f],
  [0x2e80, 0x303e],
  [0x3041, 0x33ff],
  [0x3400, 0x4dbf],
  [0x4e00, 0xa4cf],
  [0xa960, 0xa97f],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe10, 0xfe19],
  [0xfe30, 0xfe6f],
  [0xff01, 0xff60],
  [0xffe0, 0xffe6],
  [0x16fe0, 0x18aff],
  [0x1aff0, 0x1b2ff],
  [0x1f200, 0x1f2ff],
  [0x20000, 0x3fffd],
]

const printableAscii = /^[\x20-\x7e]*$/
const noColumn = /^[\p{Mn}\p{Me}\p{Cf}\p{Cc}]/u
const emoji = /^\p{Emoji_Presentation}|^\p{Extended_Pictographic}\uFE0F|^\p{Regional_Indicator}{2}|\u20E3$/u

/** The columns of one character as a reader sees it (a grapheme cluster). */
function graphemeWidth(grapheme: string): 0 | 1 | 2 {
  if (noColumn.test(grapheme)) return 0
  if (emoji.test(grapheme)) return 2
  const code = grapheme.codePointAt(0) ?? 0
  return code >= 0x1100 && wideRanges.some(([from, to]) => code >= from && code <= to) ? 2 : 1
}

/** @example textWidth('日本 ok') // 7 */
export function textWidth(text: string): number {
  if (printableAscii.test(text)) return text.length
  let width = 0
  for (const { segment } of graphemes.segment(text)) width += graphemeWidth(segment)
  return width
}

/** `text` in at most `columns` columns, with `…` where it was cut. */
export function cutToWidth(text: string, columns: number, ellipsis = '…'): string {
  if (columns <= 0) return ''
  if (textWidth(text) <= columns) return text
  const room = columns - textWidth(ellipsis)
  if (room < 0) return ''
  let cut = ''
  let width = 0
  for (const { segment } of graphemes.segment(text)) {
    width += graphemeWidth(segment)
    if (width > room) break
    cut += segment
  }
  return cut + ellipsis
}

/**
 * The part of `text` around the first of `words` that occurs, in at most `columns` columns, with `…` where it
 * was cut.
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
    ...graphemes.segment(text.slice(Math.max(0, first.at - columns), first.at)),
  ].toReversed()) {
    room -= graphemeWidth(segment)
    if (room < 0) break
    from -= segment.length
  }
  return from === 0
    ? cutToWidth(text, columns, ellipsis)
    : ellipsis + cutToWidth(text.slice(from), columns - textWidth(ellipsis), ellipsis)
}

export function padEnd(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - textWidth(text)))
}

export function padStart(text: string, columns: number): string {
  return ' '.repeat(Math.max(0, columns - textWidth(text))) + text
}
