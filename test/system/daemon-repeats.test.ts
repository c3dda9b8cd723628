// A model that makes one broken call for ever, at real daemons: it is paid five times, also over the death of
// a daemon, and not until the iterations are used up. What counts as the same is tested in
// packages/core/src/fold/same-turns.test.ts.
import type { RecordedEvent } from '@beaver/core/journal'
import { writeFile } from 'node:fs/promises'
import { held } from '@beaver/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type FakeReply, use } from '../support/fake-provider.ts'
import { testServer, type TestServer } from '../support/nats.ts'
import { only, testSystem, type TestSystem } from '../support/system.ts'

let server: TestServer
beforeAll(async () => {
  server = await testServer()
})
afterAll(() => server[Symbol.asyncDispose]())

const broken = use(['read_file', { path: 'missing.txt' }])
const paid = (system: TestSystem): number => system.provider.requests.length
const answers = (events: readonly RecordedEvent[]): number => only(events, 'assistant_message_added').length

it('a broken call that repeats is paid five times, and the task fails with its class and its cost', async () => {
  await using system = await testSystem(server)
  system.provider.answerBy(() => broken)
  await system.daemon()
  const { status, failure, usage } = await system.client.run({ task: 'Read it.' })
  expect([status, failure?.class, usage?.calls, paid(system)]).toEqual(['failed', 'no_progress', 5, 5])
  expect(failure?.message).toContain(
    'the same call of read_file in 5 answers in a row, and each time it failed',
  )
})

it('the daemon that takes the task over counts on', async () => {
  await using system = await testSystem(server)
  system.provider.answerBy(({ results }): FakeReply | Promise<FakeReply> =>
    results.length < 3 ? broken : held<FakeReply>().promise,
  )
  const first = await system.daemon()
  const { task_id } = await system.client.submit({ task: 'Read it.' })
  await system.reached(task_id, 'the model is asked again', () => paid(system) === 4)
  await system.kill(first)
  system.provider.answerBy(() => broken)
  await system.daemon()
  const events = await system.ended(task_id)
  expect(events.at(-1)).toMatchObject({ type: 'task_failed', data: { failure: { class: 'no_progress' } } })
  // The fourth answer was asked for twice, because its first daemon never had it.
  expect([answers(events), paid(system)]).toEqual([5, 6])
})

it('the configuration and a profile set the bound, or have none', async () => {
  await using system = await testSystem(server, {
    profiles: ['none.json'],
    agent: { repeats_max: 2, tool_iterations_max: 7 },
  })
  await writeFile(`${system.workspace}/none.json`, JSON.stringify({ name: 'none', repeats_max: null }))
  system.provider.answerBy(() => broken)
  await system.daemon()
  const configured = await system.client.run({ task: 'Read it.' })
  expect([configured.failure?.class, paid(system)]).toEqual(['no_progress', 2])
  system.provider.forget()
  const unbounded = await system.client.run({ task: 'Read it.', profile: 'none' })
  // Seven answers with calls, and the last one, which is asked for without tools.
  expect([unbounded.failure?.class, paid(system)]).toEqual(['iterations_exhausted', 8])
})
