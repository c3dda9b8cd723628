import { expect, it } from 'vitest'
import { repeatable } from './follow-work.ts'
import { LeftTasks, sameRequest } from './left-tasks.ts'

const ann = { name: 'web', userId: 'ann', roles: [] } as unknown as Parameters<typeof sameRequest>[0]

it('a request is the same if its caller, its user and its body are', () => {
  const of = sameRequest(ann, '{"a":1}')
  expect(sameRequest({ ...ann }, '{"a":1}')).toBe(of)
  for (const other of [
    sameRequest(ann, '{"a":2}'),
    sameRequest({ ...ann, userId: 'bob' }, '{"a":1}'),
    sameRequest({ ...ann, name: 'app' }, '{"a":1}'),
  ])
    expect(other).not.toBe(of)
})

const found = (left: LeftTasks, request: string): string | null => left.take(request)?.taskId ?? null
/** Resolves when a newer remembered task is cancelled. Then the timers of all older tasks have fired, too. */
const later = (left: LeftTasks): Promise<void> =>
  new Promise((resolve) => left.leave('later', { taskId: 'later', cancel: resolve }))

function given() {
  const cancelled: string[] = []
  const left = new LeftTasks({ againMsMax: 1 })
  const leave = (request: string, taskId: string): void =>
    left.leave(request, { taskId, cancel: () => void cancelled.push(taskId) })
  return { left, leave, cancelled }
}

it('a task is found once by the request that left it, and is not cancelled then', async () => {
  const { left, leave, cancelled } = given()
  leave('r', 'task_1')
  expect([found(left, 'other'), found(left, 'r'), found(left, 'r')]).toEqual([null, 'task_1', null])
  await later(left)
  expect(cancelled).toEqual([])
})

it('a task for which nobody asks again is cancelled, and is not found any more', async () => {
  const { left, leave, cancelled } = given()
  leave('r', 'task_1')
  await later(left)
  expect([cancelled, found(left, 'r')]).toEqual([['task_1'], null])
})

it('of several tasks that the same request left, each is found or cancelled', async () => {
  const { left, leave, cancelled } = given()
  for (const task of ['task_1', 'task_2', 'task_3']) leave('r', task)
  expect([found(left, 'r'), found(left, 'r')]).toEqual(['task_1', 'task_2'])
  await later(left)
  expect([cancelled, found(left, 'r')]).toEqual([['task_3'], null])
})

it('a task that waits for a person is kept', async () => {
  const { left } = given()
  left.leave('r', { taskId: 'task_1', cancel: null })
  await later(left)
  expect(found(left, 'r')).toBe('task_1')
})

it('nothing is cancelled after the end of the app', async () => {
  const { left, leave, cancelled } = given()
  leave('r', 'task_1')
  left.close()
  await later(new LeftTasks({ againMsMax: 2 }))
  expect([cancelled, found(left, 'r')]).toEqual([[], null])
})

it('a request that fails before it follows the task leaves it as it was; one with a key does not touch it', async () => {
  const { left, leave } = given()
  leave(sameRequest(ann, '{}'), 'task_1')
  const asked = { caller: ann, options: { left }, request: { body: '{}' } } as unknown as Parameters<
    typeof repeatable
  >[0]
  const seen: unknown[] = []
  const fails = repeatable(asked, { key: undefined, background: false }, async ({ again }) => {
    seen.push(again?.left?.taskId)
    throw new Error('The journal is away.')
  })
  await expect(fails).rejects.toThrow('The journal is away.')
  for (const of of [
    { key: 'k', background: false },
    { key: undefined, background: true },
  ])
    await repeatable(asked, of, async ({ again }) => void seen.push(again))
  expect([seen, found(left, sameRequest(ann, '{}'))]).toEqual([['task_1', null, null], 'task_1'])
})
