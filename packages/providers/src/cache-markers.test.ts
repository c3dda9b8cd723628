import type { ChatMessage } from '@beaver/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isMarked, markedPlaces, withMarks } from './cache-markers.ts'

const system: ChatMessage = { role: 'system', content: 'shared\n\n# Session\n- session: s' }
const user = (content: string): ChatMessage => ({ role: 'user', content })
const call = (id: string): ChatMessage => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, name: 'read', arguments: '{}' }],
})
const result = (id: string, content = 'found'): ChatMessage => ({ role: 'tool', tool_call_id: id, content })
const first = [system, user('A skill.'), user('A task.')]
const second = [...first, call('1'), result('1'), result('2')]
const third = [...second, call('3'), result('3')]

const places = (messages: readonly ChatMessage[]): readonly number[] => markedPlaces(messages, () => true)

describe('the marks of a request', () => {
  it('are at the system prompt, at the end of the request before, and at the end', () => {
    expect([first, second, third].map(places)).toEqual([
      [0, 2],
      [0, 2, 5],
      [0, 5, 7],
    ])
  })

  it('are at the nearest message that can have one', () => {
    expect(places([system, user('A task.'), call('1'), result('1', ' ')])).toEqual([0, 1])
    expect(markedPlaces(third, ({ role }) => role !== 'tool')).toEqual([0, 2])
    expect(places([])).toEqual([])
    expect(places([user('x')])).toEqual([0])
  })

  it('are four at most, and change no word, whatever the conversation is', () => {
    const message = fc.oneof(
      fc.constantFrom<ChatMessage>(
        system,
        user('A task.'),
        user(''),
        call('1'),
        result('1'),
        result('2', ''),
      ),
      fc.string().map((text): ChatMessage => ({ role: 'assistant', content: text })),
    )
    fc.assert(
      fc.property(
        fc.array(message, { maxLength: 40 }),
        fc.nat(60),
        fc.constantFrom('part', 'message', 'none'),
        (messages, sharedChars, results) => {
          const marked = withMarks(messages, messages as never, { sharedChars, results: results as 'part' })
          const texts = marked.map(({ content }) =>
            Array.isArray(content)
              ? (content as { text: string }[]).map(({ text }) => text).join('')
              : content,
          )
          expect(texts).toEqual(messages.map(({ content }) => content))
          expect(JSON.stringify(marked).split('"cache_control"').length - 1).toBeLessThanOrEqual(4)
        },
      ),
      { numRuns: 500 },
    )
  })
})

describe('a mark', () => {
  const wire = (messages: readonly ChatMessage[], results: 'part' | 'message' | 'none' = 'part') =>
    withMarks(messages, messages as never, { sharedChars: 'shared'.length, results })
  const mark = { cache_control: { type: 'ephemeral' } }

  it('is in the parts of a message: the system prompt has one at the end of what others share', () => {
    expect(wire(second)).toEqual([
      {
        role: 'system',
        content: [
          { type: 'text', text: 'shared', ...mark },
          { type: 'text', text: '\n\n# Session\n- session: s', ...mark },
        ],
      },
      user('A skill.'),
      { role: 'user', content: [{ type: 'text', text: 'A task.', ...mark }] },
      call('1'),
      result('1'),
      { ...result('2'), content: [{ type: 'text', text: 'found', ...mark }] },
    ])
  })

  it('of a result is at its message or nowhere, if the server wants it so', () => {
    expect(wire(second, 'message').at(-1)).toEqual({ ...result('2'), ...mark })
    expect(wire(second, 'none').at(-1)).toEqual(result('2'))
  })

  it('is at the last text of a message with images', () => {
    const shown = {
      role: 'user',
      content: [
        { type: 'text', text: 'Look.' },
        { type: 'text', text: '[a.png]' },
        { type: 'image_url', image_url: { url: 'u' } },
      ],
    }
    expect(withMarks([user('Look.')], [shown as never], { sharedChars: 0, results: 'part' })).toEqual([
      {
        role: 'user',
        content: [shown.content[0], { type: 'text', text: '[a.png]', ...mark }, shown.content[2]],
      },
    ])
  })
})

it('a request that nobody asks again, or that has no tools, is not marked', () => {
  const [cache, tools] = [{ key: 'k', sharedChars: 0 }, [{ name: 't', description: '', parameters: {} }]]
  expect([isMarked({ cache, tools }), isMarked({ cache, tools: [] }), isMarked({ tools })]).toEqual([
    true,
    false,
    false,
  ])
})
