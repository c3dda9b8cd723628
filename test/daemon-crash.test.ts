// kill -9 of a daemon in the middle of a run: the next one goes on from the journal, and asks for nothing it has.
import { foldTask, type RecordedEvent } from '@beaver/core'
import { held, until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type FakeReply, say, use } from './support/fake-provider.ts'
import { testServer, type TestServer } from './support/nats.ts'
import { slowFind } from './support/slow-find.ts'
import { only, testSystem, told } from './support/system.ts'

let server: TestServer
beforeAll(async () => void (server = await testServer()))
afterAll(() => server[Symbol.asyncDispose]())

/** What holds of every task that was taken over. */
function expectTakenOver(events: readonly RecordedEvent[], owners: readonly string[]): void {
  const claims = only(events, 'task_claimed')
  expect(claims.map((claim) => claim.data.daemon)).toEqual(owners)
  expect(claims.map((claim) => claim.epoch)).toEqual(owners.map((_, i) => i + 1))
  // Each of them got on before it died.
  expect(foldTask(events).ownersLost).toBeLessThan(owners.length)
  expect(told(events).filter((type) => /^task_(completed|incomplete|failed|cancelled)$/.test(type))).toHaveLength(1)
}

describe('kill -9 of the daemon', () => {
  it('while a provider answer is on its way: that one is asked for again, and the task completes', async () => {
    await using system = await testSystem(server)
    const answer = held<FakeReply>()
    system.provider.answerBy(() => answer.promise)
    const first = await system.daemon()
    const { task_id } = await system.client.submit({ task: 'think' })
    await until('the provider is asked', () => system.provider.requests.length === 1, { everyMs: 5 })
    await system.kill(first)
    const second = await system.daemon()
    answer.settle(say('42'))
    const events = await system.ended(task_id)
    expect(events.at(-1)).toMatchObject({ type: 'task_completed', data: { final_output: '42' } })
    expectTakenOver(events, [first.id, second.id])
    expect(system.provider.requests).toHaveLength(2)
    expect(only(events, 'assistant_message_added')).toHaveLength(1)
  })

  it('after an answer was journaled: it is not asked for again', async () => {
    await using system = await testSystem(server)
    const second = held<FakeReply>()
    system.provider.answerBy(({ number }) => (number === 1 ? use(['echo', { text: 'a' }]) : second.promise))
    const one = await system.daemon()
    const { task_id } = await system.client.submit({ task: 'think twice' })
    await until('the second answer is asked for', () => system.provider.requests.length === 2, { everyMs: 5 })
    await system.kill(one)
    const two = await system.daemon()
    second.settle(say('done'))
    const events = await system.ended(task_id)
    expect(events.at(-1)).toMatchObject({ type: 'task_completed', data: { final_output: 'done' } })
    expectTakenOver(events, [one.id, two.id])
    // Two answers in the journal; three requests: the first once, the second twice.
    expect(only(events, 'assistant_message_added')).toHaveLength(2)
    expect(system.provider.requests.map((request) => request.results.length)).toEqual([0, 1, 1])
    expect(told(events).filter((type) => type === 'tool_result_recorded')).toHaveLength(1)
    // The conversation that was asked again is the same, to the byte.
    expect(system.provider.requests[2]?.messages).toEqual(system.provider.requests[1]?.messages)
  })

  it('while a tool runs: one that is idempotent is run again, its answer is not asked for again', async () => {
    await using system = await testSystem(server)
    const find = await slowFind(system.workspace)
    system.provider.answerBy(({ results }) => (results.length === 0 ? use(['recount_files', {}]) : say('counted')))
    const one = await system.daemon(find.env)
    const { task_id } = await system.client.submit({ task: 'count' })
    await until('the tool runs', async () => (await find.runs()) >= 1, { everyMs: 10 })
    await system.kill(one)
    const two = await system.daemon(find.env)
    await until('the tool runs again', async () => (await find.runs()) >= 2, { everyMs: 10 })
    await find.open()
    const events = await system.ended(task_id)
    expect(events.at(-1)).toMatchObject({ type: 'task_completed', data: { final_output: 'counted' } })
    expectTakenOver(events, [one.id, two.id])
    expect(system.provider.requests).toHaveLength(2)
    expect(only(events, 'tool_result_recorded')).toMatchObject([{ data: { success: true } }])
    expect(only(events, 'tool_call_started')).toHaveLength(1)
  })

  it('while a team runs: nodes that completed are not run again, those under way go on', async () => {
    await using system = await testSystem(server)
    const slow = held<FakeReply>()
    const agents = ['a', 'b', 'c'].map((name) => ({ name, instruction: `do ${name}` }))
    system.provider.answerBy(({ text, results }) => {
      if (!text.includes('<instruction ')) return results.length === 0 ? use(['ConcurrentWorkflow', { task: 'the whole', agents }]) : say('as the team says')
      return text.includes('do c') ? slow.promise : say(`result of ${text.includes('do a') ? 'a' : 'b'}`)
    })
    const one = await system.daemon()
    const { task_id } = await system.client.submit({ task: 'have a team do it' })
    await system.reached(task_id, 'two nodes are complete', (all) => only(all, 'node_completed').length === 2)
    await until('the third is under way', () => system.provider.about('do c').length === 1, { everyMs: 5 })
    await system.kill(one)
    const two = await system.daemon()
    await until('the third is asked again', () => system.provider.about('do c').length === 2, { everyMs: 5 })
    slow.settle(say('result of c'))
    const events = await system.ended(task_id)
    expect(events.at(-1)).toMatchObject({ type: 'task_completed' })
    const result = JSON.parse(only(events, 'tool_result_recorded').at(-1)?.data.content as string) as { outcome: string; final_output: string }
    expect(result.outcome).toBe('complete')
    for (const name of ['a', 'b', 'c']) expect(result.final_output).toContain(`result of ${name}`)
    expectTakenOver(events, [one.id, two.id])
    expect(told(events).filter((type) => type === 'node_started' || type === 'task_team_run_started')).toHaveLength(4)
    expect([system.provider.about('do a').length, system.provider.about('do b').length]).toEqual([1, 1])
    expect(events.at(-1)).toMatchObject({ data: { usage: { calls: only(events, 'assistant_message_added').length } } })
  })
})
