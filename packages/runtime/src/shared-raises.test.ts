import { type Budget, type BudgetAccounts, noAmounts } from '@beaver/core/budget'
import { memoryBudgetAccounts, virtualClock } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { AccountBook } from './account-lines.ts'
import { listShared, raiseShared, type SharedRaise } from './shared-raises.ts'

const budgets: readonly Budget[] = [
  { of: 'task', per: 'run', exceeded: 'wait', usd: 1 },
  { of: 'user', per: 'day', exceeded: 'wait', usd: 5 },
  { of: 'user', per: 'month', exceeded: 'end', tokens: 100, name: 'bob' },
  { of: 'user', per: 'run', exceeded: 'wait', usd: 1 },
  { of: 'tenant', per: 'month', exceeded: 'wait', usd: 50 },
  { of: 'session', per: 'run', exceeded: 'wait', model_calls: 9 },
]
const atMs = Date.parse('2026-11-29T12:00:00Z')

function desk() {
  const accounts = memoryBudgetAccounts()
  const book = new AccountBook({ accounts, clock: virtualClock() })
  const ports = { tenant: 'local', budgets, book, now: () => atMs }
  return {
    accounts,
    ports,
    list: async (of: Partial<Parameters<typeof listShared>[0]> = {}) =>
      listShared({ limit: 200, ...of }, ports),
    raise: (of: Partial<SharedRaise>) =>
      raiseShared({ requestId: 'q', of: 'user', name: 'ann', per: 'day', more: { usd: 2 }, ...of }, ports),
  }
}

describe('the budgets that tasks share', () => {
  it('are listed with what is used and reserved, in their present period', async () => {
    const { accounts, list } = desk()
    const { account } = await accounts.read({
      tenant: 'local',
      of: 'user',
      name: 'ann',
      period: '2026-11-29',
    })
    const entry = { session: 's', epoch: 1, reserved: { ...noAmounts, usd: 250_000_000_000n }, waits: true }
    account.tasks.set('t', { ...entry, used: { ...noAmounts, usd: 500_000_000_000n, model_calls: 3 } })
    await accounts.write({ tenant: 'local', of: 'user', name: 'ann', period: '2026-11-29' }, account, 0)
    await accounts.write({ tenant: 'local', of: 'user', name: 'ann', period: '2026-11-28' }, account, 0)
    await accounts.write({ tenant: 'local', of: 'user', name: 'ann', period: '2026-11' }, account, 0)
    await accounts.write({ tenant: 'local', of: 'session', name: 's', period: 'run' }, account, 0)
    const { budgets: all, more } = await list()
    expect(all.map(({ of, name, period }) => [of, name, period])).toEqual([
      ['tenant', undefined, '2026-11'],
      ['user', 'ann', '2026-11-29'],
      ['user', 'bob', '2026-11'],
      ['session', 's', 'run'],
    ])
    expect(all[1]).toEqual({
      ...{ of: 'user', name: 'ann', per: 'day', period: '2026-11-29', ends_at: '2026-11-30T00:00:00.000Z' },
      ...{ limits: { usd: 5 }, raised: {}, exceeded: 'wait', open_tasks: 1, waiting_tasks: 1 },
      used: { usd: 0.5, tokens: 0, model_calls: 3, tool_calls: 0 },
      reserved: { usd: 0.25, tokens: 0, model_calls: 0, tool_calls: 0 },
    })
    expect(more).toBe(false)
    expect(await list({ limit: 3 })).toMatchObject({ total: 4, more: true })
    const whose = async (of: Partial<Parameters<typeof listShared>[0]>) =>
      (await list(of)).budgets.map(({ of: kind, name }) => [kind, name])
    expect(await whose({ of: 'user', name: 'bob' })).toEqual([['user', 'bob']])
    expect(await whose({ name: 's' })).toEqual([['session', 's']])
    expect(await whose({ of: 'tenant' })).toEqual([['tenant', undefined]])
    expect(await whose({ of: 'tenant', name: 's' })).toEqual([])
  })

  it('are read only as far as the list goes, and an answer fits one message', async () => {
    const { accounts, ports } = desk()
    const many = 50_000
    const read: string[] = []
    const keys = Array.from({ length: many }, (_, i) => ({
      ...({ tenant: 'local', of: 'session', period: 'run' } as const),
      name: `${String(i).padStart(5, '0')}${'会'.repeat(195)}`,
    }))
    const large: BudgetAccounts = {
      ...accounts,
      read: async (key) => (read.push(key.name), await accounts.read(key)),
      list: async (tenant, only) => (only?.of === 'session' ? keys : await accounts.list(tenant, only)),
    }
    const book = new AccountBook({ accounts: large, clock: virtualClock() })
    const answer = await listShared({ limit: 20 }, { ...ports, book })
    expect([answer.budgets.length, answer.total, answer.more, read.length]).toEqual([20, many + 2, true, 20])
    const longest = await listShared({ limit: 1_000 }, { ...ports, book })
    expect(Buffer.byteLength(JSON.stringify(longest))).toBeLessThan(700 * 1024)
    expect(longest).toMatchObject({ total: many + 2, more: true })
  })

  it('get more once for each request, and say which tasks wait', async () => {
    const { accounts, raise } = desk()
    const key = { tenant: 'local', of: 'user', name: 'ann', period: '2026-11-29' } as const
    const { account } = await accounts.read(key)
    const entry = { session: 's', epoch: 1, used: noAmounts, reserved: noAmounts }
    account.tasks.set('t1', { ...entry, waits: true })
    account.tasks.set('t2', { ...entry, waits: false })
    await accounts.write(key, account, 0)
    const first = await raise({ by: 'cli', reason: 'more work' })
    expect(first.waiting).toEqual([{ session: 's', task: 't1' }])
    expect(first.budget).toMatchObject({ limits: { usd: 7 }, raised: { usd: 2 } })
    expect((await raise({})).budget.limits).toEqual({ usd: 7 })
    await expect(raise({ more: { usd: 3 } })).rejects.toThrow('by another amount')
    expect((await accounts.read(key)).account.raises).toEqual([
      { request_id: 'q', more: { usd: 2 }, at: '2026-11-29T12:00:00.000Z', by: 'cli', reason: 'more work' },
    ])
  })

  it('are refused more if there is no such limit', async () => {
    const { raise } = desk()
    const refused = async (of: Partial<SharedRaise>) =>
      raise(of).then(
        () => '',
        (error: Error) => error.message,
      )
    expect(await refused({ more: { tokens: 1 } })).toBe(
      'There is no limit of tokens in the budget of the user ann for a day, so it cannot be raised.',
    )
    expect(await refused({ per: 'month' })).toBe(
      'There is no budget of the user ann for a month, so it cannot be raised. "beaver budget" lists the budgets.',
    )
    expect(await refused({ per: 'run' })).toContain('The budget of the user ann bounds each task alone')
    expect(await refused({ of: 'tenant', per: 'month' })).toBe('The budget of the tenant has no name.')
    expect(await refused({ name: undefined })).toContain('Say the budget of which user gets more')
  })
})
