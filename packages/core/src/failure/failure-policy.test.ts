import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type FailureClass, failureClass } from './failure-class.ts'
import {
  type FailurePolicy,
  failurePolicies,
  policiesWith,
  retryPauseMs,
  retryTimeMsMax,
} from './failure-policy.ts'

// What the supervisor does about each class, in the words of an operator.
const table: Record<FailureClass, string> = {
  rate_limited: 'retry, 6 tries, 500 to 30000 ms, wait 3600000 ms',
  provider_unavailable: 'retry, 5 tries, 200 to 30000 ms, wait 3600000 ms',
  provider_timeout: 'retry, 3 tries, 200 to 30000 ms, wait 3600000 ms',
  malformed_output: 'retry, 3 tries, 50 to 1000 ms, wait 0 ms',
  worker_lost: 'restart, 3 times',
  out_of_memory: 'restart, 1 times',
  provider_refused: 'fail',
  context_overflow: 'fail',
  refusal: 'fail',
  output_truncated: 'fail',
  tool_timeout: 'fail',
  tool_crash: 'fail',
  iterations_exhausted: 'fail',
  budget_exceeded: 'fail',
  growth_exceeded: 'fail',
  no_progress: 'fail',
  deadline_exceeded: 'fail',
  evidence_missing: 'fail',
  empty_output: 'fail',
  output_invalid: 'fail',
  tool_choice_unmet: 'fail',
  cancelled: 'fail',
  invalid_configuration: 'fail',
  internal: 'fail',
}

function said(name: FailureClass): string {
  const policy: FailurePolicy = failurePolicies[name]
  switch (policy.action) {
    case 'retry':
      return `retry, ${policy.triesMax} tries, ${policy.pauseMsMin} to ${policy.pauseMsMax} ms, wait ${policy.waitMsMax} ms`
    case 'restart':
      return `restart, ${policy.restartsMax} times`
    case 'fail_run':
      return 'fail'
    default:
      return policy satisfies never
  }
}

describe('failurePolicies', () => {
  it('has a policy for every class, and for nothing else (F1)', () => {
    expect(Object.keys(failurePolicies).toSorted()).toEqual(failureClass.options.toSorted())
    expect(Object.keys(table).toSorted()).toEqual(failureClass.options.toSorted())
  })

  it.each(failureClass.options)('%s', (name) => expect(said(name)).toBe(table[name]))

  it('bounds every retry in time, and every restart (F2)', () => {
    const tryMs = 120_000
    const times = Object.fromEntries(
      failureClass.options
        .map((name) => [name, retryTimeMsMax(failurePolicies[name], tryMs)])
        .filter(([, ms]) => ms !== null),
    )
    expect(times).toEqual({
      rate_limited: 3_720_000,
      provider_unavailable: 3_720_000,
      provider_timeout: 3_720_000,
      malformed_output: 360_300,
    })
    for (const policy of Object.values(failurePolicies))
      if (policy.action === 'restart') expect(policy.restartsMax).toBeLessThanOrEqual(3)
  })
})

describe('policiesWith', () => {
  it('changes only what is named, and keeps the action of every class', () => {
    const changed = policiesWith({
      retries: {
        malformed_output: { triesMax: 9 },
        worker_lost: { restartsMax: 0 },
        provider_refused: { triesMax: 5 },
      },
      outageMsMax: 7,
      limitMsMax: 8,
    })
    expect(changed.malformed_output).toEqual({ ...failurePolicies.malformed_output, triesMax: 9 })
    expect(changed.worker_lost).toEqual({ action: 'restart', restartsMax: 0 })
    expect(changed.provider_refused).toEqual({ action: 'fail_run' })
    expect([changed.provider_unavailable, changed.provider_timeout, changed.rate_limited]).toMatchObject([
      { waitMsMax: 7 },
      { waitMsMax: 7 },
      { waitMsMax: 8 },
    ])
    expect(policiesWith({})).toEqual(failurePolicies)
  })
})

