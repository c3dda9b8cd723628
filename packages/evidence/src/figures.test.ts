import { ownMs } from '@beaver/testing'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { type Atom, figuresIn, valueOf, withoutListNumbers } from './figures.ts'

const shown = (atom: Atom): string =>
  atom.kind === 'value'
    ? `${atom.value}${atom.tag === '' ? '' : ` ${atom.tag}`}${atom.rises === true ? ' up' : ''}`
    : atom.value
/** The likeliest reading of each figure. */
const read = (text: string): string[] =>
  figuresIn(text).map(({ readings }) => (readings[0] ?? []).map(shown).join(' & '))
/** All readings of the only figure. */
const readings = (text: string): string[] =>
  (figuresIn(text)[0]?.readings ?? []).map((atoms) => atoms.map(shown).join(' & '))

describe('the figures of a text', () => {
  test.each<[string, string[]]>([
    ['', []],
    ['no number', []],
    ['42', ['42']],
    ['007', ['7']],
    ['-0', ['0']],
    ['1.50', ['1.5']],
    ['.5', ['0.5']],
    ['1,234,567.80', ['1234567.8']],
    ["1'234'567", ['1234567']],
    ['1\u00A0234', ['1234']],
    ['1 234', ['1234']],
    ['12,34', ['12', '34']],
    ['1,2345', ['1', '2345']],
    ['12,34,567', ['1234567']],
    ['1.234,56 €', ['1234.56 EUR']],
    ['12 %', ['12 %']],
    ['\u22125.5', ['-5.5']],
    ['(-5)', ['-5']],
    ['10-20', ['10', '20']],
    ['1e6', ['1000000']],
    ['1.5E-3', ['0.0015']],
    ['3×10^8', ['300000000']],
    ['5kg, 3rd', ['5', '3']],
    ['3/4', ['3', '4']],
    ['2:1', ['2', '1']],
    ['**12** and _13_', ['12', '13']],
    ['| 1 | 2.5 |', ['1', '2.5']],
    ['{"a":1,"b":[1000,200.5]}', ['1', '1000', '200.5']],
    ['See 42.', ['42']],
    ['1.2.3', ['1.2.3']],
    ['10.0.0.1', ['10.0.0.1']],
    ['½ and 2½', ['0.5', '2.5']],
  ])('%j: plain numbers', (text, expected) => expect(read(text)).toEqual(expected))

  test.each<[string, string[]]>([
    ['USD9999m', ['9999000000 USD']],
    ['EUR8888', ['8888 EUR']],
    ['RMB7777', ['7777 CNY']],
    ['No.9999', ['9999']],
    ['HK$1.2 billion', ['1200000000 HKD']],
    ['US$ 5 bn', ['5000000000 USD']],
    ['$4.2M', ['4200000 $']],
    ['5 million dollars', ['5000000 $']],
    ['1,200 HKD', ['1200 HKD']],
    ['人民币12亿元', ['1200000000 CNY']],
    ['12.5亿港元', ['1250000000 HKD']],
    ['3万', ['30000']],
    ['1亿2000万元', ['120000000 元']],
    ['3万5千', ['35000']],
    ['1.2万亿元', ['1200000000000 元']],
    ['₹12,34,567', ['1234567 INR']],
    ['2 lakh crore', ['200000']],
    ['12.5%', ['12.5 %']],
    ['12 per cent', ['12 %']],
    ['1.5个百分点', ['1.5 %']],
    ['25 bps', ['25 bp']],
    ['-$5', ['-5 $']],
    ['$-5', ['-5 $']],
    ['$(1,234)', ['-1234 $']],
    ['$(5) million', ['-5000000 $']],
    ['| (1,234) |', ['-1234']],
    ['fell by 5.3%', ['-5.3 %']],
    ['下降5.3%', ['-5.3 %']],
    ['rose 5.3%', ['5.3 % up']],
    ['增长5.3%', ['5.3 % up']],
    ['+5.3%', ['5.3 % up']],
    ['5-8 million', ['5000000', '8000000']],
    ['US$5–8bn', ['5000000000 USD', '8000000000 USD']],
    ['10%至20%', ['10 %', '20 %']],
    ['10–20%', ['10 %', '20 %']],
    ['50万至80万元', ['500000 元', '800000 元']],
  ])('%j: amounts', (text, expected) => expect(read(text)).toEqual(expected))

  test.each<[string, string[]]>([
    ['٩٩٩٩', ['9999']],
    ['١٬٢٣٤٫٥', ['1234.5']],
    ['९९९९', ['9999']],
    ['９９９９', ['9999']],
    ['１，２３４．５％', ['1234.5 %']],
    ['𝟗𝟗𝟗𝟗', ['9999']],
    ['𝟿𝟿𝟿', ['999']],
    ['⑨⑨⑨', ['999']],
    ['9\u200B9\u2060 9', ['99', '9']],
    ['&#57;&#x39;', ['99']],
    ['三亿五千万元', ['350000000 元']],
    ['百分之十二点五', ['12.5 %']],
    ['百分之12', ['12 %']],
    ['九千九百九十九万美元', ['99990000 USD']],
    ['twenty-five percent', ['25 %']],
    ['three hundred million dollars', ['300000000 $']],
    ['千万不要', []],
    ['一定十分百货', []],
    ['two of the ten', []],
  ])('%j: digits of other scripts, and numerals', (text, expected) => expect(read(text)).toEqual(expected))

  test.each<[string, string[]]>([
    ['2026-01-05', ['2026-1-5']],
    ['2026/1/5', ['2026-1-5']],
    ['2026.01.05', ['2026-1-5']],
    ['2026年1月5日', ['2026-1-5']],
    ['二〇二六年', ['2026']],
    ['1月5日', ['--1-5']],
    ['5 January 2026', ['2026-1-5']],
    ['Jan. 5th, 2026', ['2026-1-5']],
    ['December 2025', ['2025-12']],
    ['31 Dec', ['--12-31']],
    ['FY2031', ['2031']],
    ['FY25', ['2025']],
    ['FY2024/25', ['2024 & 2025']],
    ['1Q26', ['2026-q1']],
    ['Q3 2025', ['2025-q3']],
    ['third quarter of 2025', ['2025-q3']],
    ['2025年第三季度', ['2025-q3']],
    ['2025年上半年', ['2025-h1']],
    ['2025Q4', ['2025-q4']],
    ['9M25', ['2025']],
    ['2023-2024', ['2023 & 2024']],
    ['2026-01-05T10:30:00.000Z', ['2026-1-5', 't10:30:00']],
    ['10:30 pm', ['t22:30']],
    ['2026-13-45', ['2026', '13', '45']],
  ])('%j: dates and times are no amounts', (text, expected) => expect(read(text)).toEqual(expected))

  test.each([
    'sha256',
    'H1',
    'node_3',
    'UTF-8',
    'GPT-4.1',
    'COVID-19',
    'v1.2',
    'v1.2.3',
    'file2.txt',
    '3fa9c2d',
    '0x1F',
    '7z2',
    'x86_64',
    'Form 10-K',
    'https://x.example/2024/99',
    'a/report-2024.pdf',
  ])('the digits of the name %j are not a figure', (name) => expect(read(`the ${name}, so`)).toEqual([]))
})

