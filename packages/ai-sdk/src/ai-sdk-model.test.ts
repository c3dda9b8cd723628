// The adapter on the AI SDK's own mock models: what a model is asked, and what it gives.
import { APICallError, type LanguageModelV4Content, type LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type { ChatRequest } from '@beaver/agent'
import { MockLanguageModelV4 } from 'ai/test'
import { describe, expect, it, test } from 'vitest'
import { ask, failureOf, finish, given, mock, streaming, text } from '../test/kit.ts'
import { aiSdkModel, type AiSdkModelOptions } from './ai-sdk-model.ts'

describe('a model', () => {
  it('answers with its text, its usage and its own names', async () => {
    const { provider } = mock(
      given([text('hel'), text('lo')], { response: { id: 'r1', modelId: 'mock-1-exact' } }),
    )
    expect([provider.name, provider.model]).toEqual(['mock.chat', 'mock-1'])
    expect(await provider.chat(ask())).toEqual({
      content: 'hello',
      toolCalls: [],
      finishReason: 'stop',
      usage: {
        input_tokens: 10,
        output_tokens: 7,
        calls: 1,
        cached_input_tokens: 5,
        cache_write_tokens: 1,
        reasoning_tokens: 3,
      },
      model: 'mock-1-exact',
      responseId: 'r1',
    })
  })

  it('is asked with the conversation, the settings, the tools and the options', async () => {
    const { provider, calls } = mock(given([text('ok')]), {
      providerOptions: { mock: { tier: 'flex', kept: 1 } },
      headers: { 'x-team': 'a' },
    })
    const parameters = { type: 'object', properties: { text: { type: 'string' } } }
    await provider.chat(
      ask({
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'Look.' },
          {
            role: 'assistant',
            content: 'I look.',
            tool_calls: [
              { id: 'c1', name: 'workflow:sum', arguments: '{"text":"a"}' },
              { id: 'c2', name: 'echo', arguments: 'no JSON' },
            ],
          },
          { role: 'tool', tool_call_id: 'c1', content: 'one' },
          { role: 'tool', tool_call_id: 'c2', content: 'two' },
        ],
        tools: [{ name: 'workflow:sum', description: 'Sums.', parameters }],
        settings: {
          temperature: 0.5,
          top_p: 0.9,
          output_tokens_max: 99,
          reasoning_effort: 'low',
          extra_body: { mock: { tier: 'fast' } },
        },
      }),
    )
    const { abortSignal, ...asked } = calls[0]!
    expect(abortSignal).toBeInstanceOf(AbortSignal)
    expect(asked).toEqual({
      prompt: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: [{ type: 'text', text: 'Look.' }] },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'I look.' },
            { type: 'tool-call', toolCallId: 'c1', toolName: 'workflow-_sum', input: { text: 'a' } },
            { type: 'tool-call', toolCallId: 'c2', toolName: 'echo', input: {} },
          ],
        },
        {
          role: 'tool',
          content: [
            {
              type: 'tool-result',
              toolCallId: 'c1',
              toolName: 'workflow-_sum',
              output: { type: 'text', value: 'one' },
            },
            {
              type: 'tool-result',
              toolCallId: 'c2',
              toolName: 'echo',
              output: { type: 'text', value: 'two' },
            },
          ],
        },
      ],
      temperature: 0.5,
      topP: 0.9,
      maxOutputTokens: 99,
      reasoning: 'low',
      providerOptions: { mock: { tier: 'fast', kept: 1 } },
      headers: { 'x-team': 'a' },
      tools: [{ type: 'function', name: 'workflow-_sum', description: 'Sums.', inputSchema: parameters }],
      toolChoice: { type: 'auto' },
    })
  })

  it('is told of the trace in headers, beside those of the options', async () => {
    const trace = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'a=1' }
    const { provider, calls } = mock(given([text('ok')]), { headers: { 'x-team': 'a' } })
    await provider.chat(ask({ trace }))
    expect(calls[0]?.headers).toEqual({ 'x-team': 'a', ...trace })
  })

  it('sees images as files behind their names, those of tools in a message behind their results, and none that was removed', async () => {
    const [seen, gone] = ['a'.repeat(64), 'b'.repeat(64)]
    const image = (sha256: string) => ({ media_type: 'image/png', sha256, bytes: 3 }) as const
    const messages: ChatRequest['messages'] = [
      { role: 'user', content: 'Look.', images: [image(seen), image(gone)] },
      { role: 'assistant', content: null, tool_calls: [{ id: 'c1', name: 'view_image', arguments: '{}' }] },
      { role: 'tool', tool_call_id: 'c1', content: 'shown', images: [image(seen)] },
    ]
    const images = new Map([[seen, new Uint8Array([1, 2, 3])]])
    const { provider, calls } = mock(given([text('ok')]))
    await provider.chat(ask({ messages, images }))
    const file = {
      type: 'file',
      mediaType: 'image/png',
      data: { type: 'data', data: new Uint8Array([1, 2, 3]) },
    }
    const parts = calls[0]!.prompt.map(({ content }) => content)
    expect(parts[0]).toEqual([
      { type: 'text', text: 'Look.' },
      { type: 'text', text: expect.any(String) as string },
      file,
      { type: 'text', text: expect.stringContaining('removed') as string },
    ])
    expect(parts[3]).toEqual([
      { type: 'text', text: expect.stringContaining('c1') as string },
      { type: 'text', text: expect.any(String) as string },
      file,
    ])
    const blind = mock(given([text('ok')]), { images: false })
    await blind.provider.chat(ask({ messages, images }))
    expect(JSON.stringify(blind.calls[0]!.prompt)).not.toContain('"file"')
    expect(JSON.stringify(blind.calls[0]!.prompt)).toContain('takes no images')
  })

  it('is refused if it is none, or of another specification', () => {
    const refused = (model: unknown, message: RegExp) =>
      expect(() => aiSdkModel(model as never)).toThrow(
        expect.objectContaining({
          code: 'invalid_configuration',
          message: expect.stringMatching(message) as string,
        }),
      )
    refused('openai/gpt-5', /a name alone/i)
    refused({}, /no doGenerate/)
    refused(Object.assign(new MockLanguageModelV4(), { specificationVersion: 'v3' }), /specification v3/)
  })

  it('of OpenAI gets the key of the conversation for its cache, and no other one does', async () => {
    const cache = { key: 'k1', sharedChars: 0 }
    const optionsOf = async (provider: string, options: AiSdkModelOptions = {}) => {
      const model = new MockLanguageModelV4({ provider, doGenerate: given([text('ok')]) })
      await aiSdkModel(model, options).chat(ask({ cache }))
      return model.doGenerateCalls[0]?.providerOptions
    }
    expect(await optionsOf('openai.responses')).toEqual({ openai: { promptCacheKey: 'k1' } })
    expect(
      await optionsOf('openai.chat', {
        providerOptions: { openai: { promptCacheKey: 'mine', store: false } },
      }),
    ).toEqual({
      openai: { promptCacheKey: 'mine', store: false },
    })
    expect(await optionsOf('anthropic.messages')).toBeUndefined()
  })

  it('is told that its answer must call a tool', async () => {
    const model = new MockLanguageModelV4({ doGenerate: given([text('ok')]) })
    const tools = [{ name: 'echo', description: 'd', parameters: { type: 'object' } }]
    await aiSdkModel(model).chat(ask({ tools, mustCall: true }))
    expect(model.doGenerateCalls[0]?.toolChoice).toEqual({ type: 'required' })
  })

  it('reports each warning once', async () => {
    const told: string[] = []
    const warnings = [
      { type: 'unsupported', feature: 'topP', details: 'It thinks.' },
      { type: 'other', message: 'Hm.' },
    ] as const
    const { provider } = mock(given([text('ok')], { warnings: [...warnings] }), {
      onWarning: (message) => told.push(message),
    })
    await provider.chat(ask())
    await provider.chat(ask())
    expect(told).toEqual([
      'The model mock.chat mock-1 says: topP is not supported. It thinks.',
      'The model mock.chat mock-1 says: Hm.',
    ])
  })

  test.each([
    [{ reasoning_effort: 'very' }, /no reasoning_effort "very"/],
    [{ extra_body: { tier: 'flex' } }, /extra_body\.tier must be an object/],
  ])('refuses the settings %j and leaves none out', async (settings, message) => {
    const failure = await failureOf(mock(given([text('ok')])).provider.chat(ask({ settings })))
    expect(failure).toMatchObject({
      class: 'provider_refused',
      message: expect.stringMatching(message) as string,
    })
  })
})

