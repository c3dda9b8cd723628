import type { LogId, SessionId, TaskId } from '@beaver/core'
import type { Budget } from '@beaver/core/budget'
import { describe, expect, it } from 'vitest'
import { exceededOfTask, limitsOfTask, sharedBudgets } from './budget-rules.ts'

const log = { tenant: 'local', session: 's1' as SessionId, task: 't' as TaskId } as LogId
const budget = (of: Budget['of'], over: Partial<Budget> = {}): Budget => ({
  ...{ of, per: 'run', exceeded: 'wait' },
  ...over,
})
const shared = (budgets: readonly Budget[], request: Parameters<typeof sharedBudgets>[1] = {}) =>
  sharedBudgets({ budgets }, request, log).map(({ of, name, per, limits }) => [of, name, per, limits.usd])

describe('the budgets of a task', () => {
  it('are the lowest of its own, of its profile, and of those that bound each task of somebody', () => {
    const budgets = [
      budget('task', { usd: 10, tokens: 50 }),
      budget('user', { usd: 4 }),
      budget('user', { usd: 8, name: 'ann' }),
      budget('profile', { tokens: 40, name: 'writer' }),
      budget('tenant', { model_calls: 3 }),
    ]
    const limits = (request: Parameters<typeof limitsOfTask>[1]) => limitsOfTask({ budgets }, request)
    expect(limits({})).toEqual({ usd: 10, tokens: 50, model_calls: 3 })
    expect(limits({ user_id: 'bob', budget: { usd: 5 } })).toEqual({ usd: 4, tokens: 50, model_calls: 3 })
    expect(limits({ user_id: 'ann', profile: 'writer' })).toEqual({ usd: 8, tokens: 40, model_calls: 3 })
  })

  it('end or wait as the budget says that sets the limit', () => {
    const budgets = [
      budget('task', { usd: 10, tokens: 50, model_calls: 9 }),
      budget('user', { usd: 4, tokens: 60, model_calls: 9, exceeded: 'end' }),
    ]
    const exceeded = (request: Parameters<typeof limitsOfTask>[1]) => {
      const of = exceededOfTask({ budgets }, request)
      return (['usd', 'tokens', 'model_calls', 'tool_calls'] as const).map(of)
    }
    expect(exceeded({})).toEqual(['wait', 'wait', 'wait', 'wait'])
    expect(exceeded({ user_id: 'ann' })).toEqual(['end', 'wait', 'end', 'wait'])
    expect(exceeded({ user_id: 'ann', budget: { usd: 3 } })).toEqual(['wait', 'wait', 'end', 'wait'])
  })

  it('are shared by day and by month, and those of a session for its life', () => {
    const budgets = [
      budget('session', { usd: 1 }),
      budget('user', { usd: 2, per: 'day' }),
      budget('user', { usd: 3, per: 'month', name: 'ann' }),
      budget('tenant', { usd: 9, per: 'month' }),
      budget('profile', { usd: 5, per: 'day' }),
    ]
    expect(shared(budgets)).toEqual([
      ['session', 's1', 'run', 1],
      ['tenant', '', 'month', 9],
    ])
    expect(shared(budgets, { user_id: 'ann', profile: 'writer' })).toEqual([
      ['session', 's1', 'run', 1],
      ['user', 'ann', 'day', 2],
      ['user', 'ann', 'month', 3],
      ['profile', 'writer', 'day', 5],
      ['tenant', '', 'month', 9],
    ])
    // The root of a workflow is no agent, so it has no profile.
    expect(
      shared(budgets, { profile: 'writer', workflow: { name: 'w', arguments: {} } }).map(([of]) => of),
    ).toEqual(['session', 'tenant'])
  })

  it('of a name replace those of everybody, also if they bound nothing', () => {
    const budgets = [budget('user', { usd: 2, per: 'day' }), budget('user', { per: 'day', name: 'ann' })]
    expect(shared(budgets, { user_id: 'ann' })).toEqual([])
    expect(shared(budgets, { user_id: 'bob' })).toEqual([['user', 'bob', 'day', 2]])
  })
})
