// Budgets that tasks share hold over daemons, deaths and days.
import type { ChatProvider } from '@beaver/agent'
import type { LogId } from '@beaver/core'
import {
  type AccountKey,
  accountTotals,
  type Budget,
  newSpend,
  noAmounts,
  spendEvent,
  usdUnits,
} from '@beaver/core/budget'
import { usdOf } from '@beaver/core/cost'
import type { RecordedEvent } from '@beaver/core/journal'
import { until } from '@beaver/testing'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { answer, dataOf, look, looksAt, price, rules, seeded, seeds } from '../test/budgets.ts'
import { type TestDaemon, typesOf, world, type World } from '../test/kit.ts'

const ofUser = (over: Partial<Budget>): Budget => ({ of: 'user', per: 'day', exceeded: 'wait', ...over })
/** A model that looks `turns` times before it is done. */
function looker(turns: number) {
  const state = { calls: 0, turns }
  const provider: ChatProvider = {
    ...{ name: 'p', model: 'm' },
    async chat(request) {
      state.calls++
      const turn = request.messages.filter((each) => each.role === 'assistant').length
      return turn < state.turns ? looksAt(turn) : answer()
    },
  }
  return { provider, state }
}

/** A model whose root calls a team, each agent of which looks `turns` times. */
function team(turns: number, nodes = 6) {
  const { provider, state } = looker(turns)
  const agents = Array.from({ length: nodes }, (_, i) => ({ name: `n${i}`, instruction: `Look at ${i}.` }))
  const call = { id: 'team', name: 'ConcurrentWorkflow', arguments: JSON.stringify({ task: 't', agents }) }
  const withRoot: ChatProvider = {
    ...provider,
    async chat(request) {
      if (!request.tools.some(({ name }) => name === 'ConcurrentWorkflow')) return provider.chat(request)
      return request.messages.some(({ role }) => role === 'tool')
        ? answer()
        : answer({ content: '', finishReason: 'tool_calls', toolCalls: [call] })
    },
  }
  return { provider: withRoot, state }
}

const today = (w: World, of: Partial<AccountKey> = {}): AccountKey => ({
  ...{ tenant: 'local', of: 'user', name: 'ann' },
  period: new Date(w.clock.now()).toISOString().slice(0, 10),
  ...of,
})
const isEnd = (type: string): boolean => /^task_(completed|incomplete|failed|cancelled)$/.test(type)

/** What a log used, and what it leaves reserved. */
function spentIn(events: readonly RecordedEvent[]): { readonly used: number; readonly open: number } {
  const spend = newSpend()
  for (const each of events) spendEvent(spend, each, { atMs: Date.parse(each.time), priceFor: () => price })
  return { used: usdOf(spend.total.used.usd), open: usdOf(spend.total.reserved.usd) }
}

