import { expect, it } from 'vitest'
import { LeftTasks, sameRequest } from './left-tasks.ts'

const ann = { name: 'web', userId: 'ann', roles: [] } as unknown as Parameters<typeof sameRequest>[0]

it('a request is the same if its caller, its user and its body are', () => {
  const of = sameRequest(ann, '{"a":1}')
  expect(sameRequest({ ...ann }, '{"a":1}')).toBe(of)
  for (const other of [sameRequest(ann, '{"a":2}'), sameRequest({ ...ann, userId: 'bob' }, '{"a":1}'), sameRequest({ ...ann, name: 'app' }, '{"a":1}')])
    expect(other).not.toBe(of)
})

it('a task is found once by the request that left it, and is not cancelled then', async () => {
  const left = new LeftTasks({ againMsMax: 1 })
  const cancelled: string[] = []
  left.leave('r', 'task_1', () => void cancelled.push('task_1'))
  expect([left.take('other'), left.take('r'), left.take('r')]).toEqual([null, 'task_1', null])
  await new Promise<void>((resolve) => left.leave('later', 'task_2', resolve)) // The first timer would have been due before.
  expect(cancelled).toEqual([])
})

it('a task for which nobody asks again is cancelled, and is not found any more', async () => {
  const left = new LeftTasks({ againMsMax: 1 })
  await new Promise<void>((resolve) => left.leave('r', 'task_1', resolve))
  expect(left.take('r')).toBeNull()
})

it('a task that waits for a person is kept', async () => {
  const left = new LeftTasks({ againMsMax: 1 })
  left.leave('r', 'task_1', null)
  await new Promise<void>((resolve) => left.leave('later', 'task_2', resolve))
  expect(left.take('r')).toBe('task_1')
})

it('nothing is cancelled after the end of the app', async () => {
  const left = new LeftTasks({ againMsMax: 1 })
  const cancelled: string[] = []
  left.leave('r', 'task_1', () => void cancelled.push('task_1'))
  left.close()
  const other = new LeftTasks({ againMsMax: 2 })
  await new Promise<void>((resolve) => other.leave('later', 'task_2', resolve))
  expect([cancelled, left.take('r')]).toEqual([[], null])
})
