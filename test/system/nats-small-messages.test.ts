// A server whose operator lowers the limit of a message while a task is under way: what is larger waits, and
// nothing that was paid for is lost.
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { held, until } from '@beaver/testing'
import { expect, it } from 'vitest'
import { type FakeReply, say } from '../support/fake-provider.ts'
import { ownServer } from '../support/nats.ts'
import { testSystem } from '../support/system.ts'

it('a task whose answer is larger than max_payload waits, goes on when the limit is raised, and asks its model once', async () => {
  await using server = await ownServer()
  await using system = await testSystem(server)
  const daemon = await system.daemon()
  const answer = held<FakeReply>()
  system.provider.answerBy(({ text }) => (text.includes('short') ? say('Short.') : answer.promise))
  const { task_id } = await system.client.submit({ task: 'long' })
  await until('the model is asked', () => system.provider.requests.length === 1)

  const file = join(server.dataDir, 'nats-server.conf')
  const before = readFileSync(file, 'utf8')
  appendFileSync(file, '\nmax_payload: 16384\n')
  process.kill(server.pid, 'SIGHUP')
  const logged = (text: string) => () =>
    readFileSync(join(server.dataDir, 'nats-server.log'), 'utf8').includes(text)
  await until('the server has the limit', logged('Reloaded: max_payload = 16384'))
  const long = 'x'.repeat(40_000)
  answer.settle(say(long))
  await until('the daemon says so', () => daemon.stderr.includes('"append_waits"'))
  // Others go on meanwhile.
  expect(await system.client.run({ task: 'short' })).toMatchObject({ status: 'completed' })
  expect((await system.events(task_id)).some(({ type }) => type === 'task_dead_lettered')).toBe(false)

  writeFileSync(file, before)
  process.kill(server.pid, 'SIGHUP')
  const events = await system.ended(task_id)
  expect(events.at(-1)).toMatchObject({ type: 'task_completed', epoch: 1, data: { final_output: long } })
  expect(system.provider.requests.filter(({ text }) => text.includes('long'))).toHaveLength(1)
})
