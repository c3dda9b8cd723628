// What a server gets for its cache on the wire, and what it teaches when it refuses.
import type { IncomingHttpHeaders } from 'node:http'
import type { ChatRequest } from '@beaver/agent'
import type { ChatMessage } from '@beaver/core'
import { cacheWordings } from '@beaver/testing'
import { afterEach, describe, expect, it, test } from 'vitest'
import { ask, closeServers, json, serve } from '../test/kit.ts'
import type { CacheSetting } from './cache-ways.ts'
import { openAiChatProvider } from './openai-chat.ts'
import { openAiResponsesProvider } from './openai-responses.ts'

afterEach(closeServers)

const tools = [{ name: 'read', description: 'Reads.', parameters: { type: 'object', properties: {} } }]
const conversation: readonly ChatMessage[] = [
  { role: 'system', content: 'shared\n\n# Session\n- session: s' },
  { role: 'user', content: 'A task.' },
  { role: 'assistant', content: null, tool_calls: [{ id: 'c1', name: 'read', arguments: '{}' }] },
  { role: 'tool', tool_call_id: 'c1', content: 'found' },
]
const cache = { key: 'a1b2c3', sharedChars: 'shared'.length }
const request = (over: Partial<ChatRequest> = {}): ChatRequest =>
  ask({ messages: conversation, tools, cache, ...over })

const answers = {
  chat: {
    id: 'r',
    model: 'm',
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'hi' } }],
  },
  responses: {
    ...{ id: 'r', model: 'm', status: 'completed', object: 'response' },
    output: [
      {
        type: 'message',
        id: 'm1',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'hi', annotations: [] }],
      },
    ],
  },
}

type Protocol = keyof typeof answers

/** A server that answers unless `refuses` says something of the body. */
async function serving(
  protocol: Protocol,
  refuses: (body: string) => { status: number; body: unknown } | null = () => null,
) {
  const bodies: string[] = []
  const headers: IncomingHttpHeaders[] = []
  const url = await serve((incoming, response, body) => {
    bodies.push(body)
    headers.push(incoming.headers)
    const refusal = refuses(body)
    json(refusal?.body ?? answers[protocol], refusal?.status ?? 200)(incoming, response, body)
  })
  const asking = (setting: { cache?: CacheSetting; cacheKeyHeader?: string } = {}) => {
    const options = {
      name: 'test',
      baseURL: url,
      apiKey: 'sk-test',
      model: 'm',
      timeoutMs: 60_000,
      ...setting,
    }
    return protocol === 'chat' ? openAiChatProvider(options) : openAiResponsesProvider(options)
  }
  return { bodies, headers, asking }
}

const marksIn = (body = ''): number => body.split(/"cache_control"|"prompt_cache_breakpoint"/).length - 1

describe.each(['chat', 'responses'] as const)('by %s', (protocol) => {
  it('an endpoint that nobody knows gets neither a key nor marks', async () => {
    const { bodies, asking } = await serving(protocol)
    await asking().chat(request())
    expect(bodies.join()).not.toMatch(/cache/)
  })

  it('a key is in the body, or in the header that it shall have, beside the key of the account', async () => {
    const { bodies, headers, asking } = await serving(protocol)
    await asking({ cache: 'key' }).chat(request())
    expect(JSON.parse(bodies[0] ?? '')).toMatchObject({ prompt_cache_key: 'a1b2c3' })
    await asking({ cache: 'key', cacheKeyHeader: 'X-Session-Id' }).chat(request())
    expect(headers[1]).toMatchObject({ 'x-session-id': 'a1b2c3', authorization: 'Bearer sk-test' })
    expect(bodies[1]).not.toContain('prompt_cache_key')
    await asking({ cache: 'key', cacheKeyHeader: 'Authorization' }).chat(request())
    expect(headers[2]?.authorization).toBe('Bearer sk-test')
    await asking({ cache: 'key' }).chat(request({ settings: { extra_body: { prompt_cache_key: 'mine' } } }))
    expect(JSON.parse(bodies[3] ?? '')).toMatchObject({ prompt_cache_key: 'mine' })
  })

  it('a request that nobody asks again has none of it', async () => {
    const { bodies, asking } = await serving(protocol)
    await asking({ cache: 'both' }).chat(request({ cache: undefined }))
    expect(bodies.join()).not.toMatch(/cache/)
    await asking({ cache: 'markers' }).chat(request({ tools: [] }))
    expect(marksIn(bodies[1])).toBe(0)
  })

  const words = cacheWordings.filter(({ refuses }) => protocol === 'chat' || refuses !== 'marks_in_results')
  test.each(words.map((wording) => [wording.server, wording] as const))(
    'the refusal of %s teaches, for all requests that it met',
    async (_, wording) => {
      const { refuses } = wording
      const refused = (body: string): boolean =>
        refuses === 'key'
          ? body.includes('prompt_cache_key')
          : refuses === 'markers'
            ? marksIn(body) > 0
            : /"role":"tool"[^}]*"content":\[/.test(body)
      const { bodies, asking } = await serving(protocol, (body) => (refused(body) ? wording : null))
      const provider = asking({ cache: 'both' })
      const both = await Promise.all([provider.chat(request()), provider.chat(request())])
      expect(both.map(({ content }) => content)).toEqual(['hi', 'hi'])
      expect(bodies).toHaveLength(4)
      await provider.chat(request())
      expect(bodies).toHaveLength(5)
      expect([bodies[4]?.includes('prompt_cache_key'), marksIn(bodies[4]) > 0]).toEqual([
        refuses !== 'key',
        refuses !== 'markers',
      ])
    },
  )
})

it('marks of the Responses API are in texts of the system and of the user', async () => {
  const { bodies, asking } = await serving('responses')
  await asking({ cache: 'markers' }).chat(request())
  const mark = { prompt_cache_breakpoint: { mode: 'explicit' } }
  expect((JSON.parse(bodies[0] ?? '') as { input: unknown[] }).input).toEqual([
    {
      ...{ type: 'message', role: 'system' },
      content: [
        { type: 'input_text', text: 'shared', ...mark },
        { type: 'input_text', text: '\n\n# Session\n- session: s', ...mark },
      ],
    },
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'A task.', ...mark }] },
    { type: 'function_call', call_id: 'c1', name: 'read', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c1', output: 'found' },
  ])
})

it('a server that takes texts only gets texts', async () => {
  const refusal = {
    status: 400,
    body: { error: { message: 'messages[0].content: invalid type: sequence, expected a string' } },
  }
  const { bodies, asking } = await serving('chat', (body) => (body.includes('"content":[') ? refusal : null))
  expect((await asking({ cache: 'markers' }).chat(request())).content).toBe('hi')
  expect([bodies.length, marksIn(bodies[1])]).toEqual([2, 0])
})

it('a server that refuses every form is asked a few times only', async () => {
  const wording = cacheWordings.find(({ refuses }) => refuses === 'marks_in_results')
  const { bodies, asking } = await serving('chat', () => ({ status: 400, body: wording?.body }))
  await expect(asking({ cache: 'both' }).chat(request())).rejects.toThrow('tool_result')
  // With marks in the parts of results, at their messages, without them, without any.
  expect(bodies).toHaveLength(4)
})
