import type { ProviderError } from '@beaver/agent'
import { afterEach, expect, test } from 'vitest'
import {
  apiKey,
  ask,
  closeServers,
  failureOf as failureOfCall,
  type Handler,
  json,
  provider,
  serve,
} from '../test/kit.ts'

afterEach(closeServers)

const good = {
  id: 'r1',
  model: 'm-1',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'hi' } }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
}

const failureOf = async (handler: Handler): Promise<ProviderError> =>
  failureOfCall(provider(await serve(handler)).chat(ask()))

const choice = (message: unknown, finish: unknown = 'stop'): unknown => ({
  ...good,
  choices: [{ finish_reason: finish, message }],
})
const called = (call: unknown): unknown => choice({ content: null, tool_calls: [call] }, 'tool_calls')

test('an answer has its text, usage, model and id', async () => {
  expect(await provider(await serve(json(good))).chat(ask())).toEqual({
    content: 'hi',
    toolCalls: [],
    finishReason: 'stop',
    usage: { input_tokens: 3, output_tokens: 2, calls: 1 },
    model: 'm-1',
    responseId: 'r1',
  })
})

test('messages and tools have the form of the wire', async () => {
  let sent: unknown
  const url = await serve((request, response, body) => {
    sent = { body: JSON.parse(body), authorization: request.headers.authorization, path: request.url }
    json(good)(request, response, body)
  })
  const parameters = { type: 'object', properties: {} }
  await provider(url).chat(
    ask({
      messages: [
        { role: 'system', content: 's' },
        { role: 'assistant', content: null, tool_calls: [{ id: 'c', name: 'echo', arguments: '{}' }] },
        { role: 'tool', tool_call_id: 'c', content: 'r' },
      ],
      tools: [{ name: 'echo', description: 'd', parameters }],
    }),
  )
  expect(sent).toEqual({
    path: '/v1/chat/completions',
    authorization: `Bearer ${apiKey}`,
    body: {
      model: 'm',
      messages: [
        { role: 'system', content: 's' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'c', type: 'function', function: { name: 'echo', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'c', content: 'r' },
      ],
      tools: [{ type: 'function', function: { name: 'echo', description: 'd', parameters } }],
    },
  })
})

test('tools have encoded names on the wire, in the schemas and in the history, and their own in the answer (D-13)', async () => {
  const long = `workflow:${'x'.repeat(80)}`
  let sent:
    | {
        messages: { tool_calls?: { function: { name: string } }[] }[]
        tools: { function: { name: string } }[]
      }
    | undefined
  const url = await serve((request, response, body) => {
    sent = JSON.parse(body) as typeof sent
    const names = [
      ...(sent?.tools ?? []).map((tool) => tool.function.name),
      'workflow-_elsewhere',
      'list-files',
    ]
    json(
      choice(
        { tool_calls: names.map((name, i) => ({ id: `c${i}`, function: { name, arguments: '{}' } })) },
        'tool_calls',
      ),
    )(request, response, body)
  })
  const tools = ['workflow:摘要', long, 'read_file'].map((name) => ({
    name,
    description: 'd',
    parameters: {},
  }))
  const history = {
    role: 'assistant' as const,
    content: null,
    tool_calls: [{ id: 'h', name: 'workflow:摘要', arguments: '{}' }],
  }
  const { toolCalls } = await provider(url).chat(
    ask({
      messages: [{ role: 'user', content: 'x' }, history, { role: 'tool', tool_call_id: 'h', content: 'r' }],
      tools,
    }),
  )
  const wire = sent?.tools.map((tool) => tool.function.name) ?? []
  expect(wire).toEqual(['workflow-_-u6458-u8981', expect.stringMatching(/^[a-zA-Z0-9_-]{64}$/), 'read_file'])
  expect(sent?.messages[1]?.tool_calls?.[0]?.function.name).toBe(wire[0])
  expect(toolCalls.map((call) => call.name)).toEqual([
    'workflow:摘要',
    long,
    'read_file',
    'workflow:elsewhere',
    'list-files',
  ])
})

test.each<[string, unknown, object]>([
  [
    'no usage, model or id',
    { choices: [{ message: { content: 'a' } }] },
    { usage: { input_tokens: 0, output_tokens: 0, calls: 1 }, model: 'm', responseId: null },
  ],
  ['finish_reason null', choice({ content: 'a' }, null), { finishReason: 'stop' }],
  [
    'finish_reason null with tool calls',
    choice({ tool_calls: [{ id: 'x', function: { name: 'f', arguments: '{}' } }] }, null),
    { finishReason: 'tool_calls', content: null },
  ],
  ['a finish_reason of its own', choice({ content: 'a' }, 'eos'), { finishReason: 'eos' }],
  ['tool_calls null', choice({ content: 'a', tool_calls: null }), { toolCalls: [] }],
  [
    'a tool call without id',
    called({ type: 'function', function: { name: 'f', arguments: '{"a":1}' } }),
    { toolCalls: [{ id: 'call_0', name: 'f', arguments: '{"a":1}' }] },
  ],
  [
    'a tool call without arguments',
    called({ id: 'x', function: { name: 'f' } }),
    { toolCalls: [{ id: 'x', name: 'f', arguments: '{}' }] },
  ],
  [
    'arguments that are not JSON',
    called({ id: 'x', function: { name: 'f', arguments: '{oops' } }),
    { toolCalls: [{ id: 'x', name: 'f', arguments: '{oops' }] },
  ],
  [
    'a type that is empty',
    called({ id: 'x', type: '', function: { name: 'f', arguments: '{}' } }),
    { toolCalls: [{ id: 'x', name: 'f', arguments: '{}' }] },
  ],
  [
    'arguments that are an object',
    called({ id: 'x', function: { name: 'f', arguments: { a: [1] } } }),
    { toolCalls: [{ arguments: '{"a":[1]}' }] },
  ],
  [
    'an id that is a number',
    called({ id: 7, function: { name: 'f', arguments: '{}' } }),
    { toolCalls: [{ id: '7' }] },
  ],
  [
    'content in parts',
    choice({
      content: [
        { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
        { type: 'text', text: 'a' },
        'b',
      ],
    }),
    { content: 'ab' },
  ],
  ['content without parts', choice({ content: [] }), { content: null }],
  [
    'usage in fractions',
    { ...good, usage: { prompt_tokens: 1.5, completion_tokens: 2.2 } },
    { usage: { input_tokens: 2, output_tokens: 2, calls: 1 } },
  ],
  [
    'tokens in texts',
    { ...good, usage: { prompt_tokens: '9', completion_tokens: '2' } },
    { usage: { input_tokens: 9, output_tokens: 2, calls: 1 } },
  ],
  [
    'a usage that cannot be read',
    { ...good, usage: 'many' },
    { content: 'hi', usage: { input_tokens: 0, output_tokens: 0, calls: 1 } },
  ],
  [
    'tokens less than none',
    { ...good, usage: { prompt_tokens: -1, completion_tokens: 2 } },
    { usage: { input_tokens: 0, output_tokens: 2, calls: 1 } },
  ],
  [
    'a call in the form before tool_calls',
    choice({ content: null, function_call: { name: 'f', arguments: '{"a":1}' } }, 'function_call'),
    { toolCalls: [{ id: 'call_0', name: 'f', arguments: '{"a":1}' }], finishReason: 'function_call' },
  ],
  [
    'arguments that are quoted twice, as vLLM does for Granite',
    called({ id: 'x', function: { name: 'f', arguments: JSON.stringify('{\n "a": 1}') } }),
    { toolCalls: [{ arguments: '{\n "a": 1}' }] },
  ],
  [
    'arguments that are a text and no object',
    called({ id: 'x', function: { name: 'f', arguments: '"a"' } }),
    { toolCalls: [{ arguments: '"a"' }] },
  ],
  ["finish_reason 'null'", choice({ content: 'a' }, 'null'), { finishReason: 'stop' }],
  [
    'thoughts before it',
    choice({ content: '<think>\nhm </b>\n</think>\n\na <think> b' }),
    { content: 'a <think> b' },
  ],
  ['thoughts whose beginning the template has', choice({ content: 'hm\n</think>\n\na' }), { content: 'a' }],
  [
    'the tags of thoughts in it',
    choice({ content: 'Models write <think> and </think>.' }),
    { content: 'Models write <think> and </think>.' },
  ],
  ['thoughts without an end', choice({ content: '<think>hm' }), { content: '' }],
  ['the end of a stream after it', `${JSON.stringify(good)}\n\ndata: [DONE]\n\n`, { content: 'hi' }],
  [
    'a stream that nobody asked for',
    `data: ${JSON.stringify({ choices: [{ delta: { content: 'a' }, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`,
    { content: 'a' },
  ],
  [
    'fields nobody knows',
    { ...good, x: 1, choices: [{ message: { content: 'a', reasoning: 'y' }, z: 2 }] },
    { content: 'a' },
  ],
])('accepts an answer with %s', async (_, body, expected) => {
  expect(await provider(await serve(json(body))).chat(ask())).toMatchObject(expected)
})

test('ids it gives to tool calls are unique in the conversation', async () => {
  const call = { id: 'same', function: { name: 'f', arguments: '{}' } }
  const url = await serve(json(choice({ tool_calls: [call, call, { function: { name: 'g' } }] })))
  const messages = [
    { role: 'assistant' as const, content: null, tool_calls: [{ id: 'call_0', name: 'f', arguments: '{}' }] },
  ]
  const { toolCalls } = await provider(url).chat(ask({ messages }))
  expect(toolCalls.map(({ id }) => id)).toEqual(['same', 'call_2', 'call_3'])
})

test.each<[string, unknown]>([
  ['HTML', '<html><body>Welcome to nginx</body></html>'],
  ['nothing', ''],
  ['JSON that is cut off', '{"choices": [{"mess'],
  ['null', 'null'],
  ['an array', '[]'],
  ['an error in a success', { error: { message: 'oops' } }],
  ['no choices', { ...good, choices: [] }],
  ['choices of another type', { ...good, choices: 'x' }],
  ['message null', choice(null)],
  ['no message', { ...good, choices: [{ finish_reason: 'stop' }] }],
  ['content a number', choice({ content: 5 })],
  ['finish_reason a number', choice({ content: 'a' }, 5)],
  ['tool_calls an object', choice({ tool_calls: {} })],
  ['a tool call null', called(null)],
  ['a tool call without function', called({ id: 'x' })],
  ['a tool call without name', called({ id: 'x', function: { arguments: '{}' } })],
  ['arguments a list', called({ id: 'x', function: { name: 'f', arguments: [] } })],
  ['model a number', { ...good, model: 4 }],
  ['id an object', { ...good, id: {} }],
])('%s is malformed output', async (_, body) => {
  expect((await failureOf(json(body))).class).toBe('malformed_output')
})

test.each<[number, unknown, string]>([
  [400, { error: { message: 'bad field' } }, 'provider_refused'],
  [400, { error: { message: 'x', code: 'context_length_exceeded' } }, 'context_overflow'],
  [400, { error: { message: "This model's maximum context length is 4096 tokens." } }, 'context_overflow'],
  [400, { error: { message: 'prompt is too long: 210000 tokens > 200000 maximum' } }, 'context_overflow'],
  [400, { error: { message: 'the request exceeds the available context size' } }, 'context_overflow'],
  [401, { error: { message: 'no' } }, 'provider_refused'],
  [402, { error: { message: 'pay' } }, 'provider_refused'],
  [403, 'not JSON', 'provider_refused'],
  [404, { error: { code: 'model_not_found', message: 'no such model' } }, 'provider_refused'],
  [408, '', 'provider_timeout'],
  [409, '', 'provider_unavailable'],
  [413, '<html></html>', 'context_overflow'],
  [422, { detail: 'x' }, 'provider_refused'],
  [
    400,
    { detail: [{ loc: ['body'], msg: "This model's maximum context length is 4096 tokens." }] },
    'context_overflow',
  ],
  [
    400,
    [
      {
        error: {
          code: 400,
          status: 'INVALID_ARGUMENT',
          message: 'The input token count (9) exceeds the maximum number of tokens allowed (8).',
        },
      },
    ],
    'context_overflow',
  ],
  [400, { object: 'error', message: 'the prompt is too long', code: 400 }, 'context_overflow'],
  [
    400,
    {
      error: {
        message: 'Provider returned error',
        code: 400,
        metadata: { raw: '{"error":{"message":"prompt is too long: 9 tokens > 8 maximum"}}' },
      },
    },
    'context_overflow',
  ],
  [429, { error: { message: 'slow down' } }, 'rate_limited'],
  [
    429,
    { error: { message: 'x', code: 'insufficient_quota', type: 'insufficient_quota' } },
    'provider_refused',
  ],
  [500, { error: { message: 'x' } }, 'provider_unavailable'],
  [502, '<html>Bad Gateway</html>', 'provider_unavailable'],
  [503, '', 'provider_unavailable'],
  [529, { error: { type: 'overloaded_error', message: 'x' } }, 'provider_unavailable'],
])('status %d with %j is %s', async (status, body, failureClass) => {
  const error = await failureOf(json(body, status))
  expect([error.class, error.status]).toEqual([failureClass, status])
  expect(error.message).toMatch(/^The endpoint 127\.0\.0\.1:\d+ /)
  expect(error.message).not.toMatch(/<|\n/)
})

test.each<[Record<string, string>, number | null]>([
  [{ 'retry-after': '2' }, 2000],
  [{ 'retry-after': '0.5' }, 500],
  [{ 'retry-after-ms': '120', 'retry-after': '9' }, 120],
  [{ 'retry-after': 'Wed, 21 Oct 2026 07:28:05 GMT', date: 'Wed, 21 Oct 2026 07:28:00 GMT' }, 5000],
  [{ 'retry-after': 'Wed, 21 Oct 2020 07:28:05 GMT', date: 'Wed, 21 Oct 2026 07:28:00 GMT' }, 0],
  [{ 'retry-after': 'soon' }, null],
  [{ 'retry-after': '-3' }, null],
  [{}, null],
])('a rate limit with %j asks for a pause of %s ms', async (headers, pause) => {
  const error = await failureOf(json({ error: { message: 'x' } }, 429, headers))
  expect([error.class, error.retryAfterMs]).toEqual(['rate_limited', pause])
})

test.each([
  ['as a message', 401, { error: { message: `Incorrect API key provided: ${apiKey}.` } }],
  ['in part', 401, { error: { message: 'Incorrect API key provided: sk-test-****************hars.' } }],
  ['in a body of its own', 500, `request was: authorization: Bearer ${apiKey}`],
  ['URL-encoded', 400, { error: { message: `?key=${encodeURIComponent(apiKey)}` } }],
  ['in a success that is no answer', 200, { echoed: apiKey, choices: `Bearer ${apiKey}` }],
  ['across the end of what is shown', 200, `${'x'.repeat(190)}${apiKey}`],
  ['as a field name', 200, { choices: [{ message: { content: 'x' } }], model: { [apiKey]: 1 } }],
])('the key is in no error when the server echoes it %s', async (_, status, body) => {
  const error = await failureOf(json(body, status))
  const all = [error.message, error.stack, JSON.stringify(error), String(error.cause)].join('\n')
  expect(all).not.toMatch(/SECRET|odd=|hars/)
})

test('a refused key says where and what to check', async () => {
  const { message } = await failureOf(json({ error: { message: 'nope' } }, 401))
  expect(message).toMatch(
    /^The endpoint 127\.0\.0\.1:\d+ refused the API key: check OPENAI_API_KEY \(HTTP 401\)\. It says: nope$/,
  )
})

test('a model that declined is a refusal', async () => {
  expect(await failureOf(json(choice({ content: null, refusal: 'I cannot help.' })))).toMatchObject({
    class: 'refusal',
    message: 'The model m declined: I cannot help.',
  })
})

test('nobody listening is provider_unavailable', async () => {
  const url = await serve(json(good))
  await closeServers()
  await expect(provider(url).chat(ask())).rejects.toMatchObject({
    class: 'provider_unavailable',
    status: null,
    message: expect.stringMatching(
      /^The endpoint \S+ cannot be reached: connect ECONNREFUSED \S+\. Check that it runs and that the base URL is right\.$/,
    ),
  })
})

test('http where https is asked for is provider_unavailable, without the words of OpenSSL', async () => {
  const url = (await serve(json(good))).replace('http:', 'https:')
  await expect(provider(url).chat(ask())).rejects.toMatchObject({
    class: 'provider_unavailable',
    message: expect.stringMatching(/^The endpoint \S+ cannot be reached: ERR_SSL_\w+\. Check/),
  })
})

test('a connection that is reset is provider_unavailable', async () => {
  const { class: failureClass, message } = await failureOf((request) => request.socket.resetAndDestroy())
  expect([failureClass, message]).toEqual([
    'provider_unavailable',
    expect.stringMatching(/closed the connection before its answer was complete: .*ECONNRESET\.$/),
  ])
})

test('an answer that breaks off in its middle is provider_unavailable', async () => {
  const error = await failureOf((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 1000 })
    response.write('{"choices"', () => response.destroy())
  })
  expect(error.class).toBe('provider_unavailable')
})

