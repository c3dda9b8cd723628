import type { Usage } from '@beaver/core'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { wireUsage } from './wire-shapes.ts'
import { usageOf } from './wire-usage.ts'

const read = (wire: unknown): Omit<Usage, 'calls'> => {
  const { calls, ...tokens } = usageOf(wireUsage.parse(wire))
  expect(calls).toBe(1)
  return tokens
}
const of = (input: number, output: number, parts: Partial<Usage> = {}) => ({
  input_tokens: input,
  output_tokens: output,
  ...parts,
})

const unknown = { unknown_calls: 1 }

describe('reads the usage of', () => {
  // The figures are those of the source that wire-usage.ts names, where it has figures.
  test.each<[string, unknown, ReturnType<typeof of>]>([
    [
      'OpenAI',
      {
        prompt_tokens: 2006,
        completion_tokens: 300,
        total_tokens: 2306,
        prompt_tokens_details: { cached_tokens: 1920, audio_tokens: 0 },
        completion_tokens_details: {
          reasoning_tokens: 128,
          audio_tokens: 0,
          accepted_prediction_tokens: 0,
          rejected_prediction_tokens: 0,
        },
      },
      of(2006, 300, { cached_input_tokens: 1920, reasoning_tokens: 128 }),
    ],
    [
      'OpenAI with audio',
      {
        prompt_tokens: 120,
        completion_tokens: 90,
        total_tokens: 210,
        prompt_tokens_details: { audio_tokens: 100 },
        completion_tokens_details: { audio_tokens: 70 },
      },
      of(120, 90, { audio_input_tokens: 100, audio_output_tokens: 70 }),
    ],
    [
      'OpenRouter',
      {
        prompt_tokens: 194,
        completion_tokens: 2,
        total_tokens: 196,
        cost: 0.95,
        prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 100, audio_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 0 },
      },
      of(194, 2, { cache_write_tokens: 100 }),
    ],
    [
      'DeepSeek',
      {
        prompt_tokens: 1000,
        completion_tokens: 50,
        total_tokens: 1050,
        prompt_cache_hit_tokens: 896,
        prompt_cache_miss_tokens: 104,
        completion_tokens_details: { reasoning_tokens: 40 },
      },
      of(1000, 50, { cached_input_tokens: 896, reasoning_tokens: 40 }),
    ],
    [
      'Kimi',
      {
        prompt_tokens: 2989,
        completion_tokens: 20,
        total_tokens: 3009,
        cached_tokens: 2989,
        prompt_tokens_details: { cached_tokens: 2989 },
      },
      of(2989, 20, { cached_input_tokens: 2989 }),
    ],
    [
      'DashScope',
      {
        prompt_tokens: 1800,
        completion_tokens: 30,
        total_tokens: 1830,
        prompt_tokens_details: {
          cached_tokens: 0,
          cache_creation_input_tokens: 1500,
          cache_type: 'ephemeral',
        },
      },
      of(1800, 30, { cache_write_tokens: 1500 }),
    ],
    [
      'LiteLLM',
      {
        prompt_tokens: 2006,
        completion_tokens: 300,
        total_tokens: 2306,
        prompt_tokens_details: { cached_tokens: 1920 },
        cache_read_input_tokens: 1920,
        cache_creation_input_tokens: 40,
      },
      of(2006, 300, { cached_input_tokens: 1920, cache_write_tokens: 40 }),
    ],
    [
      'LiteLLM that writes beside the prompt',
      {
        completion_tokens: 467,
        prompt_tokens: 31,
        total_tokens: 498,
        prompt_tokens_details: { cached_tokens: 0 },
        cache_creation_input_tokens: 1253,
        cache_read_input_tokens: 0,
      },
      of(1284, 467, { cache_write_tokens: 1253 }),
    ],
    [
      'a gateway that counts its cache only in the total',
      { prompt_tokens: 2000, completion_tokens: 100, total_tokens: 3600, cache_read_input_tokens: 1500 },
      of(3500, 100, { cached_input_tokens: 1500 }),
    ],
    [
      'xAI',
      {
        prompt_tokens: 10120,
        completion_tokens: 1499,
        total_tokens: 14428,
        prompt_tokens_details: { cached_tokens: 128 },
        completion_tokens_details: { reasoning_tokens: 2809 },
      },
      of(10120, 4308, { cached_input_tokens: 128, reasoning_tokens: 2809 }),
    ],
    [
      'xAI with few thoughts',
      {
        prompt_tokens: 32,
        completion_tokens: 94,
        total_tokens: 135,
        completion_tokens_details: { reasoning_tokens: 9 },
      },
      of(32, 103, { reasoning_tokens: 9 }),
    ],
    [
      'Gemini, thoughts only in the total',
      { prompt_tokens: 20, completion_tokens: 198, total_tokens: 623 },
      of(20, 603, { reasoning_tokens: 405 }),
    ],
    [
      'Gemini, nothing but thoughts',
      {
        completion_tokens: 0,
        total_tokens: 81,
        prompt_tokens: 21,
        completion_tokens_details: { reasoning_tokens: 60 },
      },
      of(21, 60, { reasoning_tokens: 60 }),
    ],
    [
      'SGLang',
      {
        prompt_tokens: 10,
        completion_tokens: 30,
        total_tokens: 40,
        prompt_tokens_details: null,
        reasoning_tokens: 20,
      },
      of(10, 30, { reasoning_tokens: 20 }),
    ],
    [
      'a server with the names of Responses',
      {
        input_tokens: 50,
        output_tokens: 20,
        total_tokens: 70,
        input_tokens_details: { cached_tokens: 30 },
        output_tokens_details: { reasoning_tokens: 5 },
      },
      of(50, 20, { cached_input_tokens: 30, reasoning_tokens: 5 }),
    ],
    [
      'a server with fractions and nulls',
      {
        prompt_tokens: 10.4,
        completion_tokens: 2.6,
        total_tokens: null,
        prompt_tokens_details: { cached_tokens: 4.2, audio_tokens: null },
        completion_tokens_details: null,
      },
      of(10, 3, { cached_input_tokens: 4 }),
    ],
    [
      'a server with parts that are no numbers',
      {
        prompt_tokens: 10,
        completion_tokens: 3,
        total_tokens: 'many',
        prompt_tokens_details: { cached_tokens: -4, audio_tokens: '7' },
        completion_tokens_details: [],
      },
      of(10, 3, { audio_input_tokens: 7 }),
    ],
    ['a server without parts', { prompt_tokens: 10, completion_tokens: 3, total_tokens: 13 }, of(10, 3)],
    ['a server that reports nothing', null, of(0, 0, unknown)],
    ['a server that reports an empty usage', {}, of(0, 0, unknown)],
    ['a server whose usage is a list', [10], of(0, 0, unknown)],
    ['a server whose usage is a text', '10', of(0, 0, unknown)],
    ['a server that counts below zero', { prompt_tokens: -10, completion_tokens: 5 }, of(0, 5, unknown)],
    [
      'a server with lists and words',
      { prompt_tokens: [10], completion_tokens: 'ten', total_tokens: true },
      of(0, 0, unknown),
    ],
    [
      'a server that counts too much',
      { prompt_tokens: 9e15, completion_tokens: 5, total_tokens: 9e15 },
      of(0, 5, unknown),
    ],
    [
      'a server that leaves out the input, which follows',
      { prompt_tokens: null, completion_tokens: 5, total_tokens: 105 },
      of(100, 5),
    ],
    [
      'a server that leaves out the output, which follows',
      { prompt_tokens: 100, total_tokens: 105 },
      of(100, 5),
    ],
    [
      'a server whose total is smaller than its part',
      { completion_tokens: 500, total_tokens: 100 },
      of(0, 500, unknown),
    ],
    ['a server that reports only a total', { total_tokens: 105 }, of(0, 0, unknown)],
    ['a server with numbers as texts', { prompt_tokens: '10', completion_tokens: '5' }, of(10, 5)],
  ])('%s', (_, wire, expected) => expect(read(wire)).toEqual(expected))
})

