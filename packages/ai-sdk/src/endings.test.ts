// How answers of a model end, and what its errors mean.
import {
  APICallError,
  JSONParseError,
  type LanguageModelV4GenerateResult,
  LoadAPIKeyError,
} from '@ai-sdk/provider'
import { describe, expect, it, test } from 'vitest'
import { ask, failureOf, given, mock, text } from '../test/kit.ts'

describe('an answer ends with', () => {
  test.each([
    ['stop', undefined, 'stop'],
    ['stop', 'end_turn', 'end_turn'],
    ['stop', 'pause_turn', 'stop'],
    ['tool-calls', undefined, 'tool_calls'],
    ['length', 'max_output_tokens', 'max_output_tokens'],
    ['length', undefined, 'length'],
    ['length', 'model_context_window_exceeded', 'model_context_window_exceeded'],
    ['content-filter', 'SAFETY', 'SAFETY'],
    ['content-filter', undefined, 'content_filter'],
    ['error', 'stop', 'error'],
    ['interrupted', 'stop', 'not_finished'],
    ['other', 'cosmic_ray', 'cosmic_ray'],
    ['other', undefined, 'other'],
  ] as const)('%s (%s) as %s', async (unified, raw, expected) => {
    expect(
      (await mock(given([text('x')], { finishReason: { unified, raw } })).provider.chat(ask())).finishReason,
    ).toBe(expected)
  })

  test.each<
    [
      Partial<LanguageModelV4GenerateResult['usage']['inputTokens']>,
      Partial<LanguageModelV4GenerateResult['usage']['outputTokens']>,
      object,
    ]
  >([
    [{}, {}, { input_tokens: 0, output_tokens: 0, calls: 1, unknown_calls: 1 }],
    [
      { noCache: 3, cacheRead: 2 },
      { text: 1, reasoning: 4 },
      { input_tokens: 5, output_tokens: 5, calls: 1, cached_input_tokens: 2, reasoning_tokens: 4 },
    ],
    [{ total: 2.6 }, { total: NaN }, { input_tokens: 3, output_tokens: 0, calls: 1, unknown_calls: 1 }],
    [{ total: -1 }, { total: Infinity }, { input_tokens: 0, output_tokens: 0, calls: 1, unknown_calls: 1 }],
    [{ total: 0 }, { total: 0 }, { input_tokens: 0, output_tokens: 0, calls: 1 }],
  ])('the usage %j %j', async (input, output, expected) => {
    const none = { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined }
    const told = {
      inputTokens: { ...none, ...input },
      outputTokens: { total: undefined, text: undefined, reasoning: undefined, ...output },
    }
    expect((await mock(given([text('x')], { usage: told })).provider.chat(ask())).usage).toEqual(expected)
  })
})

describe('a model that fails', () => {
  const call = (over: Partial<ConstructorParameters<typeof APICallError>[0]>) =>
    new APICallError({
      message: 'said',
      url: 'https://api.example/v1/chat',
      requestBodyValues: { key: 'sk-secret' },
      ...over,
    })

  test.each<[string, unknown, object]>([
    [
      'too many requests',
      call({ statusCode: 429, responseHeaders: { 'retry-after': '3' } }),
      {
        class: 'rate_limited',
        status: 429,
        retryAfterMs: 3_000,
        message: expect.stringContaining('api.example') as string,
      },
    ],
    [
      'no money',
      call({ statusCode: 429, responseBody: '{"error":{"code":"insufficient_quota"}}' }),
      { class: 'provider_refused' },
    ],
    ['an overload', call({ statusCode: 529 }), { class: 'provider_unavailable', status: 529 }],
    [
      'a conversation that is too long',
      call({
        statusCode: 400,
        responseBody: '{"error":{"message":"prompt is too long: 9 tokens > 8 maximum"}}',
      }),
      { class: 'context_overflow' },
    ],
    [
      'a bad key',
      call({ statusCode: 401 }),
      { class: 'provider_refused', message: expect.stringContaining('check the key of mock.chat') as string },
    ],
    [
      'a bad request that may be tried again',
      call({ statusCode: 400, isRetryable: true }),
      { class: 'provider_unavailable' },
    ],
    [
      'a broken server that shall not be tried again',
      call({ statusCode: 500, isRetryable: false }),
      { class: 'provider_refused' },
    ],
    [
      'no connection',
      call({ isRetryable: true, cause: Object.assign(new Error('x'), { code: 'ECONNREFUSED' }) }),
      { class: 'provider_unavailable', message: expect.stringContaining('cannot be reached') as string },
    ],
    [
      'an answer that broke off',
      call({
        statusCode: 200,
        cause: new TypeError('terminated', {
          cause: Object.assign(new Error('x'), { code: 'UND_ERR_SOCKET' }),
        }),
      }),
      { class: 'provider_unavailable' },
    ],
    [
      'an answer that it cannot read',
      call({ statusCode: 200, message: 'Invalid JSON response' }),
      { class: 'malformed_output' },
    ],
    [
      'no key',
      new LoadAPIKeyError({ message: 'MOCK_API_KEY is missing' }),
      { class: 'provider_refused', message: expect.stringContaining('MOCK_API_KEY') as string },
    ],
    [
      'no JSON',
      new JSONParseError({ text: '{', cause: new SyntaxError('x') }),
      { class: 'malformed_output' },
    ],
    ['a defect', new TypeError('x is not a function'), { class: 'provider_refused' }],
    [
      'nothing that says what',
      new Error('hm'),
      { class: 'provider_unavailable', message: 'The endpoint of mock.chat failed: hm' },
    ],
  ])('by %s', async (_, error, expected) => {
    const failure = await failureOf(mock(() => Promise.reject(error as Error)).provider.chat(ask()))
    expect(failure).toMatchObject(expected)
    expect(JSON.stringify(failure) + failure.message).not.toContain('sk-secret')
  })

  it('names the tools whose schemas are refused', async () => {
    const refusal = call({
      statusCode: 400,
      responseBody: `{"error":{"message":"Invalid schema for function 'workflow-_sum': x"}}`,
    })
    const failure = await failureOf(
      mock(() => Promise.reject(refusal)).provider.chat(
        ask({ tools: [{ name: 'workflow:sum', description: 'd', parameters: {} }] }),
      ),
    )
    expect(failure.refusedTools).toMatchObject([{ name: 'workflow:sum' }])
  })

  it('gives no answer if what it gives cannot be read', async () => {
    for (const result of [undefined, {}, { content: 'x' }])
      expect((await failureOf(mock(async () => result as never).provider.chat(ask()))).class).toBe(
        'malformed_output',
      )
  })

  it('or that ignores the abort of its caller does not hold it up', async () => {
    const stop = new AbortController()
    const { provider, calls } = mock(() => new Promise(() => {}))
    const asked = provider.chat(ask({ signal: stop.signal }))
    stop.abort(new Error('enough'))
    await expect(asked).rejects.toThrow('enough')
    expect(calls).toHaveLength(1)
  })
})