describe('the meanings of a figure', () => {
  it('are, for a percentage, the number and a hundredth of it', () =>
    expect(readings('12.5%')).toEqual(['12.5 %', '0.125 ratio']))
  it('are, for basis points, also the percentage', () =>
    expect(readings('25 bps')).toEqual(['25 bp', '0.25 %', '0.0025 ratio']))
  it('include a list, where commas may separate items', () =>
    expect(readings('[100,200,300]')).toEqual(['100200300', '100 & 200 & 300']))
  it('include the unit, where a letter may be one', () =>
    expect([readings('5 m'), readings('US$5m')]).toEqual([['5000000', '5'], ['5000000 USD']]))
  it('include both signs, where parentheses may be an aside', () =>
    expect(readings('a fine (1,234) of')).toEqual(['1234', '-1234']))
  it('include a year', () => expect(readings('in 2026')).toEqual(['2026', '2026']))
  it('are a plain integer only for a whole number without any additions', () => {
    expect(figuresIn('7 -7 7.0 7% 1,007 7e1 $7 7m').map((figure) => figure.plainInteger)).toEqual([
      true,
      false,
      false,
      false,
      false,
      false,
      false,
      false,
    ])
  })
})

test.each<[string, string]>([
  ['1. one\n2. two', '. one\n. two'],
  ['  3) three', '  ) three'],
  ['## 4. Four', '## . Four'],
  ['> 5. five', '> . five'],
  ['6、六', '、六'],
  ['（7）七', '）七'],
  ['- (8) eight', '- ) eight'],
  ['**7.** seven', '**.** seven'],
  ['1.5 is no item', '1.5 is no item'],
  ['1984. A year', '1984. A year'],
  ['and 1. not here', 'and 1. not here'],
])('removes the number of a list item: %j', (text, expected) =>
  expect(withoutListNumbers(text)).toBe(expected),
)

