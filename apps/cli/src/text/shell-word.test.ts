import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { shellWord } from './shell-word.ts'

test('an ordinary id stays as it is', () => expect(shellWord('run_1/call-2.3')).toBe('run_1/call-2.3'))

test('a shell reads back what was written, and nothing else', () => {
  const texts = [...fc.sample(fc.string({ minLength: 1 }), 60), 'it\'s; $(rm) `x` \\ "', '-n', '~', '']
  const safe = texts.map((text) => text.replaceAll('\0', ''))
  const read = execFileSync('sh', ['-c', `printf '%s\\0' ${safe.map(shellWord).join(' ')}`], {
    encoding: 'utf8',
  })
  expect(read).toBe(safe.map((text) => `${text.toWellFormed()}\0`).join(''))
})
