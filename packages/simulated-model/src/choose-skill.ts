// Answers the request to choose skills, by the words that a task and a description share. It chooses at most
// one skill, and none if the choice is not clear.
import type { ChatMessage } from '@beaver/core'
import { say, type SimulatedReply } from './habit.ts'

/** The description must contain this number of the task's words, and this share of them. */
const sharedMin = 2
const shareMin = 0.4

/** Returns `null` for any other request. */
export function chooseSkill(messages: readonly ChatMessage[]): SimulatedReply | null {
  if (messages[0]?.role !== 'system' || !messages[0].content.startsWith('Choose the skills')) return null
  const text = messages.findLast((message) => message.role === 'user')?.content ?? ''
  const start = text.search(/<task[ >]/)
  const task = text.slice(start < 0 ? text.length : start).replaceAll(/<\/?task(?: mark="\w+")?>/g, ' ')
  const offered = [...text.slice(0, start < 0 ? text.length : start).matchAll(/^- ([^:\n]{1,100}): (.*)$/gm)]
  const wanted = wordsOf(task)
  const [best, next] = offered
    .map(([, name = '', description = '']) => ({
      name,
      shared: sharedBy(wanted, wordsOf(`${name.replaceAll('-', ' ')} ${description}`)),
    }))
    .toSorted((a, b) => b.shared - a.shared)
  const fits =
    best !== undefined &&
    best.shared >= sharedMin &&
    best.shared >= shareMin * wanted.size &&
    best.shared > (next?.shared ?? 0)
  return say(JSON.stringify({ skills: fits ? [best.name] : [] }))
}

function sharedBy(wanted: ReadonlySet<string>, words: ReadonlySet<string>): number {
  let count = 0
  for (const word of wanted) if (words.has(word)) count++
  return count
}

const filler = new Set(
  (
    'a about all an and any are as at be by can could do does each for from give has have how i if in into is it its like me my need no not of on one or ' +
    'our out please should show so some task tell than that the their them then there these they this those to up use used user using want was we what when ' +
    'where which who why will with would write you your'
  ).split(' '),
)

/** Words without their plural. Chinese, Japanese and Korean are split into pairs of characters. */
function wordsOf(text: string): Set<string> {
  const words = new Set<string>()
  for (const [run] of text
    .toLowerCase()
    .matchAll(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]+|[\p{L}\p{N}]+/gu)) {
    const characters = [...run]
    if (/^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u.test(run)) {
      for (let at = 0; at + 1 < characters.length; at++) words.add(`${characters[at]}${characters[at + 1]}`)
    } else if (!filler.has(run))
      words.add(run.length > 3 && !run.endsWith('ss') ? run.replace(/s$/, '') : run)
  }
  return words
}
