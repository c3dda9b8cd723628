// Two tenants of one namespace, each with its own daemon, key and projector, at a server that would permit everything: nothing of one reaches the other.
import { until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { say } from './support/fake-provider.ts'
import { testServer, type TestServer } from './support/nats.ts'
import { projectorProcess } from './support/projector.ts'
import { leaseMs, only, type TestSystem, testSystem } from './support/system.ts'

let server: TestServer
beforeAll(async () => void (server = await testServer()))
afterAll(() => server[Symbol.asyncDispose]())

let namespaces = 0

/** Two tenants. Each model says whose it is. */
async function neighbours(): Promise<{ acme: TestSystem; bolt: TestSystem } & AsyncDisposable> {
  const namespace = `t${process.pid}_${++namespaces}`
  const acme = await testSystem(server, {}, { namespace, tenant: 'acme' })
  const bolt = await testSystem(server, {}, { namespace, tenant: 'bolt' })
  acme.provider.answerBy(() => say('acme says so'))
  bolt.provider.answerBy(() => say('bolt says so'))
  return {
    acme,
    bolt,
    async [Symbol.asyncDispose]() {
      await acme[Symbol.asyncDispose]()
      await bolt[Symbol.asyncDispose]()
    },
  }
}

const codeOf = (act: Promise<unknown>): Promise<unknown> =>
  act.then(
    () => 'done',
    (error: { code?: string }) => error.code,
  )

describe('a task of one tenant', () => {
  it('is driven by its own daemon with its own key, also if it has the id and the session of a task of the other', async () => {
    await using two = await neighbours()
    const { acme, bolt } = two
    await Promise.all([acme.daemon(), bolt.daemon()])
    const ids = Array.from({ length: 10 }, (_, i) => `task-${i}`)
    await Promise.all(
      ids.flatMap((task_id) => [acme, bolt].map((of) => of.client.submit({ task: `${of.subjects.tenant} asks`, task_id, session_id: 'shared' }))),
    )
    for (const of of [acme, bolt]) {
      const daemons = new Set<string>()
      for (const id of ids) {
        const events = await of.ended(id)
        expect(only(events, 'task_completed')[0]?.data.final_output).toBe(`${of.subjects.tenant} says so`)
        for (const { data } of only(events, 'task_claimed')) daemons.add(data.daemon)
      }
      expect(daemons.size).toBe(1)
    }
    expect(JSON.stringify(acme.provider.requests)).not.toContain('bolt')
    expect(JSON.stringify(bolt.provider.requests)).not.toContain('acme')
  })

  it('waits for its own daemon: the other one neither takes it at its start, nor after a kill, nor by its sweep', async () => {
    await using two = await neighbours()
    const { acme, bolt } = two
    const first = await acme.daemon()
    const { promise: answers, resolve: answer } = Promise.withResolvers<void>()
    acme.provider.answerBy(async () => (await answers, say('acme says so')))
    const { task_id } = await acme.client.submit({ task: 'acme asks' })
    await until('the model is asked', () => acme.provider.requests.length > 0)
    await acme.kill(first)
    await bolt.daemon()
    await bolt.client.run({ task: 'bolt asks' })
    const diedAt = performance.now()
    await until('the lease of the dead daemon is over', () => performance.now() > diedAt + 2 * leaseMs)
    await bolt.client.run({ task: 'bolt asks again' })
    expect(only(await acme.events(task_id), 'task_claimed')).toHaveLength(1)
    expect(JSON.stringify(bolt.provider.requests)).not.toContain('acme')
    answer()
    await acme.daemon()
    expect(only(await acme.ended(task_id), 'task_completed')).toHaveLength(1)
  })

  it('is unknown to the other: it cannot be seen, cancelled, steered, decided, retried or searched', async () => {
    await using two = await neighbours()
    const { acme, bolt } = two
    await Promise.all([acme.daemon(), bolt.daemon()])
    const { namespace } = acme.subjects
    await using _acmes = await projectorProcess({ url: server.url, namespace, env: { BEAVER_TENANT: 'acme' } })
    await using _bolts = await projectorProcess({ url: server.url, namespace, env: { BEAVER_TENANT: 'bolt' } })
    const { task_id, session_id } = await acme.client.run({ task: 'the secret of acme' })
    await until('the projector of acme knows it', async () => (await acme.client.query('tasks', {})).tasks.length === 1)
    const { client } = bolt
    const attempts: Record<string, Promise<unknown>> = {
      cancel: codeOf(client.cancel(task_id, 'not mine')),
      steer: codeOf(client.steer(task_id, 'not mine')),
      decide: codeOf(client.decide(task_id, { callId: 'call_0', approved: true })),
      retry: codeOf(client.retry(task_id)),
      show: codeOf(client.query('task', { task_id })),
      'show it as acme': codeOf(client.query('task', { task_id, tenant: 'acme' })),
      timeline: codeOf(client.query('timeline', { task_id })),
      events: codeOf(client.query('events', { task_id })),
      audit: codeOf(client.query('audit', { task_id })),
    }
    for (const [what, outcome] of Object.entries(attempts)) expect([what, await outcome]).toEqual([what, 'not_found'])
    expect((await client.query('tasks', { tenant: 'acme' })).tasks).toEqual([])
    expect((await client.query('open_tasks', { tenant: 'acme', limit: 10 })).tasks).toEqual([])
    expect((await client.query('search', { query: 'secret' })).hits).toEqual([])
    expect((await client.query('session_search', { tenant: 'acme', query: 'secret', limit: 5 })).hits).toEqual([])
    expect((await client.query('approvals', { tenant: 'acme' })).calls).toEqual([])
    expect(await client.sessions.listRunIds(session_id)).toEqual([])
    const history: unknown[] = []
    for await (const event of client.sessions.getEventRecords(session_id)) history.push(event)
    expect(history).toEqual([])
  })
})
