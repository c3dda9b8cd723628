// A task whose owners die while it waits for a slow answer is not charged for them, however many there are; the queue goes on.
import { held, until } from '@beaver/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type FakeReply, say } from './support/fake-provider.ts'
import { testServer, type TestServer } from './support/nats.ts'
import { only, testSystem, told } from './support/system.ts'

let server: TestServer
beforeAll(async () => void (server = await testServer()))
afterAll(() => server[Symbol.asyncDispose]())

it('a task whose owner is killed each time completes all the same, and so do the tasks beside it', async () => {
  await using system = await testSystem(server, { daemon: { owners_lost_max: 1 } })
  const never = held<FakeReply>()
  system.provider.answerBy(({ text }) => (text === 'poison' ? never.promise : say('42')))
  const first = await system.daemon()
  const { task_id } = await system.client.submit({ task: 'poison', session_id: 's' })
  await until('it is under way', () => system.provider.about('poison').length === 1, { everyMs: 5 })
  await system.kill(first)
  const second = await system.daemon()
  const behind = await system.client.submit({ task: 'behind it', session_id: 's' })
  await until('it is under way again', () => system.provider.about('poison').length === 2, { everyMs: 5 })
  await system.kill(second)
  const third = await system.daemon()
  await until('and again', () => system.provider.about('poison').length === 3, { everyMs: 5 })
  await system.kill(third)
  const fourth = await system.daemon()

  never.settle(say('42'))
  const events = await system.ended(task_id)
  expect(events.at(-1)).toMatchObject({ type: 'task_completed', epoch: 4, data: { final_output: '42' } })
  expect(told(events)).not.toContain('task_dead_lettered')
  expect(only(events, 'task_claimed').at(-1)?.data.daemon).toBe(fourth.id)
  expect(system.provider.about('poison')).toHaveLength(4)
  expect((await system.ended(behind.task_id)).at(-1)?.type).toBe('task_completed')
  expect((await system.ended((await system.client.submit({ task: 'after it' })).task_id)).at(-1)?.type).toBe('task_completed')
})
