// What a person decides or answers in a chat, read from what the person wrote: pure functions. Case, quotes,
// punctuation and courtesy change nothing: people copy what the bot prints, and their keyboards change it. A
// text that may mean something else than an approval is none: a question, words before the verb, a condition
// behind the code, or a text that is struck through. A courtesy or a signature behind a decision is no part
// of it.
import { BeaverError } from '@beaver/core'
import { behind, keyed, kindSigns, unsigned, withoutMarks } from './typed-text.ts'

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

// The courtesy that may follow a decision. The lists are closed: anything else may be a condition or a no.

const words = new Set(
  'a cheers go ahead lot many much ok okay please pls so thank thanks thx ty very yes you'.split(' '),
)

/**
 * Thanks and please as whole phrases, so that no part of one says anything by itself. An accent may be left
 * out where people leave it out.
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

/** Whether a text is nothing but courtesy. */
function isCourtesy(text: string): boolean {
  const left = keyed(text.normalize('NFC')).replaceAll(kindSigns, ' ').replaceAll(thanks, ' ').toLowerCase()
  return left.split(/[\s"'.,;:!…()<>[\]*_-]+/).every((word) => word === '' || words.has(word))
}
