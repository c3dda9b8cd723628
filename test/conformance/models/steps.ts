// What a server of models is asked, in this order: each step is one request of Beaver's provider. Pure. A
// step may need the answer of an earlier one. Without it, it is not asked. A request costs little: the texts
// are short, an answer has a bound, and the text that is too long has at most `overflowTokensMax` tokens.
import { deflateSync, crc32 } from 'node:zlib'
import { type ChatRequest, imageOf, type ToolSchema } from '@beaver/agent'
import type { ChatMessage, ToolCall } from '@beaver/core'
import type { Answered, Heard } from './heard.ts'

export interface StepOptions {
  /** What the fields of a provider's state belong to: the name of the provider. */
  readonly provider: string
  /** The context window of the model, in tokens. `null`: it is not known. */
  readonly contextTokens: number | null
  /** The most tokens of the text that is too long. 0: it is not sent. */
  readonly overflowTokensMax: number
}

/** A request, without what is the same in all of them. */
export type AskedRequest = Pick<ChatRequest, 'messages'> &
  Partial<Pick<ChatRequest, 'tools' | 'output' | 'images'>> & {
    readonly streamed?: true
    /** Asks for this model. Default: the one that is tested. */
    readonly model?: string
    /** Default: the bound of all answers. */
    readonly outputTokensMax?: number
  }

export type StepName = keyof typeof steps
export type HeardSoFar = Partial<Record<StepName, Heard>>
type Step = (
  heard: Partial<Record<string, Heard>>,
  options: StepOptions,
) => AskedRequest | { readonly unasked: string }

const unknownModel = 'beaver-no-such-model'
export const cities = ['Paris', 'Oslo'] as const
/** What the tool says for each city. No model guesses it. */
export const degrees: Readonly<Record<string, number>> = { Paris: 23, Oslo: 17 }
/** An answer of this step is cut here. */
export const lengthTokensMax = 16
/** How much longer than the window the text is: people round the window, and servers have a reserve. */
const longerThanWindow = 1.3

const weather: ToolSchema = {
  name: 'get_weather',
  description: 'Tells the temperature of a city.',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string', description: 'The name of the city.' } },
    required: ['city'],
    additionalProperties: false,
  },
}
const system: ChatMessage = {
  role: 'system',
  content: 'You are asked by a test of this server. Do exactly what the message says, as briefly as you can.',
}
const user = (content: string): readonly ChatMessage[] => [system, { role: 'user', content }]
const asksOnce = user(
  'Call the tool `get_weather` with {"city": "Paris"}. After its result, say the temperature.',
)
const asksTwice = user(
  'Call the tool `get_weather` with {"city": "Paris"} and {"city": "Oslo"}: two calls in one answer. After their results, say both temperatures.',
)

export const steps = {
  plain: () => ({ messages: user('Write the word "ready" and nothing else.') }),
  streamed: () => ({
    messages: user('Write the numbers from 1 to 10, separated by spaces, and nothing else.'),
    streamed: true,
  }),
  call: () => ({ messages: asksOnce, tools: [weather] }),
  calls: () => ({ messages: asksTwice, tools: [weather] }),
  results: (heard, { provider }) => {
    const before = calledBefore(heard)
    if (before === null) return { unasked: 'the model called no tool, so there is no result' }
    return { messages: [...before.asked, ...withResults(before.answered, provider)], tools: [weather] }
  },
  streamed_calls: () => ({ messages: asksTwice, tools: [weather], streamed: true }),
  structured: () => ({
    messages: user(
      'Which country has the capital Paris, and which the capital Oslo? Answer with JSON alone: {"paris": "<country>", "oslo": "<country>"}',
    ),
    output: { name: 'capitals', schema: capitals },
  }),
  image: () => {
    const { image, content } = imageOf(redSquare(), 'square.png')
    return {
      messages: [
        system,
        {
          role: 'user',
          content: 'Which colour has the square in this image? Answer with one word.',
          images: [image],
        },
      ],
      images: new Map([[image.sha256, content]]),
    }
  },
  length: () => ({
    messages: user('Write the numbers from 1 to 200, separated by spaces, and nothing else.'),
    outputTokensMax: lengthTokensMax,
  }),
  unknown_model: () => ({ messages: user('Write the word "ready" and nothing else.'), model: unknownModel }),
  overflow: (_, options) => {
    const words = overflowWords(options)
    return typeof words === 'string'
      ? { unasked: words }
      : { messages: user(`${longText(words)}\nWrite the word "ready" and nothing else.`) }
  },
} as const satisfies Readonly<Record<string, Step>>

