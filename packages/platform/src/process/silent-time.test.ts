import { describe, expect, it } from 'vitest'
import { silentTime, type ThreadsSeen } from './silent-time.ts'

const asleep: ThreadsSeen = { mainIsRunnable: false, anotherIsRunnable: false, mainMs: 1_000, processMs: 5_000 }

describe('a turn of 200 ms in silence counts', () => {
  it('in full while every thread sleeps: a call does not return', () => {
    expect(silentTime(200, asleep, asleep)).toBe(200)
  })

  it('in full for an endless loop that has a processor', () => {
    expect(silentTime(200, asleep, { ...asleep, mainIsRunnable: true, mainMs: 1_200 })).toBe(200)
  })

  it('for what an endless loop gets of a busy machine', () => {
    expect(silentTime(200, asleep, { ...asleep, mainIsRunnable: true, mainMs: 1_030 })).toBe(30)
  })

  it('for nothing while the main thread waits for a processor', () => {
    expect(silentTime(200, asleep, { ...asleep, mainIsRunnable: true, processMs: 5_100 })).toBe(0)
  })

  it('for nothing while the main thread waits for a thread that gets no processor', () => {
    expect(silentTime(200, asleep, { ...asleep, anotherIsRunnable: true })).toBe(0)
  })

  it('for the work of other threads while the main thread is blocked', () => {
    expect(silentTime(200, asleep, { ...asleep, anotherIsRunnable: true, processMs: 5_150 })).toBe(150)
    expect(silentTime(200, asleep, { ...asleep, anotherIsRunnable: true, processMs: 5_900 })).toBe(200)
  })

  it('in full where nothing can be seen', () => {
    expect(silentTime(200, null, asleep)).toBe(200)
    expect(silentTime(200, asleep, null)).toBe(200)
  })
})
