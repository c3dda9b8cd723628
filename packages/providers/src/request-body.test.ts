import type { ChatRequest } from '@beaver/agent'
import { describe, expect, it } from 'vitest'
import { requestBody, toolNameIn } from './request-body.ts'

const tool = (name: string) => ({ name, description: `"${name}"}`, parameters: { type: 'object', properties: {} } })
const request: Pick<ChatRequest, 'messages' | 'tools'> = {
  messages: [
    { role: 'user', content: 'say {"tools":[]}' },
    { role: 'assistant', content: null, tool_calls: [{ id: 'c', name: 'workflow:x', arguments: '{}' }] },
  ],
  tools: [tool('echo'), tool('workflow:x')],
}

describe('the body of a request', () => {
  it.each([{}, { stream: true, stream_options: { include_usage: true } }] as const)('has model, form and tools: %j', (form) => {
    const body = JSON.parse(requestBody('m', request, form)) as unknown
    expect(body).toMatchObject({ model: 'm', ...form, tools: [{ function: { name: 'echo' } }, { type: 'function' }] })
  })

  it('names no tools where there are none', () => expect(JSON.parse(requestBody('m', { ...request, tools: [] }, {}))).not.toHaveProperty('tools'))

  it('has tools under names that a provider takes, which lead back to their own', () => {
    const { tools } = JSON.parse(requestBody('m', request, {})) as { tools: { function: { name: string } }[] }
    expect(tools[1]?.function.name).toMatch(/^[a-zA-Z0-9_-]+$/)
    expect(toolNameIn(request.tools, tools[1]?.function.name ?? '')).toBe('workflow:x')
  })
})
