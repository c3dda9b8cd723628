// The state of the whole system over HTTP, with real parts: what it says while all are there, and of each part
// that dies.
import { type BeaverClient, clientOn } from '@beaver/client'
import type { SystemState } from '@beaver/contracts'
import { createApp, type HttpApp, type KeptToken, tokenAccess, tokenHash, type TokenRole } from '@beaver/http'
import { connectNats } from '@beaver/nats'
import { until } from '@beaver/testing'
import { expect, it } from 'vitest'
import { say } from '../support/fake-provider.ts'
import { type OwnServer, ownServer } from '../support/nats.ts'
import { projectorProcess } from '../support/projector.ts'
import { keptScene } from '../support/protocol-scene.ts'
import { testSystem } from '../support/system.ts'

const token = (name: string, roles: readonly TokenRole[], of: Partial<KeptToken> = {}): KeptToken => ({
  name,
  sha256: tokenHash(name),
  roles,
  ...of,
})
const kept = [
  token('ann', ['read', 'submit', 'approve'], { userId: 'ann' }),
  token('boss', ['read'], { userId: 'boss', everyUser: true }),
  token('chief', ['admin'], { userId: 'chief' }),
  token('reader', ['read']),
  token('writer', ['submit']),
]
const get = (app: HttpApp, as: string): Promise<Response> =>
  app.fetch(
    new Request('http://beaver.test/api/v1/system', {
      headers: { host: 'beaver.test', authorization: `Bearer ${as}` },
    }),
  )
const appOn = (client: BeaverClient): HttpApp =>
  createApp({
    client,
    connected: () => true,
    access: tokenAccess(() => kept),
    hosts: () => ['beaver.test'],
  })

async function whileDown<T>(server: OwnServer, look: () => Promise<T>): Promise<T> {
  const seen: T[] = []
  await server.down(async () => void seen.push(await look()), 'killed')
  return seen[0] as T
}

it('is for those who reach the tasks of all users, and may read', async () => {
  const { system } = await keptScene()
  const app = appOn(system.client)
  const askedAt = new Set<string>()
  const answers = await Promise.all(
    kept.map(async ({ name }) => {
      const answer = await get(app, name)
      const { code, asked_at } = (await answer.json()) as { code?: string; asked_at?: string }
      if (asked_at !== undefined) askedAt.add(asked_at)
      return [name, answer.status, code]
    }),
  )
  expect(answers).toEqual([
    ['ann', 403, 'not_allowed'],
    ['boss', 200, undefined],
    ['chief', 200, undefined],
    ['reader', 200, undefined],
    ['writer', 403, 'not_allowed'],
  ])
  // Those who ask at once cost the system no more than one.
  expect(askedAt.size).toBe(1)
})

it('has each part, and says of a projector, a daemon and a server that die that they do not answer', async () => {
  await using server = await ownServer()
  await using system = await testSystem(server, {
    budgets: [{ of: 'tenant', per: 'day', model_calls: 100 }],
    model: { requests_per_minute_max: 600 },
  })
  const { namespace } = system.subjects
  const daemon = await system.daemon()
  const projector = await projectorProcess({ url: server.url, namespace })
  const nc = await connectNats({ url: server.url, name: 'system' })
  await using client = clientOn(nc, system.subjects)
  const app = appOn(client)
  const state = async (): Promise<SystemState> => (await (await get(app, 'reader')).json()) as SystemState
  system.provider.answerBy(() => say('42'))
  const { task_id } = await client.submit({ task: 'go' })
  await system.ended(task_id)

  const sound = await until('the projector has seen all', async () => {
    const now = await state()
    // A busy machine may be late with a part, which then says so.
    const isWhole = [now.budgets, now.streams, ...now.daemons.list].every(({ problem }) => problem === null)
    const says = now.daemons.list.every(({ endpoints }) => endpoints !== null)
    return isWhole && says && now.tasks.by_status['completed'] === 1 && now.projector.behind === 0
      ? now
      : null
  })
  expect(sound).toMatchObject({
    gateway: { version: expect.stringMatching(/^\d/) as string },
    nats: { connected: true },
    journal: { state: 'there', problem: null },
    streams: { problem: null },
    daemons: { problem: null, left_out: 0 },
    projector: { problem: null, quarantined: 0, fault: null },
    tasks: { problem: null, total: 1, oldest_submitted_at: null },
    budgets: {
      problem: null,
      total: 1,
      list: [{ of: 'tenant', used: { model_calls: 1 }, waiting_tasks: 0 }],
    },
  })
  expect(sound.streams.list.map(({ what, state: how }) => `${what} ${how}`)).toEqual(
    ['journal', 'wakes', 'blobs', 'memory', 'budgets'].map((what) => `${what} answers`),
  )
  expect(sound.streams.list[0]).toMatchObject({ messages: sound.journal.last_sequence, replicas: 1 })
  const [one] = sound.daemons.list
  expect(one).toMatchObject({
    ...{ daemon: daemon.id, state: 'answers', tasks: 0, version: sound.gateway?.version },
    endpoints: [
      { name: 'model', circuit_open_ms: 0, wait_ms: 0, requests_per_minute_max: 600, answer: null },
    ],
  })
  expect(one?.threads).toHaveLength(one?.threads_max ?? -1)

  await projector[Symbol.asyncDispose]()
  const second = await client.submit({ task: 'go on' })
  await system.ended(second.task_id)
  const lagging = await until('the projector is missed', async () => {
    const now = await state()
    return now.projector.problem === null ? null : now
  })
  expect(lagging.projector).toMatchObject({
    sequence: sound.projector.sequence,
    events: sound.projector.events,
  })
  expect(lagging.projector.behind).toBe(
    (lagging.journal.last_sequence ?? 0) - (sound.projector.sequence ?? 0),
  )
  expect(lagging.projector.behind).toBeGreaterThan(0)
  expect(lagging.tasks).toMatchObject({
    total: null,
    problem: expect.stringContaining('projector') as string,
  })
  expect(lagging.daemons.problem).toBeNull()

  daemon.kill('SIGKILL')
  await daemon.exited
  const alone = await until('the daemon is missed', async () => {
    const now = await state()
    return now.daemons.list.every(({ state: how }) => how !== 'answers') ? now : null
  })
  expect(alone.daemons).toMatchObject({
    problem: expect.stringContaining('beaver up') as string,
    list: [{ daemon: daemon.id, state: 'gone', tasks: null, endpoints: null, version: one?.version }],
  })
  expect(alone.budgets.problem).toEqual(expect.any(String))
  expect(alone.streams.problem).toBeNull()

  const dark = await whileDown(server, () =>
    until('the server is missed', async () => {
      const now = await state()
      return now.nats.connected ? null : now
    }),
  )
  expect(dark).toMatchObject({
    journal: { state: 'unknown', last_sequence: null, problem: expect.any(String) as string },
    streams: { problem: expect.any(String) as string, list: [] },
    daemons: { list: [{ daemon: daemon.id }] },
  })
})
