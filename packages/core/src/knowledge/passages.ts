// Splits a document into passages, the unit of search in a knowledge base. A passage is a range of whole
// lines, unless one line is longer than a passage. It crosses no heading and keeps a paragraph together if it
// fits. Time and memory are linear in the text, whatever it contains.

/** The most characters of a passage. */
export const passageCharsMax = 1_600

/** A passage is ended at an empty line from this length on. */
const paragraphCharsMin = passageCharsMax / 2
const headingCharsMax = 120

/** A part of a document. Lines count from 1. */
export interface DocumentPassage {
  readonly firstLine: number
  readonly lastLine: number
  /** The headings above it, outermost first. `null`: there is none. */
  readonly heading: string | null
  readonly text: string
}

/**
 * The passages of a document, in their order.
 *
 * @param options `headings`: whether lines that begin with `#` are headings, as in Markdown. Default:
 * `false`.
 * @example
 * const [first] = documentPassages('# Leave\n\nThirty days a year.\n', { headings: true })
 * first // => { firstLine: 1, lastLine: 3, heading: 'Leave', text: '# Leave\n\nThirty days a year.' }
 */
export function* documentPassages(
  text: string,
  { headings = false }: { readonly headings?: boolean } = {},
): Generator<DocumentPassage> {
  const open = new OpenPassage()
  const path: string[] = []
  let fence: string | null = null
  for (const { number, line } of linesOf(text)) {
    const mark = headings ? fenceMark(line) : null
    if (mark !== null && (fence === null || mark.startsWith(fence))) fence = fence === null ? mark : null
    const heading = headings && fence === null ? headingOf(line) : null
    if (heading !== null) {
      yield* open.close()
      path.length = Math.min(path.length, heading.level - 1)
      path.push(heading.title)
      open.heading = path.filter((title) => title !== '').join(' > ')
    }
    if (line.length > passageCharsMax) {
      yield* open.close()
      for (const piece of piecesOf(line))
        yield { firstLine: number, lastLine: number, heading: open.heading, text: piece }
      continue
    }
    if (open.chars + line.length > passageCharsMax || (line.trim() === '' && open.chars >= paragraphCharsMin))
      yield* open.close()
    open.add(number, line)
  }
  yield* open.close()
}

/** The lines that the next passage will have. */
class OpenPassage {
  heading: string | null = null
  chars = 0
  #first = 0
  #lines: string[] = []

  add(number: number, line: string): void {
    if (this.#lines.length === 0) {
      if (line.trim() === '') return
      this.#first = number
    }
    this.#lines.push(line)
    this.chars += line.length + 1
  }

  *close(): Generator<DocumentPassage> {
    const lines = this.#lines
    while (lines.at(-1)?.trim() === '') lines.pop()
    if (lines.length > 0)
      yield {
        firstLine: this.#first,
        lastLine: this.#first + lines.length - 1,
        heading: this.heading,
        text: lines.join('\n'),
      }
    this.#lines = []
    this.chars = 0
  }
}

function* linesOf(text: string): Generator<{ readonly number: number; readonly line: string }> {
  for (let at = 0, number = 1; at < text.length; number++) {
    const found = text.indexOf('\n', at)
    const end = found < 0 ? text.length : found
    yield { number, line: text.slice(at, text[end - 1] === '\r' && end > at ? end - 1 : end) }
    at = end + 1
  }
}

const fenceMark = (line: string): string | null => /^ {0,3}(`{3,20}|~{3,20})/.exec(line)?.[1] ?? null

function headingOf(line: string): { readonly level: number; readonly title: string } | null {
  const level = /^#{1,6}(?=[ \t])/.exec(line)?.[0].length
  if (level === undefined) return null
  const title = line.slice(level, level + headingCharsMax).trim()
  return { level, title: title.replace(/(?<=\s)#+$/, '').trimEnd() }
}

/** No piece is empty or ends between the two halves of a character. */
function* piecesOf(line: string): Generator<string> {
  for (let at = 0; at < line.length;) {
    const full = Math.min(line.length, at + passageCharsMax)
    const last = line.charCodeAt(full - 1)
    const end = full < line.length && last >= 0xd800 && last <= 0xdbff ? full - 1 : full
    const piece = line.slice(at, end)
    if (piece.trim() !== '') yield piece
    at = end
  }
}
