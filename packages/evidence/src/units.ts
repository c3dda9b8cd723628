// The currencies and magnitudes that people write beside a figure. A tag names what a figure counts: a
// currency code, `%`, `bp`, `ratio` (a percentage as a part of one), or '' if the text does not say it.

const symbols: Readonly<Record<string, string>> = {
  US$: 'USD',
  'U.S.$': 'USD',
  HK$: 'HKD',
  NT$: 'TWD',
  A$: 'AUD',
  AU$: 'AUD',
  C$: 'CAD',
  CA$: 'CAD',
  S$: 'SGD',
  SG$: 'SGD',
  NZ$: 'NZD',
  R$: 'BRL',
  MOP$: 'MOP',
  $: '$',
  '€': 'EUR',
  '£': 'GBP',
  '¥': '¥',
  '₹': 'INR',
  Rs: 'INR',
  'Rs.': 'INR',
  '₩': 'KRW',
  '₽': 'RUB',
  '฿': 'THB',
}
const codes =
  'USD EUR GBP CNY RMB CNH HKD TWD NTD JPY KRW INR SGD AUD NZD CAD CHF SEK NOK DKK BRL MXN ZAR RUB THB MYR IDR VND PHP MOP AED SAR TRY PLN CZK HUF ILS'.split(
    ' ',
  )
const lowerCodes = 'usd eur gbp cny rmb hkd jpy'.split(' ')
const words: Readonly<Record<string, string>> = {
  人民币: 'CNY',
  人民幣: 'CNY',
  美元: 'USD',
  美金: 'USD',
  港元: 'HKD',
  港币: 'HKD',
  港幣: 'HKD',
  欧元: 'EUR',
  歐元: 'EUR',
  英镑: 'GBP',
  英鎊: 'GBP',
  日元: 'JPY',
  日圆: 'JPY',
  日圓: 'JPY',
  新台币: 'TWD',
  新臺幣: 'TWD',
  新台幣: 'TWD',
  台币: 'TWD',
  韩元: 'KRW',
  韓元: 'KRW',
  澳元: 'AUD',
  加元: 'CAD',
  新加坡元: 'SGD',
  新元: 'SGD',
  澳门元: 'MOP',
  澳門元: 'MOP',
  澳门币: 'MOP',
  瑞士法郎: 'CHF',
  卢比: 'INR',
  卢布: 'RUB',
  泰铢: 'THB',
  元: '元',
  圆: '元',
  圓: '元',
  块: '元',
}
const english: Readonly<Record<string, string>> = {
  'us dollar': 'USD',
  'u.s. dollar': 'USD',
  'hong kong dollar': 'HKD',
  'singapore dollar': 'SGD',
  'australian dollar': 'AUD',
  'canadian dollar': 'CAD',
  dollar: '$',
  euro: 'EUR',
  'pound sterling': 'GBP',
  pound: 'GBP',
  yuan: 'CNY',
  renminbi: 'CNY',
  yen: 'JPY',
}

const escaped = (text: string): string => text.replace(/[$.]/g, String.raw`\$&`)
const longestFirst = (all: readonly string[]): string =>
  all
    .toSorted((a, b) => b.length - a.length)
    .map(escaped)
    .join('|')

/** A currency code that may stand directly before digits. */
export const codeSource = `(?:${[...codes, ...lowerCodes].join('|')})`
const hanSource = longestFirst(Object.keys(words))
const before = new RegExp(
  String.raw`(?:(?<![\p{Script=Latin}\d_])(?:${longestFirst(Object.keys(symbols))}|${codeSource}|(?:${longestFirst(Object.keys(english))}))|\p{Sc}|${hanSource})[ \u00A0\u202F]?$`,
  'u',
)
const after = new RegExp(
  String.raw`^[ \u00A0\u202F-]?(?:(?:${codeSource})(?![\p{Script=Latin}\d_])|(?:${longestFirst(Object.keys(english))})s?\b|(?:US|HK)?\$|\p{Sc}|多?(?:${hanSource}))`,
  'iu',
)

/** The currency with which a text ends, and how many characters it takes. */
export function currencyAtEnd(text: string): { tag: string; chars: number } | null {
  const found = before.exec(text)?.[0]
  return found === undefined ? null : { tag: tagOf(found), chars: found.length }
}

/** The currency with which a text begins. */
export function currencyAtStart(text: string): { tag: string; chars: number } | null {
  const found = after.exec(text)?.[0]
  return found === undefined
    ? null
    : { tag: tagOf(found.replace(/^[ \u00A0\u202F-]?多?/, '')), chars: found.length }
}

function tagOf(written: string): string {
  const text = written.trim()
  const code = text.toUpperCase()
  if (code === 'RMB' || code === 'CNH') return 'CNY'
  if (code === 'NTD') return 'TWD'
  if (codes.includes(code)) return code
  return (
    symbols[text] ?? symbols[code] ?? words[text] ?? english[text.toLowerCase().replace(/s$/, '')] ?? text
  )
}

