import type { BeaverError } from '@beaver/core'
import { until, virtualClock } from '@beaver/testing'
import { expect, it } from 'vitest'
import { Pace } from './patient-requests.ts'

it('lets a burst through at once, and spreads what comes after it', async () => {
  const clock = virtualClock()
  const pace = new Pace(clock)
  let sent = 0
  const all = Array.from({ length: 3_000 }, () => pace.turn(60_000).then(() => sent++))
  await until('the burst is sent', () => sent >= 299)
  expect(sent).toBeLessThanOrEqual(300)
  clock.advance(1_000)
  await until('a second later', () => sent >= 1_798)
  expect(sent).toBeLessThanOrEqual(1_801)
  clock.advance(1_000)
  await Promise.all(all)
  expect(sent).toBe(3_000)
})

it('a request whose turn would come too late ends when its time is over, and takes no turn', async () => {
  const clock = virtualClock()
  const pace = new Pace(clock)
  const patient = Array.from({ length: 1_800 }, () => pace.turn(60_000))
  const late = Promise.allSettled(Array.from({ length: 3_000 }, () => pace.turn(500)))
  const after = pace.turn(60_000)
  clock.advance(500)
  expect(
    (await late).map((each) => (each.status === 'rejected' ? (each.reason as BeaverError).code : each.value)),
  ).toEqual(Array(3_000).fill('timeout'))
  clock.advance(501)
  await Promise.all(patient)
  expect(await after).toBeLessThan(1_002)
})
