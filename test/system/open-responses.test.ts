// The compliance cases of Open Responses (openresponses.org, specification 2026-04-24) that run without a
// network, as facts: the requests, the required fields of a response and of each event, and what a case
// expects. Two cases need tools of the client and one has an image without content. Beaver refuses these
// plainly: see openai-attacks.test.ts.
import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { keptScene, type ProtocolScene } from '../support/protocol-scene.ts'

let scene: ProtocolScene
beforeAll(async () => void (scene = await keptScene()))

const post = (body: object): Promise<Response> =>
  fetch(`${scene.gateway.info.url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${scene.tokens.admin}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

const part = z.strictObject({
  type: z.literal('output_text'),
  text: z.string(),
  annotations: z.array(z.unknown()),
  logprobs: z.array(z.unknown()),
})
const message = z.strictObject({
  type: z.literal('message'),
  id: z.string(),
  status: z.enum(['in_progress', 'completed', 'incomplete']),
  role: z.literal('assistant'),
  content: z.array(part),
  phase: z.enum(['commentary', 'final_answer']).optional(),
})
const usage = z.strictObject({
  input_tokens: z.int(),
  output_tokens: z.int(),
  total_tokens: z.int(),
  input_tokens_details: z.strictObject({ cached_tokens: z.int() }),
  output_tokens_details: z.strictObject({ reasoning_tokens: z.int() }),
})
/** The fields that a response must have. */
const response = z.strictObject({
  id: z.string(),
  object: z.literal('response'),
  created_at: z.int(),
  completed_at: z.int().nullable(),
  status: z.string(),
  incomplete_details: z.strictObject({ reason: z.string() }).nullable(),
  model: z.string(),
  previous_response_id: z.string().nullable(),
  instructions: z.string().nullable(),
  output: z.array(message),
  error: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
  tools: z.array(z.unknown()),
  tool_choice: z.enum(['auto', 'none', 'required']),
  truncation: z.enum(['auto', 'disabled']),
  parallel_tool_calls: z.boolean(),
  text: z.looseObject({ format: z.looseObject({ type: z.literal('text') }) }),
  top_p: z.number(),
  presence_penalty: z.number(),
  frequency_penalty: z.number(),
  top_logprobs: z.int(),
  temperature: z.number(),
  reasoning: z.looseObject({}).nullable(),
  user: z.string().nullable(),
  usage: usage.nullable(),
  max_output_tokens: z.int().nullable(),
  max_tool_calls: z.int().nullable(),
  store: z.boolean(),
  background: z.boolean(),
  service_tier: z.string(),
  metadata: z.record(z.string(), z.string()),
  safety_identifier: z.string().nullable(),
  prompt_cache_key: z.string().nullable(),
})

const numbered = { sequence_number: z.int() }
const snapshot = <Name extends string>(name: Name) =>
  z.strictObject({ type: z.literal(`response.${name}`), ...numbered, response })
const inItem = { ...numbered, item_id: z.string(), output_index: z.int(), content_index: z.int() }
/** The events that a text has. */
const event = z.discriminatedUnion('type', [
  snapshot('created'),
  snapshot('in_progress'),
  snapshot('completed'),
  snapshot('incomplete'),
  snapshot('failed'),
  z.strictObject({
    type: z.literal('response.output_item.added'),
    ...numbered,
    output_index: z.int(),
    item: message,
  }),
  z.strictObject({
    type: z.literal('response.output_item.done'),
    ...numbered,
    output_index: z.int(),
    item: message,
  }),
  z.strictObject({ type: z.literal('response.content_part.added'), ...inItem, part }),
  z.strictObject({ type: z.literal('response.content_part.done'), ...inItem, part }),
  z.strictObject({
    type: z.literal('response.output_text.delta'),
    ...inItem,
    delta: z.string(),
    logprobs: z.array(z.unknown()),
  }),
  z.strictObject({
    type: z.literal('response.output_text.done'),
    ...inItem,
    text: z.string(),
    logprobs: z.array(z.unknown()),
  }),
])

const user = (content: unknown): object => ({ type: 'message', role: 'user', content })

describe('a case of the compliance suite', () => {
  it.each([
    ['basic-response', [user('Say hello in exactly 3 words.')], 'You said: Say hello in exactly 3 words.'],
    [
      'system-prompt',
      [
        { type: 'message', role: 'system', content: 'You are a pirate. Always respond in pirate speak.' },
        user('Say hello.'),
      ],
      'You said: Say hello.',
    ],
    [
      'multi-turn',
      [
        user('My name is Alice.'),
        {
          type: 'message',
          role: 'assistant',
          content: 'Hello Alice! Nice to meet you. How can I help you today?',
        },
        user('all'),
      ],
      'user: My name is Alice. | assistant: Hello Alice! Nice to meet you. How can I help you today? | user: all',
    ],
  ])('%s', async (_, input, text) => {
    const answer = await post({ model: 'beaver', input })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json'])
    const read = response.parse(await answer.json())
    expect([read.status, read.output.length > 0, read.output.at(-1)?.content[0]?.text]).toEqual([
      'completed',
      true,
      text,
    ])
  })

  it('streaming-response', async () => {
    const answer = await post({ model: 'beaver', input: [user('Count from 1 to 5.')], stream: true })
    expect(answer.headers.get('content-type')).toMatch(/^text\/event-stream/)
    const blocks = (await answer.text()).trimEnd().split('\n\n')
    expect(blocks.at(-1)).toBe('data: [DONE]')
    const read = blocks.slice(0, -1).map((block) => {
      const [named, data, ...more] = block.split('\n')
      const parsed = event.parse(JSON.parse(data?.replace(/^data: /, '') ?? ''))
      expect([named, more]).toEqual([`event: ${parsed.type}`, []])
      return parsed
    })
    const last = read.at(-1)
    expect(last?.type === 'response.completed' && last.response.status).toBe('completed')
    // An item is shown as it was when it was added: without text.
    expect(read.find(({ type }) => type === 'response.output_item.added')).toMatchObject({
      item: { status: 'in_progress', content: [] },
    })
  })
})
