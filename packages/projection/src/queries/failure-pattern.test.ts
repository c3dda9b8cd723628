import fc from 'fast-check'
import { expect, test } from 'vitest'
import { patternOf } from './failure-pattern.ts'

test.each([
  ['The provider answered with HTTP 429.', 'The provider answered with HTTP 429.'],
  ['The call took 31.5 s and 90000 of 1.5M tokens.', 'The call took <n> s and <n> of <n>M tokens.'],
  ['It timed out after 30s.', 'It timed out after <n>s.'],
  ['The task task_01m848rs3kq7w2 has no answer.', 'The task <id> has no answer.'],
  ['request req_011CSHoEeqs5C35K2UUqR7Fy failed', 'request <id> failed'],
  ['see 7d0e2f3a-1b2c-4d5e-8f90-0123456789ab', 'see <id>'],
  ['the blob sha256:9f86d081884c7d65 is lost', 'the blob <id> is lost'],
  ['until 2026-11-29T12:00:01.500Z', 'until <time>'],
  ['at 12:04:59, again', 'at <time>, again'],
  ['ENOENT: no such file, open "/srv/ann/a b.txt"', 'ENOENT: no such file, open "<path> b.txt"'],
  ['src/a/b.test.ts:12:5: error', '<path>: error'],
  ['connect ECONNREFUSED 127.0.0.1:43211', 'connect ECONNREFUSED 127.0.0.1:<n>'],
  ['https://api.example.com:8443/v1/x?y=1 refused', 'https://api.example.com:<n>/<path>=<n> refused'],
  ['port:8080 is taken', 'port:<n> is taken'],
  ['  two\n\nlines ', 'two lines'],
])('%j has the pattern %j', (message, pattern) => {
  expect(patternOf(message)).toBe(pattern)
})

test.each([
  'The model gpt-4o-2024-08-06 is not known.',
  'The model qwen3:8b is not known.',
  'The model openai/gpt-4.1 is not known.',
  'The tool read_file was not called.',
  'The node step-3 failed.',
  'HTTP 503: overloaded',
  'HTTP/1.1 500 Internal Server Error',
  'The server returned 404.',
  'The model meta-llama/llama-3-8b.gguf is not loaded.',
])('a word that may name a cause stays: %j', (message) => {
  expect(patternOf(message)).toBe(message)
})

test('a long message ends with a mark, and what comes after its end plays no part', () => {
  const long = 'word '.repeat(80)
  expect(patternOf(`${long} 1`)).toBe(patternOf(`${long} end`))
  expect(patternOf(long)).toMatch(/^(word )+wor…$|word…$/)
  expect(patternOf(long).length).toBeLessThanOrEqual(300)
})

test('numbers never tell two messages apart', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 200 }), fc.nat(), fc.nat(), (text, one, other) => {
      const message = (n: number): string => `${text} failed after ${n} tries of ${n * 7} ms`
      expect(patternOf(message(one))).toBe(patternOf(message(other)))
    }),
  )
})
