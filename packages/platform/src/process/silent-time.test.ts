import { describe, expect, it } from 'vitest'
import { silentTime, threadSeen, type ThreadsSeen } from './silent-time.ts'

const asleep: ThreadsSeen = { mainIsHeldUp: false, anotherIsHeldUp: false, mainMs: 1_000, processMs: 5_000 }

describe('a turn of 200 ms in silence counts', () => {
  it('in full while every thread sleeps: a call does not return', () => {
    expect(silentTime(200, asleep, asleep)).toBe(200)
  })

  it('in full for an endless loop that has a processor', () => {
    expect(silentTime(200, asleep, { ...asleep, mainIsHeldUp: true, mainMs: 1_200 })).toBe(200)
  })

  it('for what an endless loop gets of a busy machine', () => {
    expect(silentTime(200, asleep, { ...asleep, mainIsHeldUp: true, mainMs: 1_030 })).toBe(30)
  })

  it('for nothing while the main thread waits for a processor or for the disk', () => {
    expect(silentTime(200, asleep, { ...asleep, mainIsHeldUp: true, processMs: 5_100 })).toBe(0)
  })

  it('for nothing while the main thread waits for a thread that gets neither', () => {
    expect(silentTime(200, asleep, { ...asleep, anotherIsHeldUp: true })).toBe(0)
  })

  it('for the work of other threads while the main thread is blocked', () => {
    expect(silentTime(200, asleep, { ...asleep, anotherIsHeldUp: true, processMs: 5_150 })).toBe(150)
    expect(silentTime(200, asleep, { ...asleep, anotherIsHeldUp: true, processMs: 5_900 })).toBe(200)
  })

  it('in full where nothing can be seen', () => {
    expect(silentTime(200, null, asleep)).toBe(200)
    expect(silentTime(200, asleep, null)).toBe(200)
  })
})

it.each([
  ['R', 'it computes, or waits for a processor', true],
  ['D', 'it waits for the disk', true],
  ['S', 'it sleeps', false],
  ['T', 'it is stopped', false],
])('a thread in state %s: %s', (state, _, isHeldUp) => {
  const times = '120 30'
  expect(
    threadSeen(`42 (a name) R S) ${state} 1 42 42 0 -1 4194304 9 0 0 0 ${times} 0 0 39 19 12 0\n`),
  ).toEqual({ isHeldUp, ms: 1_500 })
})