describe('retryPauseMs without a wait', () => {
  const policy = { action: 'retry', triesMax: 5, pauseMsMin: 100, pauseMsMax: 1000, waitMsMax: 0 } as const
  const pauseOf = (failed: { tries: number; random: number; retryAfterMs?: number }): number | null =>
    retryPauseMs(policy, { waitedMs: 0, ...failed })

  it('is null after the last try', () => {
    expect(pauseOf({ tries: 4, random: 0 })).toBe(100)
    expect(pauseOf({ tries: 5, random: 0 })).toBeNull()
    expect(pauseOf({ tries: 6, random: 0 })).toBeNull()
  })

  it('is null for a policy that does not retry', () => {
    for (const other of [{ action: 'fail_run' }, { action: 'restart', restartsMax: 3 }] as const)
      expect(retryPauseMs(other, { tries: 1, waitedMs: 0, random: 0 })).toBeNull()
  })

  it('doubles its ceiling with every try, up to the maximum', () => {
    expect([1, 2, 3, 4].map((tries) => pauseOf({ tries, random: 1 - Number.EPSILON }))).toEqual([
      200, 400, 800, 1000,
    ])
  })

  it('is at least as long as the server asks, but never longer than the policy allows', () => {
    expect(pauseOf({ tries: 1, random: 0, retryAfterMs: 700 })).toBe(700)
    expect(pauseOf({ tries: 1, random: 0, retryAfterMs: 60_000 })).toBe(1000)
    expect(pauseOf({ tries: 1, random: 0.5, retryAfterMs: 1 })).toBe(150)
  })

  it('differs between two clients with different random numbers', () => {
    expect(
      new Set(Array.from({ length: 20 }, (_, index) => pauseOf({ tries: 3, random: index / 20 }))).size,
    ).toBe(20)
  })
})

describe('retryPauseMs with a wait', () => {
  const policy = failurePolicies.provider_unavailable
  const unavailable = (failed: { tries: number; waitedMs: number; random?: number; retryAfterMs?: number }) =>
    retryPauseMs(policy, { random: 0.5, ...failed })

  it('continues after the tries until the wait is over, with pauses between half the ceiling and the ceiling', () => {
    expect(unavailable({ tries: 9, waitedMs: 60_000, random: 0 })).toBe(15_000)
    expect(unavailable({ tries: 90, waitedMs: 1_800_000, random: 1 - Number.EPSILON })).toBe(30_000)
    expect(unavailable({ tries: 5, waitedMs: 3_590_000 })).toBe(4_800)
    expect(unavailable({ tries: 90, waitedMs: 3_590_000 })).toBe(10_000)
    expect(unavailable({ tries: 90, waitedMs: 3_600_000 })).toBeNull()
  })

  it('allows all tries, however long they take', () => {
    expect(unavailable({ tries: 4, waitedMs: 4_000_000, random: 0 })).toBe(200)
    expect(unavailable({ tries: 5, waitedMs: 4_000_000 })).toBeNull()
  })

  it('waits as long as a server asks, and until a circuit breaker allows a try, within the limit of the wait', () => {
    expect(unavailable({ tries: 1, waitedMs: 0, retryAfterMs: 40_000 })).toBe(40_000)
    expect(unavailable({ tries: 50, waitedMs: 3_000_000, retryAfterMs: 86_400_000 })).toBe(600_000)
  })
})

it('keeps every pause within its bounds, and ends a call that always fails within the time of its policy, for every policy', () => {
  const draw = fc.record({
    triesMax: fc.integer({ min: 1, max: 8 }),
    pauseMsMin: fc.integer({ min: 1, max: 1_000 }),
    longer: fc.integer({ min: 0, max: 60_000 }),
    waitMsMax: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 600_000 })),
    tryMs: fc.integer({ min: 0, max: 10_000 }),
    chances: fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { minLength: 1 }),
  })
  fc.assert(
    fc.property(draw, ({ triesMax, pauseMsMin, longer, waitMsMax, tryMs, chances }) => {
      const policy = {
        action: 'retry',
        triesMax,
        pauseMsMin,
        pauseMsMax: pauseMsMin + longer,
        waitMsMax,
      } as const
      let waitedMs = 0
      let tries = 0
      for (let pause: number | null = 0; pause !== null; waitedMs += pause ?? 0) {
        waitedMs += tryMs
        tries++
        pause = retryPauseMs(policy, { tries, waitedMs, random: chances[tries % chances.length] as number })
        if (pause === null) break
        expect(Number.isInteger(pause) && pause >= 1 && pause <= policy.pauseMsMax).toBe(true)
      }
      expect(tries).toBeGreaterThanOrEqual(triesMax)
      expect(waitedMs).toBeGreaterThanOrEqual(waitMsMax)
      expect(waitedMs).toBeLessThanOrEqual(retryTimeMsMax(policy, tryMs) as number)
    }),
    { numRuns: 500 },
  )
})
