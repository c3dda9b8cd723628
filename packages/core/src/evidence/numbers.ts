// Finds the numbers of a text and gives each by its value, so that `1,234.50` and `1234.5` are the same number.
// N1. A number consists of ASCII or full-width digits with a decimal point, thousands separators (`,` `'` and no-break or thin spaces), a minus
//     before the number, an exponent and a percent sign. Text around a number (a currency, a unit, "million", 亿) is not read.
// N2. Digits that belong to a name are not numbers: `sha256`, `UTF-8`, `v1.2`, `3fa9c2d`.
// N3. Three or more groups with points between them, as in `1.2.3`, are compared as they are written.
// N4. The time is bounded by the length of the text.
import { wordLetters } from './result-texts.ts'

export interface FoundNumber {
  /** The number as it is written in the text, with full-width characters as ASCII. */
  readonly shown: string
  /** The possible meanings, the likeliest first. `12%` is 12 or 0.12; `1,234` is one number or a list of two. */
  readonly readings: readonly (readonly string[])[]
  /** Whether it is a whole number without a sign, fraction, separators, exponent or percent sign. */
  readonly plainInteger: boolean
}

const digits = String.raw`(?:\d{1,3}(?:(?:,\d{3})+|(?:[\u00A0\u202F\u2009]\d{3})+|(?:['’]\d{3})+)(?!\d)|\d+)`
const number = new RegExp(
  [
    // A name begins with a letter, or contains letters between digits.
    String.raw`_*[${wordLetters}][${wordLetters}\d_]*(?:[-.]\d[${wordLetters}\d_]*)*`,
    String.raw`(?<dotted>\d+(?:\.\d+){2,})`,
    String.raw`(?<sign>(?<![${wordLetters}\p{L}\d_)\]%.])-\p{Sc}?)?(?:(?<whole>${digits})(?:\.(?<fraction>\d+))?|(?<![\p{L}\d_.)])\.(?<point>\d+))(?<power>[eE][+-]?\d{1,4}(?![${wordLetters}\d_]))?(?<percent>[ \u00A0\u202F]?%)?`,
    '_+',
  ].join('|'),
  'gu',
)
const mixedName = new RegExp(String.raw`^\d+[${wordLetters}_]+\d[${wordLetters}\d_]*`, 'u')

export function numbersIn(text: string): FoundNumber[] {
  const plain = normalised(text)
  const found: FoundNumber[] = []
  number.lastIndex = 0
  for (let match = number.exec(plain); match !== null; match = number.exec(plain)) {
    const { dotted, sign, whole, fraction, point, power, percent } = match.groups ?? {}
    if (dotted !== undefined) found.push({ shown: dotted, readings: [[dotted]], plainInteger: false })
    if (whole === undefined && point === undefined) continue
    const name =
      power === undefined && fraction === undefined && sign === undefined ? mixedName.exec(plain.slice(match.index, match.index + nameCharsMax)) : null
    if (name !== null) {
      number.lastIndex = match.index + name[0].length
      continue
    }
    const groups = (whole ?? '0').split(/\D/)
    const exponent = power === undefined ? 0 : Number(power.slice(1))
    const value = decimal({ negative: sign !== undefined, whole: groups.join(''), fraction: fraction ?? point ?? '', exponent })
    found.push({
      shown: match[0],
      readings: [
        [value],
        ...(percent === undefined
          ? []
          : [[decimal({ negative: sign !== undefined, whole: groups.join(''), fraction: fraction ?? point ?? '', exponent: exponent - 2 })]]),
        ...(groups.length === 1
          ? []
          : [groups.map((group, i) => decimal({ negative: false, whole: group, fraction: i === groups.length - 1 ? (fraction ?? '') : '', exponent: 0 }))]),
      ],
      plainInteger: groups.length === 1 && [sign, fraction, point, power, percent].every((part) => part === undefined),
    })
  }
  return found
}

/** The value of a JavaScript number, in the form that `numbersIn` uses. */
export function valueOf(value: number): string {
  const [mantissa = '', exponent = '0'] = String(Math.abs(value)).split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  return decimal({ negative: value < 0, whole, fraction, exponent: Number(exponent) })
}

/** The text without the numbers of its ordered lists and headings: `1. `, `2) `, `## 3. `, `4、`. */
export function withoutListNumbers(text: string): string {
  return text.replace(/^([ \t>]*(?:#{1,6}[ \t]+|[*_]{1,2})?)\d{1,3}(?=[.)][ \t*_]|、)/gm, '$1')
}

const nameCharsMax = 200

/** The text with full-width characters and the minus sign as ASCII, and with a space for the T between a date and a time. */
function normalised(text: string): string {
  return text
    .replace(/[\uFF01-\uFF5E]/g, (character) => String.fromCharCode(character.charCodeAt(0) - 0xfee0))
    .replaceAll('\u2212', '-')
    .replace(/(?<=\d)T(?=\d\d:)/g, ' ')
}

/** The one text of a value: without needless zeros, without an exponent, and `0` without a sign. */
function decimal({ negative, whole, fraction, exponent }: { negative: boolean; whole: string; fraction: string; exponent: number }): string {
  let [before, after] = [whole, fraction]
  if (Math.abs(exponent) > 400) return `${negative ? '-' : ''}${before}.${after}e${exponent}`
  if (exponent > 0) {
    const moved = after.slice(0, exponent).padEnd(exponent, '0')
    ;[before, after] = [before + moved, after.slice(exponent)]
  } else if (exponent < 0) {
    const all = before.padStart(-exponent, '0')
    ;[before, after] = [all.slice(0, all.length + exponent), all.slice(all.length + exponent) + after]
  }
  before = before.replace(/^0+/, '') || '0'
  after = trimZeros(after)
  const value = after === '' ? before : `${before}.${after}`
  return negative && value !== '0' ? `-${value}` : value
}

function trimZeros(text: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === '0') end--
  return text.slice(0, end)
}
