// Given the deaths of a child, when it dies again, then it is started again after this pause, or not any
// more.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  afterDeath,
  type Backoff,
  type Intensity,
  isExceeded,
  pauseBefore,
  recentDeaths,
} from './restart-intensity.ts'

const intensity: Intensity = { restartsMax: 3, periodMs: 1_000, counts: 'each_child' }
const backoff: Backoff = { pauseMsMin: 100, pauseMsMax: 300, jitter: false }

/** @param deaths the times of all deaths; the last one is now */
const after = (deaths: readonly number[], over: Partial<Intensity & Backoff> = {}, random = 0) =>
  afterDeath(deaths, {
    now: deaths.at(-1) ?? 0,
    random,
    intensity: { ...intensity, ...over },
    backoff: { ...backoff, ...over },
  })

describe('after a death', () => {
  it.each<[string, readonly number[], Partial<Intensity & Backoff>, object]>([
    ['the first pause follows the first death', [0], {}, { kind: 'restart', deaths: 1, pauseMs: 100 }],
    ['the pause doubles', [0, 1], {}, { kind: 'restart', deaths: 2, pauseMs: 200 }],
    ['the pause has a bound', [0, 1, 2], {}, { kind: 'restart', deaths: 3, pauseMs: 300 }],
    [
      'a pause of its own may follow the first death',
      [0],
      { pauseMsFirst: 10 },
      { kind: 'restart', deaths: 1, pauseMs: 10 },
    ],
    [
      'the pause grows only from the next death on',
      [0, 1],
      { pauseMsFirst: 10 },
      { kind: 'restart', deaths: 2, pauseMs: 100 },
    ],
    [
      'one death more than allowed is too many',
      [0, 1, 2, 3],
      {},
      { kind: 'exceeded', deaths: 4, againMs: 997 },
    ],
    [
      'the next restart is allowed when enough deaths are forgotten',
      [0, 1, 2, 3, 4],
      {},
      { kind: 'exceeded', deaths: 5, againMs: 997 },
    ],
    [
      'a healthy span of a period makes the pause the first one again',
      [0, 1, 2, 1_002],
      {},
      { kind: 'restart', deaths: 1, pauseMs: 100 },
    ],
    [
      'no death of a whole life is forgotten',
      [0, 1e9, 2e9, 3e9],
      { periodMs: null },
      { kind: 'exceeded', deaths: 4, againMs: null },
    ],
    [
      'nothing is started again without a restart',
      [0],
      { restartsMax: 0 },
      { kind: 'exceeded', deaths: 1, againMs: null },
    ],
  ])('%s', (_, deaths, over, then) => expect(after(deaths, over)).toEqual(then))

  it('the pause with jitter is between half and all of the pause', () => {
    expect([0, 0.5, 0.999].map((random) => after([0], { jitter: true }, random))).toMatchObject([
      { pauseMs: 50 },
      { pauseMs: 75 },
      { pauseMs: 100 },
    ])
  })
})

describe('properties', () => {
  const gaps = fc.array(fc.integer({ min: 0, max: 700 }), { minLength: 1, maxLength: 60 })
  const timesOf = (of: readonly number[]): number[] =>
    of.map((_, index) => of.slice(0, index + 1).reduce((sum, gap) => sum + gap, 0))
  const anIntensity = fc.record({
    restartsMax: fc.integer({ min: 0, max: 6 }),
    periodMs: fc.integer({ min: 1, max: 2_000 }),
  })
  const aBackoff: fc.Arbitrary<Backoff> = fc
    .record({
      pauseMsFirst: fc.option(fc.nat(500), { nil: undefined }),
      pauseMsMin: fc.nat(500),
      more: fc.nat(5_000),
      jitter: fc.boolean(),
    })
    .map(({ pauseMsFirst, pauseMsMin, more, jitter }) => ({
      ...(pauseMsFirst === undefined ? {} : { pauseMsFirst }),
      pauseMsMin,
      pauseMsMax: pauseMsMin + more,
      jitter,
    }))

  it('no period has more restarts than the intensity allows', () => {
    fc.assert(
      fc.property(gaps, anIntensity, (of, over) => {
        const times = timesOf(of)
        const restarts = times.filter((_, index) => after(times.slice(0, index + 1), over).kind === 'restart')
        for (const at of restarts)
          expect(
            restarts.filter((each) => each <= at && at - each < over.periodMs).length,
          ).toBeLessThanOrEqual(over.restartsMax)
      }),
    )
  })

  it('what is exceeded is within the intensity after the time that it tells, and not before', () => {
    fc.assert(
      fc.property(gaps, anIntensity, (of, over) => {
        const times = timesOf(of)
        const now = times.at(-1) ?? 0
        const then = after(times, over)
        if (then.kind === 'restart' || then.againMs === null) return
        expect(isExceeded(recentDeaths(times, now + then.againMs, over).length, over)).toBe(false)
        expect(isExceeded(recentDeaths(times, now + then.againMs - 1, over).length, over)).toBe(true)
      }),
    )
  })

  it('a pause is never longer than its bound, and never shorter than the one before it', () => {
    fc.assert(
      fc.property(
        aBackoff,
        fc.integer({ min: 1, max: 5_000 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (of, deaths, random) => {
          const pauseMs = pauseBefore(deaths, of, random)
          expect(pauseMs).toBeGreaterThanOrEqual(0)
          expect(pauseMs).toBeLessThanOrEqual(Math.max(of.pauseMsFirst ?? 0, of.pauseMsMax))
          // The first pause is not a step of the series.
          if (deaths > 1) expect(pauseBefore(deaths + 1, of, random)).toBeGreaterThanOrEqual(pauseMs)
        },
      ),
    )
  })
})
