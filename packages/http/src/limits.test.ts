import { expect, it } from 'vitest'
import { rateLimit } from './limits.ts'

it('lets a burst through, then as many as the rate, and says when to come again; other callers do not notice', () => {
  let nowMs = 0
  const take = rateLimit({ perSecond: 10, now: () => nowMs })
  for (let i = 0; i < 40; i++) take('a')
  expect(() => take('a')).toThrow(/10 requests a second. Come again in 1 s/)
  take('b')
  nowMs += 1_000
  for (let i = 0; i < 10; i++) take('a')
  expect(() => take('a')).toThrow()
})

it('does not count what its caller takes back, and never gives more than the bound', () => {
  const take = rateLimit({ perSecond: 1, most: 2, now: () => 0, says: 'Too much.' })
  const [first, second] = [take('a'), take('a')]
  expect(() => take('a')).toThrow('Too much. Come again in 1 s.')
  first()
  take('a')
  second()
  take('a')()
  take('a')
  expect(() => take('a')).toThrow()
})
