// What a server takes in a request is learned from its refusals, and what is set for it is sent.
import type { IncomingHttpHeaders } from 'node:http'
import type { ChatRequest } from '@beaver/agent'
import { afterEach, describe, expect, it, test } from 'vitest'
import { apiKey, ask, closeServers, end, json, provider, say, serve, sse } from '../test/kit.ts'
import { openAiChatProvider } from './openai-chat.ts'

afterEach(closeServers)

const good = {
  id: 'r1',
  model: 'm-1',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'hi' } }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
}

const choice = (message: unknown, finish: unknown = 'stop'): unknown => ({
  ...good,
  choices: [{ finish_reason: finish, message }],
})

test('what a provider sent with its messages goes back to it, until it says that it does not know it', async () => {
  const sent: unknown[] = []
  const url = await serve((request, response, body) => {
    const { messages } = JSON.parse(body) as { messages: { reasoning_content?: string }[] }
    sent.push(messages[0]?.reasoning_content)
    const refusal = {
      error: {
        message: "'messages.0' : property 'reasoning_content' is unsupported",
        type: 'invalid_request_error',
      },
    }
    const knows = messages[0]?.reasoning_content === undefined
    json(knows ? good : refusal, knows ? 200 : 400)(request, response, body)
  })
  const call = { id: 'a', name: 'f', arguments: '{}' }
  const own = {
    role: 'assistant' as const,
    content: null,
    tool_calls: [call],
    provider_state: { provider: 'test', fields: { reasoning_content: 'hm' } },
  }
  const asking = provider(url)
  for (let i = 0; i < 2; i++)
    expect(
      (await asking.chat(ask({ messages: [own, { role: 'tool', tool_call_id: 'a', content: 'r' }] })))
        .content,
    ).toBe('hi')
  expect(sent).toEqual(['hm', undefined, undefined])
})

test.each([
  [
    'thoughts',
    'The `reasoning_content` in the thinking mode must be passed back to the API.',
    { reasoning_content: '' },
  ],
  [
    'the signature of a thought',
    'Function call is missing a thought_signature in functionCall parts.',
    {
      tool_calls: [{ extra_content: { google: { thought_signature: 'skip_thought_signature_validator' } } }],
    },
  ],
])(
  'a model that misses %s with the calls of another model gets what its server takes instead',
  async (_, message, filled) => {
    const sent: unknown[] = []
    const url = await serve((request, response, body) => {
      sent.push((JSON.parse(body) as { messages: unknown[] }).messages[0])
      json(
        sent.length === 1 ? { error: { message, code: 'invalid_request_error' } } : good,
        sent.length === 1 ? 400 : 200,
      )(request, response, body)
    })
    const foreign = {
      role: 'assistant' as const,
      content: null,
      tool_calls: [{ id: 'a', name: 'f', arguments: '{}' }],
    }
    expect(
      (
        await provider(url).chat(
          ask({ messages: [foreign, { role: 'tool', tool_call_id: 'a', content: 'r' }] }),
        )
      ).content,
    ).toBe('hi')
    expect(sent).toHaveLength(2)
    expect(sent[0]).not.toMatchObject(filled)
    expect(sent[1]).toMatchObject(filled)
  },
)

test('empty thoughts beside a call go back as they came', async () => {
  const thinking = {
    content: null,
    reasoning_content: '',
    tool_calls: [{ id: 'a', function: { name: 'f', arguments: '{}' } }],
  }
  expect((await provider(await serve(json(choice(thinking, 'tool_calls')))).chat(ask())).state).toEqual({
    reasoning_content: '',
  })
})

test('settings of a request replace those of the provider, and the tokens have the name that the server knows', async () => {
  const sent: Record<string, unknown>[] = []
  const url = await serve((request, response, body) => {
    const { max_tokens, max_completion_tokens, temperature } = JSON.parse(body) as Record<string, unknown>
    sent.push({ max_tokens, max_completion_tokens, temperature })
    const refusal = {
      error: {
        message:
          "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        param: 'max_tokens',
      },
    }
    json(max_tokens === undefined ? good : refusal, max_tokens === undefined ? 200 : 400)(
      request,
      response,
      body,
    )
  })
  const options = {
    name: 'test',
    baseURL: url,
    apiKey,
    model: 'm',
    timeoutMs: 60_000,
    settings: { output_tokens_max: 9, temperature: 0 },
  }
  const asking = openAiChatProvider(options)
  await asking.chat(ask())
  await asking.chat(ask({ settings: { temperature: 1 } }))
  expect(sent).toEqual([
    { max_tokens: 9, temperature: 0 },
    { max_completion_tokens: 9, temperature: 0 },
    { max_completion_tokens: 9, temperature: 1 },
  ])
})

test('a key goes in the header that the endpoint wants, beside other headers', async () => {
  let headers: IncomingHttpHeaders = {}
  const url = await serve((request, response, body) => {
    headers = request.headers
    json(good)(request, response, body)
  })
  await openAiChatProvider({
    name: 'test',
    baseURL: url,
    apiKey: 'k',
    keyHeader: 'api-key',
    headers: { 'X-Title': 't' },
    model: 'm',
    timeoutMs: 60_000,
  }).chat(ask())
  expect(headers).toMatchObject({ 'api-key': 'k', 'x-title': 't' })
  expect(headers).not.toHaveProperty('authorization')
})

describe('two requests that are refused at once for the same', () => {
  const user = { role: 'user', content: 'x' } as const
  it.each<[string, Partial<ChatRequest>, string, (sent: Sent) => boolean]>([
    [
      'a count of the tokens',
      { onText: () => undefined },
      'Unrecognized request argument supplied: stream_options',
      ({ stream_options: it }) => it !== undefined,
    ],
    [
      'the name of the most tokens',
      { settings: { output_tokens_max: 9 } },
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      ({ max_tokens: it }) => it !== undefined,
    ],
    [
      'two user messages in a row',
      { messages: [user, user] },
      'Conversation roles must alternate user/assistant/…',
      ({ messages }) => messages.length > 1,
    ],
  ])('are both asked again: %s', async (_, over, message, refused) => {
    const sent: Sent[] = []
    const url = await serve((request, response, body) => {
      const asked = JSON.parse(body) as Sent
      sent.push(asked)
      if (refused(asked)) return json({ error: { message } }, 400)(request, response, body)
      return (asked.stream === true ? sse([say('hi'), end()]) : json(good))(request, response, body)
    })
    const asking = provider(url)
    const answers = await Promise.all([asking.chat(ask(over)), asking.chat(ask(over))])
    expect(answers.map(({ content }) => content)).toEqual(['hi', 'hi'])
    expect(sent).toHaveLength(4)
    // What it learned is no more than it was told.
    await asking.chat(ask({ messages: [{ role: 'system', content: 's' }, user] }))
    expect(sent[4]?.messages).toHaveLength(2)
  })
})

interface Sent {
  readonly messages: readonly object[]
  readonly stream?: boolean
  readonly stream_options?: object
  readonly max_tokens?: number
}
