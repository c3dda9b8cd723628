import { MessageChannel } from 'node:worker_threads'
import {
  brokenOffUsage,
  type ChatAnswer,
  type ChatProvider,
  type ChatRequest,
  ProviderError,
} from '@beaver/agent'
import { until } from '@beaver/testing'
import { afterEach, describe, expect, it, test } from 'vitest'
import { ask, failureOf } from '../../test/kit.ts'
import { OwnModelCalls } from './own-model-calls.ts'
import { serveOwnModels } from './serve-own-models.ts'

const answer = (over: Partial<ChatAnswer> = {}): ChatAnswer => ({
  content: 'hello',
  toolCalls: [],
  finishReason: 'stop',
  usage: { input_tokens: 3, output_tokens: 2, calls: 1 },
  model: 'm-1',
  responseId: null,
  ...over,
})

const closing: (() => void)[] = []
afterEach(() => closing.splice(0).forEach((close) => close()))

interface Limits {
  readonly timeoutMs?: number
  readonly idleMs?: number
}

/** A model of a program, as a loop in another thread asks it. */
function asked(chat: ChatProvider['chat'], limits: Limits = {}) {
  const { port1, port2 } = new MessageChannel()
  const defects: unknown[] = []
  const own: ChatProvider = { name: 'mine', model: 'm', chat }
  const close = serveOwnModels(port1, {
    models: new Map([['local', own]]),
    onDefect: (model, error) => defects.push([model, error]),
  })
  closing.push(close)
  const choice = {
    provider: 'mine:local',
    own: 'local',
    model: 'm',
    timeoutMs: 10_000,
    idleMs: 10_000,
    ...limits,
  }
  return { provider: new OwnModelCalls(port2).provider(choice), defects, close, port: port1 }
}

/** A call that ends only when its signal aborts; `aborted` counts these. */
function endless() {
  const seen = { asked: 0, aborted: 0 }
  const chat = ({ signal }: ChatRequest): Promise<never> => {
    seen.asked++
    return new Promise((_, reject) =>
      signal.addEventListener('abort', () => {
        seen.aborted++
        reject(signal.reason as Error)
      }),
    )
  }
  return { seen, chat }
}

const state = (provider: string) => ({ provider, fields: { thought: 'deep' } })
const called = (name: string, args: string, provider: string): ChatRequest['messages'][number] => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 'c1', name, arguments: args, extra_content: { signature: 's' } }],
  provider_state: state(provider),
})

describe('a request to a model of the program', () => {
  it('crosses whole, with images, settings and the form of the answer, and without what belongs to the gate', async () => {
    const seen: ChatRequest[] = []
    const { provider } = asked(async (request) => (seen.push(request), answer()))
    const images = new Map([['a'.repeat(64), new Uint8Array([1, 2, 3])]])
    const output = { name: 'x', schema: { type: 'object' } }
    const cache = { key: 'k', sharedChars: 3 }
    const request = ask({
      settings: { temperature: 0.5 },
      images,
      output,
      cache,
      admitted: true,
      waitTurn: async () => {},
      onRead: () => () => {},
    })
    expect(await provider.chat(request)).toEqual(answer())
    const { signal, ...data } = seen[0]!
    expect(data).toEqual({
      messages: request.messages,
      tools: [],
      settings: { temperature: 0.5 },
      images,
      output,
      cache,
    })
    expect(signal.aborted).toBe(false)
  })

  it('names tools as providers take them, and the answer means the tools again', async () => {
    const seen: ChatRequest[] = []
    const { provider } = asked(async (request) => {
      seen.push(request)
      return answer({
        content: null,
        toolCalls: [{ id: '', name: request.tools[0]!.name, arguments: '' }],
        finishReason: 'tool_calls',
      })
    })
    const tools = [{ name: 'workflow:sum', description: 'd', parameters: { type: 'object' } }]
    const messages = [called('workflow:sum', 'no JSON', 'other')]
    const { toolCalls } = await provider.chat(ask({ tools, messages }))
    expect(seen[0]?.tools[0]?.name).toBe('workflow-_sum')
    expect(seen[0]?.messages).toEqual([
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', name: 'workflow-_sum', arguments: '{}' }],
      },
    ])
    expect(toolCalls).toEqual([{ id: 'call_1', name: 'workflow:sum', arguments: '{}' }])
  })

  it('has the state that this model sent, under its own name', async () => {
    const seen: ChatRequest[] = []
    const { provider } = asked(
      async (request) => (seen.push(request), answer({ state: { thought: 'deep' } })),
    )
    const { state: back } = await provider.chat(
      ask({ messages: [called('f', '{}', 'mine:local'), called('f', '{}', 'mine:other')] }),
    )
    expect(back).toEqual({ thought: 'deep' })
    expect(
      seen[0]?.messages.map(
        (message) =>
          message.role === 'assistant' && [message.provider_state, message.tool_calls?.[0]?.extra_content],
      ),
    ).toEqual([
      [state('mine'), { signature: 's' }],
      [undefined, undefined],
    ])
  })
})

