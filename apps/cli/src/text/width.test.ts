import { describe, expect, test } from 'vitest'
import { around, cutToWidth, padEnd, padStart, textWidth } from './width.ts'
import { wrapText, wrapWords } from './wrap.ts'

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
    ['\u001B[31mred\u001B[39m', 3],
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

describe('the part of a text around a word', () => {
  const text = `${'before '.repeat(20)}the needle ${'after '.repeat(20)}`

  test('has the word, however narrow the room', () => {
    for (const columns of [8, 12, 30, 60, 200]) {
      const part = around(text, ['NEEDLE'], columns)
      expect(part).toContain('needle')
      expect(textWidth(part)).toBeLessThanOrEqual(columns)
    }
    expect(around(`${'长'.repeat(40)}文件${'短'.repeat(40)}`, ['文件'], 12)).toBe('…长文件短短…')
  })

  test('begins at the beginning if no word occurs, and is whole if there is room', () => {
    expect(around(text, ['nothing'], 10)).toBe('before be…')
    expect(around('short', ['short'], 10)).toBe('short')
  })
})

test('a text is broken between words, line by line, and a word that is wider than a line anywhere', () => {
  expect(wrapText('one two three\nfour 报告文件夹 five', 8)).toEqual([
    'one two',
    'three',
    'four',
    '报告文件',
    '夹',
    'five',
  ])
  expect(wrapWords('one two three four', 8, '  ')).toEqual(['one two', '  three', '  four'])
})
