import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  addAmounts,
  type Amounts,
  amountText,
  noAmounts,
  raisedLimits,
  lowerLimits,
  usdUnits,
} from './amounts.ts'
import { grantCall, grantToolCall, type Standing } from './grant.ts'

const price = { input: 1, output: 10 }
const standing = (
  limits: Standing['limits'],
  used: Partial<Amounts> = {},
  reserved: Partial<Amounts> = {},
) => ({
  limits,
  used: { ...noAmounts, ...used },
  reserved: { ...noAmounts, ...reserved },
})
const usd = (amount: number): { usd: bigint } => ({ usd: usdUnits(amount) })

describe('a call of a model', () => {
  it('reserves its whole input and the longest answer that it asks for (G1)', () => {
    const grant = grantCall(
      [standing({ usd: 1, tokens: 100_000 })],
      { inputTokensMax: 1_000, outputTokensMax: 2_000 },
      price,
    )
    expect(grant).toEqual({
      kind: 'granted',
      outputTokensMax: 2_000,
      outputTokens: 2_000,
      amounts: { ...noAmounts, usd: usdUnits(0.001 + 0.02), tokens: 3_000, model_calls: 1 },
    })
  })

  it('is priced at the dearest of the prices of a side', () => {
    const dear = { input: 1, cache_write: 1.25, output: 10, reasoning: 20 }
    const grant = grantCall([standing({ usd: 1 })], { inputTokensMax: 1_000, outputTokensMax: 1_000 }, dear)
    expect(grant.kind === 'granted' && grant.amounts.usd).toBe(usdUnits(0.00125 + 0.02))
  })

  it('has an answer of at most a sixteenth of what is free, if the call bounds it (G2)', () => {
    const longest = (limits: Standing['limits'], used: Partial<Amounts> = {}): number | null => {
      const bound = { inputTokensMax: 0, outputTokensMax: 200_000 }
      const grant = grantCall([standing(limits, used)], bound, price)
      return grant.kind === 'granted' ? grant.outputTokensMax : -1
    }
    // 1 USD buys 100,000 tokens of an answer.
    expect(longest({ usd: 1 })).toBe(6_250)
    expect(longest({ usd: 100 })).toBe(200_000)
    expect(longest({ tokens: 160_000 })).toBe(10_000)
    // A small rest is not divided.
    expect(longest({ usd: 1 }, usd(0.97))).toBe(3_000)
    expect(longest({ usd: 1 }, usd(0.98976))).toBe(1_024)
    expect(longest({ usd: 1 }, usd(0.99))).toBe(-1)
  })

  it('leaves an answer unbounded that nobody bounds, until the longest one would not fit (G2)', () => {
    const unbounded = { inputTokensMax: 0, outputTokensMax: null }
    const grant = (limits: Standing['limits']) => grantCall([standing(limits)], unbounded, price)
    expect(grant({ usd: 10 })).toMatchObject({ outputTokensMax: null, outputTokens: 16_384 })
    expect(grant({ usd: 10, tokens: 131_071 })).toMatchObject({ outputTokensMax: 8_191, outputTokens: 8_191 })
    expect(grant({ usd: 1 })).toMatchObject({ outputTokensMax: 6_250, outputTokens: 6_250 })
  })

  it('waits for other calls if only their reservations are in the way, and exceeds the budget if they are not (G3)', () => {
    const bound = { inputTokensMax: 0, outputTokensMax: 10_000 }
    const decide = (used: Partial<Amounts>, reserved: Partial<Amounts>) =>
      grantCall([standing({ usd: 1, model_calls: 5 }, used, reserved)], bound, price)
    expect(decide(usd(0.5), usd(0.5))).toMatchObject({ kind: 'short', measure: 'usd', later: true })
    expect(decide(usd(0.995), usd(0))).toMatchObject({
      kind: 'short',
      measure: 'usd',
      later: false,
      needed: 0.01024,
    })
    expect(decide({ model_calls: 5 }, {})).toMatchObject({
      kind: 'short',
      measure: 'model_calls',
      later: false,
    })
    expect(decide({ model_calls: 4 }, { model_calls: 1 })).toMatchObject({
      measure: 'model_calls',
      later: true,
    })
  })

  it('names the budget that is used up before one that only waits', () => {
    const waits = standing({ model_calls: 1 }, {}, { model_calls: 1 })
    const over = standing({ tokens: 10 }, { tokens: 10 })
    const bound = { inputTokensMax: 1, outputTokensMax: 1 }
    expect(grantCall([waits, over], bound, price)).toMatchObject({
      budget: 1,
      measure: 'tokens',
      later: false,
    })
    expect(grantCall([over, waits], bound, price)).toMatchObject({ budget: 0, later: false })
  })

  it('has no place after the time is over, and costs nothing at a price of zero', () => {
    const bound = { inputTokensMax: 1, outputTokensMax: 1 }
    expect(grantCall([standing({ wall_ms: 100 }, { wall_ms: 100 })], bound, price)).toMatchObject({
      measure: 'wall_ms',
    })
    expect(grantCall([standing({ wall_ms: 100 }, { wall_ms: 99 })], bound, price).kind).toBe('granted')
    expect(grantCall([standing({ usd: 0 })], bound, { input: 0, output: 0 }).kind).toBe('granted')
    expect(grantCall([standing({ usd: 0 })], bound, price)).toMatchObject({ kind: 'short', measure: 'usd' })
  })

  it('never exceeds a limit with what is used and reserved (B1)', () => {
    const amount = fc.record({
      usd: fc.bigInt({ min: 0n, max: usdUnits(2) }),
      tokens: fc.nat(200_000),
      model_calls: fc.nat(5),
      tool_calls: fc.nat(5),
      wall_ms: fc.constant(0),
    })
    const limits = fc.record(
      { usd: fc.double({ min: 0, max: 2, noNaN: true }), tokens: fc.nat(200_000), model_calls: fc.nat(6) },
      { requiredKeys: [] },
    )
    const budgets = fc.array(fc.record({ limits, used: amount, reserved: amount }), {
      minLength: 1,
      maxLength: 3,
    })
    const bound = fc.record({
      inputTokensMax: fc.nat(100_000),
      outputTokensMax: fc.option(fc.integer({ min: 1, max: 200_000 }), { nil: null }),
    })
    const rate = fc.double({ min: 0, max: 100, noNaN: true })
    fc.assert(
      fc.property(budgets, bound, rate, rate, (standings, needs, input, output) => {
        const grant = grantCall(standings, needs, { input, output })
        if (grant.kind === 'short') return true
        return standings.every(({ limits: of, used, reserved }) => {
          const all = addAmounts(addAmounts(used, reserved), grant.amounts)
          return (
            (of.usd === undefined || all.usd <= usdUnits(of.usd)) &&
            (of.tokens === undefined || all.tokens <= of.tokens) &&
            (of.model_calls === undefined || all.model_calls <= of.model_calls)
          )
        })
      }),
      { seed: 38, numRuns: 2_000 },
    )
  })
})

