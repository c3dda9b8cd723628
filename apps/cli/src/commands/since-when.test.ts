import { expect, it, test } from 'vitest'
import { UsageError } from '../failures.ts'
import { parseCommandLine } from '../run-command-line.ts'
import { mustSpan, sinceWhen } from './since-when.ts'

const now = Date.UTC(2026, 10, 23, 12)

test.each([
  ['90s', '2026-11-23T11:58:30.000Z'],
  ['30m', '2026-11-23T11:30:00.000Z'],
  ['2h', '2026-11-23T10:00:00.000Z'],
  ['7d', '2026-11-16T12:00:00.000Z'],
  ['2026-11-23T08:00:00Z', '2026-11-23T08:00:00.000Z'],
  ['2026-11-23T08:00:00+02:00', '2026-11-23T06:00:00.000Z'],
  ['2026-11-23', '2026-11-23T00:00:00.000Z'],
  ['2028-02-29', '2028-02-29T00:00:00.000Z'],
  [' 2026-11-23t08:00Z ', '2026-11-23T08:00:00.000Z'],
])('%s is %s', (text, time) => expect(sinceWhen(text, now)).toBe(time))

it.each([
  ...['', 'yesterday', '2', '2w', '-2h', '2026-13-01', '2026-02-30', '2026-02-30T08:00:00Z', '2026-1-1'],
  ...['2026-11-23 (hello)', '2026-11-23T25:00:00Z', '2026-11-00', '999999d', '2026-11-23T08'],
])('%j is not a time', (text) => {
  expect(() => sinceWhen(text, now)).toThrow('is not a time')
})

it('refuses a span in which nothing can be', () => {
  const [early, late] = ['2026-11-01T00:00:00.000Z', '2026-11-02T00:00:00.000Z']
  for (const fine of [{}, { since: early }, { until: early }, { since: early, until: late }])
    expect(() => mustSpan(fine)).not.toThrow()
  for (const since of [early, late])
    expect(() => mustSpan({ since, until: early })).toThrow('Nothing can be between --since')
  expect(() => mustSpan({ since: early, until: early }, { isWholeDays: true })).not.toThrow()
})

it.each([
  'tasks',
  'usage',
  'failures',
  'sessions',
  'events t',
  'timeline t',
  'search word',
  'retry --failed',
])(
  'beaver %s reads --since and --until before it asks a system, and refuses a time that is none',
  async (line) => {
    const words = line.split(' ')
    const options = line.startsWith('retry') ? ['--since'] : ['--since', '--until']
    for (const option of options) {
      const refused = parseCommandLine([...words, option, 'bad'], '1')
      await expect(refused).rejects.toThrow(UsageError)
      await expect(refused).rejects.toThrow(`${option} "bad" is not a time. Write "30m", "2h", "7d"`)
      expect(await parseCommandLine([...words, option, '2h'], '1')).toBeTypeOf('function')
    }
  },
)
