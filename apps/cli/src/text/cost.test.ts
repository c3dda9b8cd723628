import type { ModelUsage } from '@beaver/contracts'
import { describe, expect, test } from 'vitest'
import { costCell, costOf, costText, partsText, usdText } from './cost.ts'

const used = (model: string | null, cost_usd: number | null, cost_usd_known?: number): ModelUsage => ({
  ...{ provider: 'p', model, input_tokens: 1_000_000, output_tokens: 0, calls: 1, cost_usd },
  ...(cost_usd_known === undefined ? {} : { cost_usd_known }),
})
const told = (
  cost_usd: number | null,
  all: readonly ModelUsage[],
  cost_usd_known?: number,
): [string, string] => {
  const cost = costOf({ cost_usd, cost_usd_known, usage_by_model: all })
  return [costText(cost), costCell(cost)]
}

describe('a cost', () => {
  test('is that of the answer', () =>
    expect(told(11, [used('cheap', 1), used('dear', 10)])).toEqual(['$11.00', '$11.00']))

  test('is unknown for a model nobody knows, never nothing', () =>
    expect(told(null, [used('no-such-model', null)])).toEqual(['cost unknown (no-such-model)', 'unknown']))

  test('is "at least" when a part is not known', () => {
    const all = [used('cheap', 1), used('no-such-model', null), used(null, null)]
    expect(told(null, all, 1)).toEqual(['at least $1.00 (unknown: no-such-model, other models)', '>$1.00'])
    expect(told(null, [used('cheap', null, 1)], 1)[0]).toBe('at least $1.00 (unknown: cheap)')
  })

  test('is unknown if an older version answers, which computes none', () => {
    const { cost_usd: _, ...old } = used('cheap', 1)
    expect(told(null, [old])).toEqual(['cost unknown (cheap)', 'unknown'])
  })

  test('is none for the simulated model, and nothing is said where nothing was used', () => {
    expect(told(0, [used('beaver-simulated-1', 0)])).toEqual(['no cost', '$0'])
    expect(told(0, [])).toEqual(['', ''])
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
