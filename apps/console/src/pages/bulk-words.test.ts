import type { BulkCount, BulkResult } from '@beaver/contracts'
import { describe, expect, it } from 'vitest'
import {
  added,
  begun,
  countSentences,
  filterLines,
  outcomeSentences,
  progressText,
  verbsOf,
} from './bulk-words.ts'

const count = (of: Partial<BulkCount>): BulkCount => ({
  dry_run: true,
  ...{ matched: 0, able: 0, at_least: false, left_out: [], tasks: [], before: 100 },
  ...of,
})
const result = (of: Partial<BulkResult>): BulkResult => ({
  dry_run: false,
  ...{ done: 0, refused: [], next: null, stopped: null },
  ...of,
})

it.each([
  [{}, []],
  [{ workflow: 'Swarm' }, ['cancel', 'retry']],
  [{ status: 'open' }, ['cancel']],
  [{ status: 'waiting_for_person' }, ['cancel']],
  [{ status: 'failed', user: 'ann' }, ['retry']],
  [{ status: 'completed' }, []],
] as const)('for the list of %o it offers %o', (search, verbs) => expect(verbsOf(search)).toEqual(verbs))

it('says the filter in words', () =>
  expect(filterLines({ status: 'waiting_for_person', cost: '0.5', since: '2h', text: 'a <b>' })).toEqual([
    ['State', 'Asks you'],
    ['Words', 'a <b>'],
    ['Submitted since', '2h'],
    ['Costs at least', '0.5 US dollars'],
  ]))

describe('a count', () => {
  it('of tasks that can be cancelled says how many others fit, and why they are left out', () =>
    expect(
      countSentences(
        'cancel',
        count({ matched: 12_041, able: 37, left_out: [{ why: 'ended', tasks: 12_004 }] }),
      ),
    ).toEqual(['37 of 12,041 tasks that fit are open and will be cancelled.', '12,004 tasks have ended.']))

  it('of tasks that can be retried names those with a retry, and those that somebody cancelled', () =>
    expect(
      countSentences(
        'retry',
        count({
          ...{ matched: 4, able: 1 },
          left_out: [
            { why: 'not_failed', tasks: 1 },
            { why: 'already_retried', tasks: 1 },
            { why: 'cancelled', tasks: 1 },
          ],
        }),
      ),
    ).toEqual([
      '1 of 4 tasks that fit has not completed and will be retried.',
      '1 task is open or completed.',
      '1 task has a retry already.',
      '1 task was cancelled. Choose the state Cancelled if you mean it.',
    ]))

  it('of all that fit, of none, and of nobody knows how many', () => {
    expect(countSentences('cancel', count({ matched: 3, able: 3 }))).toEqual([
      'All 3 tasks that fit are open and will be cancelled.',
    ])
    expect(countSentences('cancel', count({ matched: 1, able: 1 }))).toEqual([
      'The one task that fits is open and will be cancelled.',
    ])
    expect(countSentences('retry', count({ matched: 2 }))).toEqual([
      'None of the 2 tasks that fit can be retried.',
    ])
    expect(countSentences('retry', count({}))).toEqual(['No task fits the filter.'])
    expect(countSentences('cancel', count({ matched: 5_000, able: 9, at_least: true }))).toEqual([
      'At least 9 of at least 5,000 tasks that fit are open and will be cancelled.',
    ])
  })
})

describe('the result', () => {
  const refused = [{ task_id: 't', code: 'conflict', message: 'It has ended.' }]

  it('adds up what several requests did', () => {
    const counted = count({ able: 5 })
    const first = added(begun(counted), result({ done: 2, refused, next: 60 }))
    expect([first, progressText(counted, first)]).toEqual([{ done: 2, refused, next: 60 }, '3 of 5 tasks'])
    const progress = added(first, result({ done: 2 }))
    expect(outcomeSentences('cancel', { count: counted, progress, problem: null })).toEqual([
      '4 tasks are asked to stop.',
      '1 task is refused.',
    ])
  })

  it.each([
    [3, '2 tasks fewer'],
    [6, '1 task more'],
  ])('says that %i are not the number that was counted', (done, words) =>
    expect(
      outcomeSentences('retry', {
        count: count({ able: 5 }),
        progress: { done, refused: [], next: null },
        problem: null,
      }),
    ).toEqual([
      `${done} tasks are retried.`,
      `That is ${words} than counted, because tasks have changed since.`,
    ]),
  )

  it('of work that did not come to its end says so first, and what is left', () => {
    const of = { count: count({ able: 5 }), progress: { done: 1, refused: [], next: 7 } }
    expect(outcomeSentences('retry', { ...of, problem: 'No daemon answers.' })).toEqual([
      'It did not go on: No daemon answers.',
      '1 task is retried.',
      'About 4 tasks are left.',
    ])
    expect(outcomeSentences('cancel', { ...of, problem: null })[0]).toBe('You stopped before the end.')
  })
})
