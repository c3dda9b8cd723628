// What every ChatProvider must do: adapters of endpoints, of the AI SDK and of a program's models. An
// adapter's own tests cover its special interface.
import {
  type ChatAnswer,
  type ChatProvider,
  type ChatRequest,
  finishMeaning,
  ProviderError,
  type ToolSchema,
} from '@beaver/agent'
import type { ChatMessage } from '@beaver/core'
import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { until } from './until.ts'

/** What the model behind a provider does with a request. Each answer has the usage `contractUsage`. */
export type ModelTurn =
  | { readonly kind: 'says'; readonly pieces: readonly string[]; readonly ends?: 'cut' | 'refused' }
  /** `thought`: the state that must return with its calls. The names are those that the model was offered. */
  | {
      readonly kind: 'calls'
      readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[]
      readonly thought?: string
    }
  | {
      readonly kind: 'refuses'
      readonly status: number
      readonly message: string
      readonly retryAfterSeconds?: number
    }
  /** Its answer breaks off. */
  | { readonly kind: 'breaks_off' }
  /** It begins to work and never answers. */
  | { readonly kind: 'hangs' }

/** A provider, and the model behind it, which a test controls. */
export interface ChatProviderUnderTest {
  readonly provider: ChatProvider
  /** What the model does with the next requests, in this order. */
  next(...turns: readonly ModelTurn[]): void
  /** The requests that reached the model: JSON, with images in base64. */
  readonly seen: readonly string[]
  /** The requests that the model was told to drop. */
  dropped(): number
}

export const contractUsage = { input: 12, cached: 5, output: 7, reasoning: 3 }

/** The provider's key, if it has one. It has the form of a real key. */
export const contractKey = ['sk', 'proj', 'Qm7xT2vKd9RbL4wZp8NcY3hF6jG1sA5u'].join('-')

const tools: readonly ToolSchema[] = [
  {
    name: 'workflow:sum',
    description: 'Adds numbers.',
    parameters: { type: 'object', properties: { numbers: { type: 'array', items: { type: 'number' } } } },
  },
  {
    name: 'echo',
    description: 'Repeats a text.',
    parameters: { type: 'object', properties: { text: { type: 'string' } } },
  },
]
const sum = { id: 'call_sum', name: 'workflow-_sum', arguments: '{"numbers":[1,2]}' }
const echo = { id: 'call_echo', name: 'echo', arguments: '{"text":"a"}' }

const ask = (over: Partial<ChatRequest> = {}): ChatRequest => ({
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Say hello.' },
  ],
  tools: [],
  signal: new AbortController().signal,
  ...over,
})

/** The conversation after an answer with calls, as a loop continues it. */
const continued = ({ content, toolCalls, state }: ChatAnswer, of: string): ChatMessage[] => [
  ...ask().messages,
  {
    role: 'assistant',
    content,
    tool_calls: toolCalls,
    ...(state === undefined ? {} : { provider_state: { provider: of, fields: state } }),
  },
  ...toolCalls.map(({ id }): ChatMessage => ({ role: 'tool', tool_call_id: id, content: `result of ${id}` })),
]

async function failureOf(call: Promise<unknown>): Promise<ProviderError> {
  const error = await call.then(
    () => new Error('it did not fail'),
    (thrown: unknown) => thrown,
  )
  // Another copy of the package has another class.
  if (error instanceof Error && error.name === 'ProviderError') return error as ProviderError
  throw error
}

