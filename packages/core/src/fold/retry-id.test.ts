import { expect, it } from 'vitest'
import { foreignId, type TaskId } from '../ids.ts'
import { attemptOf, retryIdOf } from './retry-id.ts'

const submitted = (task: string, of?: string): Parameters<typeof retryIdOf>[0] => ({
  task_id: task as TaskId,
  request: {
    text: '',
    workspace: '/w',
    skill: null,
    source: 'x',
    ...(of === undefined ? {} : { retry_of: of as TaskId }),
  },
})
const retryOf = (task: string, of?: string): string => retryIdOf(submitted(task, of))

it('says which attempt a task is', () => {
  const attempts = [
    submitted('a'),
    submitted('a.retry-1'),
    submitted('a.retry-1', 'a'),
    submitted('a.retry-9', 'a.retry-8'),
  ].map(attemptOf)
  expect(attempts).toEqual([1, 1, 2, 10])
})

it('counts on from the first task', () => {
  expect([retryOf('a'), retryOf('a.retry-1', 'a'), retryOf('a.retry-9', 'a.retry-8')]).toEqual([
    'a.retry-1',
    'a.retry-2',
    'a.retry-10',
  ])
})

it('does not count an id that only looks like a retry', () => {
  expect(retryOf('a.retry-1')).toBe('a.retry-1.retry-1')
})

it('is a valid id for any task id, and counts on from a hash', () => {
  const long = '会'.repeat(128)
  const first = retryOf(long)
  expect(foreignId.parse(first)).toBe(first)
  expect(retryOf(first, long)).toBe(first.replace(/1$/, '2'))
  expect(retryOf('x'.repeat(120))).toHaveLength(128)
})
