// What a request to the Responses API has, how its answer is read when it is not a plain one, and what the
// provider learns from refusals.
import type { ChatMessage } from '@beaver/core'
import { afterEach, describe, expect, it } from 'vitest'
import { apiKey, ask, closeServers, failureOf, type Handler, json, serve, sse } from '../test/kit.ts'
import { answered, responsesProvider } from '../test/responses-kit.ts'
import { openAiChatProvider } from './openai-chat.ts'

afterEach(closeServers)

const response = (over: object = {}): object => ({
  id: 'resp_1',
  object: 'response',
  model: 'm-1',
  status: 'completed',
  error: null,
  output: [],
  ...over,
})
const said = (text: string): object => ({
  type: 'message',
  role: 'assistant',
  id: 'msg_1',
  content: [{ type: 'output_text', text, annotations: [] }],
})
const called = (id: string, args = '{}'): object => ({
  type: 'function_call',
  id: `fc_${id}`,
  call_id: id,
  name: 'look_up',
  arguments: args,
})
const thought = (id: string, over: object = {}): object => ({
  type: 'reasoning',
  id,
  summary: [],
  encrypted_content: `secret of ${id}`,
  ...over,
})

interface Body extends Record<string, unknown> {
  readonly input: Record<string, unknown>[]
}

/** A server that keeps the bodies, answers by turns, and repeats its last answer. */
async function served(...turns: readonly Handler[]) {
  const bodies: Body[] = []
  const url = await serve((request, answer, body) => {
    bodies.push(JSON.parse(body) as Body)
    turns[Math.min(bodies.length, turns.length) - 1]?.(request, answer, body)
  })
  return { url, bodies }
}
const fine = json(response({ output: [said('fine')] }))
const refusal = (message: string, over: object = {}, status = 400): Handler =>
  json({ error: { message, type: 'invalid_request_error', ...over } }, status)
const user: ChatMessage = { role: 'user', content: 'x' }

it('sends each part of a conversation as its item, with encoded names of tools and its settings', async () => {
  const { url, bodies } = await served(fine)
  const settings = {
    temperature: 0.5,
    output_tokens_max: 99,
    reasoning_effort: 'low',
    extra_body: { reasoning: { summary: 'auto' }, include: ['a'] },
  }
  await responsesProvider(url).chat(
    ask({
      settings,
      mustCall: true,
      tools: [{ name: 'workflow:a b', description: 'd', parameters: { type: 'object' } }],
      messages: [
        { role: 'system', content: 'be brief' },
        user,
        {
          role: 'assistant',
          content: 'so',
          tool_calls: [{ id: `call_${'i'.repeat(80)}`, name: 'workflow:a b', arguments: 'no json' }],
        },
        { role: 'tool', tool_call_id: `call_${'i'.repeat(80)}`, content: 'r' },
        { role: 'assistant', content: 'end' },
      ],
    }),
  )
  const [body] = bodies
  const { input, tools, ...rest } = body ?? { input: [] }
  expect(rest).toEqual({
    ...{ model: 'm', store: false, temperature: 0.5, max_output_tokens: 99 },
    ...{ reasoning: { summary: 'auto', effort: 'low' }, include: ['a', 'reasoning.encrypted_content'] },
    tool_choice: 'required',
  })
  const name = (tools as { name: string }[])[0]?.name
  expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
  expect(tools).toEqual([
    { type: 'function', name, description: 'd', parameters: { type: 'object' }, strict: false },
  ])
  const callId = input[3]?.['call_id']
  expect(callId).toMatch(/^call_[0-9a-f]{59}$/)
  const text = (of: string, type: string): object[] => [
    { type, text: of, ...(type === 'output_text' ? { annotations: [] } : {}) },
  ]
  expect(input).toEqual([
    { type: 'message', role: 'system', content: text('be brief', 'input_text') },
    { type: 'message', role: 'user', content: text('x', 'input_text') },
    {
      type: 'message',
      role: 'assistant',
      id: 'msg_2',
      status: 'completed',
      content: text('so', 'output_text'),
    },
    { type: 'function_call', call_id: callId, name, arguments: '{}' },
    { type: 'function_call_output', call_id: callId, output: 'r' },
    {
      type: 'message',
      role: 'assistant',
      id: 'msg_4',
      status: 'completed',
      content: text('end', 'output_text'),
    },
  ])
})

