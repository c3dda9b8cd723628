import type { ModelUsage } from '@beaver/contracts'
import { describe, expect, test } from 'vitest'
import { costCell, costOfAll, costText, usdText } from './cost.ts'

const used = (model: string | null, input_tokens = 1_000_000, output_tokens = 0): ModelUsage => ({
  provider: 'p',
  model,
  input_tokens,
  output_tokens,
  calls: 1,
})
const prices = { cheap: { input: 1, output: 2 }, dear: { input: 10, output: 20 } }
const told = (...all: ModelUsage[]): [string, string] => {
  const cost = costOfAll(all, prices)
  return [costText(cost), costCell(cost)]
}

describe('a cost', () => {
  test('adds up over models, at the prices of the configuration', () => expect(told(used('cheap'), used('dear', 0, 500_000))).toEqual(['$11.00', '$11.00']))

  test('is unknown for a model nobody knows, never nothing', () => expect(told(used('no-such-model'))).toEqual(['cost unknown (no-such-model)', 'unknown']))

  test('is "at least" when a part is not known', () => {
    expect(told(used('cheap'), used('no-such-model'), used(null))).toEqual(['at least $1.00 (unknown: no-such-model, other models)', '>$1.00'])
  })

  test('is none for the simulated model, and nothing is said where nothing was used', () => {
    expect(told(used('beaver-simulated-1'))).toEqual(['no cost', '$0'])
    expect(told()).toEqual(['', ''])
  })
})

test.each([
  [0, '$0'],
  [0.00001, '<$0.0001'],
  [0.00123, '$0.0012'],
  [0.1234, '$0.123'],
  [12.345, '$12.35'],
])('%d USD is %s', (usd, text) => expect(usdText(usd)).toBe(text))
