import { expect, it } from 'vitest'
import { changedRows } from './changed-rows.ts'

it('says nothing if nothing is known against the rows', () => {
  expect(changedRows([])).toEqual([])
  expect(
    changedRows([{ kind: 'configuration', message: 'The stream has 3 replicas.', harmful: false }]),
  ).toEqual([])
})

it.each([
  ['another program changed them', 'read_model_changed', false],
  ['a comparison found others', 'rows_differ', false],
  ['the journal below them lost entries', 'rolled_back', true],
] as const)('says NOT VERIFIED, and why, if %s', (_, kind, harmful) => {
  expect(changedRows([{ kind, message: 'Somebody did it.\u001B[2J', harmful }])).toEqual([
    'NOT VERIFIED: what is shown may not be what the journal has.',
    expect.stringMatching(/^ {2}Somebody did it\./),
  ])
})
