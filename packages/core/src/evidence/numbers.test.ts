import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { numbersIn, valueOf, withoutListNumbers } from './numbers.ts'

/** The likeliest value of each number. */
const values = (text: string): string[] => numbersIn(text).map(({ readings }) => readings[0]?.join(' ') ?? '')

describe('the numbers of a text', () => {
  test.each<[string, string[]]>([
    ['', []],
    ['no number', []],
    ['42', ['42']],
    ['007', ['7']],
    ['0', ['0']],
    ['-0', ['0']],
    ['1.5', ['1.5']],
    ['1.50', ['1.5']],
    ['.5', ['0.5']],
    ['1,234', ['1234']],
    ['1,234,567.80', ['1234567.8']],
    ["1'234'567", ['1234567']],
    ['1\u00A0234', ['1234']],
    ['1\u202F234', ['1234']],
    ['1 234', ['1', '234']],
    ['12,34', ['12', '34']],
    ['1,2345', ['1', '2345']],
    ['1234,567', ['1234', '567']],
    ['12%', ['12']],
    ['12 %', ['12']],
    ['-5', ['-5']],
    ['\u22125.5', ['-5.5']],
    ['-$5', ['-5']],
    ['(-5)', ['-5']],
    ['10-20', ['10', '20']],
    ['10 - 20', ['10', '20']],
    ['2026-01-05', ['2026', '1', '5']],
    ['2026-01-05T10:30:00Z', ['2026', '1', '5', '10', '30', '0']],
    ['1e6', ['1000000']],
    ['1.5E-3', ['0.0015']],
    ['5kg, 4.2bn, 3rd', ['5', '4.2', '3']],
    ['$4.2M', ['4.2']],
    ['10:30, 3/4', ['10', '30', '3', '4']],
    ['**12** and _13_', ['12', '13']],
    ['| 1 | 2.5 |', ['1', '2.5']],
    ['{"a":1,"b":[1000,200.5]}', ['1', '1000', '200.5']],
    ['净利润增长12.5%，至3万元', ['12.5', '3']],
    ['１２３．５％', ['123.5']],
    ['１，２３４', ['1234']],
    ['－７', ['-7']],
    ['See 42.', ['42']],
    ['1.2.3', ['1.2.3']],
    ['10.0.0.1', ['10.0.0.1']],
  ])('%j contains %j', (text, expected) => expect(values(text)).toEqual(expected))

  test.each(['sha256', 'H1', 'node_3', 'UTF-8', 'GPT-4.1', 'COVID-19', 'v1.2', 'v1.2.3', 'file2.txt', '3fa9c2d', '0x1F', '7z2', 'x86_64'])(
    'the digits of the name %j are not a number',
    (name) => expect(values(`the ${name}, so`)).toEqual([]),
  )
})

describe('the meanings of a number', () => {
  it('are, for a percentage, the number and a hundredth of it', () => expect(numbersIn('12.5%')[0]?.readings).toEqual([['12.5'], ['0.125']]))
  it('include a list, if the number looks grouped', () => expect(numbersIn('[100,200,300]')[0]?.readings).toEqual([['100200300'], ['100', '200', '300']]))
  it('are a plain integer only for a whole number without any additions', () => {
    expect(numbersIn('7 -7 7.0 7% 1,007 7e1').map((number) => number.plainInteger)).toEqual([true, false, false, false, false, false])
  })
})

test.each<[string, string]>([
  ['1. one\n2. two', '. one\n. two'],
  ['  3) three', '  ) three'],
  ['## 4. Four', '## . Four'],
  ['> 5. five', '> . five'],
  ['6、六', '、六'],
  ['**7.** seven', '**.** seven'],
  ['1.5 is no item', '1.5 is no item'],
  ['1984. A year', '1984. A year'],
  ['and 1. not here', 'and 1. not here'],
])('removes the number of a list item: %j', (text, expected) => expect(withoutListNumbers(text)).toBe(expected))

it('gives a number the same value, however it is written', () => {
  const styles: ((whole: bigint, fraction: string) => string)[] = [
    (whole, fraction) => `${whole}${fraction}`,
    (whole, fraction) => `${grouped(whole, ',')}${fraction}`,
    (whole, fraction) => `${grouped(whole, '\u00A0')}${fraction}`,
    (whole, fraction) => `${grouped(whole, '’')}${fraction}`,
    (whole, fraction) => `${whole}${fraction === '' ? '.' : fraction}00`,
    (whole, fraction) => fullWidth(`${grouped(whole, ',')}${fraction}`),
    (whole, fraction) => `${whole}${fraction.slice(1)}e-${Math.max(0, fraction.length - 1)}`,
  ]
  const number = fc.record({
    whole: fc.bigInt({ min: 0n, max: 10n ** 30n }),
    fraction: fc.stringMatching(/^\d{0,12}$/).map((digits) => (digits === '' ? '' : `.${digits}`)),
    sign: fc.constantFrom('', '-', '\u2212'),
    around: fc.constantFrom(['', ''], [' ', ' '], ['**', '**'], ['| ', ' |'], ['约', '元'], ['"a":', ','], ['(', ')']),
  })
  fc.assert(
    fc.property(number, ({ whole, fraction, sign, around: [before, after] }) => {
      const read = styles.map((style) => values(`${before}${sign}${style(whole, fraction)}${after}`))
      expect(new Set(read.map(String)).size).toBe(1)
      expect(read[0]).toHaveLength(1)
      const digits = `${whole}${fraction}`
      const plain = fraction === '' ? digits : digits.replace(/\.?0+$/, '')
      const negative = sign !== '' && before !== '约' && !/^[0.]*$/.test(digits)
      expect(read[0]?.[0]).toBe((negative ? '-' : '') + plain)
    }),
    { numRuns: 500 },
  )
})

it('gives a JavaScript number the value of its text', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
      expect(values(String(number))).toEqual([valueOf(number)])
    }),
    { examples: [[0.1], [-0.1], [1e21], [-1.5e-7], [0], [-0]] },
  )
})

it('reads any text, in a time that is bounded by its length', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => void numbersIn(text)))
  const begun = performance.now()
  for (const unit of ['1,234', '1', '.', '1.', 'a1', '1a', '-', '1e', ' ', '_', 'a-1', '９']) numbersIn(unit.repeat(200_000 / unit.length))
  expect(performance.now() - begun).toBeLessThan(10_000)
})

function grouped(whole: bigint, separator: string): string {
  return String(whole).replace(/\B(?=(\d{3})+$)/g, separator)
}

function fullWidth(text: string): string {
  return text.replace(/[!-~]/g, (character) => String.fromCharCode(character.charCodeAt(0) + 0xfee0))
}
