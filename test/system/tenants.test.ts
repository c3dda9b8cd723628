// Two tenants of one namespace, each with its own daemon, key and projector, at a server that would permit
// everything: nothing of one reaches the other.
import { held, until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DaemonProcess } from '../support/daemon.ts'
import { type FakeReply, say } from '../support/fake-provider.ts'
import { testServer, type TestServer } from '../support/nats.ts'
import { projectorProcess } from '../support/projector.ts'
import { leaseMs, only, type TestSystem, testSystem } from '../support/system.ts'

let server: TestServer
let acme: TestSystem
let bolt: TestSystem
let killed: DaemonProcess
/** Of acme. Its first daemon is killed while it runs; that of bolt is there before the next one of acme. */
let orphan: string
/** The claims of the orphan after the daemon of bolt has done its own work, and its lease is over. */
let claims: readonly string[]
beforeAll(async () => {
  server = await testServer()
  const namespace = server.newNamespace()
  acme = await testSystem(server, {}, { namespace, tenant: 'acme' })
  bolt = await testSystem(server, {}, { namespace, tenant: 'bolt' })
  bolt.provider.answerBy(() => say('bolt says so'))
  acme.provider.answerBy(() => held<FakeReply>().promise)
  killed = await acme.daemon()
  orphan = (await acme.client.submit({ task: 'acme asks' })).task_id
  await until('the model is asked', () => acme.provider.requests.length > 0)
  await acme.kill(killed)
  await bolt.daemon()
  await bolt.client.run({ task: 'bolt asks' })
  const diedAt = performance.now()
  await until('the lease of the dead daemon is over', () => performance.now() > diedAt + 2 * leaseMs)
  await bolt.client.run({ task: 'bolt asks again' })
  claims = only(await acme.events(orphan), 'task_claimed').map(({ data }) => data.daemon)
  acme.provider.answerBy(() => say('acme says so'))
  await acme.daemon()
})
afterAll(async () => {
  await acme[Symbol.asyncDispose]()
  await bolt[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const codeOf = (act: Promise<unknown>): Promise<unknown> =>
  act.then(
    () => 'done',
    (error: { code?: string }) => error.code,
  )

describe('a task of one tenant', () => {
  it('waits for its own daemon: the other one takes it neither at its start, nor after a kill, nor by its sweep', async () => {
    expect(claims).toEqual([killed.id])
    expect(only(await acme.ended(orphan), 'task_completed')).toHaveLength(1)
    expect(JSON.stringify(bolt.provider.requests)).not.toContain('acme')
  })

  it('is driven by its own daemon with its own key, also if it has the id and the session of a task of the other', async () => {
    const ids = Array.from({ length: 10 }, (_, i) => `task-${i}`)
    await Promise.all(
      ids.flatMap((task_id) =>
        [acme, bolt].map((of) =>
          of.client.submit({ task: `${of.subjects.tenant} asks`, task_id, session_id: 'shared' }),
        ),
      ),
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

  it('is unknown to the other: it cannot be seen, cancelled, steered, decided, retried or searched', async () => {
    const { namespace } = acme.subjects
    await using _acmes = await projectorProcess({
      url: server.url,
      namespace,
      env: { BEAVER_TENANT: 'acme' },
    })
    await using _bolts = await projectorProcess({
      url: server.url,
      namespace,
      env: { BEAVER_TENANT: 'bolt' },
    })
    const { task_id, session_id } = await acme.client.run({ task: 'the secret of acme' })
    await until('the projector of acme knows it', async () =>
      (await acme.client.query('tasks', {})).tasks.some((task) => task.task_id === task_id),
    )
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
    for (const [what, outcome] of Object.entries(attempts))
      expect([what, await outcome]).toEqual([what, 'not_found'])
    expect((await client.query('tasks', { tenant: 'acme' })).tasks).toEqual([])
    expect((await client.query('open_tasks', { tenant: 'acme', limit: 10 })).tasks).toEqual([])
    expect((await client.query('search', { query: 'secret' })).hits).toEqual([])
    expect(
      (await client.query('session_search', { tenant: 'acme', query: 'secret', limit: 5 })).hits,
    ).toEqual([])
    expect((await client.query('approvals', { tenant: 'acme' })).calls).toEqual([])
    expect(await client.sessions.listRunIds(session_id)).toEqual([])
    const history: unknown[] = []
    for await (const event of client.sessions.getEventRecords(session_id)) history.push(event)
    expect(history).toEqual([])
  })
})