export const capitals = {
  type: 'object',
  properties: { paris: { type: 'string' }, oslo: { type: 'string' } },
  required: ['paris', 'oslo'],
  additionalProperties: false,
} as const

/** The answer with calls whose results go back: that with several calls if there is one. */
export function calledBefore({ calls, call }: HeardSoFar): {
  readonly asked: readonly ChatMessage[]
  readonly answered: Answered
  readonly calls: readonly ToolCall[]
} | null {
  for (const [heard, asked] of [
    [calls, asksTwice],
    [call, asksOnce],
  ] as const)
    if (heard?.kind === 'answer' && heard.answer.toolCalls.length > 0)
      return { asked, answered: heard, calls: heard.answer.toolCalls }
  return null
}

/** The calls of an answer, and what the tool says to each. */
function withResults({ answer: { content, toolCalls, state } }: Answered, provider: string): ChatMessage[] {
  const called: ChatMessage = {
    role: 'assistant',
    content,
    tool_calls: toolCalls,
    ...(state === undefined ? {} : { provider_state: { provider, fields: state } }),
  }
  return [
    called,
    ...toolCalls.map((call): ChatMessage => ({
      role: 'tool',
      tool_call_id: call.id,
      content: resultFor(call.arguments),
    })),
  ]
}

function resultFor(args: string): string {
  const city = cities.find((name) => args.includes(name)) ?? 'Paris'
  return JSON.stringify({ city, degrees_celsius: degrees[city] })
}

/** How many words the text has that is too long. A text: why none is sent. */
export function overflowWords({
  contextTokens,
  overflowTokensMax,
}: Pick<StepOptions, 'contextTokens' | 'overflowTokensMax'>): number | string {
  if (overflowTokensMax === 0) return 'no text is sent for it: --overflow-tokens-max is 0'
  if (contextTokens === null) return overflowTokensMax
  const words = Math.ceil(contextTokens * longerThanWindow)
  return words <= overflowTokensMax
    ? words
    : `its text has ${words} tokens, more than --overflow-tokens-max ${overflowTokensMax}`
}

const said = [
  'river',
  'stone',
  'cloud',
  'green',
  'seven',
  'north',
  'table',
  'music',
  'quiet',
  'bread',
  'light',
  'horse',
  'paper',
  'early',
  'water',
  'story',
]

/** Common words, each at least one token for every tokenizer, in an order that repeats late. */
export const longText = (words: number): string =>
  Array.from({ length: words }, (_, i) => said[(i * 7 + Math.floor(i / 16)) % 16]).join(' ')

/** A PNG of 64 × 64 red pixels. */
function redSquare(): Buffer {
  const side = 64
  const header = Buffer.alloc(13)
  header.writeUInt32BE(side, 0)
  header.writeUInt32BE(side, 4)
  header.set([8, 2], 8)
  const row = Buffer.concat([Buffer.from([0]), Buffer.alloc(side * 3, Buffer.from([220, 20, 20]))])
  const pixels = deflateSync(Buffer.concat(Array.from({ length: side }, () => row)))
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', header),
    chunk('IDAT', pixels),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(type: string, data: Buffer): Buffer {
  const typed = Buffer.concat([Buffer.from(type), data])
  const framed = Buffer.alloc(typed.length + 8)
  framed.writeUInt32BE(data.length, 0)
  typed.copy(framed, 4)
  framed.writeUInt32BE(crc32(typed), typed.length + 4)
  return framed
}
