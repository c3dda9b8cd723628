import fc from 'fast-check'
import { expect, it } from 'vitest'
import { addUsage, noUsage, usageParts } from './usage.ts'
import { type Usage, usage } from './chat.ts'

const count = fc.nat(1e6)
const part = fc.option(count, { nil: undefined })
const anyUsage: fc.Arbitrary<Usage> = fc.record({
  ...{ input_tokens: count, output_tokens: count, calls: count },
  ...{
    cached_input_tokens: part,
    cache_write_tokens: part,
    reasoning_tokens: part,
    audio_input_tokens: part,
    audio_output_tokens: part,
    unknown_calls: part,
    estimated_calls: part,
  },
})

it('adds each part to the same part', () => {
  fc.assert(
    fc.property(anyUsage, anyUsage, (one, other) => {
      const sum = addUsage(one, other)
      for (const name of usageParts) expect(sum[name] ?? 0).toBe((one[name] ?? 0) + (other[name] ?? 0))
      expect(usage.parse(sum)).toEqual(sum)
    }),
    { numRuns: 300 },
  )
})

it('writes the sum of usages without parts as it always was', () => {
  const plain = { input_tokens: 1, output_tokens: 2, calls: 1 }
  expect(JSON.stringify(addUsage(addUsage(noUsage, plain), { ...plain, reasoning_tokens: 0 }))).toBe(
    '{"input_tokens":2,"output_tokens":4,"calls":2}',
  )
})