describe('a budget that tasks share', () => {
  it('bounds the tasks of a user on two daemons, and of nobody else', async () => {
    const w = world()
    const { provider, state } = looker(9)
    const budgets = rules(ofUser({ model_calls: 12, exceeded: 'end' }))
    const daemons = [1, 2].map(() => w.daemon({ provider, tools: [look], budgets }))
    const logs = await Promise.all(
      daemons.map((at, i) => w.submit({ at, session_id: `s${i}`, user_id: 'ann' })),
    )
    const all = await Promise.all(logs.map((log) => w.ended(log)))
    expect(state.calls).toBe(12)
    const exceeded = all.flatMap((events) => dataOf(events, 'budget_exceeded'))
    expect(exceeded[0]).toMatchObject({
      ...{ budget: { of: 'user', name: 'ann', per: 'day' }, measure: 'model_calls', limit: 12, used: 12 },
      spent_by: expect.arrayContaining([
        expect.objectContaining({ node_id: null, used: expect.any(Number) as number }),
      ]) as unknown,
    })
    await until('it is closed', async () => (await w.accounts.read(today(w))).account.tasks.size === 0)
    expect(accountTotals((await w.accounts.read(today(w))).account)).toEqual({
      used: { ...noAmounts, usd: usdUnits(12 * 0.0101), tokens: 13_200, model_calls: 12, tool_calls: 11 },
      reserved: noAmounts,
    })
    state.turns = 2
    expect((await w.ended(await w.submit({ user_id: 'bob' }))).at(-1)?.type).toBe('task_completed')
    expect((await w.ended(await w.submit({}))).at(-1)?.type).toBe('task_completed')
  })

  it('bounds the calls of tools, a session, a profile and the tenant', async () => {
    const w = world()
    const { provider } = looker(9)
    const ends = { exceeded: 'end' } as const
    const budgets = rules(
      { of: 'session', per: 'run', ...ends, tool_calls: 3 },
      { of: 'tenant', per: 'month', ...ends, model_calls: 7 },
    )
    w.daemon({ provider, tools: [look], budgets })
    const ended = async (session_id: string) =>
      dataOf(await w.ended(await w.submit({ session_id })), 'budget_exceeded').map(
        ({ budget, measure, used }) => [budget.of, budget.per, measure, used],
      )
    expect(await ended('s1')).toEqual([['session', 'run', 'tool_calls', 3]])
    expect(await ended('s1')).toEqual([['session', 'run', 'tool_calls', 3]])
    expect(await ended('s2')).toEqual([['tenant', 'month', 'model_calls', 7]])
  })

  it('waits until the next day begins, without a daemon and over a restart', async () => {
    const w = world()
    const { provider, state } = looker(3)
    const budgets = rules(ofUser({ model_calls: 2 }))
    const first = w.daemon({
      provider,
      tools: [look],
      budgets,
      limits: { approvalWaitMsMax: 7 * 86_400_000 },
    })
    const log = await w.submit({ user_id: 'ann' })
    await w.passing('it waits', async () => typesOf(await w.events(log)).at(-1) === 'task_suspended', 250)
    expect((await w.accounts.read(today(w))).account.tasks.get(log.task)).toMatchObject({ waits: true })
    const [exceeded] = dataOf(await w.events(log), 'budget_exceeded')
    expect(exceeded?.wait_ms).toBeLessThanOrEqual(86_400_000)
    first.kill()
    w.daemon({ provider, tools: [look], budgets })
    const all = await (async () =>
      w.passing(
        'it has ended',
        async () => {
          const events = await w.events(log)
          return events.some(({ type }) => isEnd(type)) && events
        },
        600_000,
      ))()
    expect(all.at(-1)?.type).toBe('task_completed')
    expect(state.calls).toBe(4)
    expect(new Set(dataOf(all, 'model_call_reserved').map(({ day }) => day)).size).toBe(2)
  })

  it('says once that shares of it are used', async () => {
    const w = world()
    const { provider } = looker(4)
    w.daemon({ provider, tools: [look], budgets: rules(ofUser({ model_calls: 10, exceeded: 'end' })) })
    const logs = [await w.submit({ user_id: 'ann' }), await w.submit({ user_id: 'ann' })]
    const all = await Promise.all(logs.map((log) => w.ended(log)))
    // The last call ended its task, so the next task tells that all is used.
    all.push(await w.ended(await w.submit({ user_id: 'ann' })))
    expect(
      all
        .flatMap((events) => dataOf(events, 'budget_reached'))
        .map(({ percent, budget }) => [percent, budget]),
    ).toEqual([50, 80, 100].map((percent) => [percent, { of: 'user', name: 'ann', per: 'day' }]))
  })

  it('goes on when somebody gives more to the account while it waits', async () => {
    const w = world()
    const { provider } = looker(3)
    w.daemon({ provider, tools: [look], budgets: rules(ofUser({ model_calls: 2 })) })
    const log = await w.submit({ user_id: 'ann' })
    await until('it asks', async () => typesOf(await w.events(log)).includes('budget_exceeded'))
    const { account, revision } = await w.accounts.read(today(w))
    account.raises.push({ request_id: 'q', more: { model_calls: 9 }, at: '' })
    expect(await w.accounts.write(today(w), account, revision)).not.toBeNull()
    expect((await w.ended(log)).at(-1)?.type).toBe('task_completed')
  })

  it('lets an agent go on as soon as the end of another one frees what it needs', async () => {
    const w = world()
    const { provider, state } = team(0, 3)
    // After the call of the root, one reservation has a place, and not two.
    w.daemon({ provider, budgets: rules(ofUser({ usd: 0.06, exceeded: 'end' })) })
    const all = await w.ended(await w.submit({ user_id: 'ann' }))
    expect([all.at(-1)?.type, state.calls]).toEqual(['task_completed', 3])
  })

  it.each(seeds)(
    'is never exceeded by parallel calls of tasks on two daemons that die, and keeps nothing (seed %i)',
    async (seed) => {
      const random = seeded(seed)
      const w = world()
      const usd = 0.15 + random() * 0.5
      const turns = 1 + Math.floor(random() * 3)
      const { provider } = seed % 2 === 0 ? looker(turns) : team(turns)
      let paid = 0
      const paying: ChatProvider = {
        ...provider,
        async chat(request) {
          const output = Math.ceil(random() * (request.settings?.output_tokens_max ?? 4_000))
          paid += 100 * 1e-6 + output * 1e-5
          const given = await provider.chat(request)
          for (let turns = Math.floor(random() * 20); turns > 0; turns--) await setImmediate()
          return { ...given, usage: { input_tokens: 100, output_tokens: output, calls: 1 } }
        },
      }
      const budgets = rules(ofUser({ usd, exceeded: 'end' }))
      const start = (): TestDaemon =>
        w.daemon({ provider: paying, tools: [look], budgets, limits: { ownersLostMax: 1_000 } })
      const daemons = [start(), start()]
      const logs: LogId[] = await Promise.all(
        Array.from({ length: 8 }, (_, i) =>
          w.submit({ user_id: 'ann', session_id: `s${i}`, at: daemons[i % 2] as TestDaemon }),
        ),
      )
      let [kills, losses] = [0, 0]
      await w.passing(
        'all have ended',
        async () => {
          const which = Math.floor(random() * 2)
          const chance = random()
          if (chance < 0.2 && losses < 5) {
            losses++
            daemons[which]?.pool.lose()
          } else if (chance < 0.4 && kills < 5) {
            kills++
            daemons[which]?.kill()
            daemons[which] = start()
          }
          const { account } = await w.accounts.read(today(w))
          const { used, reserved } = accountTotals(account)
          expect(usdOf(used.usd + reserved.usd)).toBeLessThanOrEqual(usd)
          const ends = await Promise.all(logs.map(async (log) => typesOf(await w.events(log)).some(isEnd)))
          return ends.every(Boolean)
        },
        200,
      )
      await w.passing(
        'its entries are closed',
        async () => (await w.accounts.read(today(w))).account.tasks.size === 0,
        200,
      )
      const all = await Promise.all(logs.map((log) => w.events(log)))
      const spent = all.map(spentIn)
      const { used, reserved } = accountTotals((await w.accounts.read(today(w))).account)
      expect(usdOf(used.usd)).toBeCloseTo(
        spent.reduce((sum, each) => sum + each.used, 0),
        9,
      )
      expect(reserved.usd).toBe(0n)
      expect(spent.every(({ open }) => open === 0)).toBe(true)
      expect(usdOf(used.usd)).toBeLessThanOrEqual(usd)
      expect(paid).toBeLessThanOrEqual(usd)
    },
  )
})
