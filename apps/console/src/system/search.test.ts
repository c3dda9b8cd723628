import { expect, it } from 'vitest'
import { daysOf, namedDays, topOf } from './days.ts'
import { failuresInput, readFailureSearch, readUsageSearch, tasksOf, usageInput } from './search.ts'

const now = Date.parse('2026-11-29T12:00:00Z')

it('an address that anybody may have written gives known fields alone', () => {
  expect(
    readUsageSearch({ by: 'model', show: 'cost', since: ' 7d ', until: 3, user: '', other: 'x' }),
  ).toEqual({
    by: 'model',
    show: 'cost',
    since: '7d',
    until: '3',
  })
  expect(readUsageSearch({ by: 'tenant', show: ['cost'], since: {} })).toEqual({})
  expect(readFailureSearch({ failure: 'tool_crash', text: 'x', since: '2h' })).toEqual({
    failure: 'tool_crash',
    since: '2h',
  })
})

it('a period of seven days has seven days, and a day is one of UTC', () => {
  expect(usageInput({ since: '7d' }, 'day', now)).toEqual({
    input: { by: 'day', limit: 1_000, since: '2026-11-23' },
  })
  expect(usageInput({ since: '2026-11-01', until: '2026-11-02', user: 'ann' }, 'model', now)).toEqual({
    input: { by: 'model', limit: 1_000, since: '2026-11-01', until: '2026-11-02', user_id: 'ann' },
  })
  expect(usageInput({ since: 'soon' }, 'day', now)).toMatchObject({ field: 'since' })
  expect(usageInput({ until: '2026-13-41' }, 'day', now)).toMatchObject({ field: 'until' })
})

it('failures are asked for by the filters of the tasks', () => {
  expect(failuresInput({ user: 'ann', workflow: 'w', failure: 'tool_crash', since: '1h' }, now)).toEqual({
    input: {
      limit: 200,
      user_id: 'ann',
      uses_workflow: 'w',
      failure_class: 'tool_crash',
      submitted_since: '2026-11-29T11:00:00.000Z',
    },
  })
  expect(failuresInput({ until: 'never' }, now)).toMatchObject({ field: 'until' })
})

it('a group of failures leads to its tasks by its class and by the words that all its messages have', () => {
  expect(
    tasksOf(
      {
        failure_class: 'tool_timeout',
        pattern: 'read_file: no answer of <path> after <n>s. Give up, give up, or w…',
      },
      { since: '7d' },
    ),
  ).toEqual({
    ...{ since: '7d', failure: 'tool_timeout' },
    pattern: 'read_file: no answer of <path> after <n>s. Give up, give up, or w…',
  })
  expect(tasksOf({ failure_class: 'tool_crash', pattern: '' }, {})).toEqual({ failure: 'tool_crash' })
})

const used = (key: string, over: object = {}) => ({
  key,
  input_tokens: 7,
  output_tokens: 3,
  calls: 1,
  usage_by_model: [],
  ...over,
})

it('a day without calls has a bar of nothing, and a cost that nobody knows is not 0', () => {
  const answer = {
    since: '2026-11-01',
    until: '2026-11-04',
    groups: [
      used('2026-11-04', { cost_usd: 2 }),
      used('2026-11-03', { cost_usd: null, cost_usd_known: 1 }),
      used('2026-11-02', { cost_usd: null }),
    ],
  }
  expect(daysOf(answer, 'tokens').map(({ value }) => value)).toEqual([0, 10, 10, 10])
  expect(daysOf(answer, 'cost')).toEqual([
    { day: '2026-11-01', value: 0, isPart: false },
    { day: '2026-11-02', value: null, isPart: true },
    { day: '2026-11-03', value: 1, isPart: true },
    { day: '2026-11-04', value: 2, isPart: false },
  ])
  const years = daysOf({ since: '2000-01-01', until: '2026-11-04', groups: [] }, 'tokens')
  expect([years.length, years.at(-1)?.day]).toEqual([366, '2026-11-04'])
})

it.each([
  [[], 1],
  [[0], 1],
  [[0.013, 0.004], 0.02],
  [[101], 200],
  [[5_000_000], 5_000_000],
  [[600], 1_000],
])('the scale of %j ends at %d', (values, top) => expect(topOf(values)).toBeCloseTo(top))

it('the first and the last day have a name', () => {
  const days = (count: number) =>
    Array.from({ length: count }, () => ({ day: '2026-11-01', value: 0, isPart: false }))
  expect(namedDays(days(31), 4)).toEqual([0, 10, 20, 30])
  expect(namedDays(days(2), 4)).toEqual([0, 1])
  expect(namedDays(days(1), 4)).toEqual([0])
  expect(namedDays([], 4)).toEqual([])
})
