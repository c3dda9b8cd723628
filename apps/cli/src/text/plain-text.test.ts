import { expect, test } from 'vitest'
import { oneLine, plainText, styledText } from './plain-text.ts'
import { paintReport } from './report.ts'
import { styleOf } from './style.ts'
import { wrapWords } from './wrap.ts'
import { bytes, count, counted, duration } from './figures.ts'

test('text from outside cannot move the cursor, ring or retitle the terminal', () => {
  expect(plainText('a\u001B[2Jb\u001B]0;title\u0007c\u0007\rd')).toBe('abcd')
  expect(plainText('right\u202Eleft')).toBe('rightleft')
  expect(plainText('two\r\nlines\tand a tab')).toBe('two\nlines\tand a tab')
  expect(oneLine('  many \n\n spaces\t ')).toBe('many spaces')
})

test('a painted report keeps its text', () => {
  const report = '# Title\n\nSome **bold** text.\n\n```sh\n# no heading\n```\n| a | b |'
  expect(paintReport(report, styleOf(false))).toBe(report)
  const painted = paintReport(report, styleOf(true))
  expect(plainText(painted)).toBe(report)
  expect(painted).toContain('\u001B[1m# Title')
  expect(painted).not.toContain('\u001B[1m# no heading')
})

test('sentences are broken between words', () => {
  expect(wrapWords('one two three', 7)).toEqual(['one two', 'three'])
  expect(wrapWords('averylongword x', 5)).toEqual(['averylongword', 'x'])
})

test('figures read as a person writes them', () => {
  expect([duration(3_240), duration(59_990), duration(61_000), duration(3_700_000), duration(-5)]).toEqual([
    '3.2 s',
    '1 min 00 s',
    '1 min 01 s',
    '1 h 01 min',
    '0.0 s',
  ])
  expect([count(7), count(1204), count(1234567)]).toEqual(['7', '1,204', '1,234,567'])
  expect([counted(1, 'agent'), counted(2, 'agent')]).toEqual(['1 agent', '2 agents'])
  expect([bytes(12), bytes(1_536), bytes(84_300_000_000)]).toEqual(['12 bytes', '1.5 kB', '84.3 GB'])
})

test('the screen keeps Beaver’s own styles and nothing else that a terminal obeys', () => {
  const { bold, red } = styleOf(true)
  expect(styledText(`${bold('a')}${red('b')}`)).toBe(`${bold('a')}${red('b')}`)
  expect(styledText('a\u001B[8mhidden\u001B[0m\u001B]0;t\u0007\u009B2J\u001B[38;5;0mb\r')).toBe(
    'ahidden\u001B[0mb',
  )
  expect(styledText('a\u202Eb\u0007')).toBe('ab')
})
