// The AI SDK's own mock models as models of a real service.
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider'
import { aiSdkModel } from '@beaver/ai-sdk'
import { defineTool, type RecordedEvent, z } from '@beaver/service'
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { say } from '../support/fake-provider.ts'
import { type TestServer, testServer } from '../support/nats.ts'
import { type TestServices, testServices } from '../support/service.ts'

let server: TestServer
let kit: TestServices
beforeAll(async () => {
  server = await testServer()
  kit = await testServices(server)
})
afterAll(async () => {
  await kit[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const usage: LanguageModelV4GenerateResult['usage'] = {
  inputTokens: { total: 20, noCache: 12, cacheRead: 8, cacheWrite: 0 },
  outputTokens: { total: 6, text: 2, reasoning: 4 },
}
const result = (
  content: LanguageModelV4Content[],
  unified: 'stop' | 'tool-calls',
): LanguageModelV4GenerateResult => ({
  content,
  finishReason: { unified, raw: undefined },
  usage,
  warnings: [],
  response: { modelId: 'mock-1-exact' },
})

/** The same answer as a stream, word by word. */
function streamOf({
  content,
  finishReason,
  usage: used,
  response,
}: LanguageModelV4GenerateResult): ReadableStream<LanguageModelV4StreamPart> {
  const parts = content.flatMap((part, i): LanguageModelV4StreamPart[] => {
    const [id, options] = [
      String(i),
      part.type === 'reasoning' && part.providerMetadata ? { providerMetadata: part.providerMetadata } : {},
    ]
    if (part.type === 'tool-call') return [part]
    if (part.type !== 'text' && part.type !== 'reasoning') return []
    const pieces = part.text
      .split(/(?<= )/)
      .map((delta): LanguageModelV4StreamPart => ({ type: `${part.type}-delta`, id, delta }))
    return [{ type: `${part.type}-start`, id }, ...pieces, { type: `${part.type}-end`, id, ...options }]
  })
  const chunks: LanguageModelV4StreamPart[] = [
    { type: 'stream-start', warnings: [] },
    { type: 'response-metadata', ...response },
    ...parts,
    { type: 'finish', finishReason, usage: used },
  ]
  return simulateReadableStream({ chunks, initialDelayInMs: null, chunkDelayInMs: null })
}

function mock(reply: (options: LanguageModelV4CallOptions) => LanguageModelV4GenerateResult) {
  return new MockLanguageModelV4({
    provider: 'mock.chat',
    modelId: 'mock-1',
    doGenerate: async (options) => reply(options),
    doStream: async (options) => ({ stream: streamOf(reply(options)) }),
  })
}

let services = 0
const alone = () => ({ namespace: `ai_${process.pid}_${++services}`, model: { name: 'unused' } })
const stock = defineTool({
  name: 'stock',
  description: 'Says how many are left.',
  input: z.strictObject({ item: z.string() }),
  run: ({ item }) => `3 of ${item}`,
})

const resultsIn = ({ prompt }: LanguageModelV4CallOptions) =>
  prompt.flatMap((message) => (message.role === 'tool' ? message.content : []))

it('a model of the AI SDK drives a loop with tools, thinks across its calls, and its words come as it says them', async () => {
  const model = mock((options) =>
    resultsIn(options).length === 0
      ? result(
          [
            { type: 'reasoning', text: 'I must look.', providerMetadata: { mock: { signature: 'sealed' } } },
            { type: 'tool-call', toolCallId: 'call-1', toolName: 'stock', input: '{"item":"pens"}' },
          ],
          'tool-calls',
        )
      : result([{ type: 'text', text: 'There are three pens.' }], 'stop'),
  )
  const service = kit.service({ models: { main: aiSdkModel(model) }, tools: [stock], config: alone() })
  const words: string[] = []
  const ended = await service.processDirect('How many pens?', { onDelta: ({ text }) => words.push(text) })
  expect(ended).toMatchObject({
    status: 'completed',
    output_text: 'There are three pens.',
    provider_name: 'mock.chat:main',
    model: 'mock-1-exact',
    tool_iterations: 1,
  })
  expect(ended.usage).toEqual({
    input_tokens: 40,
    output_tokens: 12,
    calls: 2,
    cached_input_tokens: 16,
    reasoning_tokens: 8,
  })
  expect(words.join('')).toBe('There are three pens.')
  expect(model.doGenerateCalls).toEqual([])
  const [first, second] = model.doStreamCalls
  expect(first?.tools?.map(({ name }) => name)).toContain('stock')
  expect(second?.prompt.slice(-2)).toEqual([
    {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'I must look.', providerOptions: { mock: { signature: 'sealed' } } },
        { type: 'tool-call', toolCallId: 'call-1', toolName: 'stock', input: { item: 'pens' } },
      ],
    },
    {
      role: 'tool',
      content: [
        {
          type: 'tool-result',
          toolCallId: 'call-1',
          toolName: 'stock',
          output: { type: 'text', value: expect.stringContaining('3 of pens') as string },
        },
      ],
    },
  ])
})

it('one that breaks off gives way to an endpoint, and a typed answer is asked for in its own form', async () => {
  const broken = mock(() => ({
    ...result([{ type: 'text', text: 'There are' }], 'stop'),
    finishReason: { unified: 'interrupted', raw: undefined },
  }))
  kit.provider.answerBy(() => say('{"count":3}'))
  const typed = mock(() => result([{ type: 'text', text: '{"count":4}' }], 'stop'))
  const service = kit.service({
    models: {
      main: { provider: aiSdkModel(broken), fallback: 'cheap' },
      typed: aiSdkModel(typed, { structuredOutput: 'native' }),
    },
    profiles: [{ name: 'counter', model: 'typed' }],
    config: { ...alone(), models: { cheap: { name: 'cheap-1', base_url: kit.provider.url } } },
  })
  const output = z.strictObject({ count: z.number() })
  const events: RecordedEvent[] = []
  const fallen = await service.processDirect('Count.', { output, onEvent: (event) => events.push(event) })
  expect([fallen.output, fallen.provider_name]).toEqual([{ count: 3 }, 'openai-compatible:cheap'])
  expect(
    events.flatMap((event) => (event.type === 'provider_call_failed' ? [event.data.failure] : [])),
  ).toMatchObject([
    { class: 'provider_unavailable', message: expect.stringContaining('not_finished') as string },
  ])
  const counted = await service.processDirect('Count.', { output, profile: 'counter' })
  expect([counted.output, counted.provider_name]).toEqual([{ count: 4 }, 'mock.chat:typed'])
  expect(typed.doGenerateCalls.at(-1)?.responseFormat).toMatchObject({ type: 'json' })
})
