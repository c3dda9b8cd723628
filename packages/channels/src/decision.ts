// Reads decisions and answers from what a person wrote in a chat: pure functions. Case, quotes, punctuation
// and courtesy are ignored, because people copy what the bot prints, and their keyboards change it. A text
// that could mean something other than an approval is not an approval: a question, words before the verb, a
// condition after the code, or a text that is struck through. A courtesy or a signature after a decision is
// not part of it.
import { BeaverError } from '@beaver/core'
import { bare, behind, keyed, kindSigns, unsigned, withoutMarks } from './typed-text.ts'

/** A decision or an answer with a code. */
export type ChatDecision =
  | { readonly verb: 'approve'; readonly code: string; readonly rest: string }
  | { readonly verb: 'deny'; readonly code: string; readonly reason: string }
  | { readonly verb: 'decline'; readonly code: string; readonly reason: string }
  | { readonly verb: 'answer'; readonly code: string; readonly text: string }

const reasonCharsMax = 1_000
const decision =
  /^([\s"'(<[*_/]*)(approve|deny|answer|decline)[\s"'(<[*_:]+([0-9a-z]{3}-[0-9a-z]{3})(?![\p{L}\p{N}-])/iu

/**
 * Reads `approve k3f-09d`, `deny k3f-09d because …`, `answer k3f-09d 2` or `decline k3f-09d`, also with
 * quotes and punctuation. `null`: the text is none of these.
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
 * The arguments that a person wrote after an approval. `null`: none.
 *
 * @throws {BeaverError} `invalid_arguments` if other text follows: it may be a condition, which would be lost
 */
export function changedArguments(code: string, rest: string): string | null {
  const text = behind(rest, /^["')>\]*_\s.,;:!-]*/)
  const end = text.startsWith('{') ? text.lastIndexOf('}') + 1 : 0
  if (isCourtesy(unsigned(end === 0 ? rest : text.slice(end)))) return end === 0 ? null : text.slice(0, end)
  const example = `"approve ${code} {…}" with all of its arguments as a JSON object`
  const more = codesIn(rest).length === 0 ? '' : ' Each decision is a message of its own.'
  throw new BeaverError(
    'invalid_arguments',
    `The call still waits. To allow it as it is, write only "approve ${code}". To change it, write ${example}.${more}`,
  )
}

/** What a person wrote to a task that waits for more in a budget. `code`: `null` if there is none. */
export type BudgetReply =
  | { readonly verb: 'more'; readonly code: string | null; readonly amount: string }
  | { readonly verb: 'cancel'; readonly code: string | null }

const budgetReply =
  /^[\s"'(<[*_/]*(more|cancel)(?![\p{L}\p{N}-])(?:[\s"'(<[*_:]+([0-9a-z]{3}-[0-9a-z]{3})(?![\p{L}\p{N}-]))?/iu

/**
 * Reads `more 0.50`, `more k3f-09d 50000 tokens` or `cancel`, also with quotes and punctuation. `null`: the
 * text is none of these. Whether the amount is one is for `amountIn` to say.
 */
export function budgetReplyIn(written: string): BudgetReply | null {
  const text = keyed(withoutMarks(written))
  const [head, word = '', name] = budgetReply.exec(text) ?? []
  if (head === undefined) return null
  const code = name?.toLowerCase() ?? null
  const rest = unsigned(text.slice(head.length))
  if (word.toLowerCase() === 'more') return { verb: 'more', code, amount: bare(rest) }
  return isCourtesy(rest) ? { verb: 'cancel', code } : null
}

/** The parts of a text that look like codes of calls and questions, in lower case. */
export const codesIn = (text: string): readonly string[] =>
  keyed(withoutMarks(text))
    .toLowerCase()
    .match(/(?<![\p{L}\p{N}-])[0-9a-hjkmnp-tv-z]{3}-[0-9a-hjkmnp-tv-z]{3}(?![\p{L}\p{N}-])/gu) ?? []

/** If a quote began before the verb, removes its end from the text. */
const unquoted = (text: string, before: string): string =>
  /["'*_(<[]/.test(before) ? text.slice(0, keyed(text).search(/["'*_)>\]]*$/)).trim() : text

// The courtesies that may follow a decision. The lists are closed, because anything else may be a condition
// or a refusal.

const words = new Set(
  'a cheers go ahead lot many much ok okay please pls so thank thanks thx ty very yes you'.split(' '),
)

/**
 * Whole phrases for "thank you" and "please", so that a part of a phrase does not count. Accents that people
 * often omit are optional.
 */
const phrases = [
  'danke|dankeschön|danke schön|danke sehr|vielen dank|besten dank|herzlichen dank|bitte|bitte schön|bitte sehr',
  "merci|merci beaucoup|merci bien|s'il vous pla[iî]t|s'il te pla[iî]t|svp|stp",
  'gracias|muchas gracias|mil gracias|por favor|porfa',
  'obrigad[oa]|muito obrigad[oa]|por favor|se faz favor',
  'grazie|grazie mille|mille grazie|molte grazie|per favore|per piacere',
  'bedankt|hartelijk bedankt|dank je|dank je wel|dank u|dank u wel|dankjewel|alstublieft|alsjeblieft|aub|svp',
  '谢谢|謝謝|谢谢你|謝謝你|谢谢您|謝謝您|多谢|多謝|感谢|感謝|麻烦了|麻煩了|拜托了|拜託了',
  'ありがとう|ありがとうございます|有難うございます|どうもありがとう|どうもありがとうございます|お願いします|お願いいたします|お願い致します|よろしくお願いします|よろしくお願いいたします|宜しくお願いします',
  '감사합니다|감사해요|고맙습니다|고마워요|고마워|부탁합니다|부탁드립니다|부탁해요',
  'спасибо|большое спасибо|спасибо большое|благодарю|пожалуйста',
  'te[sş]ekk[uü]rler|te[sş]ekk[uü]r ederim|[cç]ok te[sş]ekk[uü]rler|sa[gğ] ?ol|sa[gğ] ?olun|l[uü]tfen',
  'dzi[eę]kuj[eę]|dzi[eę]kuj[eę] bardzo|bardzo dzi[eę]kuj[eę]|dzi[eę]ki|prosz[eę]',
]
  .flatMap((language) => language.split('|'))
  .toSorted((a, b) => b.length - a.length)
  .map((phrase) => phrase.replaceAll("'", `["']`).replaceAll(' ', String.raw`\s+`))
const thanks = new RegExp(String.raw`(?<![\p{L}\p{N}])(?:${phrases.join('|')})(?![\p{L}\p{N}])`, 'giu')

/** Whether a text has nothing but courtesies. */
function isCourtesy(text: string): boolean {
  const left = keyed(text.normalize('NFC')).replaceAll(kindSigns, ' ').replaceAll(thanks, ' ').toLowerCase()
  return left.split(/[\s"'.,;:!…()<>[\]*_-]+/).every((word) => word === '' || words.has(word))
}
