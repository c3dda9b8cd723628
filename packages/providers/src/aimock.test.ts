// Against a fake provider that others wrote: what it sends is not what we think a provider sends.
import { type ChatAnswer, type ChatProvider, type ChatRequest, ProviderError } from '@beaver/agent'
import { LLMock } from '@copilotkit/aimock'
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from 'vitest'
import { ask, failureOf } from '../test/kit.ts'
import { openAiChatProvider } from './openai-chat.ts'
import { openAiEmbeddings } from './provider-bundle.ts'

const mock = new LLMock({ port: 0, logLevel: 'silent' })
let provider: ChatProvider
const tools = [
  {
    name: 'get_weather',
    description: 'd',
    parameters: { type: 'object', properties: { city: { type: 'string' } } },
  },
]

beforeAll(async () => {
  mock.onMessage('hello', { content: 'Hi there, nice to meet you.' })
  mock.on(
    { userMessage: 'weather', hasToolResult: false },
    {
      toolCalls: [
        { name: 'get_weather', arguments: '{"city":"Oslo"}' },
        { name: 'get_weather', arguments: '{"city":"Bergen"}' },
      ],
    },
  )
  mock.on({ userMessage: 'weather', hasToolResult: true }, { content: 'Rain.' })
  mock.onMessage('busy', {
    error: { message: 'slow down', type: 'rate_limit_error' },
    status: 429,
    retryAfter: 3,
  })
  mock.onMessage('boom', { error: { message: 'x', type: 'server_error' }, status: 503 })
  mock.onMessage('key', {
    error: { message: 'Incorrect API key', type: 'invalid_request_error', code: 'invalid_api_key' },
    status: 401,
  })
  mock.onMessage(
    'cut',
    { content: 'A long answer that is cut off in its middle.' },
    { chunkSize: 4, truncateAfterChunks: 3 },
  )
  mock.onEmbedding('text', { embedding: [0.1, 0.2, 0.3] })
  await mock.start()
  provider = openAiChatProvider({
    name: 'aimock',
    baseURL: `${mock.url}/v1`,
    apiKey: 'sk-mock',
    model: 'gpt-5-mini',
    timeoutMs: 60_000,
    idleMs: 60_000,
  })
})
afterAll(() => mock.stop())
beforeEach(() => void mock.clearChaos())

const user = (content: string, over: Partial<ChatRequest> = {}): ChatRequest =>
  ask({ messages: [{ role: 'user', content }], ...over })
/** Both ways of asking. */
const ways: [string, Partial<ChatRequest>][] = [
  ['whole', {}],
  ['streamed', { onText: () => undefined }],
]

describe.each(ways)('an independent fake provider, asked for a %s answer', (_, how) => {
  it('answers with text and usage', async () => {
    const answer = await provider.chat(user('hello', how))
    expect(answer).toMatchObject({
      content: 'Hi there, nice to meet you.',
      toolCalls: [],
      finishReason: 'stop',
    })
    expect(answer.usage.output_tokens).toBeGreaterThan(0)
    expect(answer.usage.input_tokens).toBeGreaterThan(0)
  })

  it('calls tools side by side, and takes their results', async () => {
    const first = await provider.chat(user('weather', { ...how, tools }))
    expect(first.toolCalls).toMatchObject([
      { name: 'get_weather', arguments: '{"city":"Oslo"}' },
      { name: 'get_weather', arguments: '{"city":"Bergen"}' },
    ])
    expect(first.finishReason).toBe('tool_calls')
    const messages: ChatRequest['messages'] = [
      { role: 'user', content: 'weather' },
      { role: 'assistant', content: null, tool_calls: first.toolCalls },
      ...first.toolCalls.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: 'rain' })),
    ]
    expect(await provider.chat(ask({ ...how, messages, tools }))).toMatchObject({
      content: 'Rain.',
      toolCalls: [],
    })
  })

  test.each([
    ['busy', 'rate_limited', 429, 3_000],
    ['boom', 'provider_unavailable', 503, null],
    ['key', 'provider_refused', 401, null],
    ['nothing it knows', 'provider_refused', 404, null],
  ])('fails for %j as %s', async (text, failureClass, status, retryAfterMs) => {
    expect(await failureOf(provider.chat(user(text, how)))).toMatchObject({
      class: failureClass,
      status,
      retryAfterMs,
    })
  })

  test.each<[string, object, string]>([
    ['drops requests', { dropRate: 1 }, 'provider_unavailable'],
    ['answers nonsense', { malformedRate: 1 }, 'malformed_output'],
    ['hangs up', { disconnectRate: 1 }, 'provider_unavailable'],
    ['limits the rate', { rateLimitRate: 1 }, 'rate_limited'],
  ])('that %s leads to a classified failure', async (__, chaos, failureClass) => {
    mock.setChaos(chaos)
    expect((await failureOf(provider.chat(user('hello', how)))).class).toBe(failureClass)
  })

  it('with all faults at once always ends as an answer or a classified failure', async () => {
    mock.setChaos({ dropRate: 0.2, malformedRate: 0.25, disconnectRate: 0.3, rateLimitRate: 0.2 })
    const outcomes = await Promise.all(
      Array.from({ length: 80 }, () =>
        provider.chat(user('hello', how)).then(
          (answer: ChatAnswer) => answer.content === 'Hi there, nice to meet you.',
          (error: unknown) => error instanceof ProviderError,
        ),
      ),
    )
    expect(outcomes).toEqual(outcomes.map(() => true))
  })
})

it('brings the words of a streamed answer as they come', async () => {
  const texts: string[] = []
  const { content } = await provider.chat(user('hello', { onText: (text) => texts.push(text) }))
  expect(texts.length).toBeGreaterThan(1)
  expect(texts.join('')).toBe(content)
})

it('cut in the middle of a stream is provider_unavailable', async () => {
  expect((await failureOf(provider.chat(user('cut', { onText: () => undefined })))).class).toBe(
    'provider_unavailable',
  )
})

it('embeds texts', async () => {
  const embedder = openAiEmbeddings({
    name: 'aimock',
    baseURL: `${mock.url}/v1`,
    apiKey: 'sk-mock',
    model: 'text-embedding-3-small',
    timeoutMs: 60_000,
  })
  expect((await embedder.embed(['text'], new AbortController().signal)).vectors).toEqual([[0.1, 0.2, 0.3]])
})
