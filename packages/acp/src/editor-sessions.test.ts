import { expect, it } from 'vitest'
import { promptText } from './editor-sessions.ts'

it('joins texts, and names files by their paths', () => {
  const link = { type: 'resource_link' as const, name: 'notes\n.md', uri: 'file:///w/my%20notes.md' }
  expect(promptText([{ type: 'text', text: 'Sum up ' }, link, { type: 'text', text: '.' }])).toBe(
    'Sum up [notes .md](/w/my notes.md).',
  )
  expect(promptText([{ ...link, name: 'a', uri: 'https://example.com/a' }])).toBe(
    '[a](https://example.com/a)',
  )
  expect(promptText([{ ...link, name: 'a', uri: 'file://host/a' }])).toBe('[a](file://host/a)')
})

it.each([
  ['nothing', []],
  ['spaces', [{ type: 'text' as const, text: ' \n' }]],
  ['an image', [{ type: 'image' as const, data: '', mimeType: 'image/png' }]],
  ['a file with its content', [{ type: 'resource' as const, resource: { uri: 'file:///a', text: 'x' } }]],
])('refuses %s', (_, blocks) => expect(() => promptText(blocks)).toThrow(/Invalid params/))
