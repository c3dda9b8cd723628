import type { RequestOutput } from '@beaver/contracts'
import { describe, expect, it } from 'vitest'
import { textWidth } from '../text/width.ts'
import { sharedBudgetTable } from './shared-budgets.ts'

type Shared = RequestOutput<'budget.list'>['budgets'][number]

const nothing = { usd: 0, tokens: 0, model_calls: 0, tool_calls: 0 }
const ofAnn: Shared = {
  ...{ of: 'user', name: 'ann', per: 'day', period: '2026-11-29', ends_at: '2026-11-30T00:00:00.000Z' },
  ...{ limits: { usd: 5 }, raised: {}, exceeded: 'wait', used: { ...nothing, usd: 0.12 }, reserved: nothing },
  ...{ open_tasks: 3, waiting_tasks: 2 },
}
const ofTenant: Shared = {
  ...ofAnn,
  ...{ of: 'tenant', name: undefined, per: 'month', ends_at: '2026-12-01T00:00:00.000Z', waiting_tasks: 0 },
  limits: { usd: 100, tokens: 50_000_000 },
  used: { ...nothing, usd: 7.5, tokens: 1_234_567 },
  reserved: { ...nothing, tokens: 140_000 },
}
const ofSession: Shared = {
  ...ofAnn,
  ...{ of: 'session', name: `task_01m8jqepcn5f80g80kvk7bkxzt\u001b[31m`, per: 'run', ends_at: null },
}

describe('the table of shared budgets', () => {
  it('has one row for each bounded measure, and what is reserved only if anything is', () => {
    expect(sharedBudgetTable([ofAnn], { columns: 80 })).toEqual([
      'BUDGET OF  PER  USED              ANEW FROM   WAITING',
      'user ann   day  0.12 of 5.00 USD  2026-11-30        2',
    ])
    expect(sharedBudgetTable([ofTenant, ofAnn], { columns: 100 })).toEqual([
      'BUDGET OF   PER    USED                            RESERVED  ANEW FROM   WAITING',
      'the tenant  month  7.50 of 100.00 USD                        2026-12-01        0',
      '                   1,234,567 of 50,000,000 tokens   140,000',
      'user ann    day    0.12 of 5.00 USD                          2026-11-30        2',
    ])
  })

  it.each([24, 40, 60, 80, 120])(
    'in %i columns says whose each is, what is used and how many wait',
    (columns) => {
      const lines = sharedBudgetTable([ofTenant, ofAnn, ofSession], { columns })
      expect(lines.join('\n')).not.toContain('\u001b')
      expect(lines[0]).toMatch(/PER +USED.*WAITING$/)
      if (columns >= 70) {
        expect(lines.filter((line) => textWidth(line) > columns)).toEqual([])
        expect(lines[1]).toContain('the tenant')
      }
    },
  )
})
