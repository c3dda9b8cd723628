// Every dialect of the Responses API, whole and streamed, through a loop of a tool: the call is read, its
// thoughts go back, the answer is read.
import type { ChatAnswer, ChatProvider } from '@beaver/agent'
import type { ChatMessage } from '@beaver/core'
import { type ResponsesDialect, responsesDialects, weatherAnswer, weatherCall } from '@beaver/testing'
import { afterEach, describe, expect, it } from 'vitest'
import { ask, closeServers, json, serve, sse } from '../test/kit.ts'
import { answered, responsesProvider } from '../test/responses-kit.ts'

afterEach(closeServers)

interface Sent {
  readonly store: unknown
  readonly include: unknown
  readonly input: readonly (Record<string, unknown> & { readonly type: string })[]
}

/** A server that answers with the call, and with the answer to who sends its result and its thoughts. */
async function speaking(
  { call, answer, goesBack = [], done }: ResponsesDialect,
  { streams, foreign = false }: { streams: boolean; foreign?: boolean },
) {
  const sent: Sent[] = []
  const url = await serve((request, response, body) => {
    const asked = JSON.parse(body) as Sent
    sent.push(asked)
    const results = asked.input.filter(({ type }) => type === 'function_call_output')
    const thoughts = asked.input.filter(({ type }) => type === 'reasoning')
    if (results.length > 0 && !foreign && thoughts.length !== goesBack.length)
      return json({ error: { message: 'a thought is missing' } }, 400)(request, response, body)
    const forms = results.length > 0 ? answer : call
    return streams
      ? sse(forms.streamed, { cut: done !== true })(request, response, body)
      : json(forms.whole)(request, response, body)
  })
  return { provider: responsesProvider(url), sent }
}

const question: ChatMessage = { role: 'user', content: 'How is the weather in Paris?' }

describe.each([true, false])('streamed: %j', (streams) => {
  const chat = (asked: ChatProvider, messages: readonly ChatMessage[]): Promise<ChatAnswer> =>
    asked.chat(ask({ messages, ...(streams ? { onText: () => undefined } : {}) }))

  it.each(responsesDialects)('$name: a call, its result and the answer', async (dialect) => {
    const { provider: asked, sent } = await speaking(dialect, { streams })
    const call = await chat(asked, [question])
    expect(call.toolCalls).toMatchObject([{ name: weatherCall.name }])
    expect(JSON.parse(call.toolCalls[0]?.arguments ?? '')).toEqual(weatherCall.arguments)
    const answer = await chat(asked, [question, ...answered(call)])
    expect([answer.content, answer.toolCalls, answer.finishReason]).toEqual([weatherAnswer, [], 'completed'])
    expect(answer.usage).toMatchObject({ input_tokens: 20, output_tokens: 8 })
    const id = call.toolCalls[0]?.id
    const [asks, ...rest] = sent[1]?.input ?? []
    expect(asks).toMatchObject({ type: 'message', role: 'user' })
    expect(rest).toEqual([
      ...(JSON.parse(JSON.stringify(dialect.goesBack ?? [])) as object[]),
      { type: 'function_call', call_id: id, name: weatherCall.name, arguments: '{"city":"Paris"}' },
      { type: 'function_call_output', call_id: id, output: '{"sky": "sunny"}' },
    ])
    expect(sent.map(({ store, include }) => [store, include])).toEqual(
      [false, false].map((store) => [store, ['reasoning.encrypted_content']]),
    )
  })

  it.each(responsesDialects)('$name: takes a call that another model made', async (dialect) => {
    const { provider: asked, sent } = await speaking(dialect, { streams, foreign: true })
    const call = await chat(asked, [question])
    expect((await chat(asked, [question, ...answered(call, 'another')])).content).toBe(weatherAnswer)
    expect(sent[1]?.input.map(({ type }) => type)).toEqual([
      'message',
      'function_call',
      'function_call_output',
    ])
  })
})

it('there are nine, each with its sources', () => {
  expect(new Set(responsesDialects.map(({ name }) => name)).size).toBe(9)
  expect(responsesDialects.filter(({ sources }) => sources.length === 0)).toEqual([])
})
