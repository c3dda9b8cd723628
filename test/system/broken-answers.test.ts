// An answer that is not whole is handed on to nobody: not to the next node of a team, not to the root, not as
// the result of the task.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { FakeReply, SeenRequest } from '../support/fake-provider.ts'
import { type TestServer, testServer } from '../support/nats.ts'
import type { AgentService } from '@beaver/service'
import { testServices, type TestServices } from '../support/service.ts'

let server: TestServer
let kit: TestServices
let service: AgentService
beforeAll(async () => {
  server = await testServer()
  kit = await testServices(server)
  service = kit.service()
  await service.start()
})
beforeEach(() => kit.provider.forget())
afterAll(async () => {
  await kit[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const fragment = 'The harbour has a depth of'
const team = {
  task: 'Say how deep it is.',
  agents: [
    { name: 'one', instruction: 'FIRST: say it.' },
    { name: 'two', instruction: 'SECOND: check it.' },
  ],
}

const completion = (message: object, finish_reason: string, stream: boolean): FakeReply => {
  const head = { id: 'r', model: 'm' }
  if (!stream)
    return {
      body: JSON.stringify({
        ...head,
        choices: [{ index: 0, finish_reason, message: { role: 'assistant', content: null, ...message } }],
      }),
    }
  const events = [
    { ...head, choices: [{ index: 0, delta: message, finish_reason: null }] },
    { ...head, choices: [{ index: 0, delta: {}, finish_reason }] },
  ]
  return {
    headers: { 'content-type': 'text/event-stream' },
    body: `${events.map((each) => `data: ${JSON.stringify(each)}\n\n`).join('')}data: [DONE]\n\n`,
  }
}

function replyTo({ text, messages, stream }: SeenRequest, reason: string): FakeReply {
  if (text.includes('FIRST')) return completion({ content: fragment }, reason, stream)
  if (messages.some(({ role }) => role === 'tool'))
    return completion({ content: 'The team failed.' }, 'stop', stream)
  const call = {
    index: 0,
    id: 'c',
    type: 'function',
    function: { name: 'SequentialWorkflow', arguments: JSON.stringify(team) },
  }
  return completion({ tool_calls: [call] }, 'tool_calls', stream)
}

describe.each([true, false])('streamed: %j', (stream) => {
  it.each([
    ['length', 'output_truncated'],
    ['content_filter', 'refusal'],
    ['sensitive', 'refusal'],
    ['model_context_window_exceeded', 'context_overflow'],
    ['a_word_of_tomorrow', 'malformed_output'],
  ])(
    'a node whose answer ends with %s fails, and its fragment stays with it',
    async (reason, failureClass) => {
      kit.provider.answerBy((request) => replyTo(request, reason))
      const { output_text: text } = await service.submitDirect(
        'How deep is it?',
        stream ? { onDelta: () => undefined } : {},
      )
      expect(text).toBe('The team failed.')
      const { requests } = kit.provider
      expect(requests.filter(({ text: asked }) => asked.includes('SECOND'))).toEqual([])
      expect(requests.filter(({ body }) => body.includes(fragment))).toEqual([])
      expect(requests.at(-1)?.results.join(' ')).toContain(failureClass)
    },
  )

  it.each([
    ['length', 'output_truncated'],
    ['content_filter', 'refusal'],
  ])('a task whose answer ends with %s fails and says why', async (reason, failureClass) => {
    kit.provider.answerBy((request) => completion({ content: fragment }, reason, request.stream))
    const { status, failure } = await service.submitDirect(
      'How deep is it?',
      stream ? { onDelta: () => undefined } : {},
    )
    expect([status, failure?.class]).toEqual(['failed', failureClass])
    expect(failure?.message).toContain(reason)
  })
})
