import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type FailureClass, failureClass, failurePolicies, retryPauseMs } from './failure-class.ts'

// What the supervisor does about each class, as an operator would read it.
const table: Record<FailureClass, string> = {
  rate_limited: 'retry, 6 tries, 500 to 30000 ms',
  provider_unavailable: 'retry, 5 tries, 200 to 10000 ms',
  provider_timeout: 'retry, 3 tries, 200 to 5000 ms',
  malformed_output: 'retry, 3 tries, 50 to 1000 ms',
  worker_lost: 'restart, 3 times',
  out_of_memory: 'restart, 1 times',
  provider_refused: 'fail',
  context_overflow: 'fail',
  refusal: 'fail',
  tool_timeout: 'fail',
  tool_crash: 'fail',
  iterations_exhausted: 'fail',
  budget_exceeded: 'fail',
  deadline_exceeded: 'fail',
  evidence_missing: 'fail',
  empty_output: 'fail',
  cancelled: 'fail',
  internal: 'fail',
}

function said(name: FailureClass): string {
  const policy = failurePolicies[name]
  switch (policy.action) {
    case 'retry':
      return `retry, ${policy.triesMax} tries, ${policy.pauseMsMin} to ${policy.pauseMsMax} ms`
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

  it('bounds every retry and restart (F2)', () => {
    for (const policy of Object.values(failurePolicies)) {
      if (policy.action === 'retry') expect(policy.triesMax * policy.pauseMsMax).toBeLessThanOrEqual(180_000)
      if (policy.action === 'restart') expect(policy.restartsMax).toBeLessThanOrEqual(3)
    }
  })
})

describe('retryPauseMs', () => {
  const retries = Object.values(failurePolicies).filter((policy) => policy.action === 'retry')
  const policy = { action: 'retry', triesMax: 5, pauseMsMin: 100, pauseMsMax: 1000 } as const

  it('is null when the tries are used up', () => {
    expect(retryPauseMs(policy, { tries: 4, random: 0 })).toBe(100)
    expect(retryPauseMs(policy, { tries: 5, random: 0 })).toBeNull()
    expect(retryPauseMs(policy, { tries: 6, random: 0 })).toBeNull()
  })

  it('is null for a policy that does not retry', () => {
    expect(retryPauseMs({ action: 'fail_run' }, { tries: 1, random: 0 })).toBeNull()
    expect(retryPauseMs({ action: 'restart', restartsMax: 3 }, { tries: 1, random: 0 })).toBeNull()
  })

  it('doubles its ceiling with every try, up to the most', () => {
    const ceilings = [1, 2, 3, 4].map((tries) => retryPauseMs(policy, { tries, random: 1 - Number.EPSILON }))
    expect(ceilings).toEqual([200, 400, 800, 1000])
  })

  it('waits at least as long as the server asks, but never longer than the policy allows', () => {
    expect(retryPauseMs(policy, { tries: 1, random: 0, retryAfterMs: 700 })).toBe(700)
    expect(retryPauseMs(policy, { tries: 1, random: 0, retryAfterMs: 60_000 })).toBe(1000)
    expect(retryPauseMs(policy, { tries: 1, random: 0.5, retryAfterMs: 1 })).toBe(150)
  })

  it('stays within the bounds of its policy, whatever the chance and the wish of the server', () => {
    const draw = fc.record({
      policy: fc.constantFrom(...retries),
      tries: fc.integer({ min: 1, max: 8 }),
      random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      retryAfterMs: fc.nat(100_000),
    })
    fc.assert(
      fc.property(draw, fc.boolean(), ({ policy: each, tries, random, retryAfterMs }, asked) => {
        const pause = retryPauseMs(each, { tries, random, ...(asked ? { retryAfterMs } : {}) })
        expect(pause === null).toBe(tries >= each.triesMax)
        if (pause === null) return
        expect(Number.isInteger(pause)).toBe(true)
        expect(pause).toBeGreaterThanOrEqual(each.pauseMsMin)
        expect(pause).toBeLessThanOrEqual(each.pauseMsMax)
        if (asked) expect(pause).toBeGreaterThanOrEqual(Math.min(retryAfterMs, each.pauseMsMax))
        else expect(pause).toBeLessThanOrEqual(each.pauseMsMin * 2 ** tries)
      }),
      { seed: 9, numRuns: 500 },
    )
  })

  it('spreads: two clients with other chances do not wait the same', () => {
    const pauses = new Set(Array.from({ length: 20 }, (_, index) => retryPauseMs(policy, { tries: 3, random: index / 20 })))
    expect(pauses.size).toBe(20)
  })
})
