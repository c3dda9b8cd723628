// What servers demand of a conversation: the words are those of public threads and of chat templates that are
// published with llama.cpp (https://github.com/ggml-org/llama.cpp/tree/master/models/templates).
import type { ChatMessage } from '@beaver/core'
import { afterEach, describe, expect, it, test } from 'vitest'
import { ask, closeServers, end, failureOf, json, provider, say, serve, sse } from '../test/kit.ts'
import { conversationIn, plainForm } from './conversation-form.ts'

afterEach(closeServers)

const call = (id: string) => ({ id, name: 'get_weather', arguments: '{}' })
const conversation: readonly ChatMessage[] = [
  { role: 'system', content: 'You are an agent.' },
  { role: 'user', content: 'A skill.' },
  { role: 'user', content: 'A task.' },
  { role: 'assistant', content: null, tool_calls: [call('call_1'), call('functions.get_weather:1')] },
  { role: 'tool', tool_call_id: 'call_1', content: 'one' },
  { role: 'tool', tool_call_id: 'functions.get_weather:1', content: '' },
  { role: 'user', content: 'Be brief.' },
]
const rolesIn = (messages: readonly ChatMessage[]): string => messages.map(({ role }) => role[0]).join('')
const wordsIn = (messages: readonly ChatMessage[]): string => messages.map(({ content }) => content).join(' ')

describe('a conversation', () => {
  it('stays as it is if nothing is demanded', () =>
    expect(conversationIn(plainForm, conversation)).toBe(conversation))

  it.each([
    ['in which roles take turns', { alternates: true }, 'suattau'],
    ['without the role system', { noSystem: true }, 'uattu'],
    ['with two roles only', { alternates: true, noSystem: true, noTools: true }, 'uau'],
    ['with one call in each message', { oneCall: true }, 'suuatatu'],
    [
      'with all of it',
      { alternates: true, noSystem: true, oneCall: true, shortIds: true, emptyContent: '' },
      'uatatau',
    ],
  ] as const)('%s keeps its words and the results of its calls', (_, form, roles) => {
    const formed = conversationIn({ ...plainForm, ...form }, conversation)
    expect(rolesIn(formed)).toBe(roles)
    for (const word of ['You are an agent.', 'A skill.', 'A task.', 'one', 'Be brief.'])
      expect(wordsIn(formed)).toContain(word)
    const ids = formed.flatMap((message) =>
      message.role === 'assistant' ? (message.tool_calls ?? []).map(({ id }) => id) : [],
    )
    expect(formed.flatMap((message) => (message.role === 'tool' ? [message.tool_call_id] : []))).toEqual(ids)
  })

  it('has ids of nine letters and digits, each its own and always the same', () => {
    const ids = (messages: readonly ChatMessage[]): string[] =>
      conversationIn({ ...plainForm, shortIds: true }, messages).flatMap((message) =>
        message.role === 'tool' ? [message.tool_call_id] : [],
      )
    expect(ids(conversation).filter((id) => /^[a-zA-Z0-9]{9}$/.test(id))).toHaveLength(2)
    expect(new Set(ids(conversation)).size).toBe(2)
    expect(ids(conversation)).toEqual(ids([...conversation]))
    expect(ids([{ role: 'tool', tool_call_id: 'D681PevKs', content: '' }])).toEqual(['D681PevKs'])
  })

  it('that begins with the model, or in which the model speaks twice, gets a user between', () => {
    const spoken: ChatMessage[] = [
      { role: 'system', content: 's' },
      { role: 'assistant', content: 'a' },
      { role: 'assistant', content: 'b' },
    ]
    expect(rolesIn(conversationIn({ ...plainForm, alternates: true }, spoken))).toBe('suaua')
  })
})

/** A server that says `message` until a request is as it demands. */
async function demanding(message: string, fits: (asked: Asked) => boolean, status = 400) {
  const sent: Asked[] = []
  const url = await serve((request, response, body) => {
    const asked = JSON.parse(body) as Asked
    sent.push(asked)
    if (fits(asked)) return sse([say('hi'), end()])(request, response, body)
    return json({ error: { message, code: status } }, status)(request, response, body)
  })
  return { url, sent }
}

interface Asked {
  readonly messages: readonly (ChatMessage & { readonly tool_calls?: readonly { readonly id: string }[] })[]
  readonly tools?: readonly { readonly function: { readonly name: string } }[]
  readonly tool_choice?: string
}

const alternate = ({ messages }: Asked): boolean => !/uu|tu|aa|sa/.test(rolesIn(messages))
const shortIds = ({ messages }: Asked): boolean =>
  messages.every((m) => m.role !== 'tool' || /^[a-zA-Z0-9]{9}$/.test(m.tool_call_id))
const noSystem = ({ messages }: Asked): boolean => messages.every(({ role }) => role !== 'system')
const oneCall = ({ messages }: Asked): boolean =>
  messages.every((m) => m.role !== 'assistant' || (m.tool_calls?.length ?? 0) < 2)
const noNull = ({ messages }: Asked): boolean => messages.every(({ content }) => typeof content === 'string')
const noEmpty = ({ messages }: Asked): boolean => messages.every(({ content }) => Boolean(content))
const describesTools = ({ tools, tool_choice }: Asked): boolean =>
  tools?.[0]?.function.name === 'get_weather' && tool_choice === 'none'

