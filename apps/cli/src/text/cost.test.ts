import type { ModelUsage } from '@beaver/contracts'
import { describe, expect, test } from 'vitest'
import { costCell, costOfAll, costText, partsText, usdText } from './cost.ts'

const used = (model: string | null, input_tokens = 1_000_000, output_tokens = 0): ModelUsage => ({
  provider: 'p',
  model,
  input_tokens,
  output_tokens,
  calls: 1,
})
const prices = { configured: { cheap: { input: 1, output: 2 }, dear: { input: 10, output: 20 } } }
const told = (...all: ModelUsage[]): [string, string] => {
  const cost = costOfAll(all, prices)
  return [costText(cost), costCell(cost)]
}

describe('a cost', () => {
  test('adds up over models, at the prices of the configuration', () =>
    expect(told(used('cheap'), used('dear', 0, 500_000))).toEqual(['$11.00', '$11.00']))

  test('is unknown for a model nobody knows, never nothing', () =>
    expect(told(used('no-such-model'))).toEqual(['cost unknown (no-such-model)', 'unknown']))

  test('is "at least" when a part is not known', () => {
    expect(told(used('cheap'), used('no-such-model'), used(null))).toEqual([
      'at least $1.00 (unknown: no-such-model, other models)',
      '>$1.00',
    ])
  })

  test('has the price of the named model that was asked, whatever its server calls it', () => {
    const named = new Map([['deep', { input: 5, output: 5 }]])
    const cost = (provider: string, model: string | null) =>
      costText(costOfAll([{ ...used(model), provider }], { ...prices, named }))
    expect([
      cost('openai-compatible:deep', '/models/deep.gguf'),
      cost('openai:deep', 'cheap'),
      cost('openai:deep', null),
    ]).toEqual(['$5.00', '$5.00', '$5.00'])
    expect([cost('openai:other', 'cheap'), cost('deep', 'cheap'), cost('openai:constructor', 'x')]).toEqual([
      '$1.00',
      '$1.00',
      'cost unknown (x)',
    ])
  })

  test('is none for the simulated model, and nothing is said where nothing was used', () => {
    expect(told(used('beaver-simulated-1'))).toEqual(['no cost', '$0'])
    expect(told()).toEqual(['', ''])
  })
})

test.each([
  [0, '$0'],
  [0.00001, '<$0.0001'],
  [0.00123, '$0.0013'],
  [0.1234, '$0.1234'],
  [12.345, '$12.35'],
])('%d USD is %s', (usd, text) => expect(usdText(usd)).toBe(text))

test('what of the tokens was cached, thoughts or audio', () => {
  const usage = {
    input_tokens: 1000,
    output_tokens: 300,
    calls: 1,
    cached_input_tokens: 825,
    cache_write_tokens: 100,
    reasoning_tokens: 200,
  }
  expect(partsText(usage)).toBe(
    '82% of the input from a cache, 100 written to a cache, 200 of the output thoughts',
  )
  expect(partsText({ input_tokens: 1_000_000, cached_input_tokens: 1, audio_output_tokens: 7 })).toBe(
    '<1% of the input from a cache, 7 audio',
  )
  expect(partsText({ input_tokens: 1000 })).toBe('')
  expect(partsText({ input_tokens: 9, unknown_calls: 2, estimated_calls: 1 })).toBe(
    'the tokens of 2 calls not known, the tokens of 1 call estimated',
  )
})

test('a usage has the prices of its period, or else of the day', () => {
  const imported = {
    m: [
      { from: '2026-01-01', input: 4, output: 4 },
      { from: '2026-06-01', input: 2, output: 2 },
    ],
  }
  const cost = (since: string | undefined, day: string | null) =>
    costOfAll([{ ...used('m'), ...(since === undefined ? {} : { since }) }], { imported }, day).usd
  expect([
    cost('2026-06-01', '2026-02-01'),
    cost(undefined, '2026-02-01T10:00:00.000Z'),
    cost(undefined, null),
  ]).toEqual([2, 4, 2])
})
