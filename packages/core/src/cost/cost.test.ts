import fc from 'fast-check'
import { expect, it, test } from 'vitest'
import { costOf } from './cost.ts'
import { modelPrices } from './model-prices.ts'

const million = { input_tokens: 1_000_000, output_tokens: 0, calls: 1 }

test.each<[string, number | null]>([
  ['gpt-5-mini', 0.25],
  ['gpt-5-mini-2025-08-07', 0.25],
  ['gpt-5', 1.25],
  ['gpt-5-2025-08-07', 1.25],
  ['gpt-5.1', 1.25],
  ['openai/gpt-5-nano', 0.05],
  ['claude-sonnet-4-5-20250929', 3],
  ['anthropic/claude-sonnet-4.5', 3],
  ['claude-opus-4-20250514', 15],
  ['claude-opus-4-5', 5],
  ['claude-3-5-haiku-latest', 0.8],
  ['GPT-4o-2024-11-20', 2.5],
  ['gpt-5.99', null],
  ['gpt-5-huge', null],
  ['claude-opus-4-9', null],
  ['gpt', null],
  ['', null],
  ['llama-of-my-own', null],
  ['__proto__', null],
  ['constructor', null],
])('a million input tokens of %j cost %j', (model, cost) => expect(costOf(model, million)).toBe(cost))

it('adds the cost of input and output', () => {
  expect(costOf('gpt-5-mini', { input_tokens: 12_000, output_tokens: 3_000, calls: 4 })).toBeCloseTo(0.012 * 0.25 + 0.003 * 2, 12)
})

it('is zero for the simulated model, whatever usage it reports', () => {
  expect(costOf('beaver-simulated-1', million)).toBe(0)
  expect(costOf('beaver-simulated-1', { input_tokens: 0, output_tokens: 0, calls: 2 })).toBe(0)
})

it('is unknown, not zero, if calls were made and no tokens were reported (C1)', () => {
  expect(costOf('gpt-5', { input_tokens: 0, output_tokens: 0, calls: 1 })).toBeNull()
  expect(costOf('gpt-5', { input_tokens: 0, output_tokens: 0, calls: 0 })).toBe(0)
})

it('uses a configured price before the known one, and for models that are not known', () => {
  const own = { 'gpt-5': { input: 1, output: 1 }, qwen3: { input: 0.5, output: 2 }, local: { input: 0, output: 0 } }
  expect(costOf('gpt-5-2025-08-07', million, own)).toBe(1)
  expect(costOf('gpt-5-mini', million, own)).toBe(0.25)
  expect(costOf('qwen3:latest', million, own)).toBe(0.5)
  expect(costOf('local', million, own)).toBe(0)
})

it('gives every snapshot of a model the model’s price (C2)', () => {
  const suffix = fc.constantFrom('', '-2025-08-07', '-20250929', '-0613', '-latest', '@20250514')
  fc.assert(
    fc.property(fc.constantFrom(...Object.keys(modelPrices)), suffix, fc.nat(1e9), (name, dated, tokens) => {
      const usage = { input_tokens: tokens, output_tokens: 7, calls: 1 }
      return costOf(name + dated, usage) === costOf(name, usage)
    }),
    { seed: 4, numRuns: 500 },
  )
})
