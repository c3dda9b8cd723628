import type { ChatRequest } from '@beaver/agent'
import { describe, expect, it } from 'vitest'
import { plainForm } from './conversation-form.ts'
import { requestBody, toolNameIn } from './request-body.ts'

const tool = (name: string) => ({
  name,
  description: `"${name}"}`,
  parameters: { type: 'object', properties: {} },
})
const to = {
  model: 'm',
  stateOf: null,
  filled: { thoughts: false, signatures: false },
  conversation: plainForm,
  describesCalls: false,
  settings: {},
  outputTokensField: 'max_tokens' as const,
}
const request: Pick<ChatRequest, 'messages' | 'tools'> = {
  messages: [
    { role: 'user', content: 'say {"tools":[]}' },
    { role: 'assistant', content: null, tool_calls: [{ id: 'c', name: 'workflow:x', arguments: '{}' }] },
  ],
  tools: [tool('echo'), tool('workflow:x')],
}

describe('the body of a request', () => {
  it.each([{}, { stream: true, stream_options: { include_usage: true } }] as const)(
    'has model, form and tools: %j',
    (form) => {
      const body = JSON.parse(requestBody(to, request, form)) as unknown
      expect(body).toMatchObject({
        model: 'm',
        ...form,
        tools: [{ function: { name: 'echo' } }, { type: 'function' }],
      })
    },
  )

  it('asks for a call of a tool only if the answer must have one and there is a tool', () => {
    const choiceIn = (over: Partial<ChatRequest>): unknown =>
      (JSON.parse(requestBody(to, { ...request, ...over }, {})) as { tool_choice?: unknown }).tool_choice
    expect([choiceIn({}), choiceIn({ mustCall: true }), choiceIn({ mustCall: true, tools: [] })]).toEqual([
      undefined,
      'required',
      undefined,
    ])
  })

  it('has the settings under the names of the wire, and never instead of what Beaver writes', () => {
    const settings = {
      temperature: 0,
      top_p: 0.5,
      output_tokens_max: 9,
      reasoning_effort: 'low',
      extra_body: { seed: 7, model: 'x', temperature: 1 },
    }
    const sent = (outputTokensField: 'max_tokens' | 'max_completion_tokens'): unknown =>
      JSON.parse(requestBody({ ...to, settings, outputTokensField }, request, {}))
    const common = { model: 'm', temperature: 0, top_p: 0.5, reasoning_effort: 'low', seed: 7 }
    expect(sent('max_tokens')).toMatchObject({ ...common, max_tokens: 9 })
    expect(sent('max_completion_tokens')).toMatchObject({ ...common, max_completion_tokens: 9 })
    expect(Object.keys(JSON.parse(requestBody(to, request, {})) as object)).toEqual([
      'model',
      'tools',
      'messages',
    ])
  })

  it('names no tools where there are none', () =>
    expect(JSON.parse(requestBody(to, { ...request, tools: [] }, {}))).not.toHaveProperty('tools'))

  it('has tools under names that a provider takes, which lead back to their own', () => {
    const { tools } = JSON.parse(requestBody(to, request, {})) as { tools: { function: { name: string } }[] }
    expect(tools[1]?.function.name).toMatch(/^[a-zA-Z0-9_-]+$/)
    expect(toolNameIn(request.tools, tools[1]?.function.name ?? '')).toBe('workflow:x')
  })

  it.each(['{oops', '', '[1]', '"text"', 'null'])(
    'has an object where the arguments of an earlier call are %j',
    (args) => {
      const messages = [
        {
          role: 'assistant' as const,
          content: null,
          tool_calls: [{ id: 'c', name: 'echo', arguments: args }],
        },
      ]
      expect(JSON.parse(requestBody(to, { ...request, messages }, {}))).toMatchObject({
        messages: [{ tool_calls: [{ function: { arguments: '{}' } }] }],
      })
    },
  )

  it('gives back what the provider sent with its messages, and nobody else gets it', () => {
    const call = {
      id: 'c',
      name: 'echo',
      arguments: '{"a":1}',
      extra_content: { google: { thought_signature: 'sig' } },
    }
    const state = { provider: 'main', fields: { reasoning_content: 'hm', role: 'system', content: 'x' } }
    const messages = [
      { role: 'assistant' as const, content: 'so', tool_calls: [call], provider_state: state },
    ]
    const sent = (stateOf: string | null): unknown =>
      (JSON.parse(requestBody({ ...to, stateOf }, { ...request, messages }, {})) as { messages: unknown[] })
        .messages[0]
    const plain = {
      role: 'assistant',
      content: 'so',
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'echo', arguments: '{"a":1}' } }],
    }
    expect(sent('main')).toEqual({
      ...plain,
      reasoning_content: 'hm',
      tool_calls: [{ ...plain.tool_calls[0], extra_content: call.extra_content }],
    })
    expect([sent('second'), sent(null)]).toEqual([plain, plain])
  })
})
