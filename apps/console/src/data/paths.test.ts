import { expect, it } from 'vitest'
import { pathOf } from './paths.ts'

it('puts fields in braces into the path, and the others into the query string', () =>
  expect(
    pathOf('/api/v1/tasks/{task_id}/events', { task_id: 'a/b ?', after: 3, node_id: '', limit: undefined }),
  ).toBe('/api/v1/tasks/a%2Fb%20%3F/events?after=3'))

it('repeats the name of a list', () =>
  expect(pathOf('/api/v1/tasks', { status: ['open', 'failed'], text: 'a b' })).toBe(
    '/api/v1/tasks?status=open&status=failed&text=a+b',
  ))
