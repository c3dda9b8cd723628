import { readFileSync } from 'node:fs'
import { describe, expect, it, test } from 'vitest'
import type { ChatAnswer } from './chat-provider.ts'
import { endedAnswer, finishMeaning } from './finish-reason.ts'

const answer = (finishReason: string, calls = 0, content: string | null = 'half a sentence'): ChatAnswer => ({
  content,
  toolCalls: Array.from({ length: calls }, (_, i) => ({ id: `c${i}`, name: 'echo', arguments: '{}' })),
  finishReason,
  usage: { input_tokens: 1, output_tokens: 1, calls: 1 },
  model: 'm',
  responseId: null,
})

/** The class of the failure, or `answer`. */
function endOf(given: ChatAnswer): string {
  try {
    expect(endedAnswer(given, (name) => name === 'echo')).toBe(given)
    return 'answer'
  } catch (error) {
    return (error as { class: string }).class
  }
}

describe('an answer', () => {
  test.each([
    ['stop', 'answer'],
    ['STOP', 'answer'],
    ['end_turn', 'answer'],
    ['eos_token', 'answer'],
    ['length', 'answer'],
    ['content_filter', 'answer'],
    ['error', 'provider_unavailable'],
    ['network_error', 'provider_unavailable'],
    ['insufficient_system_resource', 'provider_unavailable'],
    ['aborted', 'provider_unavailable'],
    ['abort', 'provider_unavailable'],
    ['model_context_window_exceeded', 'context_overflow'],
    ['MALFORMED_FUNCTION_CALL', 'malformed_output'],
    ['tool_calls', 'answer'],
    ['other', 'malformed_output'],
    ['', 'malformed_output'],
    ['constructor', 'malformed_output'],
  ])('that ends with %j is %s', (reason, expected) => expect(endOf(answer(reason))).toBe(expected))

  it('that calls tools may end as a call or as the end of a turn', () =>
    expect(
      ['tool_calls', 'function_call', 'tool_use', 'stop', 'length'].map((reason) => endOf(answer(reason, 1))),
    ).toEqual(Array(5).fill('answer')))

  it.each([
    ['a text', 'So it is.', 'answer'],
    ['nothing', null, 'malformed_output'],
    ['spaces', '\n ', 'malformed_output'],
    ['the text of a call', '{"name": "echo", "arguments": {}}', 'malformed_output'],
  ])('that should call tools and has %s instead', (_, content, expected) =>
    expect(endOf(answer('tool_calls', 0, content))).toBe(expected),
  )

  it('that broke off with calls in it is none', () =>
    expect(endOf(answer('error', 1))).toBe('provider_unavailable'))
})

test('docs/reference/failures.md has the same words', () => {
  const page = readFileSync(new URL('../../../../docs/reference/failures.md', import.meta.url), 'utf8')
  const told = (page.split('## Finish reasons')[1] ?? '').split('\n## ')[0] ?? ''
  const rows = told.split('\n').flatMap((line) => (line.startsWith('| `') ? [line.split('|')] : []))
  const said = rows.map(([, words = '', meaning = '']) => {
    const meanings = new Set((words.match(/\w+/g) ?? []).map(finishMeaning))
    return [[...meanings].join(), /complete|`(\w+)`/.exec(meaning)?.[0]]
  })
  expect(said).toEqual([
    ['complete', 'complete'],
    ['calls', 'complete'],
    ['cut', '`output_truncated`'],
    ['window', '`context_overflow`'],
    ['refused', '`refusal`'],
    ['failed', '`provider_unavailable`'],
    ['malformed', '`malformed_output`'],
  ])
})