describe('an answer', () => {
  it('streams if somebody follows, and what comes after its end is dropped', async () => {
    let late: ChatRequest['onText']
    const { provider } = asked(async ({ onText }) => {
      late = onText
      for (const piece of ['he', '', 'llo']) onText?.(piece)
      return answer()
    })
    const pieces: string[] = []
    expect((await provider.chat(ask({ onText: (text) => pieces.push(text) }))).content).toBe('hello')
    late?.('too late')
    expect((await provider.chat(ask())).content).toBe('hello')
    expect(late).toBeUndefined()
    expect(pieces).toEqual(['he', 'llo'])
  })

  test.each<[unknown, object]>([
    [
      { input_tokens: 10, output_tokens: 5 },
      { input_tokens: 10, output_tokens: 5, calls: 1 },
    ],
    [
      { input_tokens: 10.4, output_tokens: '5', calls: 7, cached_input_tokens: 50 },
      { input_tokens: 10, output_tokens: 5, calls: 1, cached_input_tokens: 10 },
    ],
    [
      { input_tokens: -1, output_tokens: 5, calls: 1 },
      { input_tokens: 0, output_tokens: 5, calls: 1, unknown_calls: 1 },
    ],
    [
      { input_tokens: [], output_tokens: 5, calls: 1 },
      { input_tokens: 0, output_tokens: 5, calls: 1, unknown_calls: 1 },
    ],
    [undefined, { input_tokens: 0, output_tokens: 0, calls: 1, unknown_calls: 1 }],
    ['many', { input_tokens: 0, output_tokens: 0, calls: 1, unknown_calls: 1 }],
  ])('keeps its answer, whatever it says about its tokens: %j', async (usage, counted) => {
    const { provider } = asked(async () => answer({ usage: usage as never }))
    expect((await provider.chat(ask())).usage).toEqual(counted)
  })

  const circular: Record<string, unknown> = { ...answer() }
  circular['state'] = { circular }
  test.each<[string, unknown, RegExp]>([
    ['nothing', undefined, /no ChatAnswer: the whole/],
    ['a text', 'hello', /no ChatAnswer/],
    [
      'a call without arguments',
      answer({ toolCalls: [{ id: 'c', name: 'f' } as never] }),
      /toolCalls\.0\.arguments/,
    ],
    [
      'a call without a name',
      answer({ toolCalls: [{ id: 'c', name: '', arguments: '{}' }] }),
      /toolCalls\.0\.name/,
    ],
    ['a state that is no JSON', answer({ state: { f: (() => 1) as never } }), /state/],
    ['a state that contains itself', circular, /no JSON/],
    ['more than can be kept', answer({ content: 'x'.repeat(8 * 1024 * 1024) }), /more than 8388608/],
    [
      'a value that throws when it is read',
      {
        get content(): string {
          throw new Error('no')
        },
      },
      /cannot be read/,
    ],
  ])('that is %s is malformed', async (_, given, message) => {
    const { provider } = asked(async () => given as ChatAnswer)
    expect(await failureOf(provider.chat(ask()))).toMatchObject({
      class: 'malformed_output',
      message: expect.stringMatching(message) as string,
    })
  })

  it('has only what the port knows, and counts as one call', async () => {
    const { provider } = asked(
      async () =>
        ({
          ...answer({ usage: { input_tokens: 1, output_tokens: 1, calls: 9 } }),
          more: () => 1,
        }) as ChatAnswer,
    )
    expect(await provider.chat(ask())).toEqual(
      answer({ usage: { input_tokens: 1, output_tokens: 1, calls: 1 } }),
    )
  })

  it('with a piece that is no text, or with too much of it, ends there', async () => {
    const aborted: boolean[] = []
    const saying = (piece: unknown) =>
      asked(({ onText, signal }) => {
        signal.addEventListener('abort', () => aborted.push(true))
        onText?.(piece as string)
        return new Promise(() => {})
      }).provider.chat(ask({ onText: () => {} }))
    expect(await failureOf(saying(7))).toMatchObject({
      class: 'malformed_output',
      message: expect.stringContaining('no text') as string,
    })
    expect(await failureOf(saying('x'.repeat(8 * 1024 * 1024 + 1)))).toMatchObject({
      class: 'malformed_output',
    })
    expect(aborted).toEqual([true, true])
  })
})

