import type { TaskSummary } from '@beaver/contracts'
import { describe, expect, it } from 'vitest'
import { pastLines, pastUse } from './past-use.ts'

const taskOf = (tokens: number, of: Partial<TaskSummary> & { readonly of?: string } = {}): TaskSummary => {
  const { of: model = 'known', ...rest } = of
  const cost_usd = model === 'known' ? tokens / 1e6 : null
  const used = { input_tokens: tokens, output_tokens: 0, calls: 1, cost_usd }
  return {
    ...{ task_id: 't', session_id: 's', tenant: 'local', status: 'completed' },
    ...{ wait: null, text: 'x', title: null, user_id: null, skill: null, retry_of: null },
    ...{ submitted_at: null, started_at: null, ended_at: null, elapsed_ms: null, agents: 1 },
    ...{ waiting: 0, waits_for: null, provider: null, model: null, simulated: false, failure: null },
    ...{ chain_ok: true, ...used, usage_by_model: [{ provider: 'p', model, ...used }], ...rest },
  }
}
const of = (tasks: readonly TaskSummary[]) => pastUse(tasks)
const lines = (tasks: readonly TaskSummary[]) => pastLines(of(tasks))

describe('what earlier tasks used', () => {
  it('is the median and the 90th percentile, each the amount of one of the tasks', () => {
    const ten = [900, 100, 300, 200, 700, 400, 600, 500, 800, 100_000].map((n) => taskOf(n * 1_000))
    expect(of(ten)).toEqual({
      tasks: 10,
      simulated: false,
      usd: { tasks: 10, median: 0.5, p90: 0.9 },
      tokens: { tasks: 10, median: 500_000, p90: 900_000 },
      model_calls: { tasks: 10, median: 1, p90: 1 },
    })
    expect(lines(ten)).toEqual([
      'half of 10 tasks used at most 0.50 USD, 500,000 tokens, 1 model call',
      '90% of them used at most 0.90 USD, 900,000 tokens, 1 model call',
    ])
    expect(lines([taskOf(500_000)])).toEqual([
      'the one task that completed used 0.50 USD, 500,000 tokens, 1 model call',
    ])
  })

  it('has no cost of a task whose cost is unknown, and says how many there are (P1)', () => {
    expect(lines([taskOf(10_000), taskOf(20_000), taskOf(900_000, { of: 'not known' })])).toEqual([
      'half of 3 tasks used at most 20,000 tokens, 1 model call',
      '90% of them used at most 900,000 tokens, 1 model call',
      'the cost of 1 of them is unknown; 90% of the other 2 used at most 0.02 USD',
    ])
    expect(of([taskOf(5, { of: 'not known' })]).usd).toBeNull()
    expect(lines([taskOf(5, { of: 'not known' })])).toEqual([
      'the one task that completed used 5 tokens, 1 model call',
      'its cost is unknown',
    ])
  })

  it('leaves out retries and archived tasks, of which only a part is known', () => {
    const part = [taskOf(1, { retry_of: 'task_1' }), taskOf(1, { archived_events: 3 })]
    expect(of([...part, taskOf(7)])).toMatchObject({ tasks: 1, tokens: { median: 7 } })
    expect(of(part)).toEqual({ tasks: 0, simulated: false, usd: null, tokens: null, model_calls: null })
  })

  it('has simulated tasks only if there are no others', () => {
    const simulated = taskOf(9, { simulated: true })
    expect(of([simulated, taskOf(7)])).toMatchObject({ tasks: 1, tokens: { median: 7 } })
    expect(of([simulated])).toMatchObject({ tasks: 1, simulated: true, tokens: { median: 9 } })
    expect(lines([simulated]).at(-1)).toBe('the simulated model answered, which costs nothing')
  })

  it('is nothing where no task has completed, or nothing answers', () => {
    expect(lines([])).toEqual(['no such task has completed yet, so only these bounds are known'])
    expect(pastLines(null)).toEqual(['nothing is known of earlier tasks, because no Beaver answers here'])
  })
})
