import { once } from 'node:events'
import { request } from 'node:http'
import OpenAI from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startSimulatedModelProcess } from './process.ts'
import { type SimulatedModel, startSimulatedModel } from './server.ts'

let model: SimulatedModel
let client: OpenAI
beforeAll(async () => {
  model = await startSimulatedModel()
  client = new OpenAI({ baseURL: `${model.url}/v1`, apiKey: 'none', maxRetries: 0 })
})
afterAll(() => model.close())

const name = 'beaver-simulated-1'
const tools: OpenAI.ChatCompletionTool[] = [
  {
    type: 'function',
    function: { name: 'echo', description: 'd', parameters: { type: 'object', properties: {} } },
  },
]
const order =
  '<instruction>\nCall `echo` with {"text": "中文 🦫 and a longer text, so that it needs more than one chunk on its way: 🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫"}.\n</instruction>'

const callText = (call: OpenAI.ChatCompletionMessageToolCall): string =>
  call.type === 'function' ? `${call.id} ${call.function.name} ${call.function.arguments}` : ''

test('lists its one model', async () => {
  expect((await client.models.list()).data.map(({ id }) => id)).toEqual([name])
})

test('the same request has the same answer, byte for byte', async () => {
  const ask = async (): Promise<string> =>
    await (
      await client.chat.completions
        .create({ model: name, messages: [{ role: 'user', content: 'hi' }] })
        .asResponse()
    ).text()
  expect(await ask()).toBe(await ask())
})

test('an answer that must call a tool calls the first one, with what its schema requires', async () => {
  const parameters = {
    type: 'object',
    properties: { at: { type: 'string' }, n: { type: 'integer' }, more: { type: 'string' } },
    required: ['at', 'n'],
  }
  const { choices } = await client.chat.completions.create({
    model: name,
    messages: [{ role: 'user', content: 'hi' }],
    tools: [{ type: 'function', function: { name: 'colour', parameters } }],
    tool_choice: 'required',
  })
  expect(choices[0]?.message.tool_calls?.map(callText)).toEqual(['call_1 colour {"at":"x","n":1}'])
})

test('a stream has the same text and calls as the whole answer', async () => {
  for (const [content, offered] of [
    ['Tell me something long: '.repeat(10), []],
    [order, tools],
  ] as const) {
    const messages = [{ role: 'user' as const, content }]
    const offer = offered.length === 0 ? {} : { tools: [...offered] }
    const whole = await client.chat.completions.create({ model: name, messages, ...offer })
    const stream = client.chat.completions.stream({
      model: name,
      messages,
      ...offer,
      stream_options: { include_usage: true },
    })
    const streamed = await stream.finalChatCompletion()
    expect(streamed.choices[0]?.message.content).toBe(whole.choices[0]?.message.content)
    expect(streamed.choices[0]?.message.tool_calls?.map(callText)).toEqual(
      whole.choices[0]?.message.tool_calls?.map(callText),
    )
    expect(streamed.choices[0]?.finish_reason).toBe(whole.choices[0]?.finish_reason)
    expect(streamed.usage?.completion_tokens).toBe(whole.usage?.completion_tokens)
  }
})

test.each<[string, number, string, string, string | undefined]>([
  [
    'another model',
    404,
    'POST',
    '/v1/chat/completions',
    '{"model":"gpt-5","messages":[{"role":"user","content":"x"}]}',
  ],
  ['a body that is not JSON', 400, 'POST', '/v1/chat/completions', '{'],
  ['no messages', 400, 'POST', '/v1/chat/completions', `{"model":"${name}","messages":[]}`],
  [
    'an unknown role',
    400,
    'POST',
    '/v1/chat/completions',
    `{"model":"${name}","messages":[{"role":"robot","content":"x"}]}`,
  ],
  ['another path', 404, 'POST', '/v1/embeddings', '{}'],
  ['another method', 405, 'GET', '/v1/chat/completions', undefined],
])('%s is an error %d that says what is wrong', async (_, status, method, path, body) => {
  const response = await fetch(model.url + path, { method, ...(body === undefined ? {} : { body }) })
  expect(response.status).toBe(status)
  expect(await response.json()).toMatchObject({
    error: { type: 'invalid_request_error', message: expect.stringMatching(/./) },
  })
})

test('closing it ends an answer that is still waited for', async () => {
  const slow = await startSimulatedModel({ latencyMs: 600_000 })
  const asking = request(`${slow.url}/v1/chat/completions`, { method: 'POST' })
  const ended = once(asking, 'error')
  asking.end(JSON.stringify({ model: name, messages: [{ role: 'user', content: 'x' }] }))
  await once(asking, 'finish')
  await slow.close()
  expect((await ended)[0]).toBeInstanceOf(Error)
})

test('as a child process it answers, and ends when its parent closes its stdin', async () => {
  const child = await startSimulatedModelProcess()
  expect((await fetch(`${child.url}/v1/models`)).status).toBe(200)
  await child.close()
  expect(await child.exited).toEqual({ code: 0, signal: null })
})

test('as a child process it ends on SIGTERM', async () => {
  const child = await startSimulatedModelProcess()
  process.kill(child.pid, 'SIGTERM')
  expect(await child.exited).toEqual({ code: 0, signal: null })
})
