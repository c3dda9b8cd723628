import type { ProviderError } from '@beaver/agent'
import { held, until } from '@beaver/testing'
import { afterEach, describe, expect, it, test } from 'vitest'
import {
  apiKey,
  ask,
  call,
  chunk,
  closeServers,
  end,
  failureOf,
  type Handler,
  json,
  provider,
  say,
  serve,
  sse,
  stream,
} from '../test/kit.ts'
import { bodyBytesMax } from './response-body.ts'

afterEach(closeServers)

const usage = { id: 'r1', model: 'm-1', choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } }

const failure = async (
  handler: Handler,
  limits: { timeoutMs?: number; idleMs?: number } = {},
): Promise<ProviderError> => failureOf(stream(handler, {}, limits))

describe('a streamed answer', () => {
  it('has the same text, usage, model and id as a whole one, and brings its text as it comes', async () => {
    const { texts, answer } = await stream(
      sse([chunk({ role: 'assistant', content: '' }), say('Hel'), say('lo 🦫'), end(), usage]),
    )
    expect(texts).toEqual(['Hel', 'lo 🦫'])
    expect(answer).toEqual({
      content: 'Hello 🦫',
      toolCalls: [],
      finishReason: 'stop',
      usage: { input_tokens: 3, output_tokens: 2, calls: 1 },
      model: 'm-1',
      responseId: 'r1',
    })
  })

  it('tells its first words before the server has said the last', async () => {
    const heard = held<string>()
    const url = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(`data: ${JSON.stringify(say('first'))}\n\n`)
      void heard.promise.then(() => response.end(`data: ${JSON.stringify(end())}\n\ndata: [DONE]\n\n`))
    })
    const answer = await provider(url).chat(ask({ onText: (text) => heard.settle(text) }))
    expect([await heard.promise, answer.content]).toEqual(['first', 'first'])
  })

  it('is asked for with usage, and not asked for when nobody listens', async () => {
    const sent: { stream?: boolean; stream_options?: unknown }[] = []
    const url = await serve((request, response, body) => {
      const asked = JSON.parse(body) as (typeof sent)[number]
      sent.push({
        ...('stream' in asked ? { stream: asked.stream ?? false, stream_options: asked.stream_options } : {}),
      })
      ;(asked.stream === true ? sse([say('a'), end()]) : json({ choices: [{ message: { content: 'a' } }] }))(
        request,
        response,
        body,
      )
    })
    await provider(url).chat(ask({ onText: () => undefined }))
    await provider(url).chat(ask())
    expect(sent).toEqual([{ stream: true, stream_options: { include_usage: true } }, {}])
  })

  it('puts tool calls together by their index, with their own names (D-13)', async () => {
    const tools = [{ name: 'workflow:x', description: '', parameters: {} }]
    const { answer, texts } = await stream(
      sse([
        chunk({ role: 'assistant', content: null }),
        call(0, { id: 'a', type: 'function', function: { name: 'workflow-_x', arguments: '' } }),
        call(1, { id: 'b', type: 'function', function: { name: 'echo', arguments: '{"t' } }),
        call(0, { function: { arguments: '{"n":' } }),
        call(1, { function: { arguments: '":1}' } }),
        call(0, { id: null, type: null, function: { name: null, arguments: '2}' } }),
        end('tool_calls'),
      ]),
      { tools },
    )
    expect(answer).toMatchObject({
      content: null,
      finishReason: 'tool_calls',
      toolCalls: [
        { id: 'a', name: 'workflow:x', arguments: '{"n":2}' },
        { id: 'b', name: 'echo', arguments: '{"t":1}' },
      ],
    })
    expect(texts).toEqual([])
  })

  it('leaves arguments that are not JSON as the text they are, for the loop to give back', async () => {
    const { answer } = await stream(
      sse([call(0, { id: 'a', function: { name: 'f', arguments: '{oops' } }), end('tool_calls')]),
    )
    expect(answer.toolCalls).toEqual([{ id: 'a', name: 'f', arguments: '{oops' }])
  })

  test.each<[string, object[], object[]]>([
    [
      'without an index',
      [
        chunk({ tool_calls: [{ id: 'a', function: { name: 'f', arguments: '{}' } }] }),
        chunk({ tool_calls: [{ id: 'b', function: { name: 'g', arguments: '{}' } }] }),
      ],
      [
        { id: 'a', name: 'f' },
        { id: 'b', name: 'g' },
      ],
    ],
    [
      'all with index 0',
      [
        call(0, { id: 'a', function: { name: 'f', arguments: '{"a":1}' } }),
        call(0, { id: 'b', function: { name: 'g', arguments: '{"b":2}' } }),
      ],
      [
        { id: 'a', name: 'f', arguments: '{"a":1}' },
        { id: 'b', name: 'g', arguments: '{"b":2}' },
      ],
    ],
    [
      'that share an index and have no ids',
      [
        call(0, { function: { name: 'f', arguments: '{"a":1}' } }),
        call(0, { function: { name: 'g', arguments: '{"b"' } }),
        call(0, { function: { arguments: ':2}' } }),
      ],
      [
        { id: 'call_0', name: 'f', arguments: '{"a":1}' },
        { id: 'call_1', name: 'g', arguments: '{"b":2}' },
      ],
    ],
    [
      'with the name in every piece and no id',
      [
        call(0, { function: { name: 'f', arguments: '{"a"' } }),
        call(0, { function: { name: 'f', arguments: ':1}' } }),
      ],
      [{ id: 'call_0', name: 'f', arguments: '{"a":1}' }],
    ],
    [
      'with arguments that are an object and an index that is text',
      [call('0', { id: 'a', function: { name: 'f', arguments: { a: 1 } } })],
      [{ id: 'a', name: 'f', arguments: '{"a":1}' }],
    ],
    [
      'without ids',
      [call(0, { function: { name: 'f', arguments: '{}' } }), call(1, { function: { name: 'g' } })],
      [{ id: 'call_0' }, { id: 'call_1', arguments: '{}' }],
    ],
    [
      'with the id and name in every piece',
      [
        call(0, { id: 'a', function: { name: 'f', arguments: '{"a"' } }),
        call(0, { id: 'a', function: { name: 'f', arguments: ':1}' } }),
      ],
      [{ id: 'a', name: 'f', arguments: '{"a":1}' }],
    ],
  ])('takes tool calls %s', async (_, chunks, calls) => {
    expect((await stream(sse([...chunks, end('tool_calls')]))).answer.toolCalls).toMatchObject(calls)
  })

  test.each<[string, readonly unknown[]]>([
    [
      'comments, other fields and no usage',
      [': keep-alive\n\n', 'id: 7\nretry: 5\nevent: message\n', say('a'), ': again\n\n', end()],
    ],
    [
      'a chunk of a filter and choices beside the first',
      [
        { choices: [], prompt_filter_results: [] },
        { choices: [{ index: 1, delta: { content: 'no' } }] },
        say('a'),
        end(),
      ],
    ],
    ['delta null at the end and usage null', [say('a'), chunk(null, 'stop', { usage: null })]],
    [
      'lines that end in CR LF',
      [`data: ${JSON.stringify(say('a'))}\r\n\r\n`, `data: ${JSON.stringify(end())}\r\n\r\n`],
    ],
  ])('is read with %s', async (_, events) => {
    expect((await stream(sse(events))).answer).toMatchObject({
      content: 'a',
      usage: { input_tokens: 0, output_tokens: 0, calls: 1 },
    })
  })

  it('is read as it is when the server does not stream', async () => {
    const { answer, texts } = await stream(
      json({ id: 'r1', choices: [{ finish_reason: 'stop', message: { content: 'whole' } }] }),
    )
    expect([answer.content, texts]).toEqual(['whole', ['whole']])
  })

  it('is asked for once more without usage by a server that does not know it, and from then on', async () => {
    const asked: boolean[] = []
    const url = await serve((request, response, body) => {
      const withUsage = body.includes('stream_options')
      asked.push(withUsage)
      const handler = withUsage
        ? json({ error: { message: 'Unrecognized request argument supplied: stream_options' } }, 400)
        : sse([say('a'), end()])
      handler(request, response, body)
    })
    const asking = provider(url)
    for (let i = 0; i < 2; i++)
      expect((await asking.chat(ask({ onText: () => undefined }))).content).toBe('a')
    expect(asked).toEqual([true, false, false])
  })

  it('that is a refusal is one', async () => {
    expect(
      await failure(sse([chunk({ refusal: 'I can' }), chunk({ refusal: 'not.' }), end()])),
    ).toMatchObject({
      class: 'refusal',
      message: 'The model m declined: I cannot.',
    })
  })
})

