import { virtualClock } from '@beaver/testing'
import { expect, it } from 'vitest'
import { admissions } from './admissions.ts'

it('a turn is given to the run that reserved it, once, at its time and a minute later at most', () => {
  const clock = virtualClock(0)
  const turns = admissions(clock)
  turns.keep('a', 5_000)
  turns.keep('b', 5_000)
  expect([turns.take('c'), turns.take('a'), turns.take('a')]).toEqual([false, true, false])
  clock.advance(65_001)
  expect(turns.take('b')).toBe(false)
})
