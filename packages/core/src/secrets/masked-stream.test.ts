import fc from 'fast-check'
import { expect, it } from 'vitest'
import { maskedStream } from './masked-stream.ts'
import { maskSecrets, protectSecrets } from './process-secrets.ts'

const value = 'c4n4ry V4lue/with a space'
const random = 'aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7d'
const secrets = [
  value,
  Buffer.from(`xx${value}yy`).toString('base64'),
  `sk-proj-${random}`,
  'AKIAIOSFODNN7EXAMPLE',
  `Authorization: Bearer ${random}`,
  'postgres://admin:hunter2@db/app',
  `-----BEGIN RSA PRIVATE KEY-----\n${random}\n${random}\n-----END RSA PRIVATE KEY-----`,
  `aws_secret_access_key = ${random}`,
  'DB_PASSWORD="Tr0ub4dor&3-x9"',
]

function streamed(pieces: readonly string[]): string[] {
  const stream = maskedStream()
  return [...pieces.map((piece) => stream.push(piece)), stream.end()]
}

it('passes on the masked text, wherever secrets are split', ({ onTestFinished }) => {
  onTestFinished(protectSecrets([{ name: 'CANARY', value }]))
  const words = fc.array(
    fc.oneof(
      fc.constantFrom(...secrets),
      fc.constantFrom('task-', 'a', 'sk', '-', '', '\n', 'Bearer ', 'KEY=', '://', '密钥', 'desk-top'),
    ),
    { maxLength: 12 },
  )
  fc.assert(
    fc.property(words, fc.array(fc.nat({ max: 40 }), { maxLength: 60 }), (parts, lengths) => {
      const text = parts.join(' ')
      const pieces: string[] = []
      let at = 0
      for (const length of lengths) pieces.push(text.slice(at, (at += length)))
      pieces.push(text.slice(at))
      const passed = streamed(pieces).join('')
      expect(passed).toBe(maskSecrets(text))
      expect(passed).not.toContain('c4n4ry')
    }),
    { numRuns: 500 },
  )
})

it('passes on a text of single characters without a secret as it comes, but for the beginnings of secrets', () => {
  const text = 'The quick brown fox sees a tasty desk, and jumps. '
  const pieces = streamed(text.split(''))
  expect(pieces.join('')).toBe(text)
  expect(pieces.slice(0, -1).filter((piece) => piece === '').length).toBeLessThan(25)
})

it('does not hold back a long word that begins like no secret', () =>
  expect(maskedStream().push('0123456789'.repeat(1_000))).toHaveLength(10_000))
