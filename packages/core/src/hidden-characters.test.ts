import { expect, test } from 'vitest'
import { safeJson, visible } from './hidden-characters.ts'

test('what a person decides about shows each hidden character', () => {
  expect(visible('rm\u202e x\u200b\u001b[2K\u{e0041}\u2028\u0085\r')).toBe(
    'rm\\u{202e} x\\u{200b}\\u{1b}[2K\\u{e0041}\\u{2028}\\u{85}\\u{d}',
  )
  expect(visible('two\nlines\t\u0007', '\n\t')).toBe('two\nlines\t\\u{7}')
  expect(visible('half \ud800')).toBe('half \\u{d800}')
})

test('safe JSON is the same JSON and holds nothing that a terminal obeys', () => {
  const value = { text: 'a\u001b]52;c;eA==\u0007 \u009b31m \u007f \u202e \u2066 \u2028 é 日本' }
  const json = safeJson(JSON.stringify(value))
  expect(JSON.parse(json)).toEqual(value)
  expect(json).not.toMatch(/[^\P{Cc}]|[\u200e\u200f\u202a-\u202e\u2066-\u2069]/u)
  expect(json).toContain('é 日本')
})
