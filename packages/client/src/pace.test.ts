import { until, virtualClock } from '@beaver/testing'
import { expect, it } from 'vitest'
import { Pace } from './pace.ts'

it('lets a burst through at once, and spreads what comes after it', async () => {
  const clock = virtualClock()
  const pace = new Pace(clock)
  let sent = 0
  const all = Array.from({ length: 3_000 }, () => pace.turn().then(() => sent++))
  await until('the burst is sent', () => sent >= 299)
  expect(sent).toBeLessThanOrEqual(300)
  clock.advance(1_000)
  await until('a second later', () => sent >= 1_798)
  expect(sent).toBeLessThanOrEqual(1_801)
  clock.advance(1_000)
  await Promise.all(all)
  expect(sent).toBe(3_000)
})
