// The Responses API against a fake provider that others wrote: what it sends is not what we think a provider
// sends.
import { type ChatAnswer, type ChatProvider, type ChatRequest, ProviderError } from '@beaver/agent'
import { LLMock } from '@copilotkit/aimock'
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from 'vitest'
import { ask, failureOf } from '../test/kit.ts'
import { answered } from '../test/responses-kit.ts'
import { openAiResponsesProvider } from './openai-responses.ts'

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
      reasoning: 'The user asks for two cities.',
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
  mock.onMessage(
    'cut',
    { content: 'A long answer that is cut off in its middle.' },
    { chunkSize: 4, truncateAfterChunks: 3 },
  )
  await mock.start()
  provider = openAiResponsesProvider({
    name: 'test',
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

describe.each(ways)('an independent fake of the Responses API, asked for a %s answer', (_, how) => {
  it('answers with text', async () => {
    const answer = await provider.chat(user('hello', how))
    expect(answer).toMatchObject({
      content: 'Hi there, nice to meet you.',
      toolCalls: [],
      finishReason: 'completed',
    })
  })

  it('calls tools side by side after a thought, and takes the thought and the results back', async () => {
    mock.clearRequests()
    const first = await provider.chat(user('weather', { ...how, tools }))
    expect(first.toolCalls).toMatchObject([
      { name: 'get_weather', arguments: '{"city":"Oslo"}' },
      { name: 'get_weather', arguments: '{"city":"Bergen"}' },
    ])
    expect(first.state).toMatchObject({
      response_output: [{ type: 'reasoning', encrypted_content: expect.any(String) as string }, {}, {}],
    })
    const messages: ChatRequest['messages'] = [{ role: 'user', content: 'weather' }, ...answered(first)]
    expect(await provider.chat(ask({ ...how, messages, tools }))).toMatchObject({
      content: 'Rain.',
      toolCalls: [],
    })
    expect(mock.getRequests()).toHaveLength(2)
  })

  test.each([
    ['busy', 'rate_limited', 429, 3_000],
    ['boom', 'provider_unavailable', 503, null],
    ['nothing it knows', 'provider_refused', 404, null],
  ])('fails for %j as %s', async (text, failureClass, status, retryAfterMs) => {
    expect(await failureOf(provider.chat(user(text, how)))).toMatchObject({
      class: failureClass,
      status,
      retryAfterMs,
    })
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
