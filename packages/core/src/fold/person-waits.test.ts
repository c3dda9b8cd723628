import { expect, it } from 'vitest'
import { type PersonWaits, waitBegan, waitedMs, waitEnded, waitsOver, wholeTask } from './person-waits.ts'

const call = (callId: string, runId = 'r', teamRunId: string | null = 't') => ({ runId, teamRunId, callId })

it('counts the waits of several simultaneous calls once, for the run and for its team', () => {
  const waits: PersonWaits = new Map()
  waitBegan(waits, call('a'), 100)
  waitBegan(waits, call('b'), 150)
  waitEnded(waits, call('a'), 200)
  expect([waitedMs(waits, 'r', 250), waitedMs(waits, 't', 250)]).toEqual([150, 150])
  waitEnded(waits, call('b'), 300)
  expect([waitedMs(waits, 'r', 900), waitedMs(waits, 't', 900)]).toEqual([200, 200])
})

it('counts the time of a team while any of its runs waits', () => {
  const waits: PersonWaits = new Map()
  waitBegan(waits, call('a', 'one'), 0)
  waitBegan(waits, call('a', 'two'), 50)
  waitsOver(waits, { runId: 'one', teamRunId: 't' }, 100)
  waitEnded(waits, call('a', 'two'), 120)
  expect(waitedMs(waits, wholeTask, 500)).toBe(120)
  expect([waitedMs(waits, 'one', 500), waitedMs(waits, 'two', 500), waitedMs(waits, 't', 500)]).toEqual([
    100, 70, 120,
  ])
})

it('ignores a wait that begins twice, and an end of a wait that never began', () => {
  const waits: PersonWaits = new Map()
  waitEnded(waits, call('a'), 10)
  waitBegan(waits, call('a'), 20)
  waitBegan(waits, call('a'), 30)
  waitEnded(waits, call('a'), 40)
  waitEnded(waits, call('a'), 50)
  expect(waitedMs(waits, 'r', 100)).toBe(20)
  expect(waitedMs(waits, 'nobody', 100)).toBe(0)
})
