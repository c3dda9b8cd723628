// Given a NATS server that goes away: a short absence costs time, and without it every call, daemon and
// program still comes to an end (C1 in beaver-client.ts). What is told of an absence is in
// nats-outages.test.ts.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { AgentTeam, type BeaverClient, clientOn, connectBeaver } from '@beaver/client'
import { BeaverError } from '@beaver/core'
import { held, until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { compileCache } from '../support/compile-cache.ts'
import type { DaemonProcess } from '../support/daemon.ts'
import { type FakeReply, say } from '../support/fake-provider.ts'
import { freeze } from '../support/freeze.ts'
import { ownServer, type OwnServer } from '../support/nats.ts'
import { testSystem, type TestSystem } from '../support/system.ts'

let server: OwnServer
let system: TestSystem
let daemon: DaemonProcess
/** It embeds Beaver, and has run a task. */
let program: ChildProcess
beforeAll(async () => {
  server = await ownServer()
  system = await testSystem(server)
  system.provider.answerBy(() => say('42'))
  const script = fileURLToPath(new URL('../support/program-without-nats.ts', import.meta.url))
  const env = { PATH: process.env['PATH'] }
  const options = {
    home: join(system.workspace, 'away'),
    workspace: system.workspace,
    natsUrl: server.url,
    env,
    config: { daemon: { worker_threads: 1 } },
  }
  program = spawn(process.execPath, [script, JSON.stringify(options)], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { ...env, ...compileCache },
  })
  const ready = once(program, 'message')
  daemon = await system.daemon()
  await ready
})
afterAll(async () => {
  program.kill('SIGKILL')
  await system[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const place = () => ({ url: server.url, namespace: system.subjects.namespace, tenant: 'local' })
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

it('a watch and a session survive a short absence of the server', async () => {
  const client = clientOn(system.nc, system.subjects, { watchMs: Infinity })
  const watched = all(client.watch('later'))
  await server.crash()
  await client.submit({ task: 'x', task_id: 'later', session_id: 's' })
  expect((await watched).at(-1)?.type).toBe('task_completed')
  expect((await client.sessions.getVisibleHistory('s')).map(({ content }) => content)).toEqual(['x', '42'])
})

it('a team whose client is closed meanwhile has no report', async () => {
  const answer = held<FakeReply>()
  system.provider.forget()
  system.provider.answerBy(() => answer.promise)
  const client = await connectBeaver(place())
  const running = codeOf(
    new AgentTeam(client, { members: ['a'], strategy: 'broadcast' }).run('Work.', { taskId: 'team' }),
  )
  await until('a member is asked', () => system.provider.requests.length > 0, { everyMs: 5 })
  await client.close()
  expect(await running).toBe('unreachable')
  answer.settle(say('done'))
  await system.ended('team')
})

// From here on there is no daemon, and then no server.
it('SIGTERM ends a daemon whose NATS does not answer', async () => {
  system.provider.forget()
  system.provider.answerBy(() => held<FakeReply>().promise)
  await system.client.submit({ task: 'think', task_id: 'thinks' })
  await until('the provider is asked', () => system.provider.requests.length === 1, { everyMs: 5 })
  await freeze(server.pid)
  try {
    daemon.kill('SIGTERM')
    await daemon.exited
    expect(daemon.stderr).toContain('"process_stopped_late"')
  } finally {
    process.kill(server.pid, 'SIGCONT')
  }
})

describe('once the server has gone', () => {
  let client: BeaverClient
  let never: Promise<unknown>
  beforeAll(async () => {
    client = await connectBeaver({ ...place(), daemonMs: 300, watchMs: 500 })
    never = codeOf(all(client.watch('a task that never comes')))
    expect(await codeOf(all(client.watch('later')))).toBe('an answer')
    await server[Symbol.asyncDispose]()
  })
  afterAll(() => client.close())

  it('every call ends with a BeaverError, whenever it was made', async () => {
    const { sessions } = client
    const later: Record<string, Promise<unknown>> = {
      submit: client.submit({ task: 'x' }),
      run: client.run({ task: 'x' }),
      cancel: client.cancel('later', 'why'),
      retry: client.retry('later'),
      decide: client.decide('later', { callId: 'c', approved: true }),
      status: client.status(),
      memory: client.memory(),
      query: client.query('tasks'),
      watch: all(client.watch('later')),
      history: sessions.getVisibleHistory('s'),
      events: all(sessions.getEventRecords('s')),
      runs: sessions.listRunIds('s'),
      search: sessions.search('x'),
    }
    const codes = await Promise.all(
      Object.entries(later).map(async ([name, call]) => `${name}: ${String(await codeOf(call))}`),
    )
    expect(codes).toEqual(Object.keys(later).map((name) => `${name}: unreachable`))
    expect(await never).toBe('unreachable')
  })

  it('a program that embeds Beaver shuts down without an error, and nothing keeps it', async () => {
    const ended = once(program, 'exit')
    program.send('shut down')
    expect(await ended).toEqual([0, null])
  })
})
