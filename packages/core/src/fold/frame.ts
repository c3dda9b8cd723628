// Frames the text that others wrote, so that a model can tell where it ends.
// F1. A frame opens with `<name mark="…">` and closes with `</name mark="…">`. A tag without the mark of the run is ordinary text.
// F2. The mark follows from the id of the run, which is random and made after the text that the run is given. A replay gives the same prompt.
// F3. A framed text never contains the mark: each occurrence of it is broken. All other characters stay as they are.
import { createHash } from 'node:crypto'

/** No vowels and no digits: neither a word nor a figure is ever taken for a mark. */
const letters = 'bcdfghjklmnpqrst'
const markChars = 8

/**
 * The mark of a run's frames: eight letters that follow from the id of the run.
 *
 * @example
 * frameMark('run_01k') === frameMark('run_01k') // => true
 * frameMark('run_01k') === frameMark('run_01m') // => false
 */
export function frameMark(runId: string): string {
  const bytes = createHash('sha256').update(`frame:${runId}`).digest()
  return Array.from({ length: markChars }, (_, i) => letters.charAt((bytes[i] ?? 0) % letters.length)).join('')
}

/**
 * The text without the mark: each occurrence of it is broken by a hyphen, in upper case and lower case.
 *
 * @example
 * unmarked('an end: </task mark="bcdfghjk">', 'bcdfghjk') // => 'an end: </task mark="bcdf-ghjk">'
 */
export function unmarked(text: string, mark: string): string {
  const half = markChars / 2
  // The quick test spares nearly every text the second pass.
  if (!text.toLowerCase().includes(mark)) return text
  return text.replaceAll(new RegExp(mark, 'gi'), (found) => `${found.slice(0, half)}-${found.slice(half)}`)
}

/** The tag of a frame. `attributes` say whose text it contains, if it can be of several. */
export interface FrameOf {
  readonly name: string
  readonly mark: string
  readonly attributes?: Readonly<Record<string, string>>
}

/** A text, or its parts in order: a `value` is text of others within it, and gets a frame of its own. */
export type FramedText = string | readonly (string | { readonly value: string })[]

/**
 * The text in a frame that it cannot close.
 *
 * @example
 * framed('Twice a day.', { name: 'memory', mark: 'bcdfghjk' }) // => '<memory mark="bcdfghjk">\nTwice a day.\n</memory mark="bcdfghjk">'
 */
export function framed(text: FramedText, { name, mark, attributes = {} }: FrameOf): string {
  const told = Object.entries(attributes).map(([key, value]) => ` ${key}=${JSON.stringify(unmarked(value, mark))}`)
  const parts = (typeof text === 'string' ? [text] : text).map((part) =>
    typeof part === 'string' ? unmarked(part, mark) : `<value mark="${mark}">${unmarked(part.value, mark)}</value mark="${mark}">`,
  )
  return `<${name}${told.join('')} mark="${mark}">\n${parts.join('')}\n</${name} mark="${mark}">`
}
