import { describe, expect, test } from 'vitest'
import { costOfUsage, noPrices, priceTable, type UsageOfModel } from './usage-cost.ts'

const used = (model: string | null, of: Partial<UsageOfModel> = {}): UsageOfModel => ({
  ...{ provider: 'p', model, input_tokens: 1_000_000, output_tokens: 0, calls: 1 },
  ...of,
})
const configured = {
  cheap: { input: 1, output: 2 },
  dear: { input: 10, output: 20 },
  free: { input: 0, output: 0 },
}
const prices = priceTable({ configured })

describe('the cost of a usage', () => {
  test('adds up over models, at the prices of the configuration', () =>
    expect(
      costOfUsage([used('cheap'), used('dear', { input_tokens: 0, output_tokens: 500_000 })], prices),
    ).toEqual({ cost_usd: 11 }))

  test('is null and never 0 if no price is known', () => {
    expect(costOfUsage([used('no-such-model')], prices)).toEqual({ cost_usd: null })
    expect(costOfUsage([used('cheap')], noPrices)).toEqual({ cost_usd: null })
    expect(costOfUsage([used('free'), used('no-such-model')], prices)).toEqual({ cost_usd: null })
  })

  test('has its known part if the rest is not known', () => {
    const part = { cost_usd: null, cost_usd_known: 1 }
    expect(costOfUsage([used('cheap'), used(null)], prices)).toEqual(part)
    expect(costOfUsage([used('cheap', { unknown_calls: 2 })], prices)).toEqual(part)
    expect(costOfUsage([used('cheap'), used('cheap', { input_tokens: 0 })], prices)).toEqual(part)
  })

  test('is 0 where nothing was used, and where the price is 0', () => {
    expect(costOfUsage([], prices)).toEqual({ cost_usd: 0 })
    expect(costOfUsage([used('free', { unknown_calls: 1 })], prices)).toEqual({ cost_usd: 0 })
  })

  test('has the price of the named model that was asked, whatever its server calls it', () => {
    const named = new Map([['deep', { input: 5, output: 5 }]])
    const table = priceTable({ configured, named })
    const cost = (provider: string, model: string | null) =>
      costOfUsage([used(model, { provider })], table).cost_usd
    expect([
      cost('openai-compatible:deep', '/models/deep.gguf'),
      cost('openai:deep', 'cheap'),
      cost('openai:deep', null),
      cost('openai:other', 'cheap'),
      cost('deep', 'cheap'),
      cost('openai:constructor', 'x'),
    ]).toEqual([5, 5, 5, 1, 1, null])
  })

  test('has the prices of its own day, or else of the given one, or else the newest', () => {
    const dated = [
      { from: '2026-06-01', input: 2, output: 2 },
      { from: '2026-01-01', input: 4, output: 4 },
    ]
    const table = priceTable({ imported: { m: dated } })
    expect(table.days).toEqual(['2026-01-01', '2026-06-01'])
    const cost = (own: string | undefined, day: string | null) =>
      costOfUsage([used('m', { day: own })], table, day).cost_usd
    expect([
      cost('2026-06-01', '2026-02-01'),
      cost(undefined, '2026-02-01T10:00:00.000Z'),
      cost(undefined, null),
      cost(undefined, '2025-01-01'),
    ]).toEqual([2, 4, 2, null])
  })
})
