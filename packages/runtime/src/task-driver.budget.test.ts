// Budgets hold over parallel calls, deaths of threads and daemons, and waits for a person.
import { type ChatProvider, type ChatRequest, ProviderError } from '@beaver/agent'
import { type Budget, newSpend, spendEvent } from '@beaver/core/budget'
import { usdOf } from '@beaver/core/cost'
import type { RecordedEvent } from '@beaver/core/journal'
import { setImmediate } from 'node:timers/promises'
import { until } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { answer, dataOf, look, looksAt, price, rules, seeded, seeds } from '../test/budgets.ts'
import { leaseMs, typesOf, world } from '../test/kit.ts'
import { raiseEvent } from './task-raises.ts'
import { loadTask } from './load-task.ts'

const ofTask = (limits: Partial<Budget>): Budget => ({ of: 'task', per: 'run', exceeded: 'wait', ...limits })

/** A model that looks `turns` times before it is done. It keeps its requests. */
function looker(turns: number, calls = 1) {
  const requests: ChatRequest[] = []
  const provider: ChatProvider = {
    name: 'p',
    model: 'm',
    async chat(request) {
      requests.push(request)
      const turn = request.messages.filter((each) => each.role === 'assistant').length
      return turn < turns ? looksAt(turn, calls) : answer()
    },
  }
  return { provider, requests }
}

const failureOf = (events: readonly RecordedEvent[]) => dataOf(events, 'task_failed')[0]?.failure

/** The most that was used and reserved at any place of the log, and what is reserved at its end. */
function most(events: readonly RecordedEvent[]) {
  const spend = newSpend()
  let usd = 0
  let open = 0
  for (const each of events) {
    spendEvent(spend, each, { atMs: 0, priceFor: () => price })
    const runs = [...spend.runs.values()]
    usd = Math.max(
      usd,
      usdOf(runs.reduce((sum, run) => sum + run.used.usd + (run.open?.amounts.usd ?? 0n), 0n)),
    )
    open = runs.filter((run) => run.open !== null).length
  }
  return { usd, open }
}

