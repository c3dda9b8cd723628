// Reads what the agents of a GroupChat say to code: a bid, and the line that ends the chat. Pure. A text is
// read only in a form that was asked for, or in one that has no other meaning. A number or a phrase within a
// sentence may mean anything, and is not read.
import { z } from 'zod'
import { readJsonAnswer } from '../growing/json-answer.ts'

export const folded = (text: string): string => text.normalize('NFKC').toLowerCase()

/**
 * Whether the last line of a text is the phrase and nothing else, apart from emphasis, quotation marks and a
 * full stop.
 */
export function endsWithLine(text: string, phrase: string): boolean {
  const last = text.trimEnd().split('\n').at(-1) ?? ''
  return bare(last) === bare(phrase)
}

const bare = (line: string): string =>
  folded(line)
    .replaceAll(/\s+/g, ' ')
    .replace(/^[\s*_"'`“”「」]+/u, '')
    .replace(/[\s*_"'`“”「」.!。！]+$/u, '')

const bidField = z.object({
  bid: z.union([
    z.number(),
    z
      .string()
      .regex(/^\s*\d{1,3}(?:\.\d{1,3})?\s*$/)
      .transform(Number),
  ]),
})
const figure = String.raw`(\d{1,3}(?:\.\d{1,3})?)(?:\s*(?:%|/\s*100))?`
const alone = new RegExp(String.raw`^[\s*_"'\x60]*${figure}[\s*_"'\x60.!]*$`, 'u')
const marked = new RegExp(
  String.raw`^[\s*_#>"'\x60-]*(?:my\s+)?bid[\s*_"'\x60]*[:=：][\s*_"'\x60]*${figure}[\s*_"'\x60.!]*$`,
  'iu',
)

/**
 * The bid in an answer: `{"bid": 75}`, the number alone, or a last line `BID: 75`. `null` if there is none
 * from 0 to 100.
 */
export function bidIn(answer: string): number | null {
  const json = readJsonAnswer(answer, bidField)
  const last = answer.trimEnd().split('\n').at(-1) ?? ''
  const [, written] =
    answer.length <= charsMax
      ? (alone.exec(answer) ?? marked.exec(last) ?? [])
      : (marked.exec(last.slice(-charsMax)) ?? [])
  const bid = json.ok ? json.value.bid : written === undefined ? NaN : Number(written)
  return bid >= 0 && bid <= 100 ? bid : null
}

const charsMax = 2_000