describe('a stream that breaks', () => {
  test.each<[string, readonly unknown[]]>([
    ['before anything', []],
    ['in its middle', [say('half')]],
    ['in the middle of a tool call', [call(0, { id: 'a', function: { name: 'f', arguments: '{"n' } })]],
  ])('off %s, as if it were complete, is provider_unavailable', async (_, events) => {
    expect(await failure(sse(events, { cut: true }))).toMatchObject({
      class: 'provider_unavailable',
      message: expect.stringContaining('too early'),
    })
  })

  it('with its socket is provider_unavailable', async () => {
    const error = await failure((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(`data: ${JSON.stringify(say('half'))}\n\n`, () => response.destroy())
    })
    expect(error.class).toBe('provider_unavailable')
  })

  test.each<[string, readonly unknown[]]>([
    ['never says a word', []],
    ['falls silent', [say('half')]],
    ['falls silent in the middle of an event', [say('half'), 'data: {"ch']],
  ])('off because it %s is a provider_timeout after idle time', async (_, events) => {
    const error = await failure(sse(events, { open: true }), { idleMs: 50 })
    expect(error).toMatchObject({
      class: 'provider_timeout',
      message: expect.stringContaining('sent nothing for 50 ms'),
    })
  })

  it('not, because each piece comes in time, ends with the time for the whole', async () => {
    const error = await failure(
      (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        const timer = setInterval(() => response.write(': still here\n\n'), 10)
        response.once('close', () => clearInterval(timer))
      },
      { idleMs: 1_000, timeoutMs: 1_200 },
    )
    expect(error).toMatchObject({
      class: 'provider_timeout',
      message: expect.stringContaining('within 1200 ms'),
    })
  })

  it('off because its caller aborts ends with the reason, and its connection', async () => {
    const controller = new AbortController()
    const reason = new Error('cancelled by a person')
    let closed = false
    const url = await serve((_, response) => {
      response.once('close', () => (closed = true))
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(`data: ${JSON.stringify(say('half'))}\n\n`)
    })
    const asked = provider(url).chat(
      ask({ signal: controller.signal, onText: () => controller.abort(reason) }),
    )
    await expect(asked).rejects.toMatchObject({ class: 'cancelled', cause: reason })
    await until('the connection is closed', () => closed)
  })

  it('with a flood is malformed output, and its connection is closed', async () => {
    let closed = false
    const error = await failure((_, response) => {
      response.once('close', () => (closed = true))
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const piece = `data: ${JSON.stringify(say('x'.repeat(500_000)))}\n\n`
      const more = (failed?: Error | null): void => void (closed || failed || response.write(piece, more))
      more()
    })
    expect(error).toMatchObject({
      class: 'malformed_output',
      message: expect.stringContaining(`more than ${bodyBytesMax} bytes`),
    })
    await until('the connection is closed', () => closed)
  })

  test.each<[string, unknown]>([
    ['an event that is not JSON', 'data: {"choices": [{"del\n\n'],
    ['HTML', 'data: <html></html>\n\n'],
    ['null', 'data: null\n\n'],
    ['a number', 'data: 5\n\n'],
    ['choices an object', { choices: {} }],
    ['a choice null', { choices: [null] }],
    ['content a number', say(5)],
    ['finish_reason a number', chunk({}, 5)],
    ['tool_calls an object', chunk({ tool_calls: {} })],
    ['a tool call null', chunk({ tool_calls: [null] })],
    ['arguments a list', call(0, { id: 'a', function: { name: 'f', arguments: [] } })],
    ['a name a number', call(0, { id: 'a', function: { name: 5 } })],
    ['a call without a name', call(0, { id: 'a', function: { arguments: '{}' } })],
    ['model an object', { choices: [], model: {} }],
  ])('with %s is malformed output', async (_, event) => {
    expect((await failure(sse([say('a'), event, end()]))).class).toBe('malformed_output')
  })

  test.each<[object | string, string]>([
    [{ error: { message: 'x', code: 429 } }, 'rate_limited'],
    [{ error: { message: 'x', code: 'rate_limit_exceeded' } }, 'rate_limited'],
    [{ error: { message: 'x', type: 'insufficient_quota' } }, 'provider_refused'],
    [{ error: { message: 'x', code: '401' } }, 'provider_refused'],
    [{ error: { message: 'x', type: 'invalid_request_error' } }, 'provider_refused'],
    [{ error: { message: 'x', code: 'context_length_exceeded' } }, 'context_overflow'],
    [{ error: { message: 'x', type: 'server_error' } }, 'provider_unavailable'],
    [{ error: { message: 'x', code: 408 } }, 'provider_timeout'],
    [{ error: { message: 'overloaded' } }, 'provider_unavailable'],
    [{ error: 'oops' }, 'provider_unavailable'],
    [{ error: { message: { a: 1 }, code: {} } }, 'provider_unavailable'],
    ['event: error\ndata: {"error": {"message": "x", "code": 503}}\n\n', 'provider_unavailable'],
    ['event: error\ndata: null\n\n', 'provider_unavailable'],
  ])('with the error %j is %s', async (event, failureClass) => {
    const error = await failure(sse([say('half'), event], { open: true }))
    expect(error.class).toBe(failureClass)
    expect(error.message).toMatch(/^The endpoint 127\.0\.0\.1:\d+ .*\(told instead of an answer\)/)
  })

  test.each<[unknown, string]>([
    [{ code: 502, message: 'The upstream failed' }, 'provider_unavailable'],
    [{ code: 429, message: 'busy' }, 'rate_limited'],
    [{ message: 'nobody knows' }, 'provider_unavailable'],
    ['oops', 'provider_unavailable'],
  ])('with the error %j in its choice is %s, whole and streamed', async (error, failureClass) => {
    const broken = { index: 0, finish_reason: 'error', error }
    const streamed = await failure(
      sse([say('half'), { choices: [{ ...broken, delta: { content: '' } }] }, 'data: [DONE]\n\n']),
    )
    const whole = await failureOf(
      provider(await serve(json({ choices: [{ ...broken, message: { content: 'half' } }] }))).chat(ask()),
    )
    expect([streamed.class, whole.class]).toEqual([failureClass, failureClass])
  })

  it('with the key in an error does not tell it', async () => {
    const error = await failure(sse([{ error: { message: `key ${apiKey} is bad`, code: 401 } }]))
    expect(`${error.message}${error.stack}`).not.toContain('SECRET')
  })
})

test.each<[number, unknown, string]>([
  [401, { error: { message: 'no' } }, 'provider_refused'],
  [400, { error: { message: 'no' } }, 'provider_refused'],
  [429, { error: { message: 'slow down' } }, 'rate_limited'],
  [503, '<html>', 'provider_unavailable'],
])('a stream that is refused with %d is %3$s, after one request', async (status, body, failureClass) => {
  let requests = 0
  const error = await failure((request, response, sent) => {
    requests++
    json(body, status, { 'retry-after': '2' })(request, response, sent)
  })
  expect([error.class, error.status, requests]).toEqual([failureClass, status, 1])
  if (status === 429) expect(error.retryAfterMs).toBe(2_000)
})

test('an error in a whole answer is known by its code', async () => {
  const body = { error: { message: 'slow', code: 429 } }
  expect(await failureOf(provider(await serve(json(body))).chat(ask()))).toMatchObject({
    class: 'rate_limited',
    status: null,
  })
})