describe('a task with a budget', () => {
  it('reserves each call in the entry that leads to it, and settles it by its answer', async () => {
    const { daemon, submit, ended, journal } = world()
    const { provider } = looker(1)
    daemon({ provider, tools: [look], budgets: rules(ofTask({ usd: 1 })) })
    const log = await submit()
    const all = await ended(log)
    // The acceptance, the claim with the first call, the answer, the result with the second call, and the end.
    expect(await journal.read(log)).toHaveLength(5)
    expect(typesOf(all).filter((type) => /reserved|answer|assistant|result|user_message/.test(type))).toEqual(
      [
        ...['user_message_added', 'model_call_reserved', 'assistant_message_added'],
        ...['tool_result_recorded', 'model_call_reserved', 'assistant_message_added'],
      ],
    )
    expect(most(all)).toMatchObject({ open: 0 })
    expect(all.at(-1)?.type).toBe('task_completed')
  })

  it('reserves nothing if nothing is bounded', async () => {
    const { daemon, submit, ended } = world()
    daemon({ provider: looker(1).provider, tools: [look] })
    expect(typesOf(await ended(await submit()))).not.toContain('model_call_reserved')
  })

  it('says in the request how long the answer may be, if the budget bounds it', async () => {
    const { daemon, submit, ended } = world()
    const { provider, requests } = looker(0)
    daemon({ provider, budgets: rules(ofTask({ usd: 1 })) })
    await ended(await submit())
    const [request] = requests
    expect(request?.settings?.output_tokens_max).toBeGreaterThan(1_024)
    expect(request?.settings?.output_tokens_max).toBeLessThan(6_250)
  })

  it.each<[string, Partial<Budget>, number]>([
    ['usd', { usd: 0.06 }, 5],
    ['tokens', { tokens: 20_000 }, 18],
    ['model_calls', { model_calls: 3 }, 3],
    ['tool_calls', { tool_calls: 3 }, 4],
  ])('ends before the next call when its %s is used up, if it is to end', async (measure, limits, calls) => {
    const { daemon, submit, ended } = world()
    const { provider, requests } = looker(20)
    daemon({ provider, tools: [look], budgets: rules(ofTask({ ...limits, exceeded: 'end' })) })
    const all = await ended(await submit())
    expect(failureOf(all)).toMatchObject({ class: 'budget_exceeded' })
    expect(failureOf(all)?.message).toMatch(/^The budget of the task has no place for the next call \(used /)
    expect(dataOf(all, 'budget_exceeded')).toMatchObject([{ measure, wait_ms: null }])
    expect(requests.length).toBe(calls)
    expect(most(all).open).toBe(0)
    expect(most(all).usd).toBeLessThanOrEqual(limits.usd ?? Infinity)
  })

  it('says once for each limit that 50, 80 and 100 % of it are used, over a restart too', async () => {
    const w = world()
    const { provider } = looker(9)
    const budgets = rules(ofTask({ model_calls: 10 }))
    const first = w.daemon({ provider, tools: [look], budgets })
    const log = await w.submit()
    await until('the first share', async () => typesOf(await w.events(log)).includes('budget_reached'))
    first.kill()
    w.daemon({ provider, tools: [look], budgets })
    const told = dataOf(await w.ended(log), 'budget_reached')
    expect(told.map(({ percent }) => percent)).toEqual([50, 80])
    expect(told[1]).toEqual({
      ...{ budget: { of: 'task', per: 'run' }, measure: 'model_calls', percent: 80, limit: 10 },
      used: expect.any(Number),
    })
  })

  it('takes the lowest of what the configuration, its profile and its request say', async () => {
    const { daemon, submit, ended } = world()
    const budgets = {
      ...rules(ofTask({ model_calls: 9, exceeded: 'end' })),
      ofProfile: (name: string | null) => (name === null ? { model_calls: 2 } : undefined),
    }
    daemon({ provider: looker(9).provider, tools: [look], budgets })
    expect(dataOf(await ended(await submit()), 'budget_exceeded')).toMatchObject([{ limit: 2, used: 2 }])
  })

  it('ends when its time is over', async () => {
    const { daemon, submit, ended, clock } = world()
    const { provider, requests } = looker(20)
    const slow: ChatProvider = {
      ...provider,
      async chat(request) {
        clock.advance(1_000)
        return provider.chat(request)
      },
    }
    daemon({ provider: slow, tools: [look], budgets: rules(ofTask({ wall_ms: 2_500, exceeded: 'end' })) })
    expect(failureOf(await ended(await submit()))?.class).toBe('budget_exceeded')
    expect(requests).toHaveLength(3)
  })

  it('waits for a person without a daemon, and goes on when the budget is raised, over a restart', async () => {
    const w = world()
    const { provider, requests } = looker(4)
    const budgets = rules(ofTask({ model_calls: 2 }))
    const first = w.daemon({ provider, tools: [look], budgets })
    const log = await w.submit()
    await w.passing('it waits', async () => typesOf(await w.events(log)).at(-1) === 'task_suspended', 250)
    expect(requests).toHaveLength(2)
    expect(dataOf(await w.events(log), 'task_suspended')).toMatchObject([{ waits_for: 'person' }])
    first.kill()
    w.daemon({ provider, tools: [look], budgets })
    const { state } = await loadTask(log, { journal: w.journal, blobs: { get: async () => null } as never })
    const raise = { requestId: 'q', more: { model_calls: 3 }, by: 'ann' }
    await w.write(log, raiseEvent(log, state, raise, budgets) as never)
    await w.journal.queue({ leaseMs, clock: w.clock }).wake(log)
    const all = await w.ended(log)
    expect(all.at(-1)?.type).toBe('task_completed')
    expect(requests).toHaveLength(5)
    expect(dataOf(all, 'budget_exceeded')).toMatchObject([
      {
        ...{ budget: { of: 'task', per: 'run' }, measure: 'model_calls', limit: 2, used: 2, needed: 1 },
        spent_by: [{ agent_name: 'root', node_id: null, used: 2 }],
      },
    ])
    expect(typesOf(all)).not.toContain('model_call_lost')
  })

  it('does not count the time in which it waits for a person, before and after it is suspended', async () => {
    const w = world()
    const { provider } = looker(3)
    const budgets = rules(ofTask({ model_calls: 2, wall_ms: 900 }))
    w.daemon({ provider, tools: [look], budgets })
    const log = await w.submit()
    const exceeded = async () => dataOf(await w.events(log), 'budget_exceeded')
    await until('it asks', async () => (await exceeded()).length === 1)
    await w.passing('it waits', async () => typesOf(await w.events(log)).at(-1) === 'task_suspended', 250)
    w.clock.advance(5_000)
    const { state } = await loadTask(log, { journal: w.journal, blobs: { get: async () => null } as never })
    const raise = { requestId: 'q', more: { model_calls: 3 }, by: 'ann' }
    await w.write(log, raiseEvent(log, state, raise, budgets) as never)
    await w.journal.queue({ leaseMs, clock: w.clock }).wake(log)
    expect((await w.ended(log)).at(-1)?.type).toBe('task_completed')
    expect((await exceeded()).map(({ measure }) => measure)).toEqual(['model_calls'])
  })

  it('goes on when the daemon that drives it is told of the raise', async () => {
    const w = world()
    const { provider, requests } = looker(2)
    const one = w.daemon({ provider, tools: [look], budgets: rules(ofTask({ usd: 0.03 })) })
    const log = await w.submit()
    await until('it asks', async () => typesOf(await w.events(log)).includes('budget_exceeded'))
    const task = [...one.tasks.values()][0]
    await expect(task?.raise({ requestId: 'x', more: { tokens: 5 } })).rejects.toThrow(
      'There is no limit of tokens in the budget of the task',
    )
    await task?.raise({ requestId: 'q', more: { usd: 1 } })
    await task?.raise({ requestId: 'q', more: { usd: 1 } })
    await expect(task?.raise({ requestId: 'q', more: { usd: 2 } })).rejects.toThrow('by another amount')
    const all = await w.ended(log)
    expect(dataOf(all, 'budget_raised')).toHaveLength(1)
    expect([all.at(-1)?.type, requests.length]).toEqual(['task_completed', 3])
  })

  it('says anew for what it waits if a raise was not enough', async () => {
    const w = world()
    const { provider } = looker(9)
    const one = w.daemon({ provider, tools: [look], budgets: rules(ofTask({ tokens: 3_000 })) })
    const log = await w.submit()
    const limits = async () => dataOf(await w.events(log), 'budget_exceeded').map(({ limit }) => limit)
    await until('it asks', async () => (await limits()).length === 1)
    await [...one.tasks.values()][0]?.raise({ requestId: 'q', more: { tokens: 100 } })
    await until('it asks again', async () => (await limits()).length === 2)
    expect(await limits()).toEqual([3_000, 3_100])
    await [...one.tasks.values()][0]?.raise({ requestId: 'r', more: { tokens: 100_000 } })
    expect((await w.ended(log)).at(-1)?.type).toBe('task_completed')
    expect(await limits()).toHaveLength(2)
  })

  it('fails when nobody gives more in time', async () => {
    const { daemon, submit, ended } = world()
    const { provider } = looker(9)
    daemon({
      ...{ provider, tools: [look], budgets: rules(ofTask({ model_calls: 2 })) },
      limits: { approvalWaitMsMax: 60_000 },
    })
    const all = await ended(await submit())
    expect(failureOf(all)?.class).toBe('budget_exceeded')
    expect(typesOf(all)).toContain('task_suspended')
    expect(dataOf(all, 'budget_exceeded')).toHaveLength(1)
  })

  it('counts a call that was lost with its daemon, and never spends more than the limit', async () => {
    const w = world()
    const { provider, requests } = looker(3)
    let hangs = true
    const hanging: ChatProvider = {
      ...provider,
      chat: (request) => (hangs ? new Promise(() => {}) : provider.chat(request)),
    }
    const budgets = rules(ofTask({ usd: 0.2, exceeded: 'end' }))
    const first = w.daemon({ provider: hanging, tools: [look], budgets })
    const log = await w.submit()
    await until('it is reserved', async () => typesOf(await w.events(log)).includes('model_call_reserved'))
    first.kill()
    hangs = false
    w.daemon({ provider: hanging, tools: [look], budgets })
    const all = await w.ended(log)
    const [reserved] = dataOf(all, 'model_call_reserved')
    expect(dataOf(all, 'model_call_lost')).toMatchObject([
      { usage: { output_tokens: reserved?.output_tokens_max, calls: 1 }, provider_name: 'p' },
    ])
    expect(requests.length).toBe(4)
    expect(dataOf(all, 'task_completed')[0]?.usage.calls).toBe(5)
    expect(most(all).usd).toBeLessThanOrEqual(0.2)
  })

  it('counts a call that was lost with its thread', async () => {
    const w = world()
    const { provider } = looker(1)
    let hangs = true
    const hanging: ChatProvider = {
      ...provider,
      chat: (request) => (hangs ? new Promise(() => {}) : provider.chat(request)),
    }
    const one = w.daemon({ provider: hanging, tools: [look], budgets: rules(ofTask({ usd: 1 })) })
    const log = await w.submit()
    await until('it is reserved', async () => typesOf(await w.events(log)).includes('model_call_reserved'))
    hangs = false
    one.pool.lose()
    expect(dataOf(await w.ended(log), 'model_call_lost')).toHaveLength(1)
  })

  it('counts a call whose loop broke, and leaves nothing reserved', async () => {
    const { daemon, submit, ended } = world()
    const breaks: ChatProvider = { ...looker(0).provider, chat: () => Promise.reject(new Error('a defect')) }
    daemon({ provider: breaks, budgets: rules(ofTask({ usd: 1 })) })
    const all = await ended(await submit())
    const lost = dataOf(all, 'model_call_lost').length
    expect(lost).toBe(dataOf(all, 'model_call_reserved').length)
    expect(failureOf(all)?.class).toBe('internal')
    expect(dataOf(all, 'run_failed')[0]?.usage.calls).toBe(lost)
    expect(most(all).open).toBe(0)
  })

  it('counts nothing for a call that failed without an answer', async () => {
    const { daemon, submit, ended } = world()
    let tries = 0
    const { provider } = looker(0)
    const flaky: ChatProvider = {
      ...provider,
      chat: (request) =>
        tries++ === 0
          ? Promise.reject(new ProviderError('provider_unavailable', 'Away.', { status: 503 }))
          : provider.chat(request),
    }
    daemon({ provider: flaky, budgets: rules(ofTask({ model_calls: 1 })) })
    const all = await ended(await submit())
    expect(typesOf(all).filter((type) => type === 'model_call_reserved')).toHaveLength(2)
    expect(all.at(-1)?.type).toBe('task_completed')
  })
})

describe('a team with a budget', () => {
  /** A root that calls a team, each node of which looks `turns` times. */
  function team(turns: number, workflow = 'ConcurrentWorkflow', size = 12) {
    const { provider, requests } = looker(turns)
    const agents = Array.from({ length: size }, (_, i) => ({
      ...{ name: `n${i}`, instruction: `Look at ${i}.` },
    }))
    const calls = { id: 'team', name: workflow, arguments: JSON.stringify({ task: 't', agents }) }
    const withRoot: ChatProvider = {
      ...provider,
      async chat(request) {
        const isRoot = request.tools.some(({ name }) => name === workflow)
        if (!isRoot) return provider.chat(request)
        return request.messages.some(({ role }) => role === 'tool')
          ? answer()
          : answer({ content: '', finishReason: 'tool_calls', toolCalls: [calls] })
      },
    }
    return { provider: withRoot, requests }
  }

  it('never uses and reserves more than the limit, while its nodes run side by side', async () => {
    const { daemon, submit, ended } = world()
    const { provider, requests } = team(2)
    daemon({ provider, tools: [look], budgets: rules(ofTask({ usd: 0.3, exceeded: 'end' })) })
    const all = await ended(await submit())
    expect(most(all).usd).toBeLessThanOrEqual(0.3)
    expect(most(all).open).toBe(0)
    // Each answer cost 0.0101 USD, so the limit pays for 29 of the 38.
    expect(requests.length).toBeGreaterThan(20)
    expect(requests.length).toBeLessThan(30)
  })

  it('bounds each of its nodes', async () => {
    const { daemon, submit, ended } = world()
    const { provider, requests } = team(5)
    daemon({
      provider,
      tools: [look],
      budgets: rules({ of: 'node', per: 'run', exceeded: 'end', model_calls: 2 }),
    })
    const all = await ended(await submit())
    expect(requests).toHaveLength(24)
    expect(dataOf(all, 'budget_exceeded')).toHaveLength(12)
    expect(dataOf(all, 'budget_exceeded')[0]?.budget).toMatchObject({ of: 'node', per: 'run' })
    // A retry with a larger budget of the task would meet the same limit.
    expect(dataOf(all, 'node_failed')[0]?.failure.message).toMatch(
      /Give nodes more in "budgets" of the configuration, and retry the task\.$/,
    )
    const told = dataOf(all, 'budget_reached').map(({ budget, percent }) => `${budget.name} ${percent}`)
    const nodes = Array.from({ length: 12 }, (_, i) => `n${i}`)
    expect(told.toSorted()).toEqual(nodes.flatMap((name) => [`${name} 50`, `${name} 100`]).toSorted())
  })

  it('bounds the time of each of its nodes, from the beginning of the node', async () => {
    const { daemon, submit, ended, clock } = world()
    const { provider } = team(9, 'SequentialWorkflow', 2)
    const slow: ChatProvider = {
      ...provider,
      async chat(request) {
        clock.advance(1_000)
        return provider.chat(request)
      },
    }
    const budget = { of: 'node', per: 'run', exceeded: 'end', wall_ms: 2_500 } as const
    daemon({ provider: slow, tools: [look], budgets: rules(budget) })
    const all = await ended(await submit())
    expect(dataOf(all, 'budget_exceeded')).toMatchObject([
      { budget: { of: 'node' }, measure: 'wall_ms', limit: 2_500, used: 3_000 },
    ])
  })

  it.each(seeds)(
    'never exceeds the limit and leaves nothing reserved, while threads and daemons die (seed %i)',
    async (seed) => {
      const random = seeded(seed)
      const usd = 0.15 + random() * 0.3
      const w = world()
      const { provider } = team(1 + Math.floor(random() * 3))
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
      const start = () =>
        w.daemon({
          ...{ provider: paying, tools: [look], budgets: rules(ofTask({ usd, exceeded: 'end' })) },
          limits: { ownersLostMax: 1_000 },
        })
      let one = start()
      const log = await w.submit()
      let [kills, losses] = [0, 0]
      await w.passing(
        'the task has ended',
        async () => {
          const chance = random()
          if (chance < 0.25 && losses < 5) {
            losses++
            one.pool.lose()
          } else if (chance < 0.5 && kills < 5) {
            kills++
            one.kill()
            one = start()
          }
          return typesOf(await w.events(log)).some((type) =>
            /^task_(completed|incomplete|failed)$/.test(type),
          )
        },
        200,
      )
      const all = await w.events(log)
      expect(most(all).usd).toBeLessThanOrEqual(usd)
      expect(most(all).open).toBe(0)
      expect(paid).toBeLessThanOrEqual(usd)
    },
  )
})
