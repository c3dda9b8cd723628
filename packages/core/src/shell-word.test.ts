import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { shellWord } from './shell-word.ts'

test('an ordinary id stays as it is', () => expect(shellWord('run_1/call-2.3')).toBe('run_1/call-2.3'))

const hostile = [
  'it\'s; $(rm) `x` \\ "',
  '-n',
  '~',
  '=ls',
  '',
  '!!',
  '# no comment',
  'two\nlines\n',
  '\n',
  "'\n'",
  'a\tb',
  '\u0003\nrm -rf ~\n',
  '\u001b[201~\nid\n',
  '\u202egnp.exe\u2066',
  '\u2028\u0085\u009b2J',
  '%s%n\\003',
  '会话',
]

describe.each(['sh', 'bash'])('%s', (shell) => {
  it('reads back what was written, and nothing else', () => {
    const texts = [
      ...hostile,
      ...fc.sample(fc.string({ minLength: 1 }), 15),
      ...fc.sample(fc.string({ unit: 'binary', minLength: 1 }), 15),
    ]
    const read = execFileSync(shell, ['-c', `printf '%s\\0' ${texts.map(shellWord).join(' ')}`], {
      encoding: 'utf8',
    })
    expect(read).toBe(texts.map((text) => `${text.toWellFormed().replaceAll('\0', '')}\0`).join(''))
  })
})

it.each(hostile)('a terminal obeys nothing of %j', (text) =>
  expect(shellWord(text).replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u),
)
