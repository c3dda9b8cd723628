import { describe, expect, it } from 'vitest'
import { askedContent, shownCall, textContent } from './shown-call.ts'

const place = { toolCallId: 'c', agent: null, workspace: '/w' }
const textOf = (content: ReturnType<typeof askedContent>): string => {
  const [first] = content
  return first?.type === 'content' && first.content.type === 'text' ? first.content.text : ''
}

describe('a call that is shown', () => {
  it('has a title on one line, without hidden characters and of a bounded length', () => {
    const { title } = shownCall(
      {
        id: '1',
        name: 'run_command',
        arguments: JSON.stringify({ command: `rm \u202ex\ny${'z'.repeat(10_000)}` }),
      },
      place,
    )
    expect(title.startsWith('run_command rm \\u{202e}x yzzz')).toBe(true)
    expect(title).toHaveLength(200)
  })

  it.each(['not JSON', '[]', 'null', '"text"', '{"path":3}', ''])('may have any arguments: %s', (written) => {
    expect(shownCall({ id: '1', name: 'read_file', arguments: written }, place)).toMatchObject({
      title: 'read_file',
      kind: 'read',
      status: 'pending',
    })
  })

  it('has no arguments that are too large, and cuts results', () => {
    const large = 'x'.repeat(1_000_000)
    expect(
      JSON.stringify(
        shownCall({ id: '1', name: 'write_file', arguments: JSON.stringify({ content: large }) }, place),
      ).length,
    ).toBeLessThan(1_000)
    expect(textOf(textContent(large))).toHaveLength(20_000)
  })
})

describe('a question', () => {
  const preview = {
    effect: 'overwrite',
    path: 'a\u200b.md',
    bytes: 3,
    sha256: '',
    before: null,
    diff: '-a\n+```\u202eb',
    diff_lines_left_out: 4,
  }

  it('shows hidden characters, and the difference in a block that it cannot close', () => {
    const text = textOf(
      askedContent(
        {
          call_id: 'c',
          tool_name: 'write_file',
          subject: 'a\u0007.md',
          rule: null,
          reason: 'It has read the web.',
          preview,
        },
        't',
      ),
    )
    expect(text).toContain('write_file: a\\u{7}.md')
    expect(text).toContain('It has read the web.')
    expect(text).toContain('It would overwrite a\\u{200b}.md (3 bytes).')
    expect(text).toContain('````diff\n-a\n+```\\u{202e}b\n````')
    expect(text).toContain('4 more lines')
  })
})
