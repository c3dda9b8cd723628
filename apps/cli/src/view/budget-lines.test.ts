import { type BudgetAsk, budgetAsksIn } from '@beaver/core/task-view'
import { event } from '@beaver/core'
import { expect, it } from 'vitest'
import * as log from '../../test/task-events.ts'
import { budgetLines, giveLines } from './budget-lines.ts'

const asking = (over: object = {}): BudgetAsk => {
  const exceeded = {
    ...{ budget: { of: 'task', per: 'run' }, measure: 'usd', limit: 0.7, used: 0.69, needed: 0.0312 },
    ...{ spent_by: [{ agent_name: 'root', node_id: null, used: 0.69 }], wait_ms: 60_000, ...over },
  }
  const [ask] = budgetAsksIn(log.recorded([event('budget_exceeded', exceeded as never, 'r')]))
  return ask ?? expect.fail('Nothing is asked.')
}

it('the lines say why, who used most, and how to give more', () => {
  const of = { taskId: 'task_1', command: 'beaver' }
  expect(budgetLines(asking(), of)).toEqual([
    'a budget: the budget of the task has no place for the next call (used 0.69 of 0.70 USD, needed up to 0.0312 USD)',
    'Most was used by root (0.69 USD).',
    'Give more: beaver budget raise task_1 --usd 0.0312',
  ])
  const node = asking({
    ...{ budget: { of: 'node', name: 'my node', per: 'run' }, measure: 'tokens', needed: 9_707 },
    spent_by: [],
  })
  expect(budgetLines(node, of)).toHaveLength(2)
  expect(budgetLines(node, of).at(-1)).toBe(
    "Give more: beaver budget raise task_1 --node 'my node' --tokens 9707",
  )
  for (const [budget, raise] of [
    [{ of: 'user', name: 'ann', per: 'day' }, '--user ann --per day'],
    [{ of: 'profile', name: 'a coder', per: 'month' }, "--profile 'a coder' --per month"],
    [{ of: 'tenant', per: 'month' }, '--tenant --per month'],
    [{ of: 'session', name: 's-1', per: 'run' }, '--session s-1'],
    [{ of: 'session', name: 's-1', per: 'day' }, '--session s-1 --per day'],
  ] as const)
    expect(budgetLines(asking({ budget }), of).at(-1)).toBe(
      `Give more: beaver budget raise ${raise} --usd 0.0312`,
    )
})

it('a command is never cut, but has a line of its own where there is no room', () => {
  const of = { taskId: 'task_1', command: 'beaver' }
  const [give, stop] = ['beaver budget raise task_1 --usd 0.0312', 'beaver cancel task_1']
  expect(giveLines(asking(), of, 100)).toEqual([`  give more: ${give}   stop: ${stop}`])
  expect(giveLines(asking(), of, 40)).toEqual([`  give more: ${give}`, `  stop:      ${stop}`])
})
