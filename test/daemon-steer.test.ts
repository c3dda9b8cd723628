// A text that steers a task reaches its root agent once, wherever the task stands, and whatever happens to its daemons.
import { held, until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type FakeReply, say, use } from './support/fake-provider.ts'
import { testServer, type TestServer } from './support/nats.ts'
import { projectorProcess } from './support/projector.ts'
import { only, type TestSystem, testSystem, told } from './support/system.ts'

const asks = { permissions: { rules: [{ tool: 'echo', pattern: '*careful*', decision: 'ask' }] } }

let server: TestServer
let system: TestSystem
beforeAll(async () => {
  server = await testServer()
  system = await testSystem(server, asks)
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

const refusal = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'done',
    (error: { code: string; message: string }) => `${error.code}: ${error.message}`,
  )
const codeOf = async (promise: Promise<unknown>): Promise<string> => (await refusal(promise)).split(':')[0] as string

/** How often a text stands in the last request to the model. */
const timesIn = ({ provider }: TestSystem, text: string): number => JSON.stringify(provider.requests.at(-1)?.messages).split(text).length - 1

describe('a text that steers a task', () => {
  it('is journaled with its author, and is given after the answer that is under way, also if that answer would be the last', async () => {
    const system = shared()
    const first = held<FakeReply>()
    system.provider.answerBy(() => (system.provider.requests.length === 1 ? first.promise : say('without drafts')))
    const { task_id } = await system.client.submit({ task: 'think' })
    await until('the model is asked', () => system.provider.requests.length === 1, { everyMs: 5 })
    expect(await system.client.steer(task_id, 'Leave out the drafts. 不要草稿', { requestId: 'no-drafts' })).toEqual({ task_id, request_id: 'no-drafts' })
    first.settle(say('with drafts'))
    const events = await system.ended(task_id)
    expect(only(events, 'task_steer_requested')).toMatchObject([{ data: { request_id: 'no-drafts', text: 'Leave out the drafts. 不要草稿', by: 'ada' } }])
    expect(told(events).slice(-5)).toEqual(['assistant_message_added', 'user_message_added', 'assistant_message_added', 'run_completed', 'task_completed'])
    expect(only(events, 'task_completed')[0]?.data.final_output).toBe('without drafts')
    expect(timesIn(system, 'Leave out the drafts. 不要草稿')).toBe(1)
  })

  it('is given after the results of the calls that are open', async () => {
    const system = shared()
    const first = held<FakeReply>()
    system.provider.answerBy(() => (system.provider.requests.length === 1 ? first.promise : say('done')))
    const { task_id } = await system.client.submit({ task: 'echo' })
    await until('the model is asked', () => system.provider.requests.length === 1, { everyMs: 5 })
    await system.client.steer(task_id, 'Faster.')
    first.settle(use(['echo', { text: 'a' }], ['echo', { text: 'b' }]))
    await system.ended(task_id)
    expect(system.provider.requests.at(-1)?.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'tool', 'user'])
  })

  it('is journaled once under its id, and its id cannot be used for another text', async () => {
    const system = shared()
    const first = held<FakeReply>()
    system.provider.answerBy(() => (system.provider.requests.length === 1 ? first.promise : say('done')))
    const { task_id } = await system.client.submit({ task: 'think' })
    await until('the model is asked', () => system.provider.requests.length === 1, { everyMs: 5 })
    const steer = (text: string): Promise<unknown> => system.client.steer(task_id, text, { requestId: 'r1' })
    await Promise.all(Array.from({ length: 30 }, () => steer('Faster.')))
    expect(await refusal(steer('Slower.'))).toBe(`conflict: The request r1 steers the task ${task_id} already, with another text. Use another request_id.`)
    first.settle(say('x'))
    const events = await system.ended(task_id)
    expect(only(events, 'task_steer_requested')).toHaveLength(1)
    expect(await refusal(steer('Faster.'))).toBe('done')
    expect(await refusal(system.client.steer(task_id, 'Faster.'))).toBe(`conflict: The task ${task_id} has ended already: completed.`)
    expect(timesIn(system, 'Faster.')).toBe(1)
  })

  it('has a bounded length, and a task takes a bounded number of them', async () => {
    const system = shared()
    const first = held<FakeReply>()
    system.provider.answerBy(() => (system.provider.requests.length === 1 ? first.promise : say('done')))
    const { task_id } = await system.client.submit({ task: 'think' })
    await until('the model is asked', () => system.provider.requests.length === 1, { everyMs: 5 })
    for (const text of ['', ' \n', 'x'.repeat(10_001)]) expect(await codeOf(system.client.steer(task_id, text))).toBe('invalid_arguments')
    const codes = await Promise.all(Array.from({ length: 130 }, (_, i) => codeOf(system.client.steer(task_id, `text ${i}`))))
    expect(codes.filter((code) => code === 'done')).toHaveLength(100)
    expect(codes.filter((code) => code === 'conflict')).toHaveLength(30)
    first.settle(say('x'))
    const events = await system.ended(task_id)
    expect(only(events, 'user_message_added')).toHaveLength(101)
    expect(system.provider.requests).toHaveLength(2)
  })

  it('is refused for what is not there, is being cancelled, or has no root agent', async () => {
    const system = shared()
    system.provider.answerBy(() => held<FakeReply>().promise)
    expect(await codeOf(system.client.steer('nobody knows it', 'x'))).toBe('not_found')
    const workflow = { name: 'ConcurrentWorkflow', arguments: { task: 't', agents: [{ name: 'a', instruction: 'do it' }] } }
    const { task_id } = await system.client.submit({ workflow })
    expect(await refusal(system.client.steer(task_id, 'x'))).toBe(
      `conflict: The task ${task_id} is the workflow ConcurrentWorkflow. It has no root agent that could be steered.`,
    )
    await system.client.cancel(task_id, 'enough')
    await system.ended(task_id)
    expect(only(await system.events(task_id), 'task_steer_requested')).toEqual([])
  })

  it('of a task that waits for the one before it is given with its first request', async () => {
    const system = shared()
    const first = held<FakeReply>()
    system.provider.answerBy(({ text }) => (text === 'first' ? first.promise : say('done')))
    await system.client.submit({ task: 'first', session_id: 's' })
    await until('the first is under way', () => system.provider.requests.length === 1, { everyMs: 5 })
    const { task_id } = await system.client.submit({ task: 'second', session_id: 's' })
    await system.client.steer(task_id, 'Faster.')
    first.settle(say('done'))
    const events = await system.ended(task_id)
    expect(told(events).slice(0, 3)).toEqual(['task_submitted', 'task_steer_requested', 'task_claimed'])
    expect(only(events, 'assistant_message_added')).toHaveLength(1)
    expect(timesIn(system, 'Faster.')).toBe(1)
  })

  it('of a task that waits for an approval leaves it waiting without a daemon, and is given after the decision', async () => {
    const system = shared()
    system.provider.answerBy(({ messages }) => (messages.some(({ role }) => role === 'tool') ? say('done') : use(['echo', { text: 'careful' }])))
    const { task_id } = await system.client.submit({ task: 'echo' })
    await system.reached(task_id, 'it is suspended', (all) => only(all, 'task_suspended').length === 1)
    await system.client.steer(task_id, 'Faster.')
    expect(told(await system.events(task_id)).slice(-2)).toEqual(['task_suspended', 'task_steer_requested'])
    const [asked] = only(await system.events(task_id), 'approval_requested')
    await system.client.decide(task_id, { callId: asked?.data.call_id ?? '', approved: true })
    const events = await system.ended(task_id)
    expect(only(events, 'task_claimed')).toHaveLength(2)
    expect(only(events, 'task_suspended')).toHaveLength(1)
    expect(system.provider.requests.at(-1)?.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'user'])
    expect(timesIn(system, 'Faster.')).toBe(1)
  })

  it('is given once by the next daemon if the first one dies before it uses it', async () => {
    await using system = await testSystem(server)
    system.provider.answerBy(() => held<FakeReply>().promise)
    const owner = await system.daemon()
    const { task_id } = await system.client.submit({ task: 'think' })
    await until('the model is asked', () => system.provider.requests.length === 1, { everyMs: 5 })
    await system.client.steer(task_id, 'Faster.')
    await system.kill(owner)
    system.provider.answerBy(() => say('done'))
    await system.daemon()
    const events = await system.ended(task_id)
    expect(only(events, 'task_claimed')).toHaveLength(2)
    expect(only(events, 'user_message_added').filter(({ data }) => data.content === 'Faster.')).toHaveLength(1)
    expect(timesIn(system, 'Faster.')).toBe(1)
  })

  it('is handed on to the owner, and written for the next one if the owner is dead', async () => {
    await using system = await testSystem(server)
    system.provider.answerBy(() => held<FakeReply>().promise)
    const lease = { BEAVER_LEASE_MS: '5000' }
    const owner = await system.daemon(lease)
    const { task_id } = await system.client.submit({ task: 'think' })
    await until('the model is asked', () => system.provider.requests.length === 1, { everyMs: 5 })
    await system.daemon(lease)
    await Promise.all(Array.from({ length: 6 }, (_, i) => system.client.steer(task_id, `text ${i};`)))
    system.provider.answerBy(() => say('done'))
    await system.kill(owner)
    await system.client.steer(task_id, 'text 6;')
    const events = await system.ended(task_id)
    expect(only(events, 'task_steer_requested')).toHaveLength(7)
    for (let i = 0; i < 7; i++) expect(timesIn(system, `text ${i};`)).toBe(1)
  })

  it('is kept by a retry', async () => {
    const system = shared()
    const first = held<FakeReply>()
    system.provider.answerBy(() => first.promise)
    const { task_id } = await system.client.submit({ task: 'think' })
    await until('the model is asked', () => system.provider.requests.length === 1, { everyMs: 5 })
    await system.client.steer(task_id, 'Faster.')
    first.settle(say(''))
    expect((await system.ended(task_id)).at(-1)?.type).toBe('task_failed')
    system.provider.answerBy(() => say('done'))
    const retried = await system.client.retry(task_id)
    await system.ended(retried.task_id)
    expect(timesIn(system, 'Faster.')).toBe(1)
  })

  it('is shown with who sent it and whether the agent was given it', async () => {
    const system = shared()
    await using _projector = await projectorProcess({ url: server.url, namespace: system.subjects.namespace })
    const first = held<FakeReply>()
    system.provider.answerBy(() => (system.provider.requests.length === 1 ? first.promise : say('done')))
    const { task_id } = await system.client.submit({ task: 'think' })
    await until('the model is asked', () => system.provider.requests.length === 1, { everyMs: 5 })
    await system.client.steer(task_id, 'Faster.')
    const steers = async () => (await system.client.query('task', { task_id }).catch(() => null))?.steers ?? []
    await until('it is shown', async () => (await steers())[0]?.given_taskseq === null)
    first.settle(say('x'))
    await system.ended(task_id)
    await until('it is shown as given', async () => (await steers())[0]?.given_taskseq === 8)
    expect(await steers()).toMatchObject([{ text: 'Faster.', text_chars: 7, by: 'ada', user_id: null, taskseq: 6 }])
    const { events: items } = await system.client.query('timeline', { task_id })
    expect(items.map(({ text }) => text).filter((text) => text.includes('Faster.'))).toEqual([
      'Task is steered by ada: Faster.',
      'Root agent was told: Faster.',
    ])
  })
})