describe('calls of tools', () => {
  const thinking: LanguageModelV4Content[] = [
    { type: 'reasoning', text: 'I think.', providerMetadata: { mock: { signature: 's1' } } },
    { type: 'text', text: 'I call.', providerMetadata: { mock: { phase: 'p' } } },
    {
      type: 'tool-call',
      toolCallId: 'c1',
      toolName: 'workflow-_sum',
      input: '{"a":1}',
      providerMetadata: { mock: { thoughtSignature: 't' } },
    },
    { type: 'custom', kind: 'mock.compaction', providerMetadata: { mock: { blob: 'z' } } },
    { type: 'reasoning-file', mediaType: 'image/png', data: { type: 'data', data: new Uint8Array([1]) } },
    { type: 'tool-call', toolCallId: 'c2', toolName: 'echo', input: '' },
  ]
  const tools = ['workflow:sum', 'echo'].map((name) => ({ name, description: 'd', parameters: {} }))
  const asked = async () => {
    const { provider } = mock(given(thinking, { finishReason: { unified: 'tool-calls', raw: 'tool_use' } }))
    return provider.chat(ask({ tools }))
  }

  it('mean the tools of the request', async () => {
    expect(await asked()).toMatchObject({
      content: 'I call.',
      finishReason: 'tool_use',
      toolCalls: [
        { id: 'c1', name: 'workflow:sum', arguments: '{"a":1}' },
        { id: 'c2', name: 'echo', arguments: '{}' },
      ],
    })
  })

  it('go back with the thoughts and the options of their provider, in their order', async () => {
    const { content, toolCalls, state } = await asked()
    const { provider, calls } = mock(given([text('done')]))
    const message = { role: 'assistant', content, tool_calls: toolCalls } as const
    const sent = async (fields: typeof state, name = 'mock.chat', kept = toolCalls) => {
      await provider.chat(
        ask({
          messages: [{ ...message, tool_calls: kept, provider_state: { provider: name, fields: fields! } }],
        }),
      )
      return calls.at(-1)!.prompt[0]!.content
    }
    const own = await sent(structuredClone(state))
    expect(own).toEqual([
      { type: 'reasoning', text: 'I think.', providerOptions: { mock: { signature: 's1' } } },
      { type: 'text', text: 'I call.', providerOptions: { mock: { phase: 'p' } } },
      {
        type: 'tool-call',
        toolCallId: 'c1',
        toolName: 'workflow-_sum',
        input: { a: 1 },
        providerOptions: { mock: { thoughtSignature: 't' } },
      },
      { type: 'custom', kind: 'mock.compaction', providerOptions: { mock: { blob: 'z' } } },
      { type: 'reasoning-file', mediaType: 'image/png', data: { type: 'data', data: 'AQ==' } },
      { type: 'tool-call', toolCallId: 'c2', toolName: 'echo', input: {} },
    ])
    // A call that was dropped takes its thoughts with it; another model gets none of them.
    expect(await sent(state, 'mock.chat', toolCalls.slice(0, 1))).toHaveLength(3)
    expect(await sent(state, 'other')).toEqual([
      { type: 'text', text: 'I call.' },
      { type: 'tool-call', toolCallId: 'c1', toolName: 'workflow-_sum', input: { a: 1 } },
      { type: 'tool-call', toolCallId: 'c2', toolName: 'echo', input: {} },
    ])
    expect(await sent({ response_output: [] })).toHaveLength(3)
  })

  it('of a model that keeps nothing of its own have no state, and calls of the provider are none of Beaver', async () => {
    const plain = mock(given([{ type: 'tool-call', toolCallId: 'c', toolName: 'echo', input: '{}' }]))
    expect(await plain.provider.chat(ask({ tools }))).not.toHaveProperty('state')
    const search: LanguageModelV4Content = {
      type: 'tool-call',
      toolCallId: 's',
      toolName: 'web_search',
      input: '{}',
      providerExecuted: true,
    }
    expect(await mock(given([search, text('found')])).provider.chat(ask())).toMatchObject({
      content: 'found',
      toolCalls: [],
    })
  })
})

