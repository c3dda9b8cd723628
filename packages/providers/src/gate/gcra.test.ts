import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { costNs, type Nanoseconds, nextSlot, rateOf, toleranceNs } from './gcra.ts'

const minute = 60_000_000_000n
const perMinute = fc.oneof(
  fc.integer({ min: 1, max: 200 }),
  fc.constantFrom(1, 7, 59, 60, 61, 1_000, 60_000, 10_000_000),
)
/** Nanoseconds between a call and the next. */
const gap = fc.oneof(
  fc.constant(0n),
  fc.bigInt({ min: 0n, max: 2_000_000n }),
  fc.bigInt({ min: 0n, max: 40_000_000_000n }),
)

/** The starts of calls that come after these gaps. */
function starts(limit: number, calls: readonly { gap: bigint; units: number }[]): Nanoseconds[] {
  const rate = rateOf(limit)
  let now = 1_000_000_000_000n
  let due = 0n
  return calls.map((call) => {
    now += call.gap
    const slot = nextSlot(due, {
      earliest: now,
      cost: costNs(rate, call.units),
      tolerance: toleranceNs(rate),
    })
    due = slot.due
    return slot.start
  })
}

describe('a limit per minute', () => {
  it('lets in no minute more start than it allows, besides the burst (G1)', () => {
    fc.assert(
      fc.property(perMinute, fc.array(gap, { maxLength: 400 }), (limit, gaps) => {
        const times = starts(
          limit,
          gaps.map((each) => ({ gap: each, units: 1 })),
        )
        const most = limit + rateOf(limit).burst
        let first = 0
        for (const [i, time] of times.entries()) {
          while (time - (times[first] as bigint) >= minute) first++
          if (i - first + 1 > most) return false
        }
        return true
      }),
      { numRuns: 1_000 },
    )
  })

  it('lets in no minute more units start than it allows, besides the burst and the last call', () => {
    const call = fc.record({ gap, units: fc.integer({ min: 0, max: 500 }) })
    fc.assert(
      fc.property(perMinute, fc.array(call, { maxLength: 100 }), (limit, calls) => {
        const times = starts(limit, calls)
        for (let from = 0; from < calls.length; from++) {
          let units = 0
          for (
            let to = from;
            to < calls.length && (times[to] as bigint) - (times[from] as bigint) < minute;
            to++
          ) {
            if (units > limit + rateOf(limit).burst) return false
            units += calls[to]?.units ?? 0
          }
        }
        return true
      }),
      { numRuns: 500 },
    )
  })

  it('gives who comes first the earlier slot, and nobody one in the past (G2)', () => {
    fc.assert(
      fc.property(perMinute, fc.array(gap, { maxLength: 100 }), (limit, gaps) => {
        const times = starts(
          limit,
          gaps.map((each) => ({ gap: each, units: 1 })),
        )
        let now = 1_000_000_000_000n
        return gaps.every((each, i) => {
          now += each
          return (times[i] as bigint) >= now && (i === 0 || (times[i] as bigint) >= (times[i - 1] as bigint))
        })
      }),
      { numRuns: 500 },
    )
  })

  it('makes nobody wait who comes no faster than it allows', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10_000 }), fc.integer({ min: 1, max: 100 }), (limit, calls) => {
        const each = costNs(rateOf(limit), 1)
        const times = starts(
          limit,
          Array.from({ length: calls }, () => ({ gap: each, units: 1 })),
        )
        return times.every((time, i) => time === 1_000_000_000_000n + each * BigInt(i + 1))
      }),
      { numRuns: 200 },
    )
  })

  it('lets a tenth of a minute come at once after a quiet time, then one by one', () => {
    const times = starts(
      60,
      Array.from({ length: 9 }, () => ({ gap: 0n, units: 1 })),
    )
    expect(times.map((time) => Number((time - (times[0] as bigint)) / 1_000_000n))).toEqual([
      0, 0, 0, 0, 0, 0, 1_000, 2_000, 3_000,
    ])
  })

  it('counts in time shorter than a nanosecond a unit, and never too little (G3)', () => {
    expect(costNs(rateOf(10_000_000_000), 1_000)).toBe(6_000n)
    expect(costNs(rateOf(7), 1) * 7n).toBeGreaterThanOrEqual(minute)
  })
})