it('asks for the form of an answer, and without it once the server refused it', async () => {
  const { url, bodies } = await served(
    fine,
    refusal('Unsupported value for text.format', { param: 'text.format' }),
    fine,
  )
  const provider = responsesProvider(url)
  const schema = {
    type: 'object',
    properties: { n: { type: 'number' } },
    required: ['n'],
    additionalProperties: false,
  }
  const asking = ask({
    output: { name: 'answer', schema },
    settings: { extra_body: { text: { verbosity: 'low' } } },
  })
  for (let i = 0; i < 2; i++) await provider.chat(asking)
  expect(bodies.map(({ text }) => text)).toEqual([
    ...[0, 1].map(() => ({
      verbosity: 'low',
      format: { type: 'json_schema', name: 'answer', schema, strict: true },
    })),
    { verbosity: 'low', format: { type: 'json_object' } },
  ])
})

describe('the thoughts of an answer', () => {
  const output = [thought('rs_1'), said('first'), thought('rs_2'), called('a'), thought('rs_3'), called('b')]
  const typesIn = (body: Body | undefined): unknown[] =>
    (body?.input ?? []).map((item) => item['id'] ?? item['call_id'] ?? item['role'])

  it('go back in their places', async () => {
    const { url, bodies } = await served(json(response({ output })), fine)
    const provider = responsesProvider(url)
    await provider.chat(ask({ messages: [user, ...answered(await provider.chat(ask()))] }))
    expect(typesIn(bodies[1])).toEqual(['user', 'rs_1', 'msg_1', 'rs_2', 'a', 'rs_3', 'b', 'a', 'b'])
  })

  it('of a call that was not kept do not go back', async () => {
    const { url, bodies } = await served(json(response({ output })), fine)
    const provider = responsesProvider(url)
    const answer = await provider.chat(ask())
    await provider.chat(
      ask({
        messages: [user, ...answered({ ...answer, content: null, toolCalls: answer.toolCalls.slice(1) })],
      }),
    )
    expect(typesIn(bodies[1])).toEqual(['user', 'rs_3', 'b', 'b'])
  })

  it('go back by their ids to a server that stores them, with the ids of the calls', async () => {
    const { url, bodies } = await served(
      json(response({ output: [thought('rs_1', { encrypted_content: null }), called('a')] })),
      fine,
    )
    const provider = responsesProvider(url, { stores: true })
    await provider.chat(ask({ messages: [user, ...answered(await provider.chat(ask()))] }))
    expect(bodies[1]).toMatchObject({
      store: true,
      input: [
        {},
        { type: 'item_reference', id: 'rs_1' },
        { type: 'function_call', id: 'fc_a', call_id: 'a' },
        {},
      ],
    })
    expect(bodies[1]).not.toHaveProperty('include')
  })

  it('that the server does not have any more are left out of this call alone', async () => {
    const gone = refusal(
      "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.",
      {},
      404,
    )
    const { url, bodies } = await served(json(response({ output })), gone, fine)
    const provider = responsesProvider(url)
    const messages = [user, ...answered(await provider.chat(ask()))]
    expect((await provider.chat(ask({ messages }))).content).toBe('fine')
    await provider.chat(ask({ messages }))
    const thoughts = bodies.map((body) => body.input.filter(({ type }) => type === 'reasoning').length)
    expect(thoughts).toEqual([0, 3, 0, 3])
  })

  it('that the server never takes are left out from then on', async () => {
    const { url, bodies } = await served(
      json(response({ output })),
      refusal("Invalid value: 'reasoning'.", { param: 'input[1]' }),
      fine,
    )
    const provider = responsesProvider(url)
    const messages = [user, ...answered(await provider.chat(ask()))]
    await provider.chat(ask({ messages }))
    await provider.chat(ask({ messages }))
    expect(bodies.map((body) => body.input.filter(({ type }) => type === 'reasoning').length)).toEqual([
      0, 3, 0, 0,
    ])
  })

  it('say nothing to a server of chat completions', async () => {
    const { url } = await served(json(response({ output })))
    const messages = [user, ...answered(await responsesProvider(url).chat(ask()))]
    const chat = await served(json({ choices: [{ message: { content: 'fine' } }] }))
    await openAiChatProvider({ name: 'test', baseURL: chat.url, apiKey, model: 'm', timeoutMs: 60_000 }).chat(
      ask({ messages }),
    )
    expect(chat.bodies[0]).toMatchObject({
      messages: [{}, { role: 'assistant', tool_calls: [{}, {}] }, {}, {}],
    })
    expect(JSON.stringify(chat.bodies[0])).not.toContain('secret of')
  })
})

