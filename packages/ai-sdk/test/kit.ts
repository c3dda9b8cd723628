// What the tests of the adapter share: the AI SDK's own mock models.
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider'
import { type ChatRequest, ProviderError } from '@beaver/agent'
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test'
import { aiSdkModel, type AiSdkModelOptions } from '../src/ai-sdk-model.ts'

const usage: LanguageModelV4GenerateResult['usage'] = {
  inputTokens: { total: 10, noCache: 4, cacheRead: 5, cacheWrite: 1 },
  outputTokens: { total: 7, text: 4, reasoning: 3 },
}
export const given = (
  content: LanguageModelV4Content[],
  over: Partial<LanguageModelV4GenerateResult> = {},
): LanguageModelV4GenerateResult => ({
  content,
  finishReason: { unified: 'stop', raw: undefined },
  usage,
  warnings: [],
  ...over,
})
export const text = (words: string): LanguageModelV4Content => ({ type: 'text', text: words })

export const ask = (over: Partial<ChatRequest> = {}): ChatRequest => ({
  messages: [{ role: 'user', content: 'x' }],
  tools: [],
  signal: new AbortController().signal,
  ...over,
})

/** A model that gives one result, and what it was asked. */
export function mock(
  result:
    | LanguageModelV4GenerateResult
    | ((options: LanguageModelV4CallOptions) => Promise<LanguageModelV4GenerateResult>),
  options?: AiSdkModelOptions,
) {
  const model = new MockLanguageModelV4({ provider: 'mock.chat', modelId: 'mock-1', doGenerate: result })
  return { provider: aiSdkModel(model, options), calls: model.doGenerateCalls }
}

export function streaming(parts: readonly LanguageModelV4StreamPart[]) {
  const doStream = async () => ({
    stream: simulateReadableStream({ chunks: [...parts], initialDelayInMs: null, chunkDelayInMs: null }),
  })
  return aiSdkModel(new MockLanguageModelV4({ provider: 'mock.chat', modelId: 'mock-1', doStream }))
}

export const finish: Extract<LanguageModelV4StreamPart, { type: 'finish' }> = {
  type: 'finish',
  finishReason: { unified: 'stop', raw: 'stop' },
  usage,
}

export async function failureOf(call: Promise<unknown>): Promise<ProviderError> {
  const error = await call.then(
    () => new Error('it did not fail'),
    (thrown: unknown) => thrown,
  )
  if (error instanceof ProviderError) return error
  throw error
}
