// Tasks of one session run one after the other, in the order they were accepted; sessions run side by side (D-47).
import { held, until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type FakeReply, say } from './support/fake-provider.ts'
import { testServer, type TestServer } from './support/nats.ts'
import { only, testSystem } from './support/system.ts'

let server: TestServer
beforeAll(async () => void (server = await testServer()))
afterAll(() => server[Symbol.asyncDispose]())

describe('a session on two daemons', () => {
  it('its tasks, submitted at once, run one at a time in the order of acceptance; another session does not wait for them', async () => {
    await using system = await testSystem(server)
    const gates = new Map(['1', '2', '3'].map((name) => [`task ${name}`, held<FakeReply>()]))
    system.provider.answerBy(({ text }) => gates.get(text)?.promise ?? say('side by side'))
    await Promise.all([system.daemon(), system.daemon()])
    const tasks = await Promise.all([...gates.keys()].map((task) => system.client.submit({ task, session_id: 's' })))
    const chain = await Promise.all(
      tasks.map(async ({ task_id }) => ({
        task_id,
        previous: only(await system.events(task_id), 'task_submitted')[0]?.data.previous_task_id,
        text: only(await system.events(task_id), 'task_submitted')[0]?.data.request.text ?? '',
      })),
    )
    const order: typeof chain = []
    for (
      let next = chain.find(({ previous }) => previous === null);
      next !== undefined;
      next = chain.find(({ previous }) => previous === order.at(-1)?.task_id)
    )
      order.push(next)
    expect(order).toHaveLength(3)

    for (const [i, { task_id, text }] of order.entries()) {
      await until(`${text} is under way`, () => system.provider.about(text).length === 1, { everyMs: 5 })
      expect(system.provider.requests.filter((request) => request.text.startsWith('task')).map((request) => request.text)).toEqual(
        order.slice(0, i + 1).map((each) => each.text),
      )
      // Another session runs, start to end, while this one waits.
      const beside = await system.client.submit({ task: `beside ${i}`, session_id: `other ${i}` })
      expect((await system.ended(beside.task_id)).at(-1)?.type).toBe('task_completed')
      gates.get(text)?.settle(say(`said ${text}`))
      await system.ended(task_id)
    }
    const ends = await Promise.all(
      order.map(async ({ task_id }) => ({
        begun: only(await system.events(task_id), 'run_started')[0]?.time ?? '',
        ended: (await system.events(task_id)).at(-1)?.time ?? '',
      })),
    )
    for (let i = 1; i < ends.length; i++) expect((ends[i]?.begun ?? '') >= (ends[i - 1]?.ended ?? '')).toBe(true)
  })

  it('the second task is told what was asked and answered in the first, and nothing of how', async () => {
    await using system = await testSystem(server)
    system.provider.answerBy(({ text }) => say(`answer to ${text}`))
    await Promise.all([system.daemon(), system.daemon()])
    for (const task of ['first', 'second', 'third']) await system.ended((await system.client.submit({ task, session_id: 'web:会话' })).task_id)
    expect(
      system.provider
        .about('third')[0]
        ?.messages.slice(1)
        .map(({ role, content }) => [role, content]),
    ).toEqual([
      ['user', 'first'],
      ['assistant', 'answer to first'],
      ['user', 'second'],
      ['assistant', 'answer to second'],
      ['user', 'third'],
    ])
  })

  it('whose first task fails goes on with the next, which is told', async () => {
    await using system = await testSystem(server)
    system.provider.answerBy(({ text }) => (text === 'first' ? { status: 401, body: '{}' } : say('ok')))
    await system.daemon()
    const [first, second] = [await system.client.submit({ task: 'first', session_id: 's' }), await system.client.submit({ task: 'second', session_id: 's' })]
    expect((await system.ended(first.task_id)).at(-1)?.type).toBe('task_failed')
    expect((await system.ended(second.task_id)).at(-1)?.type).toBe('task_completed')
    const told = system.provider
      .about('second')[0]
      ?.messages.slice(1)
      .map(({ content }) => content)
    expect(told).toEqual(['first', expect.stringMatching(/^\[No answer: .*401/), 'second'])
  })
})

it('the next task of a session is told what getVisibleHistory gives, also where that is bounded', async () => {
  await using system = await testSystem(server)
  await system.daemon()
  system.provider.answerBy(({ text }) => say(text === 'long' ? '好'.repeat(120_000) : `answer to ${text.slice(0, 20)}`))
  const { client } = system
  const ask = (task: string) => client.run({ task, session_id: 'long' })
  for (const task of ['first', 'y'.repeat(60_000), 'second', 'long', 'third']) expect((await ask(task)).status).toBe('completed')
  const given = (await client.sessions.getVisibleHistory('long')).map(({ role, content }) => ({ role, content }))
  await ask('what was said?')
  const told = system.provider.about('what was said?')[0]?.messages.slice(1, -1)
  expect(told?.map(({ role, content }) => ({ role, content }))).toEqual(given)
  expect(given.map(({ content }) => content.length)).toEqual([6, 16, 4, 49_996, 5, 15])
})
