// What a person decides or answers in a chat, read from what the person wrote: pure functions.
// D1. Case, quotes, punctuation and courtesy change nothing: people copy what the bot prints, and their keyboards change it.
// D2. A text that may mean something else than an approval is none: a question, words before the verb, a condition behind the code, or a text that
//     is struck through.
import { BeaverError } from '@beaver/core'

/** What a person decided or answered in a chat. */
export type ChatDecision =
  | { readonly verb: 'approve'; readonly code: string; readonly rest: string }
  | { readonly verb: 'deny'; readonly code: string; readonly reason: string }
  | { readonly verb: 'decline'; readonly code: string; readonly reason: string }
  | { readonly verb: 'answer'; readonly code: string; readonly text: string }

const reasonCharsMax = 1_000
const decision = /^([\s"'(<[*_/]*)(approve|deny|answer|decline)[\s"'(<[*_:]+([0-9a-z]{3}-[0-9a-z]{3})(?![\p{L}\p{N}-])/iu

/** `approve k3f-09d`, `deny k3f-09d because …`, `answer k3f-09d 2` or `decline k3f-09d`, also with quotes and punctuation. `null`: the text is none of them. */
export function decisionIn(text: string): ChatDecision | null {
  const [head, before = '', word = '', written = ''] = decision.exec(keyed(text)) ?? []
  if (head === undefined) return null
  const verb = word.toLowerCase() as ChatDecision['verb']
  const code = written.toLowerCase()
  const rest = text.slice(head.length)
  if (verb === 'answer') return { verb, code, text: unquoted(behind(rest, /^["')>\]*_]*[:,.]?(?=\s|$)/), before) }
  if (/^["')>\]*_\s.,;:!-]*\?/.test(keyed(rest))) return null
  if (verb === 'approve') return { verb, code, rest }
  return { verb, code, reason: unquoted(behind(rest, /^["')>\]*_\s.,;:!-]*/), before).slice(0, reasonCharsMax) }
}

/**
 * The arguments that a person wrote behind an approval. `null`: none.
 *
 * @throws {BeaverError} `invalid_arguments` if something else is there: it may be a condition, which would be lost
 */
export function changedArguments(code: string, rest: string): string | null {
  const said = behind(rest, /^["')>\]*_\s.,;:!-]*/)
  const end = said.startsWith('{') ? said.lastIndexOf('}') + 1 : 0
  if (isCourtesy(end === 0 ? rest : said.slice(end))) return end === 0 ? null : said.slice(0, end)
  const example = `"approve ${code} {…}" with all of its arguments as a JSON object`
  throw new BeaverError('invalid_arguments', `The call still waits. To allow it as it is, write only "approve ${code}". To change it, write ${example}.`)
}

/** The text with the characters of a plain keyboard in place of full-width and typographic ones. Each character keeps its place. */
const keyed = (text: string): string =>
  text
    .replaceAll(/[\uFF01-\uFF5E]/g, (wide) => String.fromCharCode(wide.charCodeAt(0) - 0xfee0))
    .replaceAll(/[\u2010-\u2015\u2212]/g, '-')
    .replaceAll(/[`´\u2018-\u201F\u2039\u203A«»「-』]/g, '"')
    .replaceAll('。', '.')
    .replaceAll('、', ',')

/** @param start found in the text as a plain keyboard has it */
const behind = (text: string, start: RegExp): string => text.slice(start.exec(keyed(text))?.[0].length ?? 0).trim()

/** A quote that began before the verb ends behind the text. */
const unquoted = (text: string, before: string): string => (/["'*_(<[]/.test(before) ? text.slice(0, keyed(text).search(/["'*_)>\]]*$/)).trim() : text)

const courtesies = new Set('a cheers go ahead lot many much ok okay please pls so thank thanks thx very yes you'.split(' '))
/** A thumb, hands, a mark, a face or a heart, in any colour. Another sign may mean the opposite. */
const kindSigns =
  /[\u{1F44C}\u{1F44D}\u{1F44F}\u{1F64C}\u{1F64F}\u2705\u2714\u2611\u{1F600}\u{1F601}\u{1F603}\u{1F604}\u{1F60A}\u{1F642}\u{1F389}\u2764\u{1F4AF}]|\uFE0F|\p{Emoji_Modifier}/gu
/** A mail may have a signature, or the mail that it answers, behind such a line. */
const signature = /^(?:-- ?|_{5,})$/m
/** How a mail ends without such a line: a name behind a greeting, or what a phone adds. Nothing follows it. */
const endings =
  /\n\s*\n(?:(?:(?:[Bb]est|[Kk]ind|[Ww]arm) )?(?:[Rr]egards|[Ww]ishes)|[Bb]est|[Cc]heers|[Ss]incerely|[Ss]ent from my [\w ]{1,30}(?:[.,] sorry for (?:the |any )?typos)?)[,.!]?(?:\s*\n\s*\p{Lu}[\p{L}.'-]*(?: \p{Lu}[\p{L}.'-]*){0,2})?\s*$/u

/** Whether only courtesy follows a decision: anything else may be a condition. */
function isCourtesy(rest: string): boolean {
  const [said = ''] = keyed(rest).replaceAll(kindSigns, ' ').split(signature)
  const words = said
    .replace(endings, '')
    .toLowerCase()
    .split(/[\s"'.,;:!…()<>[\]*_-]+/)
  return words.every((word) => word === '' || courtesies.has(word))
}