const dollars = new Set(['USD', 'HKD', 'TWD', 'AUD', 'CAD', 'SGD', 'NZD', 'BRL', 'MOP', 'MXN'])
const yuan = new Set(['CNY', 'JPY'])
/** The currencies whose unit people write as 元 alone. */
const local = new Set(['CNY', 'HKD', 'TWD', 'MOP'])

/**
 * Whether two tags may belong to one figure. A text that names no unit may mean any; `$` may be any dollar, 元
 * a currency of China.
 */
export function compatible(one: string, other: string): boolean {
  return one === other || one === '' || other === '' || generic(one, other) || generic(other, one)
}

function generic(wide: string, narrow: string): boolean {
  if (wide === '$') return dollars.has(narrow)
  if (wide === '¥') return yuan.has(narrow) || narrow === '元'
  return wide === '元' && local.has(narrow)
}

export interface Magnitude {
  /** The power of ten. */
  readonly power: number
  readonly chars: number
  /** Whether the text may also be a unit of something else: `m` is a metre or a million. */
  readonly unsure: boolean
}

const sure: Readonly<Record<string, number>> = {
  thousand: 3,
  thousands: 3,
  k: 3,
  million: 6,
  millions: 6,
  mln: 6,
  mn: 6,
  billion: 9,
  billions: 9,
  bln: 9,
  bn: 9,
  trillion: 12,
  trillions: 12,
  trn: 12,
  tn: 12,
  lakh: 5,
  lakhs: 5,
  crore: 7,
  crores: 7,
  千: 3,
  万: 4,
  萬: 4,
  十万: 5,
  百万: 6,
  百萬: 6,
  千万: 7,
  千萬: 7,
  亿: 8,
  億: 8,
  十亿: 9,
  十億: 9,
  百亿: 10,
  百億: 10,
  千亿: 11,
  千億: 11,
  万亿: 12,
  萬億: 12,
  兆: 12,
}
const unsure: Readonly<Record<string, number>> = { m: 6, mm: 6, b: 9, t: 12, mil: 6, cr: 7 }
const han = longestFirst(Object.keys(sure).filter((word) => /\p{Script=Han}/u.test(word)))
const latin = longestFirst(
  [...Object.keys(sure), ...Object.keys(unsure)].filter((word) => /^[a-z]/.test(word)),
)
const magnitude = new RegExp(
  String.raw`^(?:[ \u00A0\u202F]?(?<han>${han})|[ \u00A0\u202F-]?(?<latin>${latin})(?![\p{Script=Latin}\d_²³]))`,
  'iu',
)

/** The magnitude with which a text begins, as in `4.2 bn` or `3.5亿` after the digits. */
export function magnitudeAtStart(text: string): Magnitude | null {
  const found = magnitude.exec(text)
  const word = (found?.groups?.['han'] ?? found?.groups?.['latin'])?.toLowerCase()
  if (found === null || word === undefined) return null
  const power = sure[word]
  return { power: power ?? unsure[word] ?? 0, chars: found[0].length, unsure: power === undefined }
}

const stated = new RegExp(
  [
    String.raw`(?<!\d[ \u00A0-]?)\b(?<word>thousand|million|billion|trillion|lakh|crore)s?\b`,
    String.raw`(?:[$€£¥₹]|\b${codeSource}) ?(?<short>k|mn|mln|m|bn|b|tn)\b`,
    String.raw`(?<zeros>['’]000)\b`,
    String.raw`(?<![\d十百千万亿] ?)(?<han>${han})(?=[ ]?(?:${hanSource}|股|人|吨|[)）\]]))`,
  ].join('|'),
  'giu',
)

/** A magnitude that a text names without a number, and its currency if it has one. */
export interface StatedMagnitude {
  readonly power: number
  readonly tag: string
}

/**
 * The magnitudes that a text names as the head of a table does: "HK$ million", "单位：亿元", "HK$'000". Each once.
 */
export function statedMagnitudes(text: string): readonly StatedMagnitude[] {
  const found = new Map<string, StatedMagnitude>()
  for (const { 0: written, index: at, groups } of text.matchAll(stated)) {
    const word = (groups?.['word'] ?? groups?.['short'] ?? groups?.['han'] ?? '').toLowerCase()
    const power = groups?.['zeros'] === undefined ? (sure[word] ?? unsure[word] ?? 0) : 3
    const symbol = groups?.['short'] === undefined ? '' : written.slice(0, -word.length)
    const before = currencyAtEnd(text.slice(Math.max(0, at - currencyChars), at) + symbol)
    const after = currencyAtStart(
      text.slice(at + written.length, at + written.length + currencyChars).replace(/^ of /, ' '),
    )
    const tag = before?.tag ?? after?.tag ?? ''
    if (found.size < statedMax) found.set(`${power} ${tag}`, { power, tag })
  }
  return [...found.values()]
}

const currencyChars = 20
const statedMax = 20
