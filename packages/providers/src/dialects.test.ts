// Every dialect, whole and streamed, through a loop of a tool: the call is read, what must go back goes back,
// and the answer is read.
import type { ChatAnswer, ChatProvider } from '@beaver/agent'
import type { ChatMessage } from '@beaver/core'
import { afterEach, describe, expect, it } from 'vitest'
import { type Dialect, dialects, weatherAnswer, weatherCall } from '@beaver/testing'
import { ask, closeServers, json, provider, serve, sse } from '../test/kit.ts'

afterEach(closeServers)

interface Sent {
  readonly messages: readonly (Record<string, unknown> & {
    readonly role: string
    readonly tool_calls?: readonly Record<string, unknown>[]
  })[]
}

/**
 * A server that answers with the call, and with the answer to who sends its result. Without what must go back
 * it refuses, as the real one does.
 */
async function speaking(
  { call, answer, misses, goesBack, goesBackWithCall, noDone }: Dialect,
  streams: boolean,
) {
  const sent: Sent[] = []
  const url = await serve((request, response, body) => {
    const asked = JSON.parse(body) as Sent
    sent.push(asked)
    const told = asked.messages.find(({ role }) => role === 'assistant')
    const fields = { ...told, ...told?.tool_calls?.[0] }
    const missing =
      told !== undefined &&
      Object.keys({ ...goesBack, ...goesBackWithCall }).some((field) => !(field in fields))
    if (misses !== undefined && missing)
      return json({ error: { message: misses, code: 400 } }, 400)(request, response, body)
    const forms = asked.messages.some(({ role }) => role === 'tool') ? answer : call
    if (!streams) return json(forms.whole)(request, response, body)
    return sse(forms.streamed, noDone === true ? { cut: true } : {})(request, response, body)
  })
  return { provider: provider(url), sent }
}

const question: ChatMessage = { role: 'user', content: 'How is the weather in Paris?' }
const ofCall = (answer: ChatAnswer, of: string): ChatMessage[] => [
  {
    role: 'assistant',
    content: answer.content,
    tool_calls: answer.toolCalls,
    ...(answer.state === undefined ? {} : { provider_state: { provider: of, fields: answer.state } }),
  },
  { role: 'tool', tool_call_id: answer.toolCalls[0]?.id ?? '', content: '{"sky": "sunny"}' },
]

describe.each([true, false])('streamed: %j', (streams) => {
  const chat = (asked: ChatProvider, messages: readonly ChatMessage[]): Promise<ChatAnswer> =>
    asked.chat(ask({ messages, ...(streams ? { onText: () => undefined } : {}) }))

  it.each(dialects)('$name: a call, its result and the answer', async (dialect) => {
    const { provider: asked, sent } = await speaking(dialect, streams)
    const call = await chat(asked, [question])
    expect(call.toolCalls).toHaveLength(1)
    expect(call.toolCalls[0]?.name).toBe(weatherCall.name)
    expect(JSON.parse(call.toolCalls[0]?.arguments ?? '')).toEqual(weatherCall.arguments)
    const answer = await chat(asked, [question, ...ofCall(call, 'test')])
    expect([answer.content, answer.toolCalls]).toEqual([weatherAnswer, []])
    const told = sent.at(-1)?.messages.find(({ role }) => role === 'assistant')
    expect(told).toMatchObject(dialect.goesBack ?? {})
    expect(told?.tool_calls?.[0]).toMatchObject(dialect.goesBackWithCall ?? {})
    expect(sent).toHaveLength(2)
  })

  it.each(dialects)('$name: takes a call that another model made', async (dialect) => {
    const { provider: asked } = await speaking(dialect, streams)
    const foreign = {
      content: null,
      toolCalls: [{ id: 'call_x', name: weatherCall.name, arguments: '{"city":"Paris"}' }],
    } as unknown as ChatAnswer
    expect((await chat(asked, [question, ...ofCall(foreign, 'another')])).content).toBe(weatherAnswer)
  })
})

it('there are sixteen, each with its sources', () => {
  expect(new Set(dialects.map(({ name }) => name)).size).toBe(16)
  expect(dialects.filter(({ sources }) => sources.length === 0)).toEqual([])
})
