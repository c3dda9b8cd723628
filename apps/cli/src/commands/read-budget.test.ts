import { describe, expect, it } from 'vitest'
import { amountOf, readBudget } from './read-budget.ts'

describe('a budget that a person types', () => {
  it.each([
    ['0.50', { usd: 0.5 }],
    ['3', { usd: 3 }],
    [
      'usd=0.50,tokens=200000,model_calls=20,tool_calls=50,wall=10m',
      { usd: 0.5, tokens: 200_000, model_calls: 20, tool_calls: 50, wall_ms: 600_000 },
    ],
    [' tokens = 5 , wall = 90s ', { tokens: 5, wall_ms: 90_000 }],
    ['tool_calls=0', { tool_calls: 0 }],
  ])('%j is read', (text, limits) => expect(readBudget(text)).toEqual(limits))

  it.each([
    ['', '"" is no amount of usd'],
    ['cheap', '"cheap" is no amount of usd'],
    ['-1', '"-1" is no amount of usd'],
    ['1e9', '"1e9" is no amount of usd'],
    ['eur=1', '"eur=1" names no measure'],
    ['1,tokens=5', '"1" names no measure'],
    ['__proto__=1', 'names no measure'],
    ['usd=1=2', 'names no measure'],
    ['usd=1,usd=2', 'usd is there twice'],
    ['tokens=1.5', '"1.5" is no amount of tokens'],
    ['wall=10', '"10" is no amount of wall'],
    ['usd=1,', '"" names no measure'],
  ])('%j is refused, and the message says how to write one', (text, why) => {
    expect(() => readBudget(text)).toThrow(why)
    expect(() => readBudget(text)).toThrow('Write an amount of USD such as "0.50"')
  })

  it('has times with a unit', () => {
    expect(['500ms', '2s', '3m', '2h'].map((text) => amountOf('wall_ms', text))).toEqual([
      500, 2_000, 180_000, 7_200_000,
    ])
  })
})
