import type { CheckAnswer } from '@beaver/contracts'
import { expect, test } from 'vitest'
import { styleOf, symbolsOf } from '../text/style.ts'
import { textWidth } from '../text/width.ts'
import { checkLines } from './show-tree.ts'

const check: CheckAnswer = {
  field: 'required_evidence',
  requirement: { kind: 'files_exist', paths: ['a'] },
  status: 'passed',
  detail: 'All is there.',
  rests_on: [7],
}
const lines = (over: Partial<CheckAnswer>, width = 80): string[] =>
  checkLines(
    { ...check, ...over },
    { style: styleOf(false), symbols: symbolsOf({ utf8: true, turning: false }) },
    width,
  )

test.each<[string, Partial<CheckAnswer>, string]>([
  ['one that passed', {}, '✔ All is there. (event 7)'],
  [
    'one that failed',
    { status: 'failed', detail: 'It is not there.', rests_on: [4, 7] },
    '✖ It is not there. (events 4, 7)',
  ],
  ['one that rests on nothing', { status: 'failed', rests_on: [] }, '✖ All is there.'],
  [
    'one in words',
    { requirement: 'two sources', status: 'not_checked', rests_on: [] },
    '· two sources (not checked by code)',
  ],
  ['a rule for the output', { field: 'validation_rules' }, '✔ Rule: All is there. (event 7)'],
  [
    'the contract',
    { field: 'evidence_contract', requirement: 'Name\nit.', status: 'not_checked', rests_on: [] },
    '· Contract: Name it. (not checked by code)',
  ],
  [
    'one that rests on many',
    { rests_on: [1, 2, 3, 4, 5, 6, 7] },
    '✔ All is there. (events 1, 2, 3, 4, 5 and 2 more)',
  ],
])('%s', (_, over, expected) => expect(lines(over)).toEqual([expected]))

test('a long one goes on below, with the events it rests on', () => {
  const wrapped = lines({ detail: `Two words ${'x'.repeat(60)} and more.` }, 40)
  expect(wrapped).toEqual([
    '✔ Two words',
    `  ${'x'.repeat(38)}`,
    `  ${'x'.repeat(22)}`,
    '  and more. (event 7)',
  ])
  for (const line of wrapped) expect(textWidth(line)).toBeLessThanOrEqual(40)
})
