import type { LogId } from '@beaver/core'
import { rootSpec, virtualClock } from '@beaver/testing'
import { expect, it } from 'vitest'
import { TaskBudget } from './task-budget.ts'

it('a call of a tool that had its place gives it back when its thread is lost before it begins', async () => {
  const clock = virtualClock()
  const log = { tenant: 'local', session: 's', task: 't' } as LogId
  const task = { log, request: { budget: { tool_calls: 1 } }, epoch: 1, events: [] }
  const budget = new TaskBudget(task, {
    rules: { budgets: [], priceFor: () => ({ input: 0, output: 0 }), refuses: () => false },
    ports: {
      ...{ clock, now: clock.now, unattended: 'wait', waitMsMax: 60_000 },
      ...{ append: async () => 1, tell: () => {}, canTell: () => true, waits: () => {} },
    },
  })
  const { start } = rootSpec()
  const { signal } = new AbortController()
  const reserve = () => budget.reserve(start, { kind: 'tool', tool: 'look' }, signal)
  expect(await reserve()).toMatchObject({ kind: 'granted' })
  const second = reserve()
  await Promise.resolve()
  expect(budget.lostCall(start.run_id)).toBeNull()
  budget.close()
  expect(await second).toEqual({ kind: 'cancelled' })
  expect(await reserve()).toMatchObject({ kind: 'granted' })
})
