import { expect, it } from 'vitest'
import { submitRequest } from './submit.ts'

const one = { role: 'user', content: 'x' }

it.each([
  ['a message of nobody', { history: [{ role: 'tool', content: 'x' }] }, 'history.0.role'],
  ['too many messages', { history: Array.from({ length: 2_001 }, () => one) }, 'history'],
  [
    'too much text',
    { history: Array.from({ length: 3 }, () => ({ ...one, content: 'x'.repeat(400_000) })) },
    'history',
  ],
  ['empty instructions', { instructions: '' }, 'instructions'],
])('a submission with %s is refused', (_, request, path) =>
  expect(
    submitRequest.safeParse({ task: 'x', ...request }).error?.issues.map((issue) => issue.path.join('.')),
  ).toEqual([path]),
)
