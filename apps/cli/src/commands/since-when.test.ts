import { expect, it, test } from 'vitest'
import { sinceWhen } from './since-when.ts'

const now = Date.UTC(2026, 10, 23, 12)

test.each([
  ['90s', '2026-11-23T11:58:30.000Z'],
  ['30m', '2026-11-23T11:30:00.000Z'],
  ['2h', '2026-11-23T10:00:00.000Z'],
  ['7d', '2026-11-16T12:00:00.000Z'],
  ['2026-11-23T08:00:00Z', '2026-11-23T08:00:00.000Z'],
  ['2026-11-23T08:00:00+02:00', '2026-11-23T06:00:00.000Z'],
  ['2026-11-23', '2026-11-23T00:00:00.000Z'],
])('%s is %s', (text, time) => expect(sinceWhen(text, now)).toBe(time))

it.each(['', 'yesterday', '2', '2w', '-2h', '2026-13-01'])('%j is not a time', (text) => {
  expect(() => sinceWhen(text, now)).toThrow('is not a time')
})