describe('an answer of a form', () => {
  const output = { name: 'answer', schema: { type: 'object', properties: { n: { type: 'number' } } } }
  const tools = [{ name: 'echo', description: 'd', parameters: {} }]

  it('is asked for where no tools are, or wherever the program says', async () => {
    const formsOf = async (structuredOutput?: AiSdkModelOptions['structuredOutput']) => {
      const { provider, calls } = mock(
        given([text('{}')]),
        structuredOutput === undefined ? {} : { structuredOutput },
      )
      await provider.chat(ask({ output }))
      await provider.chat(ask({ output, tools }))
      return calls.map(({ responseFormat }) => responseFormat)
    }
    const form = { type: 'json', name: 'answer', schema: output.schema }
    expect(await formsOf()).toEqual([form, undefined])
    expect(await formsOf('native')).toEqual([form, form])
    expect(await formsOf('prompt')).toEqual([undefined, undefined])
  })

  it('is asked for again without what the model refuses, and later calls know it', async () => {
    const { provider, calls } = mock(async ({ responseFormat }) => {
      if (responseFormat?.type === 'json')
        throw new APICallError({
          message: 'Bad Request',
          url: 'https://api.example/v1/chat',
          requestBodyValues: {},
          statusCode: 400,
          responseBody: '{"error":{"message":"This response_format type is unavailable now"}}',
        })
      return given([text('{}')])
    })
    await provider.chat(ask({ output }))
    await provider.chat(ask({ output }))
    expect(calls.map(({ responseFormat }) => responseFormat?.type)).toEqual([
      'json',
      'json',
      undefined,
      undefined,
    ])
  })

  it('is the text that the model marks as it', async () => {
    const { provider } = mock(given([text('draft {"n":1}')], { structuredOutputText: '{"n":1}' }))
    expect((await provider.chat(ask({ output }))).content).toBe('{"n":1}')
    expect((await provider.chat(ask())).content).toBe('draft {"n":1}')
  })
})

