import { expect, it } from 'vitest'
import { type ChangedTask, changedTasksMax, MergedChanges } from './changes.ts'

const task = (id: string, taskseq = 1, session_id = 's'): ChangedTask => ({
  ...{ task_id: id, session_id, user_id: null, taskseq },
  status: 'running',
})
const many = (count: number): ChangedTask[] => Array.from({ length: count }, (_, i) => task(`t${i}`))

it('each task is there once, as it is now', () => {
  const changes = new MergedChanges()
  changes.add(3, [task('a'), task('b')])
  changes.add(5, [task('a', 2), task('a', 1, 'another session')])
  expect(changes.take()).toEqual({
    kind: 'changed',
    sequence: 5,
    tasks: [task('a', 2), task('b'), task('a', 1, 'another session')],
  })
  expect([changes.take(), changes.isEmpty, changes.sequence]).toEqual([null, true, 5])
})

it('tells a reset without tasks if there are more tasks than one message names', () => {
  const changes = new MergedChanges()
  changes.add(3, many(changedTasksMax))
  expect(changes.take()).toMatchObject({ kind: 'changed' })
  changes.add(4, many(changedTasksMax))
  changes.add(5, [task('one more')])
  changes.add(6, [task('and one more')])
  expect(changes.take()).toEqual({ kind: 'reset', sequence: 6 })
  changes.add(7, [task('a')])
  expect(changes.take()).toEqual({ kind: 'changed', sequence: 7, tasks: [task('a')] })
})

it('a reset without a sequence has the last one that is known', () => {
  const changes = new MergedChanges()
  changes.reset()
  expect(changes.take()).toEqual({ kind: 'reset', sequence: null })
  changes.add(4, [task('a')])
  changes.reset()
  expect(changes.take()).toEqual({ kind: 'reset', sequence: 4 })
})
