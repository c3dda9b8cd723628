import { expect, it } from 'vitest'
import { budgetUseLines } from './budget-use.ts'

const task = { input_tokens: 1_000, output_tokens: 234, calls: 3 }
const known = { usd: 0.12, unknown: [] }
const own = { of: 'task', per: 'run', exceeded: 'wait', limits: { usd: 0.5, tokens: 5_000 } } as const

it('say what a task used of its own budget, and which ones it shares', () => {
  const shared = { of: 'user', name: 'ann', per: 'day', exceeded: 'wait', limits: { usd: 5 } } as const
  const node = { of: 'node', per: 'run', exceeded: 'end', limits: { model_calls: 2 } } as const
  expect(budgetUseLines({ ...task, budgets: [own, node, shared] }, known)).toEqual([
    'used 0.12 of 0.50 USD, 1,234 of 5,000 tokens',
    'counts in the budget of the user ann for a day, too',
  ])
})

it('say no cost that is not known', () => {
  expect(budgetUseLines({ ...task, budgets: [own] }, { usd: 0, unknown: ['m'] })).toEqual([
    'used 1,234 of 5,000 tokens',
  ])
})

it('are none if nothing bounds the task', () => {
  expect(budgetUseLines({ ...task, budgets: [] }, known)).toEqual([])
})
