// What a person decides or answers in a chat, read from what the person wrote: pure functions. Case, quotes,
// punctuation and courtesy change nothing: people copy what the bot prints, and their keyboards change it. A
// text that may mean something else than an approval is none: a question, words before the verb, a condition
// behind the code, or a text that is struck through. A courtesy or a signature behind a decision is no part
// of it.
import { BeaverError } from '@beaver/core'
import { isCourtesy } from './courtesy.ts'
import { behind, keyed, unsigned, withoutMarks } from './typed-text.ts'

/** What a person decided or answered in a chat. */
export type ChatDecision =
  | { readonly verb: 'approve'; readonly code: string; readonly rest: string }
  | { readonly verb: 'deny'; readonly code: string; readonly reason: string }
  | { readonly verb: 'decline'; readonly code: string; readonly reason: string }
  | { readonly verb: 'answer'; readonly code: string; readonly text: string }

const reasonCharsMax = 1_000
const decision =
  /^([\s"'(<[*_/]*)(approve|deny|answer|decline)[\s"'(<[*_:]+([0-9a-z]{3}-[0-9a-z]{3})(?![\p{L}\p{N}-])/iu

/**
 * `approve k3f-09d`, `deny k3f-09d because …`, `answer k3f-09d 2` or `decline k3f-09d`, also with quotes and
 * punctuation. `null`: the text is none of them.
 */
export function decisionIn(written: string): ChatDecision | null {
  const text = withoutMarks(written)
  const [head, before = '', word = '', name = ''] = decision.exec(keyed(text)) ?? []
  if (head === undefined) return null
  const verb = word.toLowerCase() as ChatDecision['verb']
  const code = name.toLowerCase()
  const rest = text.slice(head.length)
  if (verb === 'answer')
    return { verb, code, text: unquoted(behind(rest, /^["')>\]*_]*[:,.]?(?=\s|$)/), before) }
  if (/^["')>\]*_\s.,;:!-]*\?/.test(keyed(rest))) return null
  if (verb === 'approve') return { verb, code, rest }
  const why = unsigned(rest)
  const reason = isCourtesy(why) ? '' : unquoted(behind(why, /^["')>\]*_\s.,;:!-]*/), before)
  return { verb, code, reason: reason.slice(0, reasonCharsMax) }
}

/**
 * The arguments that a person wrote behind an approval. `null`: none.
 *
 * @throws {BeaverError} `invalid_arguments` if something else is there: it may be a condition, which would be
 * lost
 */
export function changedArguments(code: string, rest: string): string | null {
  const said = behind(rest, /^["')>\]*_\s.,;:!-]*/)
  const end = said.startsWith('{') ? said.lastIndexOf('}') + 1 : 0
  if (isCourtesy(unsigned(end === 0 ? rest : said.slice(end)))) return end === 0 ? null : said.slice(0, end)
  const example = `"approve ${code} {…}" with all of its arguments as a JSON object`
  const more = codesIn(rest).length === 0 ? '' : ' Each decision is a message of its own.'
  throw new BeaverError(
    'invalid_arguments',
    `The call still waits. To allow it as it is, write only "approve ${code}". To change it, write ${example}.${more}`,
  )
}

/** What looks like the codes of calls and questions in a text. */
export const codesIn = (text: string): readonly string[] =>
  keyed(withoutMarks(text))
    .toLowerCase()
    .match(/(?<![\p{L}\p{N}-])[0-9a-hjkmnp-tv-z]{3}-[0-9a-hjkmnp-tv-z]{3}(?![\p{L}\p{N}-])/gu) ?? []

/** A quote that began before the verb ends behind the text. */
const unquoted = (text: string, before: string): string =>
  /["'*_(<[]/.test(before) ? text.slice(0, keyed(text).search(/["'*_)>\]]*$/)).trim() : text
