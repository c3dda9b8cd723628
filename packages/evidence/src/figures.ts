// Reads the figures of a text as people write them, by value: `HK$1.2 billion`, `1,200 million` and `12亿` are
// the same. A figure is digits of any script with separators, a sign or parentheses, a currency, a magnitude
// (k, m, bn, 万, 亿), a percentage or an exponent. A range shares its unit. Dates, years and times are compared
// with dates. Digits in a name are no figures (`sha256`, `UTF-8`, `v1.2`), but a currency, FY and No. begin
// no name. Three or more groups with points, as in `1.2.3`, are compared as written. A form with several
// meanings has several readings; nothing is rounded or added up. The time is bounded by the length of the
// text.
import { type FoundDate, datesIn } from './dates.ts'
import { withPlainDigits } from './plain-digits.ts'
import { wordLetters } from './result-texts.ts'
import { codeSource, currencyAtEnd, currencyAtStart, magnitudeAtStart } from './units.ts'

/**
 * `tag`: what it counts. `bare`: the text names no magnitude. `rises`: the text says that it is not negative.
 */
interface ValueAtom {
  readonly kind: 'value'
  readonly value: string
  readonly tag: string
  readonly bare: boolean
  readonly rises?: true
}

/**
 * One statement of a reading: a value, a date, a time (`t10:30`), or digits as they are written (`1.2.3`).
 */
export type Atom = ValueAtom | { readonly kind: 'date' | 'text'; readonly value: string }

export interface Figure {
  /** As it is written in the text, with ASCII digits. */
  readonly shown: string
  readonly at: number
  /** The possible meanings, the likeliest first. All statements of one must be known. */
  readonly readings: readonly (readonly Atom[])[]
  /** Whether it is a whole number without a sign, fraction, separators, exponent or unit. */
  readonly plainInteger: boolean
}

