// Cancel reaches a task wherever it stands: thinking, in a tool, waiting for its turn, without a living owner.
import { held, until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type FakeReply, say, use } from './support/fake-provider.ts'
import { testServer, type TestServer } from './support/nats.ts'
import { slowFind } from './support/slow-find.ts'
import { only, type TestSystem, testSystem, told } from './support/system.ts'

let server: TestServer
let system: TestSystem
beforeAll(async () => {
  server = await testServer()
  system = await testSystem(server)
  await system.daemon()
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

/** One system, whose daemon goes on, for the tests that do not need their own. */
const shared = (): TestSystem => {
  system.provider.forget()
  return system
}

const never = (): Promise<FakeReply> => held<FakeReply>().promise
const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'done',
    (error: { code: string }) => error.code,
  )

describe('cancel', () => {
  it('while thinking: the request to the provider is closed, the task ends as cancelled with the reason', async () => {
    const system = shared()
    system.provider.answerBy(never)
    const { task_id } = await system.client.submit({ task: 'think' })
    await until('the provider is asked', () => system.provider.requests.length === 1, { everyMs: 5 })
    await system.client.cancel(task_id, '不要了')
    await until('the request is closed', () => system.provider.requests[0]?.abandoned, { everyMs: 5 })
    const events = await system.ended(task_id)
    expect(told(events).slice(-3)).toEqual(['task_cancel_requested', 'run_cancelled', 'task_cancelled'])
    expect(events.at(-1)).toMatchObject({ data: { final_output: '', failure: { class: 'cancelled', message: '不要了' } } })
    expect(await codeOf(system.client.cancel(task_id, 'again'))).toBe('conflict')
    expect(await codeOf(system.client.cancel('nobody knows it', 'x'))).toBe('not_found')
    expect(system.provider.requests).toHaveLength(1)
  })

  it('while a tool runs: the tool is stopped, its call is recorded as cancelled', async () => {
    await using system = await testSystem(server)
    const find = await slowFind(system.workspace)
    system.provider.answerBy(() => use(['recount_files', {}]))
    await system.daemon(find.env)
    const { task_id } = await system.client.submit({ task: 'count' })
    await until('the tool runs', async () => (await find.runs()) === 1, { everyMs: 5 })
    await system.client.cancel(task_id, 'enough')
    const events = await system.ended(task_id)
    expect(only(events, 'tool_result_recorded')).toMatchObject([{ data: { success: false, error: 'cancelled' } }])
    expect(events.at(-1)?.type).toBe('task_cancelled')
    await until('the process of the tool is gone', () => !find.running(), { everyMs: 10 })
  })

  it('of a team: every node under way is stopped, what waits is cancelled, and every request is closed', async () => {
    const system = shared()
    const agents = ['a', 'b', 'c'].map((name) => ({ name, instruction: `do ${name}` }))
    system.provider.answerBy(({ text }) => (text.includes('<instruction ') ? never() : use(['AgentRearrange', { task: 't', agents, flow: 'a, b -> c' }])))
    const { task_id } = await system.client.submit({ task: 'have a team do it' })
    await until('two nodes are under way', () => system.provider.about('<instruction ').length === 2, { everyMs: 5 })
    await system.client.cancel(task_id, 'enough')
    const events = await system.ended(task_id)
    expect(
      only(events, 'node_cancelled')
        .map((event) => event.data.node_id)
        .toSorted(),
    ).toEqual(['a', 'b', 'c'])
    expect(events.at(-1)?.type).toBe('task_cancelled')
    await until('the requests are closed', () => system.provider.about('<instruction ').every((request) => request.abandoned), { everyMs: 5 })
  })

  it('of one node: its request is closed, what depends on it is blocked, the others go on, and the task is incomplete with what they made', async () => {
    const system = shared()
    const agents = ['a', 'b', 'c', 'd'].map((name) => ({ name, instruction: `do ${name}` }))
    const edges = [
      ['a', 'c'],
      ['b', 'd'],
    ]
    const ofRoot: string[] = []
    system.provider.answerBy(({ text }) => {
      if (text.includes('do a')) return never()
      if (text.includes('<instruction ')) return say('made by b or d')
      return ofRoot.push(text) > 1
        ? say('The team was stopped in part.')
        : use(['GraphWorkflow', { task: 't', agents, edges, output_agent: 'd', allow_disconnected: true }])
    })
    const { task_id } = await system.client.submit({ task: 'have a team do it' })
    await until('a is under way', () => system.provider.about('do a').length === 1, { everyMs: 5 })
    expect(await codeOf(system.client.cancel(task_id, 'x', { nodeId: 'nobody' }))).toBe('not_found')
    await system.reached(task_id, 'd completed', (all) => only(all, 'node_completed').some((event) => event.data.node_id === 'd'))
    expect(await codeOf(system.client.cancel(task_id, 'x', { nodeId: 'd' }))).toBe('conflict')
    await system.client.cancel(task_id, 'not needed', { nodeId: 'a' })
    await until('its request is closed', () => system.provider.about('do a').every((request) => request.abandoned), { everyMs: 5 })
    const events = await system.ended(task_id)
    expect(only(events, 'node_cancel_requested')).toMatchObject([{ data: { node_id: 'a', reason: 'not needed' } }])
    expect(only(events, 'node_cancelled').map((event) => event.data.node_id)).toEqual(['a'])
    expect(only(events, 'node_blocked')).toMatchObject([{ data: { node_id: 'c', cause_node_id: 'a' } }])
    expect(only(events, 'task_team_run_failed')).toMatchObject([{ data: { outcome: 'incomplete' } }])
    expect(events.at(-1)).toMatchObject({ type: 'task_incomplete', data: { outputs: [{ node_id: 'd', output: 'made by b or d' }] } })
  })

  it('between two tries of the provider: the pause is over at once', async () => {
    await using system = await testSystem(server)
    system.provider.answerBy(() => ({ status: 429, headers: { 'retry-after': '20' }, body: '{}' }))
    await system.daemon()
    const { task_id } = await system.client.submit({ task: 'think' })
    await system.reached(task_id, 'the first try failed', (all) => only(all, 'provider_call_failed').length === 1)
    await system.client.cancel(task_id, 'enough')
    expect((await system.ended(task_id, 2_000)).at(-1)?.type).toBe('task_cancelled')
  })

  it('of a task that waits for the one before it: it ends as cancelled when its turn comes, and nobody is asked', async () => {
    const system = shared()
    const first = held<FakeReply>()
    system.provider.answerBy(({ text }) => (text === 'first' ? first.promise : say('should not be asked')))
    const before = await system.client.submit({ task: 'first', session_id: 's' })
    await until('the first is under way', () => system.provider.requests.length === 1, { everyMs: 5 })
    const parked = await system.client.submit({ task: 'second', session_id: 's' })
    await system.client.cancel(parked.task_id, 'enough')
    expect(told(await system.events(parked.task_id))).toEqual(['task_submitted', 'task_cancel_requested'])
    first.settle(say('done'))
    expect((await system.ended(before.task_id)).at(-1)?.type).toBe('task_completed')
    expect((await system.ended(parked.task_id)).at(-1)).toMatchObject({ type: 'task_cancelled', data: { failure: { message: 'enough' } } })
    expect(system.provider.about('second')).toEqual([])
  })

  it('of a task whose owner is dead: any daemon journals it, and the next owner obeys', async () => {
    await using system = await testSystem(server)
    system.provider.answerBy(never)
    const lease = { BEAVER_LEASE_MS: '2500' }
    const owner = await system.daemon(lease)
    const { task_id } = await system.client.submit({ task: 'think' })
    await until('the provider is asked', () => system.provider.requests.length === 1, { everyMs: 5 })
    const other = await system.daemon(lease)
    await system.kill(owner)
    await system.client.cancel(task_id, 'enough')
    expect(told(await system.events(task_id))).toContain('task_cancel_requested') // the next owner may have claimed it by now
    const events = await system.ended(task_id)
    expect(events.at(-1)).toMatchObject({ type: 'task_cancelled', epoch: 2 })
    expect(only(events, 'task_claimed').at(-1)?.data.daemon).toBe(other.id)
    expect(system.provider.requests).toHaveLength(1)
  })

  it('asked of a daemon that does not own the task is handed on to the one that does', async () => {
    await using system = await testSystem(server)
    system.provider.answerBy(never)
    await system.daemon()
    const tasks = await Promise.all(Array.from({ length: 6 }, () => system.client.submit({ task: 'think' })))
    await until('all are under way', () => system.provider.requests.length === 6, { everyMs: 5 })
    await system.daemon()
    await Promise.all(tasks.map(({ task_id }) => system.client.cancel(task_id, 'enough'))) // each daemon is asked some of them
    for (const { task_id } of tasks) expect((await system.ended(task_id)).at(-1)).toMatchObject({ type: 'task_cancelled', epoch: 1 })
  })

  it('at any moment between the submit and the claim: it is accepted, and the task ends as cancelled', async () => {
    await using system = await testSystem(server)
    system.provider.answerBy(never)
    await Promise.all([system.daemon(), system.daemon()])
    const tasks = await Promise.all(
      Array.from({ length: 40 }, async (_, i) => {
        const task_id = `race ${i}`
        const submitted = system.client.submit({ task: 'think', task_id })
        const code = await until('the task is known', async () => {
          const came = await codeOf(system.client.cancel(task_id, 'enough'))
          return came !== 'not_found' && came
        })
        await submitted
        return { task_id, code }
      }),
    )
    expect(tasks.map(({ code }) => code)).toEqual(tasks.map(() => 'done'))
    for (const { task_id } of tasks) expect((await system.ended(task_id)).at(-1)?.type).toBe('task_cancelled')
  })
})
