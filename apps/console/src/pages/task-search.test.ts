import { describe, expect, it } from 'vitest'
import { filterOf, readTaskSearch, timeOf } from './task-search.ts'

const now = Date.parse('2026-11-29T10:00:00Z')

it('reads the fields that it knows from the address, and leaves out the rest', () =>
  expect(
    readTaskSearch({ status: 'failed', text: ' two  words ', cost: 0.5, user: '', other: 'x', skill: {} }),
  ).toEqual({
    status: 'failed',
    text: 'two  words',
    cost: '0.5',
  }))

describe('the filter of an address', () => {
  it('has the fields of the query', () =>
    expect(
      filterOf(
        { status: 'failed', workflow: 'Swarm', failure: 'timeout', since: '2h', cost: '0.5', tokens: '1000' },
        now,
      ),
    ).toEqual({
      filter: {
        status: 'failed',
        uses_workflow: 'Swarm',
        failure_class: 'timeout',
        submitted_since: '2026-11-29T08:00:00.000Z',
        cost_usd_min: 0.5,
        tokens_min: 1000,
      },
    }))

  it.each([
    [{ since: 'yesterday' }, 'since'],
    [{ until: '99' }, 'until'],
    [{ cost: 'much' }, 'cost'],
    [{ cost: '-1' }, 'cost'],
    [{ tokens: '1.5' }, 'tokens'],
  ] as const)('says which field it cannot read: %o', (search, field) =>
    expect(filterOf(search, now)).toMatchObject({ field }),
  )
})

it('reads spans, days and times', () => {
  expect(timeOf('7d', now)).toBe('2026-11-22T10:00:00.000Z')
  expect(timeOf('30 min', now)).toBe('2026-11-29T09:30:00.000Z')
  expect(timeOf('2026-11-29T09:30:00Z', now)).toBe('2026-11-29T09:30:00.000Z')
  // A day begins at midnight where the reader is.
  expect(timeOf('2026-11-29', now)).toBe(new Date('2026-11-29T00:00').toISOString())
  expect(timeOf('2026-13-40', now)).toBeNull()
})