it('a call of a tool needs one call', () => {
  expect(grantToolCall([standing({ tool_calls: 1 })]).kind).toBe('granted')
  expect(grantToolCall([standing({ tool_calls: 1 }, {}, { tool_calls: 1 })])).toMatchObject({ later: true })
  expect(grantToolCall([standing({ tool_calls: 1 }, { tool_calls: 1 })])).toMatchObject({ later: false })
})

it('amounts are told in words, and a rounded one never shows less than it is', () => {
  const told = (...amounts: number[]): string[] => amounts.map((each) => amountText('usd', each))
  expect(told(0, 10, 0.5, 0.1234, 0.12341, 0.00001, 1.001, 0.02)).toEqual([
    ...[
      '0.00 USD',
      '10.00 USD',
      '0.50 USD',
      '0.1234 USD',
      '0.1235 USD',
      '0.0001 USD',
      '1.01 USD',
      '0.02 USD',
    ],
  ])
  expect([amountText('wall_ms', 90_500), amountText('tool_calls', 1_000)]).toEqual([
    '90.5 s',
    '1,000 tool calls',
  ])
})

it('limits are raised and lowered by measure', () => {
  expect(raisedLimits({ usd: 1, tokens: 5 }, { usd: 0.5, tool_calls: 1 })).toEqual({ usd: 1.5, tokens: 5 })
  expect(lowerLimits({ usd: 10, tokens: 5 }, { usd: 2, tool_calls: 1 })).toEqual({
    usd: 2,
    tokens: 5,
    tool_calls: 1,
  })
})
