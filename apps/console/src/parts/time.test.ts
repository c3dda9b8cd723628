import { describe, expect, it } from 'vitest'
import { agoText, durationText, moneyText, numberText, shortNumber, timeTicks } from './time.ts'

describe('a duration', () => {
  it.each([
    [null, '–'],
    [0, '0 ms'],
    [999, '999 ms'],
    [1_240, '1.2 s'],
    [59_400, '59 s'],
    [125_000, '2 min 5 s'],
    [120_000, '2 min'],
    [7_380_000, '2 h 3 min'],
    [90_000_000, '1 d 1 h'],
  ])('of %s ms is "%s"', (ms, text) => expect(durationText(ms)).toBe(text))
})

describe('how long ago', () => {
  const now = Date.parse('2026-11-29T10:00:00Z')
  it.each([
    ['2026-11-29T09:59:59.500Z', 'now'],
    ['2026-11-29T09:59:30Z', '30 s ago'],
    ['2026-11-29T08:00:00Z', '2 h ago'],
    ['2026-11-20T10:00:00Z', '9 d ago'],
    ['2026-11-29T10:00:05Z', 'in 5 s'],
  ])('%s is "%s"', (time, text) => expect(agoText(time, now)).toBe(text))
})

describe('money', () => {
  it.each([
    [null, 'unknown'],
    [0, '$0'],
    [0.0216, '$0.022'],
    [0.00004, '$0.00004'],
    [0.01, '$0.01'],
    [1.5, '$1.50'],
    [1_234.567, '$1,234.57'],
    [12_345_678.9, '$12,345,678.90'],
  ])('of %s is "%s": an unknown cost is never 0', (usd, text) => expect(moneyText(usd)).toBe(text))
})

it('shortens numbers, and groups the digits of long ones', () => {
  expect([950, 12_300, 999_949, 999_960, 4_100_000, 250_000_000].map(shortNumber)).toEqual([
    '950',
    '12.3k',
    '1.0M',
    '1.0M',
    '4.1M',
    '250M',
  ])
  expect([9_999, 12_345, 1_234_567].map(numberText)).toEqual(['9,999', '12,345', '1,234,567'])
})

it.each([
  [1_100, [0, 200, 400, 600, 800, 1_000]],
  [59_000, [0, 10_000, 20_000, 30_000, 40_000, 50_000]],
  [7_000_000, [0, 1_800_000, 3_600_000, 5_400_000]],
  [1, [0, 1]],
])('an axis of %i ms has round durations', (ms, ticks) => expect(timeTicks(ms)).toEqual(ticks))
