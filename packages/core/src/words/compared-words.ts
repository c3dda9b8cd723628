// Splits a text into the words by which texts are compared: of a skill with a task, of a document with a
// question. Pure. Words are compared whole, in lower case, without a final "s". Chinese, Japanese and Korean
// have no spaces between words. They are compared by pairs of characters.

const cjk = '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}'
const isAscii = /^[a-z0-9]+$/
const cjkRuns = new RegExp(`([${cjk}]+)`, 'u')
const beginsCjk = new RegExp(`^[${cjk}]`, 'u')
/** Particles of Chinese and Japanese: a pair with one of these characters is no word. */
const joining = new Set('的了这那吗吧呢啊请我你他她它们个是はがをのに')

/**
 * The words of a text, in their order, as often as they occur. A word has only letters, marks and digits.
 *
 * @example
 * Array.from(comparedWords('Vacation days: 30')) // => ['vacation', 'day', '30']
 * Array.from(comparedWords('年假天数')) // => ['年假', '假天', '天数']
 */
export function* comparedWords(text: string): Generator<string> {
  for (const [run] of text
    .normalize('NFKC')
    .toLowerCase()
    .matchAll(/[\p{L}\p{M}\p{N}]+/gu)) {
    if (isAscii.test(run)) {
      yield singular(run)
      continue
    }
    for (const part of run.split(cjkRuns)) {
      if (beginsCjk.test(part)) yield* pairsOf(part)
      else if (part !== '') yield singular(part)
    }
  }
}

const singular = (word: string): string =>
  word.length > 3 && !word.endsWith('ss') ? word.replace(/s$/, '') : word

function* pairsOf(text: string): Generator<string> {
  let before: string | null = null
  let only = true
  for (const character of text) {
    if (before !== null) {
      only = false
      if (!joining.has(before) && !joining.has(character)) yield before + character
    }
    before = character
  }
  if (only && before !== null && !joining.has(before)) yield before
}
