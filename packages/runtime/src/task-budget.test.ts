import { event, type LogId } from '@beaver/core'
import { accountTotals, usdUnits } from '@beaver/core/budget'
import { draft } from '@beaver/core/journal'
import { held, memoryBudgetAccounts, rootSpec, virtualClock } from '@beaver/testing'
import { expect, it } from 'vitest'
import { AccountBook } from './account-lines.ts'
import { TaskBudget } from './task-budget.ts'

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
      },
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

it('the account gets back what a call did not use when its outcome is durable, and not before (U3)', async () => {
  const clock = virtualClock()
  const accounts = memoryBudgetAccounts()
  const stored = held<void>()
  const log = { tenant: 'local', session: 's', task: 't' } as LogId
  const budget = new TaskBudget(
    { log, request: { user_id: 'ann' }, epoch: 1, events: [] },
    {
      rules: {
        budgets: [{ of: 'user', per: 'day', exceeded: 'end', usd: 1 }],
        ...{ priceFor: () => ({ input: 1, output: 10 }), refuses: () => false },
      },
      ports: {
        ...{ clock, now: clock.now, unattended: 'wait', waitMsMax: 60_000 },
        ...{ append: async () => 1, tell: () => {}, canTell: () => true, waits: () => {} },
        ...{ stored: () => stored.promise, flush: () => {}, book: new AccountBook({ accounts, clock }) },
      },
    },
  )
  const period = new Date(clock.now()).toISOString().slice(0, 10)
  const usd = async (): Promise<Record<string, bigint>> => {
    await budget.written()
    const of = await accounts.read({ tenant: 'local', of: 'user', name: 'ann', period })
    const { used, reserved } = accountTotals(of.account)
    return { used: used.usd, reserved: reserved.usd }
  }
  const { start } = rootSpec()
  const needs = { kind: 'model', provider: 'p', model: 'm', inputTokensMax: 0 } as const
  await budget.reserve(start, { ...needs, outputTokensMax: 1_000 }, new AbortController().signal)
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