describe('a stream', () => {
  const follow = async (parts: readonly LanguageModelV4StreamPart[]) => {
    const pieces: string[] = []
    const answer = await streaming(parts).chat(
      ask({
        tools: [{ name: 'workflow:sum', description: 'd', parameters: {} }],
        onText: (piece) => pieces.push(piece),
      }),
    )
    return { pieces, answer }
  }

  it('gives its text as it comes, and the answer that a whole one gives', async () => {
    const parts: LanguageModelV4StreamPart[] = [
      { type: 'stream-start', warnings: [] },
      { type: 'response-metadata', id: 'r1', modelId: 'mock-1-exact' },
      { type: 'reasoning-start', id: '0' },
      { type: 'reasoning-delta', id: '0', delta: 'I ' },
      { type: 'reasoning-delta', id: '0', delta: 'think.' },
      { type: 'reasoning-end', id: '0', providerMetadata: { mock: { signature: 's' } } },
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'hel' },
      { type: 'text-delta', id: '0', delta: '' },
      { type: 'text-delta', id: '0', delta: 'lo' },
      { type: 'text-end', id: '0' },
      { type: 'tool-input-start', id: 'c1', toolName: 'workflow-_sum' },
      { type: 'tool-input-delta', id: 'c1', delta: '{}' },
      { type: 'tool-input-end', id: 'c1' },
      { type: 'ping' },
      { type: 'tool-call', toolCallId: 'c1', toolName: 'workflow-_sum', input: '{}' },
      { ...finish, finishReason: { unified: 'tool-calls', raw: undefined } },
    ]
    const { pieces, answer } = await follow(parts)
    expect(pieces).toEqual(['hel', 'lo'])
    const whole: LanguageModelV4Content[] = [
      { type: 'reasoning', text: 'I think.', providerMetadata: { mock: { signature: 's' } } },
      text('hello'),
      { type: 'tool-call', toolCallId: 'c1', toolName: 'workflow-_sum', input: '{}' },
    ]
    const response = { id: 'r1', modelId: 'mock-1-exact' }
    const { provider } = mock(
      given(whole, { response, finishReason: { unified: 'tool-calls', raw: undefined } }),
    )
    expect(answer).toEqual(
      await provider.chat(ask({ tools: [{ name: 'workflow:sum', description: 'd', parameters: {} }] })),
    )
    expect(answer.state).toBeDefined()
  })

  it('keeps the order of texts that grow at the same time, and begins an id anew after its end', async () => {
    const { answer } = await follow([
      { type: 'text-start', id: 'a' },
      { type: 'text-start', id: 'b' },
      { type: 'text-delta', id: 'b', delta: '2' },
      { type: 'text-delta', id: 'a', delta: '1' },
      { type: 'text-end', id: 'a' },
      { type: 'text-delta', id: 'a', delta: '3' },
      finish,
    ])
    expect(answer.content).toBe('123')
  })

  const failure = (parts: readonly LanguageModelV4StreamPart[]) => failureOf(follow(parts))
  it('that was cut, or that tells an error, is no answer', async () => {
    expect(await failure([{ type: 'text-delta', id: '0', delta: 'half' }])).toMatchObject({
      class: 'provider_unavailable',
      message: expect.stringContaining('before its answer was complete') as string,
    })
    expect(
      await failure([
        {
          type: 'error',
          error: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
        },
        finish,
      ]),
    ).toMatchObject({
      class: 'provider_unavailable',
    })
    expect(
      await failure([
        {
          type: 'error',
          error: { type: 'error', error: { type: 'rate_limit_error', message: 'Slow down' } },
        },
      ]),
    ).toMatchObject({
      class: 'rate_limited',
    })
    expect(await failure([{ type: 'error', error: 'broken' }])).toMatchObject({
      class: 'provider_unavailable',
      message: expect.stringContaining('broken') as string,
    })
  })

  it('ends when its caller aborts, and aborts the call of the model', async () => {
    let cancelled: unknown = null
    const stream = new ReadableStream<LanguageModelV4StreamPart>({
      start: (controller) => controller.enqueue({ type: 'text-delta', id: '0', delta: 'he' }),
      cancel: (reason) => void (cancelled = reason ?? 'cancelled'),
    })
    const stop = new AbortController()
    const provider = aiSdkModel(new MockLanguageModelV4({ doStream: async () => ({ stream }) }))
    const call = provider.chat(ask({ signal: stop.signal, onText: () => stop.abort(new Error('enough')) }))
    await expect(call).rejects.toThrow('enough')
    expect(cancelled).not.toBeNull()
  })
})

