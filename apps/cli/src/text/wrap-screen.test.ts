import { expect, test } from 'vitest'
import { styleOf } from './style.ts'
import { wrapScreen } from './wrap-screen.ts'

const wrapped = (text: string, columns = 30): string[] => wrapScreen(text, columns, () => './bin/beaver').split('\n')

test('a sentence is broken between words, and what fits stays as it is', () => {
  expect(wrapped('Beaver keeps what it wrote, and says so.\nShort.\n')).toEqual(['Beaver keeps what it wrote,', 'and says so.', 'Short.', ''])
  expect(wrapped('日本 '.repeat(8).trim())).toEqual(['日本 日本 日本 日本 日本 日本', '日本 日本'])
})

test('it goes on below its text: of a field, of an item of a list, of an indented line', () => {
  expect(wrapped('Name       one two three four five six', 40)).toEqual(['Name       one two three four five six'])
  expect(wrapped('Name       one two three four five six', 36)).toEqual(['Name       one two three four five', '           six'])
  expect(wrapped('- one two three four five six seven')).toEqual(['- one two three four five six', '  seven'])
  expect(wrapped('  12. one two three four five six')).toEqual(['  12. one two three four five', '      six'])
  expect(wrapped('    one two three four five six')).toEqual(['    one two three four five', '    six'])
})

test('colours take no room, and stay', () => {
  const { yellow, dim } = styleOf(true)
  const text = `${dim('Name       ')}${yellow('one two three four five six')}`
  expect(wrapScreen(text, 36, () => 'beaver')).toBe(text.replace('five six', 'five\n           six'))
})

test.each([
  ['a command at the end', 'See what there is: ./bin/beaver show latest --node count', ['See what there is:', './bin/beaver show latest --node count']],
  ['a command in quotes', 'Then "./bin/beaver up" starts it again.', ['Then "./bin/beaver up" starts', 'it again.']],
  [
    'a command on its own line',
    '  ./bin/beaver run --skill folder-report "Report on this folder"',
    ['  ./bin/beaver run --skill folder-report "Report on this folder"'],
  ],
  ['a word without a space', `at ${'x'.repeat(40)} it is`, ['at', 'x'.repeat(40), 'it is']],
  ['a row of a table', `| ${'a '.repeat(20)}|`, [`| ${'a '.repeat(20)}|`]],
  ['JSON', `  "name": "${'a '.repeat(20)}",`, [`  "name": "${'a '.repeat(20)}",`]],
  ['code', `\`\`\`sh\n${'a '.repeat(20)}b\n\`\`\`\n${'c '.repeat(20)}d`, ['```sh', `${'a '.repeat(20)}b`, '```', 'c '.repeat(15).trim(), 'c c c c c d']],
])('%s is not broken', (_, text, lines) => expect(wrapped(text)).toEqual(lines))
