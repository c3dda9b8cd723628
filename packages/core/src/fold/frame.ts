// Frames the text that others wrote, so that a model can tell where it ends. `name` with the mark of the run
// opens and closes a frame; a tag without this mark is ordinary text. The mark follows from the random id of
// the run, which is made after the text, so its author cannot know it, and a replay gives the same prompt.
// Each occurrence of the mark in a framed text is broken; all other characters stay.
import { hash } from 'node:crypto'

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
  const digits = hash('sha256', `frame:${runId}`)
  let mark = ''
  for (let i = 0; i < markChars; i++) mark += letters.charAt(Number.parseInt(digits.charAt(2 * i + 1), 16))
  return mark
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
  const attributeTexts = Object.entries(attributes).map(
    ([key, value]) => ` ${key}=${JSON.stringify(unmarked(value, mark))}`,
  )
  const parts = (typeof text === 'string' ? [text] : text).map((part) =>
    typeof part === 'string'
      ? unmarked(part, mark)
      : `<value mark="${mark}">${unmarked(part.value, mark)}</value mark="${mark}">`,
  )
  return `<${name}${attributeTexts.join('')} mark="${mark}">\n${parts.join('')}\n</${name} mark="${mark}">`
}

/** The text of a node in a message. */
export interface FramedOutput {
  /** The place among the texts of nodes in the message, from 0. */
  readonly index: number
  /** The node, if the frame names it. */
  readonly node_id?: string | undefined
  readonly chars: number
}

/** How much of the text of a node stays in its message. */
export interface OutputCut extends FramedOutput {
  readonly kept_chars: number
}

/**
 * The texts of other nodes in a message: dependency outputs, and values in an instruction.
 *
 * @example
 * framedOutputs(framed('Twice a day.', { name: 'dependency_output', mark: 'bcdfghjk' }), 'bcdfghjk') // => [{ index: 0, chars: 12 }]
 */
export function framedOutputs(prompt: string, mark: string): readonly FramedOutput[] {
  return [...prompt.matchAll(outputFrames(mark))].map(([, , , from, text = ''], index) => {
    const name = from === undefined ? undefined : (JSON.parse(from) as string)
    return { index, ...(name === undefined ? {} : { node_id: name }), chars: text.length }
  })
}

/**
 * The message with the texts of nodes cut. A cut text keeps its beginning and its end.
 *
 * @example
 * const message = framed('0123456789', { name: 'value', mark: 'bcdfghjk' })
 * withOutputsCut(message, 'bcdfghjk', [{ index: 0, chars: 10, kept_chars: 3 }]).includes('[cut: 7 of the 10 characters') // => true
 */
export function withOutputsCut(prompt: string, mark: string, cuts: readonly OutputCut[]): string {
  const byIndex = new Map(cuts.map((cut) => [cut.index, cut]))
  let index = -1
  return prompt.replaceAll(
    outputFrames(mark),
    (whole, open: string, _name: string, _from: string | undefined, text: string, close: string) => {
      index++
      const cut = byIndex.get(index)
      return cut === undefined || text.length <= cut.kept_chars
        ? whole
        : `${open}${cutText(text, cut.kept_chars)}${close}`
    },
  )
}

/** A framed text cannot contain the mark, so the first closing tag with the mark ends the frame. */
const outputFrames = (mark: string): RegExp =>
  new RegExp(
    `(<(dependency_output|value)(?: from=("(?:[^"\\\\]|\\\\.)*"))? mark="${mark}">\\n?)([^]*?)(\\n?</\\2 mark="${mark}">)`,
    'g',
  )

function cutText(text: string, kept: number): string {
  const end = Math.floor(kept / 3)
  return `${text.slice(0, kept - end).toWellFormed()}${cutNote(text.length, kept)}${text.slice(text.length - end).toWellFormed()}`
}

/** The note that replaces the missing part of a cut text. */
function cutNote(chars: number, kept: number): string {
  return `\n[cut: ${chars - kept} of the ${chars} characters of this output, left out because the conversation was too long]\n`
}

/**
 * Whether a text becomes shorter by a cut: the note about it has some characters too.
 *
 * @example
 * isShorterCut(1_000, 100) // => true
 * isShorterCut(1_000, 950) // => false
 */
export function isShorterCut(chars: number, kept: number): boolean {
  return kept + cutNote(chars, kept).length < chars
}
