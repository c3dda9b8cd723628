import type { TaskSummary } from '@beaver/contracts'
import { describe, expect, it } from 'vitest'
import { textWidth } from '../text/width.ts'
import { budgetUseLines, budgetUses, budgetUseTable } from './budget-use.ts'

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

describe('the table of the budgets of tasks', () => {
  const usageOf = (model: string, tokens: number) => {
    const cost_usd = model === 'known' ? tokens / 1e6 : null
    const used = { input_tokens: tokens, output_tokens: 0, calls: 2, cost_usd }
    return { ...used, usage_by_model: [{ provider: 'p', model, ...used }] }
  }
  const taskOf = (of: Partial<TaskSummary>): TaskSummary => ({
    ...{ task_id: 'task_01m8jqepcn5f80g80kvk7bkxzt', session_id: 's', tenant: 'local', status: 'running' },
    ...{ wait: null, text: 'x', title: null, user_id: null, skill: null, retry_of: null },
    ...{ submitted_at: null, started_at: null, ended_at: null, elapsed_ms: null, agents: 1 },
    ...{ waiting: 0, waits_for: null, provider: null, model: null, simulated: null, failure: null },
    ...{ chain_ok: true, ...usageOf('known', 120_000), budgets: [own], ...of },
  })
  const eachNode = { of: 'node', per: 'run', exceeded: 'end', limits: { model_calls: 3 } } as const
  const busy = taskOf({
    reserved: { usd: 0.05, tokens: 1_500, model_calls: 1, tool_calls: 0 },
    budgets: [own, eachNode, { ...eachNode, name: 'write', limits: { model_calls: 5 } }],
    node_uses: ['read', 'write'].map((node_id) => ({ node_id, run_id: 'r', ...usageOf('known', 10) })),
  })
  const unknown = taskOf({
    ...{ task_id: 'task_01m8jqepcn5f80g80kvk7bkxzu', status: 'waiting_for_provider' },
    ...usageOf('not known', 7),
    budgets: [{ ...own, limits: { usd: 0.5, tool_calls: 9, wall_ms: 600_000 } }],
    tool_calls: 4,
  })
  const lines = (tasks: readonly TaskSummary[], columns = 80) =>
    budgetUseTable(budgetUses(tasks), { columns })

  it('says what is used and reserved of which limit, of the task and of its nodes at work', () => {
    expect(lines([busy])).toEqual([
      'TASK                             STATUS   USED                     RESERVED',
      'task_01m8jqepcn5f80g80kvk7bkxzt  running  0.12 of 0.50 USD             0.05',
      '                                          120,000 of 5,000 tokens     1,500',
      '  node read                               2 of 3 model calls',
      '  node write                              2 of 5 model calls',
    ])
  })

  it('says that a cost or a time is not known, and never 0', () => {
    expect(lines([unknown])).toEqual([
      'TASK                             STATUS                USED',
      'task_01m8jqepcn5f80g80kvk7bkxzu  waits for a provider  unknown of 0.50 USD',
      '                                                       4 of 9 tool calls',
      '                                                       at most 600 s',
    ])
    expect(budgetUses([unknown])[0]?.used).toEqual({ tokens: 7, model_calls: 2, tool_calls: 4 })
  })

  it.each([60, 80, 120])('fits %i columns', (columns) => {
    expect(lines([busy, unknown], columns).filter((line) => textWidth(line) > columns)).toEqual([])
  })

  it('leaves out tasks that nothing bounds, and tasks of an older version', () => {
    expect(budgetUses([taskOf({ budgets: [] }), taskOf({ budgets: undefined })])).toEqual([])
  })
})
