// Given a server that goes away and does not come back, each call of a client ends with an error that says so (C1 in beaver-client.ts).
import { AgentTeam, clientOn, connectBeaver } from '@beaver/client'
import { BeaverError } from '@beaver/core'
import { expect, it } from 'vitest'
import { held, until } from '@beaver/testing'
import { type FakeReply, say } from './support/fake-provider.ts'
import { testServer } from './support/nats.ts'
import { testSystem } from './support/system.ts'

const codeOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'an answer',
    (error: unknown) => (error instanceof BeaverError ? error.code : error),
  )
async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const seen: Item[] = []
  for await (const item of items) seen.push(item)
  return seen
}

it('every call ends with a BeaverError, whenever the server went away', async () => {
  const server = await testServer()
  await using system = await testSystem(server)
  system.provider.answerBy(() => say('42'))
  await system.daemon()
  const { task_id } = await system.client.run({ task: 'x', session_id: 's' })
  const place = { url: server.url, namespace: system.subjects.namespace, tenant: 'local' }
  await using client = await connectBeaver({ ...place, daemonMs: 300, watchMs: 500 })
  const under = [all(client.watch('a task that never comes')), all(client.watch(task_id))].map(codeOf)
  expect(await under[1]).toBe('an answer')
  await server[Symbol.asyncDispose]()
  const { sessions } = client
  const later: Record<string, Promise<unknown>> = {
    submit: client.submit({ task: 'x' }),
    run: client.run({ task: 'x' }),
    cancel: client.cancel(task_id, 'why'),
    retry: client.retry(task_id),
    decide: client.decide(task_id, { callId: 'c', approved: true }),
    status: client.status(),
    memory: client.memory(),
    query: client.query('tasks'),
    watch: all(client.watch(task_id)),
    history: sessions.getVisibleHistory('s'),
    events: all(sessions.getEventRecords('s')),
    runs: sessions.listRunIds('s'),
    search: sessions.search('x'),
  }
  const codes = await Promise.all(Object.entries(later).map(async ([name, call]) => `${name}: ${String(await codeOf(call))}`))
  expect(codes).toEqual(Object.keys(later).map((name) => `${name}: unreachable`))
  expect(await under[0]).toBe('unreachable')
})

it('a watch and a session survive a short absence of the server', async () => {
  await using server = await testServer()
  await using system = await testSystem(server)
  system.provider.answerBy(() => say('42'))
  await system.daemon()
  const client = clientOn(system.nc, system.subjects, { watchMs: Infinity })
  const watched = all(client.watch('later'))
  await server.crash()
  await client.submit({ task: 'x', task_id: 'later', session_id: 's' })
  expect((await watched).at(-1)?.type).toBe('task_completed')
  expect((await client.sessions.getVisibleHistory('s')).map(({ content }) => content)).toEqual(['x', '42'])
})

it('a team whose client is closed meanwhile has no report', async () => {
  await using server = await testServer()
  await using system = await testSystem(server)
  const answer = held<FakeReply>()
  system.provider.answerBy(() => answer.promise)
  await system.daemon()
  const client = await connectBeaver({ url: server.url, namespace: system.subjects.namespace, tenant: 'local' })
  const running = codeOf(new AgentTeam(client, { members: ['a'], strategy: 'broadcast' }).run('Work.', { taskId: 'team' }))
  await until('a member is asked', () => system.provider.requests.length > 0, { everyMs: 5 })
  await client.close()
  expect(await running).toBe('unreachable')
  answer.settle(say('done'))
})
