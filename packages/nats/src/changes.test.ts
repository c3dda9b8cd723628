import type { ChangedMessage, ChangedTask } from '@beaver/contracts'
import { expect, it } from 'vitest'
import { HeardChanges } from './changes.ts'

const task = (id: string, taskseq = 1): ChangedTask => ({
  task_id: id,
  session_id: id,
  user_id: null,
  taskseq,
  status: 'running',
})
const message = (after: number, sequence: number, of: Partial<ChangedMessage> = {}): Uint8Array =>
  Buffer.from(
    JSON.stringify({ projector: 'p', after, sequence, reset: false, tasks: [task(`t${sequence}`)], ...of }),
  )
const heard = (...messages: readonly Uint8Array[]) => {
  const changes = new HeardChanges()
  for (const each of messages) changes.hear(each)
  return changes.merged.take()
}

it('messages that follow one another are changes', () => {
  expect(heard(message(5, 7), message(7, 9))).toEqual({
    kind: 'changed',
    sequence: 9,
    tasks: [task('t7'), task('t9')],
  })
})

it('a message that does not follow the last one of its projector makes a reset', () => {
  expect(heard(message(5, 7), message(8, 9))).toEqual({ kind: 'reset', sequence: 9 })
})

it('each projector has its own order, and one that starts says so itself', () => {
  const other = message(2, 4, { projector: 'q' })
  expect(heard(message(5, 7), other, message(7, 9))?.kind).toBe('changed')
  const started = message(0, 9, { projector: 'r', reset: true, tasks: [] })
  expect(heard(message(5, 7), started)).toEqual({ kind: 'reset', sequence: 9 })
})

it('what is no message of a projector changes nothing', () => {
  const strange = [
    Buffer.from('{'),
    Buffer.from('{}'),
    message(0, -1),
    message(5, 7, { tasks: [{} as never] }),
  ]
  expect(heard(...strange)).toBeNull()
})

it('a follower remembers a bounded number of projectors', () => {
  const changes = new HeardChanges()
  for (let i = 0; i < 100; i++) changes.hear(message(0, 1, { projector: `p${i}` }))
  changes.hear(message(8, 9, { projector: 'p0' })) // It is forgotten, so it is like a new one.
  expect(changes.merged.take()?.kind).toBe('changed')
  changes.hear(message(7, 8, { projector: 'p99' }))
  expect(changes.merged.take()?.kind).toBe('reset')
})