const grouped = String.raw`(?:\d{1,3}(?:(?:,\d{3})+|(?:[\u00A0\u202F\u2009]\d{3})+|(?:['’]\d{3})+)(?!\d)|\d{1,2}(?:,\d{2})+,\d{3}(?![\d,])|\d{1,3}(?: \d{3})+(?![\d,.]\d|\d)|\d+)`
const european = String.raw`(?<european>\d{1,3}(?:\.\d{3})+,\d{1,4}(?!\d)|(?<![\d.,])\d{1,3},\d{1,2}(?=[ \u00A0]?(?:%|€|EUR\b|Mio|Mrd)))`
const pattern = new RegExp(
  [
    `(?<code>(?<![${wordLetters}\\d_])${codeSource}(?=[ \\u00A0]?[-+(]?\\.?\\d))`,
    // A name has digits in it, or a hyphen before them. A short word before many digits is no name.
    String.raw`(?<name>_*[${wordLetters}]{1,3}[${wordLetters}_]*(?:(?<=[a-z]{2})\d{1,3}(?!\d)|(?<![a-z]{2})\d)[${wordLetters}\d_]*(?:[-.]\d[${wordLetters}\d_]*)*|[A-Z][A-Z\d]{0,7}-\d[${wordLetters}\d_]*(?:[-.]\d[${wordLetters}\d_]*)*|(?:20|10|8|6|40|11)-[KQF]\b|[${wordLetters}]+-\d{1,2}(?:\.\d+)?(?![\d%])|_*[${wordLetters}][${wordLetters}_]*)`,
    european,
    String.raw`(?<dotted>\d+(?:\.\d+){2,})`,
    String.raw`(?:(?<whole>${grouped})(?:\.(?<fraction>\d+))?|(?<![\p{L}\d_.)])\.(?<point>\d+))(?<power>[eE][+-]?\d{1,4}(?![${wordLetters}\d_])| ?[×x*] ?10\^?-?\d{1,3}(?!\d)|\^\d{1,3})?`,
    '_+',
  ].join('|'),
  'gu',
)
const mixedName = new RegExp(
  String.raw`^\d+(?!(?:[kKmMbB]|bn|mn)\d*\b)[${wordLetters}_]+\d[${wordLetters}\d_]*`,
  'u',
)
const address =
  /(?:https?|ftp):\/\/[^\s<>"'`|）)\]]+|(?<![\p{L}\p{N}])[\p{L}\p{N}_./-]{0,120}[\p{L}\p{N}_-]\.(?:md|json|jsonl|html?|pdf|csv|tsv|txt|ts|tsx|js|py|xlsx?|docx?|pptx?|png|jpe?g|svg|ya?ml|toml|xml|zip)(?![\p{L}\p{N}])/giu

/** The text that is looked at on each side of a number. */
const besideChars = 60

export function figuresIn(written: string): Figure[] {
  const text = withPlainDigits(written)
    .replace(address, (found) => ' '.repeat(found.length))
    .replace(/(?<=\d)T(?=\d\d:)/g, ' ')
  const dates = datesIn(text)
  const found = [
    ...dates.map((date) => figureOfDate(date, text)),
    ...amountsIn(without(text, dates)),
  ].toSorted((a, b) => a.at - b.at)
  return found
}

/** The value of a JavaScript number, in the form that figures have. */
export function valueOf(value: number): string {
  const [mantissa = '', exponent = '0'] = String(Math.abs(value)).split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  return decimal({ negative: value < 0, whole, fraction, exponent: Number(exponent) })
}

/** A value times a power of ten. */
export function scaled(value: string, power: number): string {
  const negative = value.startsWith('-')
  const [whole = '', fraction = ''] = value.slice(negative ? 1 : 0).split('.')
  return decimal({ negative, whole, fraction, exponent: power })
}

/** The text without the numbers of its ordered lists and headings: `1. `, `2) `, `## 3. `, `4、`, `①`, `(5) `. */
export function withoutListNumbers(text: string): string {
  return text.replace(
    /^([ \t>]*(?:[-*+][ \t]+)?(?:#{1,6}[ \t]+|[*_]{1,2})?)(?:[(（]?\p{Nd}{1,3}(?=[.)）．][ \t*_]|、)|[(（]\p{Nd}{1,2}(?=[)）]))/gmu,
    '$1',
  )
}

const figureOfDate = ({ at, chars, readings }: FoundDate, text: string): Figure => ({
  shown: text.slice(at, at + chars),
  at,
  readings: readings.map((dates) => dates.map((value): Atom => ({ kind: 'date', value }))),
  plainInteger: false,
})

function without(text: string, dates: readonly FoundDate[]): string {
  let [left, at] = ['', 0]
  for (const date of dates) {
    left += `${text.slice(at, date.at)}${'\u0001'.repeat(date.chars)}`
    at = date.at + date.chars
  }
  return left + text.slice(at)
}

/** A number with what stands beside it. */
interface Amount {
  readonly figure: Figure
  readonly end: number
  readonly tag: string
  readonly power: number
}

function amountsIn(text: string): Figure[] {
  const found: Amount[] = []
  pattern.lastIndex = 0
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const { dotted, european: comma, whole, point } = match.groups ?? {}
    const at = match.index
    if (dotted !== undefined) {
      const figure: Figure = {
        shown: dotted,
        at,
        readings: [[{ kind: 'text', value: dotted }]],
        plainInteger: false,
      }
      found.push({ figure, end: at + dotted.length, tag: '', power: 0 })
    }
    if (comma === undefined && whole === undefined && point === undefined) continue
    const name = match.groups?.['power'] === undefined ? mixedName.exec(text.slice(at, at + 200)) : null
    if (name !== null) {
      pattern.lastIndex = at + name[0].length
      continue
    }
    const amount = amountAt(match, text)
    found.push(amount)
    pattern.lastIndex = Math.max(pattern.lastIndex, amount.end)
  }
  return joined(found, text).map(({ figure }) => figure)
}

function amountAt(match: RegExpExecArray, text: string): Amount {
  const { european: comma, whole, fraction = '', point, power = '' } = match.groups ?? {}
  const at = match.index
  const end = at + match[0].length
  const before = text.slice(Math.max(0, at - besideChars), at)
  const beside = sideBefore(before)
  const after = afterParentheses(text.slice(end, end + besideChars), beside)
  const parts =
    comma === undefined
      ? [whole ?? '0', point ?? fraction]
      : [comma.split(',')[0]?.replaceAll('.', '') ?? '', comma.split(',')[1] ?? '']
  const groups = (parts[0] ?? '').split(/\D/)
  const exponent =
    Number(/-?\d+$/.exec(power.replace(/^ ?[×x*] ?10\^?/, ''))?.[0] ?? 0) * (power.startsWith('^') ? 0 : 1)
  const last = end + after.chars
  const sign = signOf(beside.before, beside.inner, text.slice(last, last + besideChars))
  const tag = after.tag === '%' || after.tag === 'bp' ? after.tag : beside.tag || after.tag
  const make = (value: string, by: number): ValueAtom => ({
    kind: 'value',
    value: scaled(sign === 'falls' || sign === 'minus' ? negated(value) : value, by),
    tag,
    bare: by === 0,
    ...(sign === 'rises' ? { rises: true as const } : {}),
  })
  const value = decimal({ negative: false, whole: groups.join(''), fraction: parts[1] ?? '', exponent })
  const list =
    groups.length > 1 && isList(text, at, end)
      ? [
          groups.map((group, i): Atom => ({
            kind: 'value',
            value: decimal({
              negative: false,
              whole: group,
              fraction: i === groups.length - 1 ? (parts[1] ?? '') : '',
              exponent: 0,
            }),
            tag: '',
            bare: true,
          })),
        ]
      : []
  const readings: (readonly Atom[])[] = [
    [make(value, after.power)],
    ...(after.unsure ? [[make(value, 0)]] : []),
    ...list,
  ]
  if (tag === '%') readings.push([{ ...make(value, -2), tag: 'ratio' }])
  if (tag === 'bp') readings.push([{ ...make(value, -2), tag: '%' }], [{ ...make(value, -4), tag: 'ratio' }])
  if (sign === 'perhaps') readings.push([make(negated(value), after.power)])
  const plain =
    groups.length === 1 &&
    comma === undefined &&
    fraction === '' &&
    point === undefined &&
    power === '' &&
    tag === '' &&
    after.power === 0
  if (plain && /^(?:19|20|21)\d\d$/.test(groups[0] ?? ''))
    readings.push([{ kind: 'date', value: groups[0] ?? '' }])
  const compact = /^((?:19|20|21)\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$/.exec(
    plain ? (groups[0] ?? '') : '',
  )
  if (compact !== null)
    readings.push([{ kind: 'date', value: `${compact[1]}-${Number(compact[2])}-${Number(compact[3])}` }])
  const figure: Figure = {
    shown: text
      .slice(at - beside.chars, last)
      .replaceAll('\u0001', ' ')
      .trim(),
    at,
    readings,
    plainInteger: plain && sign === null,
  }
  return { figure, end: last, tag, power: after.power }
}

const negated = (value: string): string =>
  value === '0' ? value : value.startsWith('-') ? value.slice(1) : `-${value}`

/** The currency directly before a number, and what stands between them. `before`: the text before the currency. */
function sideBefore(text: string): { tag: string; chars: number; before: string; inner: string } {
  const inner = /[-+(][ ]?$/.exec(text)?.[0] ?? ''
  const currency = currencyAtEnd(text.slice(0, text.length - inner.length))
  if (currency === null) return { tag: '', chars: 0, before: text, inner: '' }
  const chars = currency.chars + inner.length
  return { tag: currency.tag, chars, before: text.slice(0, text.length - chars), inner: inner.trim() }
}

/** What follows a number, or the parentheses around it: `$(5) million`, `(5)%`. */
function afterParentheses(text: string, beside: ReturnType<typeof sideBefore>): ReturnType<typeof sideAfter> {
  const inside = sideAfter(text, beside.tag !== '')
  if (inside.chars > 0 || !text.startsWith(')') || !(beside.inner === '(' || beside.before.endsWith('(')))
    return inside
  const outside = sideAfter(text.slice(1), beside.tag !== '')
  return outside.power === 0 && outside.tag === '' ? inside : { ...outside, chars: 0 }
}

/** The magnitude, the percentage and the currency directly after a number. */
function sideAfter(
  text: string,
  hasCurrency: boolean,
): { tag: string; power: number; unsure: boolean; chars: number } {
  const percent =
    /^[ \u00A0\u202F]?(?:(?<percent>%|percent\b|per[ ]cent\b|pct\b|percentage[ ]points?\b|(?:pp|ppt|pts)\b|个百分点|個百分點)|(?<basis>bps?\b|basis[ ]points?\b|个基点|個基點))/iu.exec(
      text,
    )
  if (percent !== null)
    return {
      tag: percent.groups?.['basis'] === undefined ? '%' : 'bp',
      power: 0,
      unsure: false,
      chars: percent[0].length,
    }
  const magnitude = magnitudeAtStart(text)
  const currency = currencyAtStart(text.slice(magnitude?.chars ?? 0))
  return {
    tag: currency?.tag ?? '',
    power: magnitude?.power ?? 0,
    unsure: magnitude !== null && magnitude.unsure && !hasCurrency && currency === null,
    chars: (magnitude?.chars ?? 0) + (currency?.chars ?? 0),
  }
}

const fallsWord =
  /(?:下降|下跌|下滑|减少|減少|降低|亏损|虧損|跌|降|负|fell|falls|fall|down|decreased?|declined?|dropped|lower|loss(?:es)?|lost|minus|negative)[ ]?(?:了|by |of |约|約|近|about |nearly |some )?$/iu
const risesWord =
  /(?:增长|增長|增加|上升|上涨|上漲|提高|盈利|净利润为|rose|rises|rise|up|increased?|grew|gained|higher)[ ]?(?:了|by |of |约|約|近|about |nearly |some )?$/iu

type Sign = 'minus' | 'falls' | 'rises' | 'perhaps' | null

/** After a unit, a hyphen is that of a range: 5万-8万. */
const minus = new RegExp(
  String.raw`(?<![${wordLetters}\d_)\]%.十百千万亿萬億元圆圓年月日号人股吨个個倍])-$`,
  'u',
)

/**
 * The sign of a number: a minus, accounting parentheses, or a word before it. `perhaps`: the parentheses may be an aside.
 *
 * @param before the text before the number and its currency
 * @param inner what stands between the currency and the number
 * @param after the text after the number and its unit
 */
function signOf(before: string, inner: string, after: string): Sign {
  if (inner === '-' || minus.test(before)) return 'minus'
  if (inner === '(' && after.startsWith(')')) return 'minus'
  if (inner === '+' || /(?<![\d)\]%])\+$/.test(before)) return 'rises'
  if (before.endsWith('(') && after.startsWith(')'))
    return isCell(before.slice(0, -1), after.slice(1)) ? 'minus' : 'perhaps'
  if (/[▲△▼▽][ ]?$/.test(before)) return 'perhaps'
  if (fallsWord.test(before)) return 'falls'
  return risesWord.test(before) ? 'rises' : null
}

/** Whether there is nothing else in the cell of a table, or on the line. */
const isCell = (before: string, after: string): boolean =>
  /(?:^|[|\n\t,:：])[ \t*]*$/.test(before) && /^[ \t*]*(?:[|\n\t,]|$)/.test(after)

/** Whether commas separate the items of a list, as in JSON or CSV, and not thousands. */
function isList(text: string, at: number, end: number): boolean {
  const [before, after] = [text[at - 1] ?? '', text[end] ?? '']
  return (
    text.slice(at, end).includes(' ') ||
    /[[,;]/.test(before) ||
    after === ']' ||
    /^,\d/.test(text.slice(end, end + 2))
  )
}

/** Gives the first number of a range the unit of the second, and adds up the parts of `1亿2000万`. */
function joined(found: readonly Amount[], text: string): Amount[] {
  const kept: Amount[] = []
  for (const amount of found) {
    const last = kept.at(-1)
    const between = last === undefined ? '' : text.slice(last.end, amount.figure.at)
    if (
      last !== undefined &&
      last.power > amount.power &&
      amount.power > 0 &&
      /^零?$/.test(between) &&
      /[万亿萬億千]$/.test(text.slice(0, last.end).slice(-1))
    ) {
      kept[kept.length - 1] = summed(last, amount, text)
      continue
    }
    const shares =
      last !== undefined &&
      last.tag !== '%' &&
      last.tag !== 'bp' &&
      between.length < 24 &&
      /^ ?(?:[-–—~至到]|to|and|or|至|和) ?(?:[A-Z]{0,3}\$|[A-Z]{3} ?|\p{Sc})?$/u.test(between)
    if (shares && ((last.power === 0 && amount.power > 0) || (last.tag === '' && amount.tag !== ''))) {
      kept[kept.length - 1] = {
        ...last,
        figure: {
          ...last.figure,
          plainInteger: false,
          readings: [
            ...shared(last, amount),
            ...(/^ ?(?:and|or|和)/.test(between) ? last.figure.readings : []),
          ],
        },
      }
    }
    kept.push(
      shares && amount.tag === '' && last.tag !== ''
        ? {
            ...amount,
            tag: last.tag,
            figure: {
              ...amount.figure,
              plainInteger: false,
              readings: tagged(amount.figure.readings, last.tag),
            },
          }
        : amount,
    )
  }
  return kept
}

const tagged = (readings: Figure['readings'], tag: string): Figure['readings'] =>
  readings.map((atoms) =>
    atoms.map((atom) => (atom.kind === 'value' && atom.tag === '' ? { ...atom, tag } : atom)),
  )

const shared = ({ figure, tag, power }: Amount, unit: Amount): Figure['readings'] =>
  tagged(
    figure.readings.flatMap((atoms) => {
      const own = atoms.map((atom): Atom =>
        atom.kind === 'value' && power === 0 && unit.power > 0
          ? { ...atom, value: scaled(atom.value, unit.power), bare: false }
          : atom,
      )
      return own.every(({ kind }) => kind === 'value') ? [own] : []
    }),
    tag || unit.tag,
  ).flatMap((atoms) => {
    const [atom] = atoms
    return unit.tag === '%' && atom?.kind === 'value'
      ? [atoms, [{ ...atom, value: scaled(atom.value, -2), tag: 'ratio' }]]
      : [atoms]
  })

function summed(large: Amount, small: Amount, text: string): Amount {
  const [one, other] = [large.figure.readings[0]?.[0], small.figure.readings[0]?.[0]]
  if (one?.kind !== 'value' || other?.kind !== 'value' || /\./.test(one.value + other.value)) return large
  const sum =
    BigInt(one.value) + (one.value.startsWith('-') ? -1n : 1n) * BigInt(other.value.replace('-', ''))
  const tag = large.tag || small.tag
  const figure: Figure = {
    ...large.figure,
    shown: text.slice(large.figure.at, small.end),
    readings: [[{ ...one, value: String(sum), tag }]],
  }
  return { ...large, figure, end: small.end, tag }
}

/** The one text of a value: without needless zeros, without an exponent, and `0` without a sign. */
function decimal({
  negative,
  whole,
  fraction,
  exponent,
}: {
  negative: boolean
  whole: string
  fraction: string
  exponent: number
}): string {
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
