import fc from 'fast-check'
import { expect, it, test } from 'vitest'
import { costOf, exactCostOf } from './cost.ts'
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
  expect(costOf('gpt-5-mini', { input_tokens: 12_000, output_tokens: 3_000, calls: 4 })).toBeCloseTo(
    0.012 * 0.25 + 0.003 * 2,
    12,
  )
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
  const own = {
    'gpt-5': { input: 1, output: 1 },
    qwen3: { input: 0.5, output: 2 },
    local: { input: 0, output: 0 },
  }
  expect(costOf('gpt-5-2025-08-07', million, { configured: own })).toBe(1)
  expect(costOf('gpt-5-mini', million, { configured: own })).toBe(0.25)
  expect(costOf('qwen3:latest', million, { configured: own })).toBe(0.5)
  expect(costOf('local', million, { configured: own })).toBe(0)
})

it('gives every snapshot of a model the model’s price (C2)', () => {
  const suffix = fc.constantFrom('', '-2025-08-07', '-20250929', '-0613', '-latest', '@20250514')
  fc.assert(
    fc.property(fc.constantFrom(...Object.keys(modelPrices)), suffix, fc.nat(1e9), (name, dated, tokens) => {
      const usage = { input_tokens: tokens, output_tokens: 7, calls: 1 }
      return costOf(name + dated, usage) === costOf(name, usage)
    }),
    { numRuns: 500 },
  )
})

const priced = {
  input: 1,
  output: 10,
  cached_input: 0.1,
  cache_write: 1.25,
  reasoning: 20,
  audio_input: 5,
  audio_output: 40,
}
const parts = {
  cached_input_tokens: 400_000,
  cache_write_tokens: 100_000,
  reasoning_tokens: 200_000,
  audio_input_tokens: 50_000,
  audio_output_tokens: 10_000,
}
const split = { input_tokens: 1_000_000, output_tokens: 500_000, calls: 1, ...parts }

it('prices each part of the tokens once (C3)', () => {
  const cost = costOf('m', split, { configured: { m: priced } })
  // 0.04 + 0.125 + 0.25 + 0.45 of the input, 4 + 0.4 + 2.9 of the output.
  expect(cost).toBe(8.165)
  const { input, output } = priced
  expect(costOf('m', split, { configured: { m: { input, output } } })).toBe(1 + 5)
})

it('has the price of the day, and no price before the first one (C5)', () => {
  const imported = {
    m: [
      { from: '2026-11-01', input: 2, output: 2 },
      { from: '2026-03-01', input: 4, output: 4 },
    ],
  }
  const on = (day?: string) => costOf('m', million, { imported }, day)
  expect([on('2026-02-28'), on('2026-03-01'), on('2026-10-31'), on('2026-11-01'), on()]).toEqual([
    null,
    4,
    4,
    2,
    2,
  ])
  // Before an import, a known model has the price that Beaver knows.
  const known = { imported: { 'gpt-5': [{ from: '2026-11-01', input: 9, output: 9 }] } }
  expect([
    costOf('gpt-5', million, known, '2026-10-31'),
    costOf('gpt-5', million, known, '2026-11-01'),
  ]).toEqual([1.25, 9])
})

it('adds up exactly, in any order (C4)', () => {
  const cost = (input_tokens: number) =>
    exactCostOf(
      'm',
      { input_tokens, output_tokens: 1, calls: 1 },
      { configured: { m: { input: 0.1, output: 0.3 } } },
    ) ?? -1n
  expect(cost(3) + cost(7) + cost(11)).toBe(cost(11) + cost(3) + cost(7))
  expect(cost(3) + cost(7)).toBe(1_600_000n)
})
