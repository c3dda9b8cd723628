import { describe, expect, it } from 'vitest'
import { amountIn, budgetOffers, typedAmount } from './offer.ts'

describe('the amounts that a person is offered', () => {
  it.each([
    ['usd', 5, 0.02, [0.5, 5]],
    ['usd', 0.7, 0.03, [0.1, 0.7]],
    ['usd', 0.5, 0.8, [1]],
    ['usd', 0, 0.003, [0.01]],
    ['tokens', 5_000_000, 4_000, [500_000, 5_000_000]],
    ['model_calls', 1, 1, [1]],
    ['model_calls', 30, 1, [5, 30]],
    ['wall_ms', 3_600_000, 1, [500_000, 3_600_000]],
  ] as const)('of %s with the limit %d and the need %d are %j', (measure, limit, needed, offers) =>
    expect(budgetOffers({ measure, limit, needed })).toEqual(offers),
  )

  it('are read again as they are shown', () => {
    for (const [measure, amount] of [
      ['usd', 0.5],
      ['tokens', 50_000],
      ['model_calls', 1],
      ['tool_calls', 20],
      ['wall_ms', 90_000],
    ] as const)
      expect(amountIn(typedAmount(measure, amount), 'usd')).toEqual({ [measure]: amount })
  })
})

describe('an amount that a person wrote', () => {
  it.each([
    ['0.50', 'usd', { usd: 0.5 }],
    [' $5 ', 'tokens', { usd: 5 }],
    ['5 USD', 'tokens', { usd: 5 }],
    ['50000', 'tokens', { tokens: 50_000 }],
    ['50,000 tokens', 'usd', { tokens: 50_000 }],
    ['1 model call', 'usd', { model_calls: 1 }],
    ['10 min', 'usd', { wall_ms: 600_000 }],
    ['90', 'wall_ms', { wall_ms: 90_000 }],
    ['1.005 s', 'usd', { wall_ms: 1_005 }],
    ['0,50', 'usd', null],
    ['0.5 tokens', 'usd', null],
    ['0', 'usd', null],
    ['-1', 'usd', null],
    ['5 EUR', 'usd', null],
    ['$5 tokens', 'usd', null],
    ['5 if Bob agrees', 'usd', null],
    ['5?', 'usd', null],
    ['', 'usd', null],
  ] as const)('%j, if %s is used up, gives %j', (text, measure, read) =>
    expect(amountIn(text, measure)).toEqual(read),
  )
})
