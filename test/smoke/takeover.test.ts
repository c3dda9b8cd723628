// The promise of the journal: a daemon is killed in the middle of a task, and another one ends the task. The
// system is the test's own.
import { held, until } from '@beaver/testing'
import { expect, it } from 'vitest'
import { type FakeReply, say, use } from '../support/fake-provider.ts'
import { testServer } from '../support/nats.ts'
import { only, testSystem } from '../support/system.ts'

it('a task goes on at another daemon when its own is killed, and what the journal has is not asked for again', async () => {
  await using server = await testServer()
  await using system = await testSystem(server)
  const last = held<FakeReply>()
  system.provider.answerBy(({ results }) =>
    results.length === 0 ? use(['echo', { text: 'a' }]) : last.promise,
  )
  // One after the other, and with a longer lease: a daemon that is slow must not lose the task before it is
  // killed.
  const env = { BEAVER_LEASE_MS: '3000' }
  const first = await system.daemon(env)
  const { task_id } = await system.client.submit({ task: 'think twice' })
  await until('the second answer is asked for', () => system.provider.requests.length === 2, { everyMs: 5 })
  await system.kill(first)
  const second = await system.daemon(env)
  await until('the second answer is asked for again', () => system.provider.requests.length === 3, {
    everyMs: 5,
  })
  last.settle(say('done'))
  const events = await system.ended(task_id)
  expect(events.at(-1)).toMatchObject({ type: 'task_completed', data: { final_output: 'done' } })
  expect(only(events, 'task_claimed').map(({ epoch, data }) => [epoch, data.daemon])).toEqual([
    [1, first.id],
    [2, second.id],
  ])
  // Each request has one result more than the answers before it: the call of the tool was made once, and its
  // answer was not asked for again.
  expect(system.provider.requests.map(({ results }) => results.length)).toEqual([0, 1, 1])
  expect(only(events, 'tool_result_recorded')).toHaveLength(1)
})