test.each<[string, Handler]>([
  ['never answers', () => undefined],
  ['stalls in the middle of its answer', (_, response) => void response.writeHead(200).write('{')],
  ['stalls in the middle of an error', (_, response) => void response.writeHead(500).write('{')],
])('a server that %s is a provider_timeout', async (_, handler) => {
  await expect(provider(await serve(handler), { timeoutMs: 60 }).chat(ask())).rejects.toMatchObject({
    class: 'provider_timeout',
    message: expect.stringContaining('within 60 ms'),
    // It may have worked on what was sent.
    paid: { usage: { input_tokens: expect.any(Number), output_tokens: 0, calls: 1, estimated_calls: 1 } },
  })
})

test.each<[string, Handler]>([
  ['before the answer', () => undefined],
  ['in the middle of the answer', (_, response) => void response.writeHead(200).write('{')],
])('an abort %s ends the call as cancelled, with the reason of the signal', async (_, handler) => {
  const controller = new AbortController()
  const reason = new Error('cancelled by a person')
  const url = await serve((request, response, body) => {
    handler(request, response, body)
    setImmediate(() => controller.abort(reason))
  })
  await expect(provider(url).chat(ask({ signal: controller.signal }))).rejects.toMatchObject({
    ...{ class: 'cancelled', cause: reason },
    paid: { usage: { output_tokens: 0, calls: 1, estimated_calls: 1 }, model: 'm' },
  })
})

test('a call whose signal is aborted already makes no request', async () => {
  let requests = 0
  const url = await serve((request, response, body) => {
    requests++
    json(good)(request, response, body)
  })
  await expect(provider(url).chat(ask({ signal: AbortSignal.abort() }))).rejects.toMatchObject({
    name: 'AbortError',
  })
  expect(requests).toBe(0)
})

test('a failed call is not repeated', async () => {
  let requests = 0
  const error = await failureOf((request, response, body) => {
    requests++
    json({ error: { message: 'x' } }, 503)(request, response, body)
  })
  expect([error.class, requests]).toEqual(['provider_unavailable', 1])
})

test('a base URL that is none is refused at once', () => {
  for (const baseURL of ['', 'nonsense', 'ftp://x'])
    expect(() => provider(baseURL)).toThrow('must be an http or https URL')
})
