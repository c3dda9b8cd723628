// Two daemons on one journal: they share the work, and of two that hold a task only its newest owner may write.
import { held, until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type FakeReply, say, use } from './support/fake-provider.ts'
import { testServer, type TestServer } from './support/nats.ts'
import { only, testSystem, told } from './support/system.ts'

let server: TestServer
beforeAll(async () => void (server = await testServer()))
afterAll(() => server[Symbol.asyncDispose]())

const terminal = /^task_(completed|incomplete|failed|cancelled)$/

describe('two daemons', () => {
  it('share the tasks there are; each is claimed once and ends once', async () => {
    await using system = await testSystem(server)
    const gate = held<FakeReply>()
    system.provider.answerBy(() => gate.promise)
    const [one, two] = await Promise.all([system.daemon({ BEAVER_TASKS_MAX: '4' }), system.daemon({ BEAVER_TASKS_MAX: '4' })])
    const tasks = await Promise.all(Array.from({ length: 10 }, (_, i) => system.client.submit({ task: `task ${i}` })))
    await until('both are full', () => system.provider.requests.length === 8, { everyMs: 10 })
    gate.settle(say('42'))
    const logs = await Promise.all(tasks.map(({ task_id }) => system.ended(task_id)))
    const owners = logs.map((events) => {
      expect(told(events).filter((type) => terminal.test(type))).toEqual(['task_completed'])
      return only(events, 'task_claimed').map((claim) => claim.data.daemon)
    })
    expect(owners.every((claims) => claims.length === 1)).toBe(true)
    expect(new Set(owners.flat())).toEqual(new Set([one.id, two.id]))
    expect(system.provider.requests).toHaveLength(10)
  })
})

describe('a stalled owner', () => {
  it('loses the task with its lease; when it goes on its late writes are refused, and it goes on with other work', async () => {
    await using system = await testSystem(server)
    const [late, good, other] = [held<FakeReply>(), held<FakeReply>(), held<FakeReply>()]
    system.provider.answerBy(({ text, number }) => (text === 'other' ? other.promise : number === 1 ? late.promise : good.promise))
    const stalled = await system.daemon()
    const { task_id } = await system.client.submit({ task: 'think' })
    await until('the provider is asked', () => system.provider.requests.length === 1, { everyMs: 5 })
    stalled.kill('SIGSTOP')
    const second = await system.daemon()
    await system.reached(task_id, 'the second has claimed it', (all) => only(all, 'task_claimed').length === 2)
    await until('the second asks the provider', () => system.provider.requests.length === 2, { everyMs: 5 })
    late.settle(say('of the stalled one'))
    stalled.kill('SIGCONT')
    await until('the stalled one has let go', async () => (await statusOf(system, stalled.id))?.tasks === 0, { everyMs: 20 })
    good.settle(say('of its owner'))
    const events = await system.ended(task_id)
    expect(only(events, 'task_claimed').map((claim) => [claim.data.daemon, claim.epoch])).toEqual([
      [stalled.id, 1],
      [second.id, 2],
    ])
    expect(only(events, 'assistant_message_added').map((event) => [event.data.content, event.epoch])).toEqual([['of its owner', 2]])
    expect(told(events).filter((type) => terminal.test(type))).toEqual(['task_completed'])
    expect(system.provider.requests).toHaveLength(2)

    await system.kill(second)
    const after = await system.client.submit({ task: 'other' })
    other.settle(say('done'))
    expect(only(await system.ended(after.task_id), 'task_claimed')[0]?.data.daemon).toBe(stalled.id)
  })

  it('that was in the middle of a team is fenced in all of its nodes at once', async () => {
    await using system = await testSystem(server)
    const late = held<FakeReply>()
    const agents = ['a', 'b', 'c', 'd'].map((name) => ({ name, instruction: `do ${name}` }))
    let nodes = 0
    system.provider.answerBy(({ text, results }) => {
      if (!text.includes('<instruction ')) return results.length === 0 ? use(['ConcurrentWorkflow', { task: 'the whole', agents }]) : say('as the team says')
      return ++nodes <= 4 ? late.promise : say('of the owner')
    })
    const stalled = await system.daemon()
    const { task_id } = await system.client.submit({ task: 'have a team do it' })
    await until('all nodes are under way', () => nodes === 4, { everyMs: 5 })
    stalled.kill('SIGSTOP')
    await system.daemon()
    await system.reached(task_id, 'the second has claimed it', (all) => only(all, 'task_claimed').length === 2)
    late.settle(say('of the stalled one'))
    stalled.kill('SIGCONT')
    const events = await system.ended(task_id)
    expect(events.at(-1)?.type).toBe('task_completed')
    expect(only(events, 'task_team_run_started')).toHaveLength(1)
    expect(
      only(events, 'node_completed')
        .map((event) => event.data.node_id)
        .toSorted(),
    ).toEqual(['a', 'b', 'c', 'd'])
    const said = only(events, 'assistant_message_added').map((event) => event.data.content)
    expect(said).not.toContain('of the stalled one')
    expect(events.filter((event) => event.epoch === 1 && event.taskseq > (only(events, 'task_claimed')[1]?.taskseq ?? 0))).toEqual([])
  })
})

async function statusOf(system: Awaited<ReturnType<typeof testSystem>>, daemon: string): Promise<{ tasks: number } | null> {
  const message = await system.nc.request(system.subjects.service('status'), '', { timeout: 2_000 }).catch(() => null)
  const { result } = message?.json<{ result: { daemon: string; tasks: number } }>() ?? { result: null }
  return result?.daemon === daemon ? result : null
}
