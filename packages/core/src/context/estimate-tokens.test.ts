import fc from 'fast-check'
import { expect, it, test } from 'vitest'
import { estimateTokens } from './estimate-tokens.ts'

test.each([
  ['', 0],
  ['a', 1],
  ['four', 1],
  ['fives', 2],
  ['比较两家公司', 6],
  ['ひらがなカタカナ', 8],
  ['한국어', 3],
  ['a 比较', 3],
  ['ＡＢＣ', 3],
  ['é'.repeat(8), 2],
])('%j is about %d tokens', (text, tokens) => expect(estimateTokens(text)).toBe(tokens))

it('estimates two texts together at no more than the sum, and at no less than the larger one', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (a, b) => {
      const together = estimateTokens(a + b)
      expect(together).toBeLessThanOrEqual(estimateTokens(a) + estimateTokens(b))
      expect(together).toBeGreaterThanOrEqual(Math.max(estimateTokens(a), estimateTokens(b)))
    }),
  )
})
