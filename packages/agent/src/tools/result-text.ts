// Turns a tool's return value into the text that a model reads. Only text and plain data become text. Any
// other value is a failure that says so, never an empty or a misleading result. A bounded text says how much
// it left out, is well-formed, and does not change if it is bounded again.
import { thrownText, ToolFailure } from './tool-failure.ts'

/** The limit of one result. */
const resultCharsMax = 200_000

/**
 * A string is kept, `undefined` becomes `null`, and any other value becomes JSON.
 *
 * @throws {ToolFailure} `invalid_result`
 */
export function resultText(tool: string, result: unknown): string {
  if (typeof result === 'string') return result
  if (result === undefined) return 'null'
  const refused = (what: string): ToolFailure =>
    new ToolFailure(
      'invalid_result',
      `${tool} returned ${what}, which is neither text nor plain data. It may have taken effect. Its author must correct it.`,
    )
  if (typeof result === 'function' || typeof result === 'symbol' || typeof result === 'bigint')
    throw refused(`a ${typeof result}`)
  let text: string | undefined
  try {
    text = JSON.stringify(result) as string | undefined
  } catch (error) {
    throw refused(`something that has no JSON (${firstLine(thrownText(error))})`)
  }
  if (text === undefined) throw refused('something that has no JSON')
  return text
}

/** At most `charsMax` characters. A text that is too long is cut and says so. */
export function boundedText(text: string, charsMax = resultCharsMax): string {
  if (text.length <= charsMax) return text.toWellFormed()
  const note = (kept: number): string => `\n[cut: ${text.length - kept} more characters]`
  const kept = wholeEnd(text, charsMax - note(0).length)
  return text.slice(0, kept).toWellFormed() + note(kept)
}

/** Returns `end`, or one less if `end` would cut a character in two. */
export function wholeEnd(text: string, end: number): number {
  return /[\uD800-\uDBFF]/.test(text[end - 1] ?? '') ? end - 1 : end
}

const firstLine = (text: string): string => text.split('\n', 1)[0] ?? ''