it('writes a usage without parts as it always was (U3)', () => {
  expect(
    JSON.stringify(
      usageOf(
        wireUsage.parse({
          prompt_tokens: 1,
          completion_tokens: 2,
          prompt_tokens_details: { cached_tokens: 0 },
        }),
      ),
    ),
  ).toBe('{"input_tokens":1,"output_tokens":2,"calls":1}')
})

it('never gives a part that is larger than its total, and never less than the totals of the server (U1)', () => {
  const tokens = fc.option(
    fc.oneof(
      fc.nat(5000),
      fc.double({ min: 0, max: 5000, noNaN: true }),
      fc.constant(Number.MAX_SAFE_INTEGER),
    ),
    { nil: null },
  )
  const details = fc.option(
    fc.record(
      { cached_tokens: tokens, cache_write_tokens: tokens, audio_tokens: tokens, reasoning_tokens: tokens },
      { requiredKeys: [] },
    ),
  )
  const wire = fc.record(
    {
      ...{
        prompt_tokens: tokens,
        completion_tokens: tokens,
        total_tokens: tokens,
        prompt_tokens_details: details,
        completion_tokens_details: details,
      },
      ...{
        cache_read_input_tokens: tokens,
        cache_creation_input_tokens: tokens,
        cached_tokens: tokens,
        reasoning_tokens: tokens,
      },
    },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(wire, (reported) => {
      const usage = read(reported)
      for (const count of Object.values(usage) as number[])
        expect(Number.isSafeInteger(count) && count >= 0).toBe(true)
      expect((usage.cached_input_tokens ?? 0) + (usage.cache_write_tokens ?? 0)).toBeLessThanOrEqual(
        usage.input_tokens,
      )
      expect(usage.audio_input_tokens ?? 0).toBeLessThanOrEqual(usage.input_tokens)
      expect(Math.max(usage.reasoning_tokens ?? 0, usage.audio_output_tokens ?? 0)).toBeLessThanOrEqual(
        usage.output_tokens,
      )
      const sane = (count: number | null | undefined): number =>
        count !== null && count !== undefined && count <= 100_000_000 ? Math.round(count) : 0
      expect(usage.input_tokens).toBeGreaterThanOrEqual(sane(reported.prompt_tokens))
      expect(usage.output_tokens).toBeGreaterThanOrEqual(sane(reported.completion_tokens))
    }),
    { numRuns: 1000 },
  )
})