describe('a call ends', () => {
  it('as cancelled by its caller, with what was sent and received, and the signal of the program aborts', async () => {
    const { seen, chat } = endless()
    const stop = new AbortController()
    const reason = new Error('enough')
    const hears = (request: ChatRequest): Promise<never> => (request.onText?.('一二'), chat(request))
    const request = ask({ signal: stop.signal, onText: () => stop.abort(reason) })
    await expect(asked(hears).provider.chat(request)).rejects.toMatchObject({
      ...{ class: 'cancelled', cause: reason },
      paid: { usage: brokenOffUsage(request, 6), model: 'm' },
    })
    await until('the program knows', () => seen.aborted === 1)
  })

  it('without asking if it is aborted before', async () => {
    const { seen, chat } = endless()
    const { provider } = asked(chat)
    await expect(provider.chat(ask({ signal: AbortSignal.abort(new Error('before')) }))).rejects.toThrow(
      'before',
    )
    expect(seen.asked).toBe(0)
  })

  it('at its time, although the program never ends', async () => {
    const { seen, chat } = endless()
    const failure = await failureOf(asked(chat, { timeoutMs: 50 }).provider.chat(ask()))
    expect(failure).toMatchObject({
      class: 'provider_timeout',
      message: "The endpoint of the program's model local did not answer within 50 ms.",
    })
    await until('the program knows', () => seen.aborted === 1)
  })

  it('if it falls silent after it began', async () => {
    const { provider } = asked(
      ({ onText }) => {
        onText?.('he')
        return new Promise(() => {})
      },
      { idleMs: 50 },
    )
    expect(await failureOf(provider.chat(ask({ onText: () => {} })))).toMatchObject({
      class: 'provider_timeout',
      message: expect.stringContaining('50 ms') as string,
      paid: { usage: brokenOffUsage(ask(), 2), model: 'm' },
    })
  })

  it('with its thread: the program hears of it, and the caller too', async () => {
    const { seen, chat } = endless()
    const { provider, close } = asked(chat)
    const call = provider.chat(ask())
    await until('the program is asked', () => seen.asked === 1)
    close()
    expect(seen.aborted).toBe(1)
    expect(await failureOf(call)).toMatchObject({ class: 'provider_unavailable' })
  })

  it('as one of 200 at once, each with its own answer', async () => {
    const { provider } = asked(async ({ messages, onText }) => {
      const content = messages[0]?.content ?? ''
      onText?.(content)
      await new Promise((resolve) => setImmediate(resolve))
      return answer({ content })
    })
    const texts: string[] = []
    const said = await Promise.all(
      Array.from({ length: 200 }, (_, i) =>
        provider.chat(
          ask({ messages: [{ role: 'user', content: `${i}` }], onText: (text) => texts.push(text) }),
        ),
      ),
    )
    expect(said.map(({ content }) => content)).toEqual(Array.from({ length: 200 }, (_, i) => `${i}`))
    expect(texts).toHaveLength(200)
  })
})

describe('what the program throws', () => {
  const thrown = async (error: unknown, how: 'rejects' | 'throws' = 'rejects') => {
    const { provider, defects } = asked(() => {
      if (how === 'throws') throw error
      return Promise.reject(error as Error)
    })
    return { failure: await failureOf(provider.chat(ask())), defects }
  }

  it('is a failure of its class if it says so, with all that belongs to it', async () => {
    const refusedTools = [{ name: 'f', reason: 'bad' }]
    const { failure } = await thrown(
      new ProviderError('rate_limited', 'Slow down.', { status: 429, retryAfterMs: 2_000, refusedTools }),
    )
    expect(failure).toMatchObject({
      class: 'rate_limited',
      message: 'Slow down.',
      status: 429,
      retryAfterMs: 2_000,
      refusedTools,
    })
  })

  it('names the tools that are refused by the names of the loop', async () => {
    const { provider } = asked(() =>
      Promise.reject(
        Object.assign(new Error("Invalid schema for function 'workflow-_sum': bad"), { status: 400 }),
      ),
    )
    const tools = [{ name: 'workflow:sum', description: 'd', parameters: {} }]
    expect((await failureOf(provider.chat(ask({ tools })))).refusedTools).toMatchObject([
      { name: 'workflow:sum' },
    ])
  })

  it('is a defect if it is one, also before the call has begun, and the program hears of it', async () => {
    const error = new TypeError('x is not a function')
    const { failure, defects } = await thrown(error, 'throws')
    expect(failure).toMatchObject({
      class: 'provider_refused',
      message: expect.stringContaining('x is not a function') as string,
    })
    expect(defects).toEqual([['local', error]])
    expect((await thrown(new Error('away'))).defects).toEqual([])
  })
})

test('a model of the program is told of the trace', async () => {
  const heard: unknown[] = []
  const { provider } = asked(async ({ trace }) => (heard.push(trace), answer()))
  const trace = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'a=1' }
  await provider.chat(ask({ trace }))
  await provider.chat(ask())
  expect(heard).toEqual([trace, undefined])
})