it.each([
  ['Encrypted content is not supported with this model.', { param: 'include' }, 'include'],
  ['Unknown parameter: `store`', { param: 'store' }, 'store'],
])('leaves out what the server does not know: %s', async (message, over, field) => {
  const { url, bodies } = await served(refusal(message, over), fine)
  const provider = responsesProvider(url)
  await provider.chat(ask())
  await provider.chat(ask())
  expect(bodies.map((body) => field in body)).toEqual([true, false, false])
})

it.each(['store', 'include'])('learns nothing from a refusal of a tool with the name %s', async (name) => {
  const message = `Invalid schema for function '${name}': Additional properties are not allowed.`
  const { url, bodies } = await served(refusal(message, { param: 'tools[0].parameters' }), fine)
  const provider = responsesProvider(url)
  const { refusedTools } = await failureOf(
    provider.chat(ask({ tools: [{ name, description: 'd', parameters: { type: 'object' } }] })),
  )
  expect(refusedTools).toMatchObject([{ name }])
  await provider.chat(ask())
  expect(bodies.map(({ store, include }) => [store, include])).toEqual([
    [false, ['reasoning.encrypted_content']],
    [false, ['reasoning.encrypted_content']],
  ])
})

it.each([
  ['completed', undefined, 'completed'],
  ['incomplete', 'max_output_tokens', 'max_output_tokens'],
  ['incomplete', 'content_filter', 'content_filter'],
  ['incomplete', undefined, 'incomplete'],
  ['cancelled', undefined, 'cancelled'],
  ['in_progress', undefined, 'in_progress'],
])('a response that is %s (%s) ends with %s', async (status, reason, word) => {
  const { url } = await served(
    json(
      response({ status, incomplete_details: reason === undefined ? null : { reason }, output: [said('a')] }),
    ),
  )
  expect((await responsesProvider(url).chat(ask())).finishReason).toBe(word)
})

describe.each([true, false])('a failure, streamed: %j', (streams) => {
  const how = streams ? { onText: () => undefined } : {}
  it.each([
    [{ code: 'rate_limit_exceeded', message: 'slow' }, 'rate_limited'],
    [{ code: 'server_error', message: 'x' }, 'provider_unavailable'],
    [{ code: 'invalid_prompt', message: 'x' }, 'provider_refused'],
    [
      { code: 'context_length_exceeded', message: 'Your input exceeds the context window of this model.' },
      'context_overflow',
    ],
    [null, 'provider_unavailable'],
  ])('%j is %s', async (error, failureClass) => {
    const failed = response({ status: 'failed', error })
    const { url } = await served(
      streams ? sse([{ type: 'response.failed', response: failed }], { cut: true }) : json(failed),
    )
    expect((await failureOf(responsesProvider(url).chat(ask(how)))).class).toBe(failureClass)
  })

  it('a refusal is one, and no error has the key', async () => {
    const output = [{ type: 'message', content: [{ type: 'refusal', refusal: `no, ${apiKey}` }] }]
    const { url } = await served(
      streams
        ? sse([{ type: 'response.completed', response: response({ output }) }], { cut: true })
        : json(response({ output })),
    )
    const failure = await failureOf(responsesProvider(url).chat(ask(how)))
    expect([failure.class, failure.message.includes('SECRET')]).toEqual(['refusal', false])
  })
})

