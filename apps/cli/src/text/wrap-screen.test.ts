import { expect, test } from 'vitest'
import { styleOf } from './style.ts'
import { wrapScreen } from './wrap-screen.ts'

const wrapped = (text: string, columns = 30): string[] =>
  wrapScreen(text, columns, () => './bin/beaver').split('\n')

test('a sentence is broken between words, and what fits stays as it is', () => {
  expect(wrapped('Beaver keeps what it wrote, and says so.\nShort.\n')).toEqual([
    'Beaver keeps what it wrote,',
    'and says so.',
    'Short.',
    '',
  ])
  expect(wrapped('日本 '.repeat(8).trim())).toEqual(['日本 日本 日本 日本 日本 日本', '日本 日本'])
})

test('it goes on below its text: of a field, of an item of a list, of an indented line', () => {
  expect(wrapped('Name       one two three four five six', 40)).toEqual([
    'Name       one two three four five six',
  ])
  expect(wrapped('Name       one two three four five six', 36)).toEqual([
    'Name       one two three four five',
    '           six',
  ])
  expect(wrapped('- one two three four five six seven')).toEqual(['- one two three four five six', '  seven'])
  expect(wrapped('  12. one two three four five six')).toEqual(['  12. one two three four five', '      six'])
  expect(wrapped('    one two three four five six')).toEqual(['    one two three four five', '    six'])
})

test('the first word stays with what stands before it, however long it is', () => {
  expect(wrapped(`- ${'x'.repeat(40)} and more`)).toEqual([`- ${'x'.repeat(40)}`, '  and more'])
  expect(wrapped(`Request    ${'x'.repeat(40)} and`, 40)).toEqual([
    `Request    ${'x'.repeat(40)}`,
    '           and',
  ])
  expect(wrapped('I agree.  Then we go on, one after the other.')).toEqual([
    'I agree.  Then we go on, one',
    'after the other.',
  ])
})

test('a script without spaces is broken anywhere, but not before punctuation', () => {
  expect(wrapped('Request    分析这个文件夹里的所有文件，然后写一份报告', 36)).toEqual([
    'Request    分析这个文件夹里的所有文',
    '           件，然后写一份报告',
  ])
  expect(wrapped('一二三四五，六七八九十，一二三四。', 34)).toEqual(['一二三四五，六七八九十，一二三四。'])
  expect(wrapped('一二三四五，六七八九十，一二三四。', 33)).toEqual([
    '一二三四五，六七八九十，一二三',
    '四。',
  ])
  expect(wrapped('他说：“换人改变了比赛”', 14)).toEqual(['他说：“换人改', '变了比赛”'])
})

test('a fence that is never closed ends with its text', () => {
  expect(wrapScreen(`\`\`\`js\n${'a '.repeat(20)}b`, 30, () => 'beaver').split('\n')).toEqual([
    '```js',
    `${'a '.repeat(20)}b`,
  ])
  expect(wrapped(`\`\`\`x\`\`\` ${'a '.repeat(14)}b`)).toHaveLength(2)
})

test('colours take no room, and stay', () => {
  const { yellow, dim } = styleOf(true)
  const text = `${dim('Name       ')}${yellow('one two three four five six')}`
  expect(wrapScreen(text, 36, () => 'beaver')).toBe(text.replace('five six', 'five\n           six'))
})

test.each([
  [
    'a command at the end',
    'See what there is: ./bin/beaver show latest --node count',
    ['See what there is:', './bin/beaver show latest --node count'],
  ],
  [
    'a command in quotes',
    'Then "./bin/beaver up" starts it again.',
    ['Then "./bin/beaver up" starts', 'it again.'],
  ],
  [
    'a command on its own line',
    '  ./bin/beaver run --skill folder-report "Report on this folder"',
    ['  ./bin/beaver run --skill folder-report "Report on this folder"'],
  ],
  [
    'a command in a sentence',
    'Write it, such as beaver run "Report on this", or',
    ['Write it, such as', 'beaver run "Report on this",', 'or'],
  ],
  [
    'a command with a variable',
    '  BEAVER_TRUST=1 beaver run "Report on this folder"',
    ['  BEAVER_TRUST=1 beaver run "Report on this folder"'],
  ],
  [
    'a command that a sentence follows',
    'It is: beaver up. It starts the whole system.',
    ['It is: beaver up. It starts', 'the whole system.'],
  ],
  ['a word without a space', `at ${'x'.repeat(40)} it is`, ['at', 'x'.repeat(40), 'it is']],
  ['a row of a table', `| ${'a '.repeat(20)}|`, [`| ${'a '.repeat(20)}|`]],
  [
    'a sentence that begins with a quote',
    '"beaver up" starts Beaver again, and it goes on.',
    ['"beaver up" starts Beaver', 'again, and it goes on.'],
  ],
  [
    'a sentence that begins with a bracket',
    '[failed]: the tool write_file was not called.',
    ['[failed]: the tool write_file', 'was not called.'],
  ],
  ['JSON', `  "name": "${'a '.repeat(20)}",`, [`  "name": "${'a '.repeat(20)}",`]],
  [
    'code',
    `\`\`\`sh\n${'a '.repeat(20)}b\n\`\`\`\n${'c '.repeat(20)}d`,
    ['```sh', `${'a '.repeat(20)}b`, '```', 'c '.repeat(15).trim(), 'c c c c c d'],
  ],
])('%s is broken where it may be', (_, text, lines) => expect(wrapped(text)).toEqual(lines))
