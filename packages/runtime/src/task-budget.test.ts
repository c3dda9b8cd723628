import type { CallNeeds } from '@beaver/agent'
import { event, type LogId } from '@beaver/core'
import { type Account, accountTotals, type BudgetAccounts, usdUnits } from '@beaver/core/budget'
import { draft } from '@beaver/core/journal'
import { held, memoryBudgetAccounts, rootSpec, until, virtualClock } from '@beaver/testing'
import { expect, it } from 'vitest'
import { AccountBook } from './account-lines.ts'
import { TaskBudget, type TaskBudgetPorts } from './task-budget.ts'

const { start } = rootSpec()

it('a call of a tool that had its place gives it back when its thread is lost before it begins', async () => {
  const clock = virtualClock()
  const log = { tenant: 'local', session: 's', task: 't' } as LogId
  const task = { log, request: { budget: { tool_calls: 1 } }, epoch: 1, events: [] }
  const budget = new TaskBudget(task, {
    rules: { budgets: [], priceFor: () => ({ input: 0, output: 0 }), refuses: () => false },
    ports: {
      ...{ clock, now: clock.now, unattended: 'wait', waitMsMax: 60_000 },
      ...{
        append: async () => 1,
        stored: async () => {},
        flush: () => {},
        tell: () => {},
        canTell: () => true,
        waits: () => {},
        nodeMs: () => 0,
      },
    },
  })
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

/** A budget of the user of a task, with 1 USD for a day. @param ports what its log does */
function ofUser(
  ports: Pick<TaskBudgetPorts, 'append' | 'stored'>,
  { epoch = 1, accounts = memoryBudgetAccounts() }: { epoch?: number; accounts?: BudgetAccounts } = {},
) {
  const clock = virtualClock()
  const log = { tenant: 'local', session: 's', task: 't' } as LogId
  const budget = new TaskBudget(
    { log, request: { user_id: 'ann' }, epoch, events: [] },
    {
      rules: {
        budgets: [{ of: 'user', per: 'day', exceeded: 'end', usd: 1 }],
        ...{ priceFor: () => ({ input: 1, output: 10 }), refuses: () => false },
      },
      ports: {
        ...{ clock, now: clock.now, unattended: 'wait', waitMsMax: 60_000 },
        ...{ tell: () => {}, canTell: () => true, waits: () => {}, flush: () => {}, nodeMs: () => 0 },
        ...{ ...ports, book: new AccountBook({ accounts, clock }) },
      },
    },
  )
  const period = new Date(clock.now()).toISOString().slice(0, 10)
  const account = async (): Promise<Account> =>
    (await accounts.read({ tenant: 'local', of: 'user', name: 'ann', period })).account
  return { budget, accounts, account }
}

/** At most 0.01 USD. */
const needs = {
  ...{ kind: 'model', provider: 'p', model: 'm' },
  ...{ inputTokensMax: 0, outputTokensMax: 1_000 },
} satisfies CallNeeds
const never = (): Promise<never> => new Promise(() => {})

it('the account gets back what a call did not use when its outcome is durable, and not before (U3)', async () => {
  const stored = held<void>()
  const { budget, account } = ofUser({ append: async () => 1, stored: () => stored.promise })
  const usd = async (): Promise<Record<string, bigint>> => {
    await budget.written()
    const { used, reserved } = accountTotals(await account())
    return { used: used.usd, reserved: reserved.usd }
  }
  await budget.reserve(start, needs, new AbortController().signal)
  expect(await usd()).toEqual({ used: 0n, reserved: usdUnits(0.01) })
  const answer = event(
    'assistant_message_added',
    {
      ...{ content: 'x', tool_calls: [], finish_reason: 'stop', provider_name: 'p', model: 'm' },
      ...{ usage: { input_tokens: 0, output_tokens: 400, calls: 1 }, response_id: null, duration_ms: 1 },
    },
    start.run_id,
  )
  budget.take([draft(answer)])
  expect(await usd()).toEqual({ used: usdUnits(0.004), reserved: usdUnits(0.006) })
  stored.settle()
  expect(await usd()).toEqual({ used: usdUnits(0.004), reserved: 0n })
})

it('a task that ends while its first call gets its place leaves nothing in the account (S2)', async () => {
  const { budget, account } = ofUser({ append: never, stored: never })
  const stop = new AbortController()
  const granted = budget.reserve(start, needs, stop.signal)
  stop.abort()
  expect(await granted).toEqual({ kind: 'cancelled' })
  await budget.closeAccounts()
  expect((await account()).tasks.size).toBe(0)
})

it('a task whose first call had its place when its daemon died leaves nothing in the account (S2)', async () => {
  const first = ofUser({ append: never, stored: never })
  void first.budget.reserve(start, needs, new AbortController().signal)
  await until('it has its place', async () => (await first.account()).tasks.size === 1)
  // The log has no reservation.
  const next = ofUser({ append: never, stored: never }, { epoch: 2, accounts: first.accounts })
  await next.budget.closeAccounts()
  expect((await next.account()).tasks.size).toBe(0)
})