/** @param open makes a provider with its own model; called once for each test */
export function chatProviderContract(name: string, open: () => Promise<ChatProviderUnderTest>): void {
  describe.each([
    ['whole', false],
    ['streamed', true],
  ])(`${name} as a ChatProvider, %s`, (_, streams) => {
    const chat = async ({ provider }: ChatProviderUnderTest, over: Partial<ChatRequest> = {}) => {
      const pieces: string[] = []
      const answer = await provider.chat(
        ask({ ...(streams ? { onText: (text: string) => pieces.push(text) } : {}), ...over }),
      )
      return { answer, pieces }
    }

    test('gives what the model says, with its usage and its model', async () => {
      const under = await open()
      under.next({ kind: 'says', pieces: ['Hel', 'lo ', 'to all.'] })
      const { answer, pieces } = await chat(under)
      expect([answer.content, answer.toolCalls, finishMeaning(answer.finishReason)]).toEqual([
        'Hello to all.',
        [],
        'complete',
      ])
      const { input, cached, output, reasoning } = contractUsage
      expect(answer.usage).toEqual({
        input_tokens: input,
        output_tokens: output,
        calls: 1,
        cached_input_tokens: cached,
        reasoning_tokens: reasoning,
      })
      expect(answer.model).not.toBe('')
      expect(pieces.join('')).toBe(streams ? 'Hello to all.' : '')
    })

    test('says the whole conversation, the tools, the settings and the form to the model', async () => {
      const under = await open()
      under.next({ kind: 'says', pieces: ['ok'] }, { kind: 'says', pieces: ['{}'] })
      await chat(under, { tools, settings: { temperature: 0.25, output_tokens_max: 77 } })
      await chat(under, {
        output: {
          name: 'answer',
          schema: { type: 'object', properties: { count_of_pens: { type: 'number' } } },
        },
      })
      const [first = '', second] = under.seen
      for (const words of [
        'Be brief.',
        'Say hello.',
        'workflow-_sum',
        'Adds numbers.',
        'numbers',
        '0.25',
        '77',
      ])
        expect(first).toContain(words)
      expect(first).not.toContain('workflow:sum')
      expect(second).toContain('count_of_pens')
    })

    test('means the tools that were offered, and takes their results', async () => {
      const under = await open()
      under.next({ kind: 'calls', calls: [sum, echo] }, { kind: 'says', pieces: ['Three.'] })
      const { answer } = await chat(under, { tools })
      expect(answer.toolCalls.map(({ id, name: tool, arguments: args }) => [id, tool, args])).toEqual([
        [sum.id, 'workflow:sum', sum.arguments],
        [echo.id, 'echo', echo.arguments],
      ])
      expect(finishMeaning(answer.finishReason)).toMatch(/calls|complete/)
      expect(
        (await chat(under, { tools, messages: continued(answer, under.provider.name) })).answer.content,
      ).toBe('Three.')
      for (const words of [`result of ${sum.id}`, `result of ${echo.id}`, 'workflow-_sum'])
        expect(under.seen[1]).toContain(words)
    })

    test('gives the model back what it wants back, and what another model wants to nobody', async () => {
      const under = await open()
      under.next(
        { kind: 'calls', calls: [sum], thought: 'sealed-42' },
        { kind: 'says', pieces: ['a'] },
        { kind: 'says', pieces: ['b'] },
      )
      const { answer } = await chat(under, { tools })
      const kept = JSON.parse(JSON.stringify(answer)) as ChatAnswer
      await chat(under, { tools, messages: continued(kept, under.provider.name) })
      await chat(under, { tools, messages: continued(kept, `${under.provider.name} of another kind`) })
      expect(under.seen.map((request) => request.includes('sealed-42'))).toEqual([false, true, false])
    })

    test('sends a conversation with arguments that are no JSON', async () => {
      const under = await open()
      under.next({ kind: 'says', pieces: ['ok'] })
      const broken: ChatMessage = {
        role: 'assistant',
        content: null,
        tool_calls: [{ ...echo, arguments: 'no JSON' }],
      }
      await chat(under, {
        tools,
        messages: [
          ...ask().messages,
          broken,
          { role: 'tool', tool_call_id: echo.id, content: 'It was no JSON.' },
        ],
      })
      expect(under.seen[0]).toContain('It was no JSON.')
      expect(under.seen[0]).not.toContain('"no JSON"')
    })

    test('shows images', async () => {
      const under = await open()
      under.next({ kind: 'says', pieces: ['A cat.'] })
      const content = Buffer.from('the pixels of a cat')
      const sha256 = createHash('sha256').update(content).digest('hex')
      const messages: ChatMessage[] = [
        {
          role: 'user',
          content: 'Look.',
          images: [{ media_type: 'image/png', sha256, bytes: content.length, name: 'cat.png' }],
        },
      ]
      await chat(under, { messages, images: new Map([[sha256, content]]) })
      expect(under.seen[0]).toContain(content.toString('base64'))
    })

    test.each([
      ['cut', 'cut'],
      ['refused', 'refused'],
    ] as const)('tells an answer that was %s as such', async (ends, meaning) => {
      const under = await open()
      under.next({ kind: 'says', pieces: ['half'], ends })
      const ended = await chat(under).then(
        ({ answer }) => finishMeaning(answer.finishReason),
        (error: ProviderError) => (error.class === 'refusal' ? 'refused' : error.class),
      )
      expect(ended).toBe(meaning)
    })

    test.each<[string, number, string, string]>([
      ['too many requests', 429, 'Rate limit reached, slow down.', 'rate_limited'],
      ['a broken server', 503, 'Overloaded.', 'provider_unavailable'],
      ['a bad key', 401, `Incorrect API key provided: ${contractKey}.`, 'provider_refused'],
      ['a bad request', 400, 'Unknown field.', 'provider_refused'],
      [
        'a conversation that is too long',
        400,
        "This model's maximum context length is 8192 tokens.",
        'context_overflow',
      ],
    ])('fails after %s with its class', async (__, status, message, expected) => {
      const under = await open()
      under.next({ kind: 'refuses', status, message, ...(status === 429 ? { retryAfterSeconds: 3 } : {}) })
      const failure = await failureOf(chat(under))
      expect([failure.class, failure.retryAfterMs]).toEqual([expected, status === 429 ? 3_000 : null])
      expect(failure.message).not.toContain(contractKey)
      expect(under.seen).toHaveLength(1)
    })

    test('takes an answer that broke off for none', async () => {
      const under = await open()
      under.next({ kind: 'breaks_off' })
      expect((await failureOf(chat(under))).class).toBe('provider_unavailable')
    })

    test('ends with the reason of its caller, and the model hears of it', async () => {
      const under = await open()
      under.next({ kind: 'hangs' })
      const stop = new AbortController()
      const call = chat(under, { signal: stop.signal })
      await until('the model is asked', () => under.seen.length === 1)
      const reason = new Error('enough')
      stop.abort(reason)
      const thrown: unknown = await call.catch((error: unknown) => error)
      if (thrown instanceof ProviderError)
        expect(thrown).toMatchObject({ class: 'cancelled', cause: reason, paid: { usage: { calls: 1 } } })
      else expect(thrown).toBe(reason)
      await until('the model hears of it', () => under.dropped() === 1)
      await expect(chat(under, { signal: stop.signal })).rejects.toBe(reason)
      expect(under.seen).toHaveLength(1)
    })
  })
}
