import { describe, expect, test } from 'vitest'
import { cutToWidth, padEnd, padStart, textWidth } from './width.ts'

describe('the columns of a text', () => {
  test.each([
    ['plain', 5],
    ['', 0],
    ['日本', 4],
    ['한글', 4],
    ['ｆｕｌｌ', 8],
    ['ﾊﾝ', 2],
    ['e\u0301', 1],
    ['\u200B', 0],
    ['✔ ok', 4],
    ['🦫', 2],
    ['👨‍👩‍👧', 2],
    ['🇩🇪', 2],
    ['│├─ ', 4],
    ['a\u0007', 1],
  ])('%j takes %i', (text, columns) => expect(textWidth(text)).toBe(columns))
})

test('a cut text fits and is marked', () => {
  expect(cutToWidth('folder report', 8)).toBe('folder …')
  expect(cutToWidth('报告文件夹', 6)).toBe('报告…')
  expect(cutToWidth('报告', 4)).toBe('报告')
  expect(cutToWidth('👨‍👩‍👧👨‍👩‍👧', 3)).toBe('👨‍👩‍👧…')
  expect(cutToWidth('abc', 0)).toBe('')
  expect(cutToWidth('abc', 2, '...')).toBe('')
})

test('padding counts columns, not characters', () => {
  expect(padEnd('报', 4)).toBe('报  ')
  expect(padStart('报', 4)).toBe('  报')
  expect(padEnd('long', 2)).toBe('long')
})