test.each<[string, string, (asked: Asked) => boolean, number, string]>([
  [
    'Mistral',
    "Unexpected role 'user' after role 'tool'",
    alternate,
    400,
    'https://github.com/mistralai/mistral-common/issues/169',
  ],
  [
    'vLLM with a template of Mistral',
    'After the optional system message, conversation roles must alternate user/assistant/user/assistant/...',
    alternate,
    400,
    'https://github.com/vllm-project/vllm/issues/6862',
  ],
  [
    'TGI with Gemma',
    'Template error: syntax error: Conversation roles must alternate user/assistant/user/assistant/...',
    alternate,
    422,
    'https://github.com/huggingface/text-generation-inference/issues/3198',
  ],
  [
    'vLLM with Gemma 2',
    'System role not supported',
    noSystem,
    400,
    'https://github.com/huggingface/chat-ui/issues/1386',
  ],
  [
    'a template that says the wrong thing of the system',
    'Conversation roles must alternate user/assistant/user/assistant/...',
    (asked) => alternate(asked) && noSystem(asked),
    400,
    'https://github.com/microsoft/autogen/issues/1037',
  ],
  [
    'llama.cpp with Gemma 2',
    'Unable to generate parser for this template. Error: Jinja Exception: Conversation roles must alternate user/assistant/user/assistant/...',
    ({ messages }) => rolesIn(messages) === 'uau',
    400,
    'https://github.com/ggml-org/llama.cpp/blob/master/models/templates/google-gemma-2-2b-it.jinja',
  ],
  [
    'llama.cpp with Llama 3.1',
    'Jinja Exception: This model only supports single tool-calls at once!',
    oneCall,
    500,
    'https://github.com/ggml-org/llama.cpp/blob/master/models/templates/meta-llama-Llama-3.1-8B-Instruct.jinja',
  ],
  [
    'Mistral',
    'Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.',
    shortIds,
    400,
    'https://github.com/nearai/ironclaw/issues/1241',
  ],
  [
    'a local server with Mistral',
    'Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9',
    shortIds,
    500,
    'https://github.com/jundot/omlx/pull/1997',
  ],
  [
    'a template of Mistral',
    'Tool call IDs should be alphanumeric strings with length 9!',
    shortIds,
    500,
    'https://github.com/ml-explore/mlx-lm/issues/1375',
  ],
  [
    'Anthropic',
    "messages.5.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    shortIds,
    400,
    'https://github.com/BlockRunAI/ClawRouter/issues/17',
  ],
  [
    'a strict schema',
    'body.messages.3.content: Input should be a valid string',
    noNull,
    422,
    'https://github.com/mistralai/mistral-common/issues/324',
  ],
  [
    'Kimi',
    "Invalid request: the message at position 3 with role 'assistant' must not be empty",
    noEmpty,
    400,
    'https://github.com/AstrBotDevs/AstrBot/issues/7200',
  ],
  [
    'Bedrock',
    'messages: text content blocks must be non-empty',
    noEmpty,
    400,
    'https://github.com/vercel/ai/pull/15378',
  ],
  [
    'Bedrock',
    'bedrock error: The content field in the Message object at messages.3 is empty. Add a ContentBlock object to the content field and try again.',
    noEmpty,
    400,
    'https://github.com/Portkey-AI/gateway/issues/995',
  ],
  [
    'Bedrock',
    'The toolConfig field must be defined when using toolUse and toolResult content blocks.',
    describesTools,
    400,
    'https://github.com/vercel/ai/issues/7528',
  ],
])('%s says %j, and then gets the conversation in its form', async (_, message, fits, status) => {
  const { url, sent } = await demanding(message, fits, status)
  const asking = provider(url)
  const request = ask({ messages: conversation, onText: () => undefined })
  expect((await asking.chat(request)).content).toBe('hi')
  const first = sent.length
  expect(first).toBeGreaterThan(1)
  expect(first).toBeLessThan(5)
  expect((await asking.chat(request)).content).toBe('hi')
  expect(sent).toHaveLength(first + 1)
})

it('a refusal that comes as the first event of a stream teaches the same', async () => {
  let asked = 0
  const error =
    'event: error\ndata: {"error":{"message":"Error rendering prompt with jinja template: \\"Conversation roles must alternate user/assistant\\""}}\n\n'
  const url = await serve((...given) => (++asked === 1 ? sse([error]) : sse([say('hi'), end()]))(...given))
  expect((await provider(url).chat(ask({ messages: conversation, onText: () => undefined }))).content).toBe(
    'hi',
  )
  expect(asked).toBe(2)
})

it('a server that refuses every form is asked a few times only', async () => {
  const { url, sent } = await demanding('Conversation roles must alternate user/assistant/...', () => false)
  expect((await failureOf(provider(url).chat(ask({ messages: conversation })))).class).toBe(
    'provider_refused',
  )
  expect(sent).toHaveLength(4)
})

it('an answer that has begun to show is not asked for again', async () => {
  let asked = 0
  const error = 'data: {"error":{"message":"System role not supported","code":400}}\n\n'
  const url = await serve((...given) => (asked++, sse([say('so'), error]))(...given))
  const texts: string[] = []
  expect((await failureOf(provider(url).chat(ask({ onText: (text) => texts.push(text) })))).class).toBe(
    'provider_refused',
  )
  expect([asked, texts]).toEqual([1, ['so']])
})