describe('a stream', () => {
  const streamed = async (
    events: readonly unknown[],
    sends: Parameters<typeof sse>[1] = { cut: true },
    limits: { idleMs?: number } = {},
  ) => {
    const texts: string[] = []
    const answer = await responsesProvider(await serve(sse(events, sends)), limits).chat(
      ask({ onText: (text) => texts.push(text) }),
    )
    return { texts, answer }
  }
  const delta = (text: string): object => ({
    type: 'response.output_text.delta',
    output_index: 0,
    item_id: 'msg_1',
    delta: text,
  })
  const completed = (output: readonly object[]): object => ({
    type: 'response.completed',
    response: response({ output, usage: { input_tokens: 3, output_tokens: 2 } }),
  })

  it('shows its pieces, and equals the whole', async () => {
    const { texts, answer } = await streamed([delta('one '), delta('two'), completed([said('one two')])])
    expect([texts, answer.content, answer.usage]).toEqual([
      ['one ', 'two'],
      'one two',
      { input_tokens: 3, output_tokens: 2, calls: 1 },
    ])
  })

  it('ends with its last event, though the connection stays open', async () => {
    expect((await streamed([delta('a'), completed([said('a')])], { open: true })).answer.content).toBe('a')
  })

  it('is put together from its pieces if the last event has no output', async () => {
    const events = [
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { type: 'function_call', id: 'fc_1', call_id: 'c', name: 'look_up', arguments: '' },
      },
      { type: 'response.function_call_arguments.delta', output_index: 0, item_id: 'fc_1', delta: '{"a":' },
      { type: 'response.function_call_arguments.delta', output_index: 0, item_id: 'fc_1', delta: '1}' },
      completed([]),
    ]
    expect((await streamed(events)).answer.toolCalls).toEqual([
      { id: 'c', name: 'look_up', arguments: '{"a":1}' },
    ])
  })

  it.each([
    ['just stops', [delta('a')], { cut: true }],
    ['says that it is done before an item is', [delta('a')], {}],
    ['has nothing', [], {}],
  ])('that %s was cut', async (_, events, sends) => {
    expect((await failureOf(streamed(events, sends))).class).toBe('provider_unavailable')
  })

  it.each([
    ['named', 'event: error\ndata: {"type":"error","code":"rate_limit_exceeded","message":"slow"}\n\n'],
    ['not named', { type: 'error', code: 'rate_limit_exceeded', message: 'slow', param: null }],
  ])('with an error event that is %s fails with it', async (_, event) => {
    expect((await failureOf(streamed([delta('a'), event]))).class).toBe('rate_limited')
  })

  it('of one whole response is read', async () => {
    expect((await streamed([response({ output: [said('a')] })])).texts).toEqual(['a'])
  })

  it('shows no thoughts that are in its text', async () => {
    const { texts, answer } = await streamed([
      delta('<think>hm</think>'),
      delta('a'),
      completed([said('<think>hm</think>a')]),
    ])
    expect([texts.join(''), answer.content]).toEqual(['a', 'a'])
  })

  it('that falls silent is given up', async () => {
    expect((await failureOf(streamed([delta('a')], { open: true }, { idleMs: 50 }))).class).toBe(
      'provider_timeout',
    )
  })
})
