import type { ChatMessage } from '@beaver/core'
import { imageTokens } from '@beaver/core/images'
import { describe, expect, it, test } from 'vitest'
import fc from 'fast-check'
import { throughUseTool } from '../tools/further-tools.ts'
import { inputTokensMax } from './call-bound.ts'
import type { ToolSchema } from './chat-provider.ts'

const user = (content: string): ChatMessage => ({ role: 'user', content })
const tool = (name: string): ToolSchema => ({
  name,
  description: `Does ${name}.`,
  parameters: { type: 'object', properties: {} },
})
const boundOf = (...messages: ChatMessage[]): number => inputTokensMax({ messages, tools: [] })
/** By how much a message is more than one without text. */
const bytesCounted = (message: ChatMessage, empty: ChatMessage): number => boundOf(message) - boundOf(empty)

describe('the bound of the input of a call', () => {
  it('counts each byte of UTF-8 of a text as a token', () =>
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(bytesCounted(user(text), user(''))).toBe(Buffer.byteLength(text))
      }),
    ))

  const answer = {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'c1', name: 'look', arguments: '{}' }],
  } as const
  const [call] = answer.tool_calls
  test.each<[string, ChatMessage]>([
    ['the arguments of a call', { ...answer, tool_calls: [{ ...call, arguments: '{"x":"一二"}' }] }],
    ['the name of a call', { ...answer, tool_calls: [{ ...call, name: `look${'x'.repeat(12)}` }] }],
    ['what goes back with a call', { ...answer, tool_calls: [{ ...call, extra_content: { signed: 'a' } }] }],
    ['the thoughts', { ...answer, provider_state: { provider: 'p', fields: { thoughts: '…' } } }],
  ])('has %s', (_, more) => {
    const bytes = Buffer.byteLength(JSON.stringify(more)) - Buffer.byteLength(JSON.stringify(answer))
    expect(bytesCounted(more, answer)).toBeGreaterThanOrEqual(12)
    expect(bytesCounted(more, answer)).toBeLessThanOrEqual(bytes)
  })

  it('has the images of messages and results, and something for each message', () => {
    const image = {
      media_type: 'image/png',
      sha256: 'a'.repeat(64),
      bytes: 9,
      width: 64,
      height: 64,
    } as const
    const shown: ChatMessage = { role: 'user', content: '', images: [image] }
    expect(bytesCounted(shown, user(''))).toBeGreaterThan(imageTokens(image))
    const result = { role: 'tool', tool_call_id: 'c1', content: '' } as const
    expect(bytesCounted({ ...result, images: [image] }, result)).toBeGreaterThan(imageTokens(image))
    expect(boundOf(user(''), user(''))).toBeGreaterThan(boundOf(user('')))
  })

  it('has the tools and the form of the answer, each as JSON and with what is written around it', () => {
    const bare = { messages: [user('Hi')], tools: [] }
    const one = inputTokensMax({ ...bare, tools: [tool('a')] })
    const two = inputTokensMax({ ...bare, tools: [tool('a'), tool('b')] })
    expect(one - inputTokensMax(bare)).toBeGreaterThan(JSON.stringify(tool('a')).length)
    expect(two - one).toBeGreaterThan(JSON.stringify(tool('b')).length)
    const output = { name: 'output', schema: { type: 'object', description: 'x'.repeat(900) } }
    expect(inputTokensMax({ ...bare, output }) - inputTokensMax(bare)).toBeGreaterThan(900)
  })
})

describe('the bound of a request that continues an answered one', () => {
  const long = user('x'.repeat(9_000))
  const tools = [tool('a')]
  const known = { messages: [long], tools, output: undefined, tokens: 2_000 }

  it('has the tokens that the provider reported, and bounds only what came since', () => {
    const more = user('y'.repeat(500))
    const bound = inputTokensMax({ messages: [long, more], tools }, known)
    expect(bound).toBeGreaterThanOrEqual(2_500)
    expect(bound).toBeLessThan(2_600)
    // Equal tools in another list are the same tools.
    expect(inputTokensMax({ messages: [long, more], tools: [...tools] }, known)).toBe(bound)
  })

  it('adds tools and a form that the answered one did not have', () => {
    const asked = { messages: [long], tools }
    const more = { ...asked, tools: [tool('b')] }
    const form = { ...asked, output: { name: 'output', schema: { type: 'object' } } }
    for (const request of [more, form])
      expect(inputTokensMax(request, known)).toBeGreaterThan(inputTokensMax(asked, known) + 50)
  })

  test.each<[string, ChatMessage[]]>([
    ['a changed message', [user(long.content as string)]],
    ['fewer messages', []],
    ['another beginning', [user('first'), long]],
  ])('ignores it with %s', (_, messages) =>
    expect(inputTokensMax({ messages, tools }, known)).toBe(inputTokensMax({ messages, tools })),
  )

  it('finds it although calls are shown as calls of use_tool', () => {
    const further = new Set(['rare'])
    const calls = (name: string): ChatMessage => ({
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c1', name, arguments: JSON.stringify({ text: 'x'.repeat(5_000) }) }],
    })
    const earlier = [calls('rare'), calls('usual')]
    const before = { ...known, messages: throughUseTool(earlier, further) }
    const messages = throughUseTool([...earlier, user('go on')], further)
    expect(inputTokensMax({ messages, tools }, before)).toBeLessThan(2_200)
  })
})
