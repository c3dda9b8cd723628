import { expect, test } from 'vitest'
import { afterDeath } from './restart-budget.ts'

test('a child that dies now and then is always restarted, at once', () => {
  expect(afterDeath([0, 100_000, 200_000], 200_000)).toEqual({ kind: 'restart', deaths: 1, pauseMs: 200 })
})

test('the pause grows with each death within the period, up to its bound', () => {
  const pauses = [1, 2, 3, 4, 5]
    .map((n) =>
      afterDeath(
        Array.from({ length: n }, () => 1_000),
        1_000,
      ),
    )
    .map((next) => (next.kind === 'restart' ? next.pauseMs : null))
  expect(pauses).toEqual([200, 400, 800, 1_600, 3_200])
})

test('the sixth death within a minute is one too many', () => {
  const deaths = [0, 1, 2, 3, 4, 5]
  expect(afterDeath(deaths.slice(0, 5), 59_000).kind).toBe('restart')
  expect(afterDeath(deaths, 59_000)).toEqual({ kind: 'give_up', deaths: 6 })
  expect(afterDeath(deaths, 60_003)).toMatchObject({ kind: 'restart', deaths: 2 })
})
