// Rewrites a text so that its figures can be read: digits of every script as ASCII, invisible characters
// removed, numerals in words as digits. The time is bounded by the length of the text.

/**
 * The text with ASCII digits. Full-width characters become ASCII, characters without a width disappear, and
 * Chinese numerals and English number words become digits where they are a figure: before a currency, a
 * magnitude or a percentage.
 */
export function withPlainDigits(text: string): string {
  const plain = text
    .replace(
      /[\u00AD\u061C\u180E\u200B-\u200F\u202A-\u202E\u2060-\u2064\u2066-\u2069\uFEFF]|[\uFE00-\uFE0F]/g,
      '',
    )
    .replace(/&#(?:(\d{2,6})|x([0-9a-f]{2,5}));/gi, (whole, decimal?: string, hex?: string) => {
      const code = decimal === undefined ? parseInt(hex ?? '', 16) : Number(decimal)
      return code < 0x110000 && /[\p{Nd},.]/u.test(String.fromCodePoint(code))
        ? String.fromCodePoint(code)
        : whole
    })
    .replace(/[\uFF01-\uFF5E]/g, (character) => String.fromCharCode(character.charCodeAt(0) - 0xfee0))
    .replace(/[^\P{Nd}0-9]/gu, (character) => String(digitOf(character.codePointAt(0) ?? 0)))
    .replace(
      /[٫٬٪￥￡\u2212\u2012\u2013\u2014\u3000\u301C\uFE63]/g,
      (character) => oneForm[character] ?? character,
    )
  return /[\p{No}\u4E00-\u9FFF]|teen|ty|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve/iu.test(
    plain,
  )
    ? withDigitsForWords(plain)
    : plain
}

const oneForm: Readonly<Record<string, string>> = {
  '٫': '.',
  '٬': ',',
  '٪': '%',
  '￥': '¥',
  '￡': '£',
  '\u2212': '-',
  '\uFE63': '-',
  '\u2012': '–',
  '\u2013': '–',
  '\u2014': '—',
  '\u3000': ' ',
  '\u301C': '~',
}

/**
 * The value of a decimal digit of any script. Unicode keeps the ten digits of a script together, in their
 * order.
 */
function digitOf(code: number): number {
  const known = zeros.get(code)
  if (known !== undefined) return known
  let first = code
  while (/\p{Nd}/u.test(String.fromCodePoint(first - 1))) first--
  const value = (code - first) % 10
  zeros.set(code, value)
  return value
}

const zeros = new Map<number, number>()

const hanDigits = '零〇一二两三四五六七八九'
const hanNumeral = String.raw`[${hanDigits}兩十百千万亿壹贰叁肆伍陆柒捌玖拾佰仟萬億]{1,30}(?:[点點][${hanDigits}]{1,20})?`
/** What follows a Chinese numeral that is a figure. */
const hanUnit =
  '(?=(?:多|余|餘)?(?:个百分点|個百分點|%|美元|美金|港元|港币|港幣|欧元|歐元|英镑|英鎊|日元|日圓|澳门元|澳門元|人民币|人民幣|元|圆|圓))'
const percentOf = new RegExp(`百分之(${hanNumeral})`, 'g')
const hanFigure = new RegExp(`${hanNumeral}${hanUnit}`, 'g')
const hanYear = new RegExp(`[${hanDigits}]{4}(?=年)`, 'g')

const ones = [
  'zero',
  'one',
  'two',
  'three',
  'four',
  'five',
  'six',
  'seven',
  'eight',
  'nine',
  'ten',
  'eleven',
  'twelve',
  'thirteen',
  'fourteen',
]
const small = [...ones, 'fifteen', 'sixteen', 'seventeen', 'eighteen', 'nineteen']
const tens = ['', '', 'twenty', 'thirty', 'forty', 'fifty', 'sixty', 'seventy', 'eighty', 'ninety']
const wordFigure = new RegExp(
  String.raw`\b(?:(${tens.slice(2).join('|')})(?:[- ](${small.slice(1, 10).join('|')}))?|(${small.join('|')}))(\s+hundred)?(?=[- ](?:thousand|million|billion|trillion|percent|per\s+cent|percentage\s+points?|basis\s+points?|dollars?|euros?|yuan)\b)`,
  'gi',
)

function withDigitsForWords(text: string): string {
  return text
    .replace(/(?<=\d)[⁰¹²³⁴-⁹]+/g, (run) => `^${run.normalize('NFKC')}`)
    .replace(/(?<![\p{L}\p{N}])\p{No}{2,40}/gu, (run) =>
      /^\d+$/.test(run.normalize('NFKC')) ? run.normalize('NFKC') : run,
    )
    .replace(
      /(\d)?([½¼¾])/g,
      (_, whole: string | undefined, part: string) =>
        `${whole ?? 0}${{ '½': '.5', '¼': '.25', '¾': '.75' }[part]}`,
    )
    .replace(percentOf, (whole, numeral: string) =>
      hanValue(numeral) === null ? whole : `${hanValue(numeral)}%`,
    )
    .replace(/百分之(?=\d)(\d{1,12}(?:\.\d{1,12})?)/g, '$1%')
    .replace(hanFigure, (numeral) => hanValue(numeral) ?? numeral)
    .replace(hanYear, (year) => [...year].map((digit) => hanOnes[digit]).join(''))
    .replace(wordFigure, (_, ten?: string, one?: string, alone?: string, hundred?: string) => {
      const value =
        alone === undefined
          ? tens.indexOf(ten?.toLowerCase() ?? '') * 10 + Math.max(0, small.indexOf(one?.toLowerCase() ?? ''))
          : small.indexOf(alone.toLowerCase())
      return String(hundred === undefined ? value : value * 100)
    })
}

const hanOnes: Readonly<Record<string, number>> = Object.fromEntries(
  ['零〇', '一壹', '二两兩贰', '三叁', '四肆', '五伍', '六陆', '七柒', '八捌', '九玖'].flatMap(
    (forms, value) => [...forms].map((form) => [form, value]),
  ),
)
const hanTens: Readonly<Record<string, number>> = { 十: 10, 拾: 10, 百: 100, 佰: 100, 千: 1000, 仟: 1000 }
const hanMagnitudes: Readonly<Record<string, number>> = { 万: 1e4, 萬: 1e4, 亿: 1e8, 億: 1e8 }

/**
 * The value of a Chinese numeral as digits. `null` if it begins with a magnitude, as in 万元, which is a unit.
 */
function hanValue(numeral: string): string | null {
  const [whole = '', fraction = ''] = numeral.split(/[点點]/)
  if (/^[百佰千仟万萬亿億]/.test(whole)) return null
  let [total, section, digit] = [0, 0, 0]
  for (const character of whole) {
    const one = hanOnes[character]
    const ten = hanTens[character]
    const magnitude = hanMagnitudes[character]
    if (one !== undefined) digit = /[十百千万亿拾佰仟萬億]/.test(whole) ? one : digit * 10 + one
    else if (ten !== undefined) {
      section += (digit === 0 ? 1 : digit) * ten
      digit = 0
    } else if (magnitude !== undefined) {
      total =
        magnitude === 1e8 && total > 0
          ? (total + section + digit) * magnitude
          : total + (section + digit) * magnitude
      ;[section, digit] = [0, 0]
    }
  }
  const value = total + section + digit
  if (!Number.isSafeInteger(value)) return null
  return fraction === '' ? String(value) : `${value}.${[...fraction].map((each) => hanOnes[each]).join('')}`
}
