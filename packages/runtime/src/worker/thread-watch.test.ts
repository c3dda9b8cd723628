import { describe, expect, it } from 'vitest'
import type { CallAtWork } from './thread-vitals.ts'
import { threadWatch, watchLimits } from './thread-watch.ts'

const { tickMs } = watchLimits
const call = (timeoutMs: number, number = 1): CallAtWork => ({
  place: 0,
  number,
  loop: 1,
  tool: 'fetch_page',
  timeoutMs,
  own: true,
})

interface Given {
  readonly forMs: number
  /** Of the thread's event loop, each tick. Default: none. */
  readonly beats?: (tick: number) => number
  readonly calls?: readonly CallAtWork[]
  readonly cancelledAtMs?: number
  /** How long the thread waits for a processor between two looks. */
  readonly starvedMs?: number
  /** Between two looks. */
  readonly everyMs?: number
}

/** Looks at a thread for a while; tells what it was ended for, and when. */
function watched({
  forMs,
  beats = () => 0,
  calls = [],
  cancelledAtMs,
  starvedMs = 0,
  everyMs = tickMs,
}: Given): { reason: string | null; atMs: number } {
  const watch = threadWatch()
  let beaten = 0
  for (let atMs = 0, tick = 0; atMs <= forMs; atMs += everyMs, tick++) {
    beaten += beats(tick)
    const cancelled = cancelledAtMs !== undefined && atMs >= cancelledAtMs ? cancelledAtMs : null
    const reason = watch.look(
      { beats: beaten, reader: null, calls, cancelledAtMs: cancelled, waitedMs: tick * starvedMs },
      atMs,
    )
    if (reason !== null) return { reason, atMs }
  }
  return { reason: null, atMs: forMs }
}

describe('a silent thread', () => {
  it('is ended within 5 s after the deadline of a call in it, whenever that is', () => {
    for (const timeoutMs of [0, 1_000, 5_000, 60_000]) {
      const { reason, atMs } = watched({ forMs: 120_000, calls: [call(timeoutMs)] })
      expect(reason).toContain('fetch_page is past its deadline')
      expect(atMs).toBeGreaterThanOrEqual(timeoutMs + watchLimits.graceMs)
      expect(atMs).toBeLessThan(timeoutMs + 5_000)
    }
  })

  it('is left alone while a call in it has time, however long', () => {
    expect(watched({ forMs: 59_000, calls: [call(60_000)] }).reason).toBeNull()
  })

  it('is ended when it does not hear a cancel', () => {
    const { reason, atMs } = watched({ forMs: 60_000, calls: [call(60_000)], cancelledAtMs: 10_000 })
    expect(reason).toContain('did not react to a cancel')
    expect(atMs - 10_000).toBeLessThan(2_000)
  })

  it('in which no call is at work is ended after twenty seconds', () => {
    expect(watched({ forMs: 19_500 }).reason).toBeNull()
    expect(watched({ forMs: 21_000 })).toMatchObject({
      reason: expect.stringContaining('has not run for 20') as string,
    })
  })

  it('is not ended for time in which it waited for a processor, but still for the rest', () => {
    const starved = { forMs: 30_000, calls: [call(60_000)], cancelledAtMs: 0 }
    expect(watched({ ...starved, starvedMs: tickMs }).reason).toBeNull()
    const slow = watched({ ...starved, starvedMs: tickMs * 0.8 })
    expect(slow.reason).toContain('did not react to a cancel')
    expect(slow.atMs).toBeGreaterThanOrEqual(watchLimits.silentMsMin * 5)
  })

  it('is not ended for time in which the main thread did not look', () => {
    // The process was stopped for a minute, and both threads go on.
    expect(watched({ forMs: 60_000, everyMs: 60_000, calls: [call(0)] }).reason).toBeNull()
  })
})

describe('a thread that is busy', () => {
  it('for two seconds is left alone, a call past its deadline or not', () => {
    expect(
      watched({ forMs: 60_000, beats: (tick) => (tick % 5 === 4 ? 1 : 0), calls: [call(60_000)] }).reason,
    ).toBeNull()
    expect(watched({ forMs: 2_000, calls: [call(0)] }).reason).toBeNull()
  })

  it('and turns slowly is left alone as long as no tool goes on beyond its deadline', () => {
    expect(watched({ forMs: 60_000, beats: (tick) => tick % 2, calls: [call(60_000)] }).reason).toBeNull()
  })

  it('and hardly turns because a tool goes on beyond its deadline is ended', () => {
    const { reason, atMs } = watched({ forMs: 60_000, beats: (tick) => tick % 2, calls: [call(5_000)] })
    expect(reason).toContain('fetch_page goes on')
    expect(atMs).toBeLessThan(10_000)
  })

  it('is left alone with a tool that never ends, if it turns as it should', () => {
    expect(watched({ forMs: 60_000, beats: () => 2, calls: [call(1_000)] }).reason).toBeNull()
  })
})

it('a call in the place of another has a time of its own', () => {
  const watch = threadWatch()
  for (let atMs = 0, number = 0; atMs <= 60_000; atMs += tickMs)
    expect(
      watch.look(
        { beats: 0, reader: null, calls: [call(3_000, ++number)], cancelledAtMs: null, waitedMs: 0 },
        atMs,
      ) === null || atMs >= watchLimits.silentMsMax,
    ).toBe(true)
})

it('a count of its waits that could not be read charges a thread with nothing', () => {
  const watch = threadWatch()
  const look = (tick: number): string | null =>
    watch.look(
      {
        beats: 0,
        reader: null,
        calls: [call(3_000)],
        cancelledAtMs: null,
        waitedMs: tick === 3 ? 0 : 120_000 + tick * tickMs,
      },
      tick * tickMs,
    )
  expect(Array.from({ length: 200 }, (_, tick) => look(tick))).toEqual(Array<null>(200).fill(null))
})