describe('a number', () => {
  const styles: ((whole: bigint, fraction: string) => string)[] = [
    (whole, fraction) => `${whole}${fraction}`,
    (whole, fraction) => `${grouped(whole, ',')}${fraction}`,
    (whole, fraction) => `${grouped(whole, '\u00A0')}${fraction}`,
    (whole, fraction) => `${grouped(whole, '’')}${fraction}`,
    (whole, fraction) => `${whole}${fraction === '' ? '.' : fraction}00`,
    ...['０', '٠', '०', '𝟎', '𝟬', '๐', '߀'].map(
      (zero) => (whole: bigint, fraction: string) => inScript(`${grouped(whole, ',')}${fraction}`, zero),
    ),
  ]
  const digits = fc.record({
    whole: fc.bigInt({ min: 0n, max: 10n ** 30n }),
    fraction: fc.stringMatching(/^\d{0,12}$/).map((text) => (text === '' ? '' : `.${text}`)),
    sign: fc.constantFrom('', '-', '\u2212'),
  })
  const plain = (whole: bigint, fraction: string): string =>
    fraction === '' ? String(whole) : `${whole}${fraction}`.replace(/\.?0+$/, '')

  it('has the same value, however it is written and in whatever digits', () => {
    const around = fc.constantFrom(
      ['', ''],
      [' ', ' '],
      ['**', '**'],
      ['| ', ' |'],
      ['约', '人'],
      ['"a":', ','],
      ['[', ']'],
    )
    fc.assert(
      fc.property(digits, around, ({ whole, fraction, sign }, [before, after]) => {
        const values = styles.map((style) => read(`${before}${sign}${style(whole, fraction)}${after}`))
        const negative = sign !== '' && !/^[0.]*$/.test(`${whole}${fraction}`)
        for (const value of values) expect(value).toEqual([(negative ? '-' : '') + plain(whole, fraction)])
      }),
      { numRuns: 300 },
    )
  })

  it('has the value of its magnitude, wherever its currency stands', () => {
    const magnitudes: readonly (readonly [string, number])[] = [
      ['', 0],
      [' thousand', 3],
      ['k', 3],
      ['万', 4],
      [' million', 6],
      ['m', 6],
      ['mn', 6],
      ['百万', 6],
      ['亿', 8],
      [' billion', 9],
      ['bn', 9],
      ['B', 9],
      ['万亿', 12],
      [' trillion', 12],
    ]
    const currencies = fc.constantFrom('USD', 'HKD', 'EUR')
    fc.assert(
      fc.property(
        fc.bigInt({ min: 1n, max: 10n ** 9n }),
        fc.constantFrom(...magnitudes),
        currencies,
        (whole, [word, power], code) => {
          const expected = [`${whole * 10n ** BigInt(power)} ${code}`]
          expect([
            read(`${code}${whole}${word}`),
            read(`${code} ${grouped(whole, ',')}${word}.`),
            read(`${whole}${word} ${code}`),
          ]).toEqual([expected, expected, expected])
          expect(read(`${code}(${whole}${word})`)).toEqual([`-${expected[0]}`])
        },
      ),
      { numRuns: 300 },
    )
  })

  it('of JavaScript has the value of its text', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
        expect(read(String(number))).toEqual([valueOf(number)])
      }),
      { examples: [[0.1], [-0.1], [1e21], [-1.5e-7], [0], [-0]] },
    )
  })
})

it('is a date in each form of the day, and no amount', () => {
  const names = [
    'January',
    'February',
    'March',
    'April',
    'May',
    'June',
    'July',
    'August',
    'September',
    'October',
    'November',
    'December',
  ]
  fc.assert(
    fc.property(
      fc.integer({ min: 1900, max: 2199 }),
      fc.integer({ min: 1, max: 12 }),
      fc.integer({ min: 1, max: 28 }),
      (year, month, day) => {
        const [mm, dd, name] = [
          String(month).padStart(2, '0'),
          String(day).padStart(2, '0'),
          names[month - 1] ?? '',
        ]
        const forms = [
          `${year}-${mm}-${dd}`,
          `${year}/${month}/${day}`,
          `${year}年${month}月${day}日`,
          `${day} ${name} ${year}`,
          `${name} ${day}, ${year}`,
          `${name.slice(0, 3)} ${day}, ${year}`,
        ]
        for (const form of forms) expect(read(`On ${form}.`)).toEqual([`${year}-${month}-${day}`])
      },
    ),
    { numRuns: 200 },
  )
})

it('reads any text, in a time that is bounded by its length', async () => {
  const unit = fc.oneof(
    fc.constantFrom(
      '1',
      ',',
      '.',
      ' ',
      '-',
      '(',
      ')',
      '万',
      '亿',
      '元',
      'USD',
      '$',
      '%',
      'FY',
      '年',
      '月',
      '日',
      ':',
      'm',
      'bn',
      'Jan',
      '٣',
      '三',
      '百分之',
      '\n',
      '|',
      'e',
      'x',
    ),
    fc.string({ unit: 'binary', maxLength: 3 }),
  )
  fc.assert(
    fc.property(
      fc.array(unit, { maxLength: 60 }).map((parts) => parts.join('')),
      (text) => void figuresIn(text),
    ),
    { numRuns: 300 },
  )
  const parts = [
    '1,234',
    '1',
    '.',
    '1.',
    'a1',
    '1a',
    '-',
    '1e',
    ' ',
    '_',
    'a-1',
    '９',
    '1 ',
    '(',
    '$',
    'USD',
    '2026-',
    '1月',
    '三',
    '1亿',
    'FY',
    'Jan ',
    '1:',
    'ab',
    '1-',
    '1,23',
    'twenty-',
    '²',
    '/a',
    'million ',
  ]
  const work = (): void => {
    for (const part of parts) figuresIn(part.repeat(40_000 / part.length))
  }
  expect(await ownMs(work)).toBeLessThan(20_000)
})

function grouped(whole: bigint, separator: string): string {
  return String(whole).replace(/\B(?=(\d{3})+$)/g, separator)
}

const inScript = (text: string, zero: string): string =>
  text.replace(/\d/g, (digit) => String.fromCodePoint((zero.codePointAt(0) ?? 0) + Number(digit)))
