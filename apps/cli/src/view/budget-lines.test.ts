import { describe, expect, it } from 'vitest'
import { type BudgetWait, budgetLines, budgetWait, giveLines } from './budget-lines.ts'

const exceeded: BudgetWait = {
  ...{ budget: { of: 'task', per: 'run' }, measure: 'usd', limit: 0.7, used: 0.69, needed: 0.0312 },
  ...{ spent_by: [{ agent_name: 'root', node_id: null, used: 0.69 }], wait_ms: 60_000 },
}
type Events = Parameters<typeof budgetWait>[0]
const events = (...all: readonly [type: string, run: string | null, data?: object][]): Events =>
  all.map(([type, run_id, data = {}]) => ({ type, run_id, data })) as unknown as Events

describe('a task waits for a budget', () => {
  it('from the event that says so until its run goes on', () => {
    expect(budgetWait(events(['budget_exceeded', 'r', exceeded], ['task_suspended', null]))).toEqual(exceeded)
    expect(budgetWait(events(['budget_exceeded', 'r', exceeded], ['run_failed', 'r']))).toBeNull()
    expect(budgetWait(events(['budget_exceeded', 'r', exceeded], ['model_call_reserved', 'r']))).toBeNull()
    expect(budgetWait(events(['budget_exceeded', 'r', exceeded], ['model_call_reserved', 's']))).toEqual(
      exceeded,
    )
  })

  it('not, if its run ends because of it', () => {
    expect(budgetWait(events(['budget_exceeded', 'r', { ...exceeded, wait_ms: null }]))).toBeNull()
    expect(budgetWait(events())).toBeNull()
  })
})

it('the lines say why, who used most, and how to give more', () => {
  const of = { taskId: 'task_1', command: 'beaver' }
  expect(budgetLines(exceeded, of)).toEqual([
    'a budget: the budget of the task has no place for the next call (used 0.69 of 0.70 USD, needed up to 0.0312 USD)',
    'Most was used by root (0.69 USD).',
    'Give more: beaver budget raise task_1 --usd 0.0312',
  ])
  const node = {
    ...exceeded,
    budget: { of: 'node', name: 'my node', per: 'run' },
    measure: 'tokens',
    needed: 9_707,
  }
  expect(budgetLines({ ...node, spent_by: [] } as BudgetWait, of).at(-1)).toBe(
    "Give more: beaver budget raise task_1 --node 'my node' --tokens 9707",
  )
  for (const [budget, raise] of [
    [{ of: 'user', name: 'ann', per: 'day' }, '--user ann --per day'],
    [{ of: 'profile', name: 'a coder', per: 'month' }, "--profile 'a coder' --per month"],
    [{ of: 'tenant', per: 'month' }, '--tenant --per month'],
    [{ of: 'session', name: 's-1', per: 'run' }, '--session s-1'],
    [{ of: 'session', name: 's-1', per: 'day' }, '--session s-1 --per day'],
  ] as const)
    expect(budgetLines({ ...exceeded, budget }, of).at(-1)).toBe(
      `Give more: beaver budget raise ${raise} --usd 0.0312`,
    )
  expect(budgetLines(null, of)).toEqual([])
})

it('a command is never cut, but has a line of its own where there is no room', () => {
  const ask = {
    ...{ key: 'k', reason: 'why', exceeded, nodeId: undefined, shared: false, taskseq: 1 },
  }
  const of = { taskId: 'task_1', command: 'beaver' }
  const [give, stop] = ['beaver budget raise task_1 --usd 0.0312', 'beaver cancel task_1']
  expect(giveLines(ask, of, 100)).toEqual([`  give more: ${give}   stop: ${stop}`])
  expect(giveLines(ask, of, 40)).toEqual([`  give more: ${give}`, `  stop:      ${stop}`])
})
