import { type ChangedMessage, type ChangedTask, changedTasksMax } from '@beaver/contracts'
import { virtualClock } from '@beaver/testing'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ChangeTeller } from './change-teller.ts'

const task = (id: string, taskseq = 1): ChangedTask => ({
  ...{ task_id: id, session_id: 's', user_id: null, taskseq },
  status: 'running',
})

function told() {
  const clock = virtualClock()
  const messages: (ChangedMessage & { readonly atMs: number })[] = []
  const begunMs = clock.now()
  const tell = (message: ChangedMessage): void =>
    void messages.push({ ...message, atMs: clock.now() - begunMs })
  const teller = new ChangeTeller({ projector: 'p', clock, tell })
  let sequence = 0
  const apply = (tasks: readonly ChangedTask[], caughtUp = true): void =>
    teller.applied({ sequence: ++sequence, tasks, caughtUp })
  /** A projector that is where the journal ends, and told so. */
  const current = (): void => {
    teller.begun(0)
    apply([])
    clock.advance(1_000)
    messages.length = 0
  }
  return { clock, messages, teller, apply, current }
}

it('a projector that has caught up after its start says that anything may have changed', () => {
  const { clock, messages, teller, apply } = told()
  teller.begun(0)
  apply([])
  clock.advance(100)
  expect(messages).toEqual([{ projector: 'p', after: 0, sequence: 1, reset: true, tasks: [], atMs: 100 }])
})

it('nothing is told, and no timer is set, while nothing changes', () => {
  const { clock, messages, apply, current } = told()
  current()
  for (let i = 0; i < 10; i++) {
    apply([])
    clock.advance(1_000)
  }
  expect(messages).toEqual([])
})

it('a change after a pause is told at once, and the next ones together', () => {
  const { clock, messages, apply, current } = told()
  current()
  apply([task('a')])
  expect(messages).toMatchObject([{ sequence: 2, tasks: [task('a')] }])
  apply([task('a', 2), task('b')])
  clock.advance(99)
  apply([task('a', 3)])
  expect(messages).toHaveLength(1)
  clock.advance(1)
  expect(messages.slice(1)).toMatchObject([{ after: 2, sequence: 4, tasks: [task('a', 3), task('b')] }])
})

it('while the projector is behind, it tells seldom, and at the end that anything may have changed', () => {
  const { clock, messages, teller, apply } = told()
  teller.begun(0)
  for (let i = 0; i < 60; i++) {
    apply(
      Array.from({ length: 100 }, (_, n) => task(`t${i}-${n}`)),
      false,
    )
    clock.advance(100)
  }
  expect(messages).toMatchObject([{ reset: true, atMs: 5_000 }])
  apply([task('last')])
  expect(messages.slice(1)).toMatchObject([{ reset: true, sequence: 61, tasks: [] }])
  clock.advance(10_000)
  expect(messages).toHaveLength(2)
})

it('a projector that is a little behind tells which tasks changed', () => {
  const { clock, messages, apply, current } = told()
  current()
  apply([task('a')], false)
  apply([task('b')])
  clock.advance(100)
  expect(messages.map(({ reset, tasks }) => [reset, tasks.length])).toEqual([[false, 2]])
})

it('after a fault nothing is told until the journal is applied again', () => {
  const { clock, messages, teller, apply, current } = told()
  current()
  for (let i = 0; i < 10; i++) {
    teller.begun(1)
    clock.advance(15_000)
  }
  expect(messages).toEqual([])
  apply([])
  expect(messages).toMatchObject([{ reset: true }])
})

it('a lost line is told when it is back', () => {
  const { clock, messages, teller, current } = told()
  current()
  teller.lost()
  clock.advance(0)
  expect(messages).toMatchObject([{ reset: true, sequence: 1 }])
})

describe('for any journal', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('apply'), tasks: fc.array(fc.nat({ max: 9 })), caughtUp: fc.boolean() }),
    fc.record({ kind: fc.constant('burst'), count: fc.nat({ max: 2 * changedTasksMax }) }),
    fc.record({ kind: fc.constant('pause'), ms: fc.nat({ max: 300 }) }),
    fc.record({ kind: fc.constant('begun') }),
  )

  it('every change is told, at most ten messages a second, each after the one before', () => {
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const { clock, messages, teller, apply } = told()
        /** The newest state of each task that a reader does not have yet. */
        const owed = new Map<string, number>()
        let [seen, taskseq] = [0, 0]
        const hear = (): void => {
          for (const { reset, tasks } of messages.slice(seen)) {
            if (reset) owed.clear()
            for (const each of tasks) if (owed.get(each.task_id) === each.taskseq) owed.delete(each.task_id)
          }
          seen = messages.length
        }
        const applied = (ids: readonly string[], caughtUp: boolean): void => {
          const tasks = [...new Set(ids)].map((id) => task(id, ++taskseq))
          for (const each of tasks) owed.set(each.task_id, each.taskseq)
          apply(tasks, caughtUp)
        }
        teller.begun(0)
        for (const each of steps) {
          if ('tasks' in each) applied(each.tasks.map(String), each.caughtUp)
          else if ('count' in each)
            applied(
              Array.from({ length: each.count }, (_, n) => `b${n}`),
              true,
            )
          else if ('ms' in each) clock.advance(each.ms)
          else teller.begun(0)
          hear()
        }
        applied(['last'], true)
        clock.advance(5_000)
        hear()
        expect([...owed]).toEqual([])
        for (const [i, message] of messages.entries()) {
          const before = messages[i - 1]
          expect(message.tasks.length).toBeLessThanOrEqual(changedTasksMax)
          if (before === undefined) continue
          expect(message.after).toBe(before.sequence)
          expect(message.atMs - before.atMs).toBeGreaterThanOrEqual(100)
        }
      }),
      { numRuns: 300 },
    )
  })
})
