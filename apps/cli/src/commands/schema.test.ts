import { wireEntries } from '@beaver/contracts/wire'
import { expect, test } from 'vitest'
import { entryNamed } from './schema.ts'

const entries = wireEntries()

test('a schema is found by its name', () => {
  expect(entryNamed('task.submit', entries)).toMatchObject({
    kind: 'request',
    schemas: { input: { type: 'object' }, answer: { type: 'object' } },
  })
  expect(entryNamed('task_completed', entries)).toMatchObject({
    kind: 'event',
    schemas: { data: { type: 'object' } },
  })
})

test('a name that a request and a query have is told apart by the kind', () => {
  expect(() => entryNamed('status', entries)).toThrow('Name one of them: request.status or query.status.')
  expect(entryNamed('query.status', entries).kind).toBe('query')
})

test('an unknown name is refused with the names there are', () => {
  expect(() => entryNamed('task.pause', entries)).toThrow(
    /There is no schema "task\.pause".*requests: task\.submit, .*queries: tasks, .*events: task_submitted, /,
  )
})
