import { APICallError, type LanguageModelV4Content, type LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { chatProviderContract, contractUsage, type ModelTurn } from '@beaver/testing'
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test'
import { given } from '../test/kit.ts'
import { aiSdkModel } from './ai-sdk-model.ts'

const { input, cached, output, reasoning } = contractUsage
const usage = {
  inputTokens: { total: input, noCache: input - cached, cacheRead: cached, cacheWrite: 0 },
  outputTokens: { total: output, text: output - reasoning, reasoning },
}

function contentOf(turn: Extract<ModelTurn, { kind: 'says' | 'calls' }>): LanguageModelV4Content[] {
  if (turn.kind === 'says') return turn.pieces.map((text) => ({ type: 'text', text }))
  const thought: LanguageModelV4Content[] =
    turn.thought === undefined
      ? []
      : [{ type: 'reasoning', text: '', providerMetadata: { mock: { signature: turn.thought } } }]
  return [
    ...thought,
    ...turn.calls.map(({ id, name, arguments: args }): LanguageModelV4Content => ({
      type: 'tool-call',
      toolCallId: id,
      toolName: name,
      input: args,
    })),
  ]
}

function finishOf(turn: Extract<ModelTurn, { kind: 'says' | 'calls' }>) {
  const unified =
    turn.kind === 'calls'
      ? 'tool-calls'
      : turn.ends === 'cut'
        ? 'length'
        : turn.ends === 'refused'
          ? 'content-filter'
          : 'stop'
  return { unified, raw: undefined } as const
}

const partsOf = (content: LanguageModelV4Content[]): LanguageModelV4StreamPart[] =>
  content.flatMap((part, i): LanguageModelV4StreamPart[] => {
    const id = String(i)
    if (part.type === 'text')
      return [
        { type: 'text-start', id },
        { type: 'text-delta', id, delta: part.text },
        { type: 'text-end', id },
      ]
    if (part.type === 'reasoning')
      return [
        { type: 'reasoning-start', id },
        { type: 'reasoning-end', id, providerMetadata: part.providerMetadata ?? {} },
      ]
    return part.type === 'tool-call' ? [part] : []
  })

const brokenConnection = () =>
  new APICallError({
    ...{
      message: 'Cannot connect to API',
      url: 'https://api.example/v1',
      requestBodyValues: {},
      isRetryable: true,
    },
    cause: Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' }),
  })

chatProviderContract('a model of the AI SDK', async () => {
  const turns: ModelTurn[] = []
  const seen: string[] = []
  let dropped = 0
  const begin = (options: { abortSignal?: AbortSignal | undefined }): ModelTurn => {
    const images = (_: string, value: unknown) =>
      value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value
    seen.push(JSON.stringify({ ...options, abortSignal: undefined }, withBytes(images)))
    options.abortSignal?.addEventListener('abort', () => dropped++)
    const turn = turns.shift() ?? { kind: 'hangs' }
    if (turn.kind !== 'refuses') return turn
    const responseHeaders =
      turn.retryAfterSeconds === undefined ? {} : { 'retry-after': `${turn.retryAfterSeconds}` }
    const responseBody = JSON.stringify({ error: { message: turn.message } })
    throw new APICallError({
      message: turn.message,
      url: 'https://api.example/v1',
      requestBodyValues: {},
      statusCode: turn.status,
      responseHeaders,
      responseBody,
    })
  }
  const model = new MockLanguageModelV4({
    provider: 'mock',
    modelId: 'm',
    doGenerate: async (options) => {
      const turn = begin(options)
      if (turn.kind === 'says' || turn.kind === 'calls')
        return given(contentOf(turn), { usage, finishReason: finishOf(turn) })
      if (turn.kind === 'breaks_off') throw brokenConnection()
      return new Promise(() => {})
    },
    doStream: async (options) => {
      const turn = begin(options)
      if (turn.kind === 'hangs') return { stream: new ReadableStream() }
      if (turn.kind === 'breaks_off')
        return { stream: simulateReadableStream({ chunks: partsOf([{ type: 'text', text: 'half' }]) }) }
      if (turn.kind === 'refuses') throw new Error('begin throws')
      return {
        stream: simulateReadableStream({
          chunks: [...partsOf(contentOf(turn)), { type: 'finish', finishReason: finishOf(turn), usage }],
        }),
      }
    },
  })
  return {
    provider: aiSdkModel(model),
    next: (...more) => void turns.push(...more),
    seen,
    dropped: () => dropped,
  }
})

/** JSON.stringify shows a Buffer to its replacer only after its toJSON. */
const withBytes = (replacer: (key: string, value: unknown) => unknown) =>
  function (this: Record<string, unknown>, key: string, value: unknown): unknown {
    return replacer(key, this[key] instanceof Uint8Array ? this[key] : value)
  }