describe('a model that refuses an image', () => {
  const image = (name: string) =>
    ({ media_type: 'image/png', sha256: name.repeat(64), bytes: 3, name }) as const
  const parts = ['a', 'b', 'c'].map(image)
  const images = new Map(parts.map(({ sha256 }, i) => [sha256, new Uint8Array([i])]))
  const turns = (count: number) =>
    parts.slice(0, count).map((part) => ({ role: 'user' as const, content: 'Look.', images: [part] }))
  const filesIn = (options: { readonly prompt: unknown } | undefined): number =>
    JSON.stringify(options?.prompt).split('"type":"file"').length - 1
  const refusing = (message: string, when: (files: number) => boolean) =>
    mock(async (options) => {
      if (!when(filesIn(options))) return given([text('ok')])
      throw new APICallError({
        message,
        url: 'https://api.test',
        requestBodyValues: {},
        statusCode: 400,
        responseBody: JSON.stringify({ error: { message } }),
      })
    })

  it.each([
    ['Could not process image', 'the server of this model cannot use it', [3, 1]],
    [
      'At most 2 image(s) may be provided in one request.',
      'this model takes at most 2 images at once',
      [3, 2],
    ],
  ])('is asked again with a text in its place, and later calls know it: %s', async (message, says, files) => {
    const { provider, calls } = refusing(message, (count) => count > 2)
    expect((await provider.chat(ask({ messages: turns(3), images }))).content).toBe('ok')
    expect(calls.map(filesIn)).toEqual(files)
    expect(JSON.stringify(calls.at(-1)?.prompt)).toContain(says)
    await provider.chat(ask({ messages: turns(3), images }))
    expect(calls.map(filesIn)).toEqual([...files, files[1]])
  })
})
