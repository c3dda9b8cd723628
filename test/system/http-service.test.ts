// The HTTP app around an AgentService that runs: which service it starts and shuts down, and in which folder
// the service works.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createApp, type HttpApp, tokenAccess, tokenHash } from '@beaver/http'
import { AgentService, type RecordedEvent } from '@beaver/service'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { say } from '../support/fake-provider.ts'
import { type TestServer, testServer } from '../support/nats.ts'
import { type TestServices, testServices } from '../support/service.ts'

let server: TestServer
let kit: TestServices
beforeAll(async () => {
  server = await testServer()
  kit = await testServices(server)
})
afterAll(async () => {
  vi.unstubAllEnvs()
  await kit[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const common = {
  access: tokenAccess(() => [{ name: 'ann', sha256: tokenHash('ann'), roles: ['admin'] }]),
  hosts: () => ['beaver.test'],
}
const around = (service: AgentService, takeOver = false): HttpApp =>
  createApp({ ...common, host: service, takeOver })

async function send(app: HttpApp, path: string, body?: object): Promise<readonly [number, unknown]> {
  const headers = { authorization: 'Bearer ann', 'content-type': 'application/json' }
  const how = body === undefined ? {} : { method: 'POST', headers, body: JSON.stringify(body) }
  const answer = await app.fetch(new Request(`http://beaver.test${path}`, how))
  return [answer.status, await answer.json()]
}
const ping = (running: boolean) => [200, { status: 'ok', running, mode: 'service' }]

it('a service that the app takes over runs from the start of the app (WEB-02) to its end', async () => {
  const home = join(kit.workspace, 'home-of-app')
  const made = {
    NATS_URL: server.url,
    BEAVER_NAMESPACE: server.newNamespace(),
    BEAVER_HOME: home,
    BEAVER_KEYS: join(home, 'keys'),
    BEAVER_WORKER_THREADS: '1',
  }
  for (const [name, value] of Object.entries({
    ...made,
    OPENAI_BASE_URL: kit.provider.url,
    OPENAI_API_KEY: 'sk-test',
  }))
    vi.stubEnv(name, value)
  kit.provider.answerBy(() => say('hello'))
  const app = around(new AgentService(), true)
  expect(await send(app, '/api/ping')).toEqual(ping(false))
  expect(await send(app, '/api/chat', { message: 'Greet me.' })).toEqual([
    503,
    expect.objectContaining({ code: 'wrong_state' }),
  ])
  await app.start()
  expect(await send(app, '/api/ping')).toEqual(ping(true))
  expect(await send(app, '/api/chat', { message: 'Greet me.' })).toEqual([
    200,
    expect.objectContaining({ output_text: 'hello' }),
  ])
  await app.close()
  expect(await send(app, '/api/ping')).toEqual(ping(false))
})

describe('a service that the app was given', () => {
  it('runs on when the app ends (WEB-09)', async () => {
    const service = kit.service()
    await service.start()
    const app = around(service)
    await app.start()
    kit.provider.answerBy(() => say('hello'))
    await app.close()
    expect(service.state).toBe('running')
    expect(await service.submitDirect('Greet me.')).toMatchObject({ status: 'completed' })
  })

  it('works in its own folder, to which the folder of a request is relative', async () => {
    const service = kit.service()
    const app = around(service, true)
    await app.start()
    kit.provider.answerBy(() => say('hello'))
    // The request of API-01.
    const request = {
      message: 'Describe the tides.',
      strategy: 'leader_worker',
      members: [{ name: 'agent1' }, { name: 'agent2' }, { name: 'agent3' }],
      coordinator: { name: 'coordinator_agent' },
      share_interactions: true,
      workspace_dir: './workspace',
      max_steps: 50,
    }
    const path = join(kit.workspace, 'workspace')
    const detail = `The folder ${path} does not exist. Name a folder that exists.`
    expect(await send(app, '/api/v1/team/run', request)).toEqual([
      422,
      expect.objectContaining({ code: 'workspace_missing', detail }),
    ])
    await mkdir(path)
    const [status, report] = await send(app, '/api/v1/team/run', request)
    expect([status, report]).toEqual([
      200,
      expect.objectContaining({ task_id: expect.any(String) as unknown }),
    ])
    const { task_id } = report as { task_id: string }
    const { value: first } = await service.client.events(task_id).next()
    expect((first as RecordedEvent).data).toMatchObject({ request: { workspace: path } })
    await app.close()
  })

  it('is shut down by an app that took it over: a task may end in time, and one that does not is cancelled (WEB-07)', async () => {
    const service = kit.service()
    const app = around(service, true)
    await app.start()
    const [short, long] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    kit.provider.answerBy(async ({ text }) => {
      await (text.includes('short') ? short.promise : long.promise)
      return say('done')
    })
    const tasks = ['A short task.', 'A long task.'].map((text) => service.submitDirect(text))
    await until('both are asked', () => kit.provider.about('task.').length === 2, { everyMs: 5 })
    const closed = app.close()
    await until('the service stops', () => service.state === 'stopping', { everyMs: 5 })
    short.resolve()
    expect(await tasks[0]).toMatchObject({ status: 'completed' })
    expect(service.state).toBe('stopping')
    expect(await tasks[1]).toMatchObject({
      status: 'cancelled',
      failure: { message: 'The program stopped.' },
    })
    await closed
    expect(service.state).toBe('closed')
    long.resolve()
  })

  it('tells a reader which tasks changed, and ends when the service does', async () => {
    const service = kit.service()
    const app = around(service)
    const headers = { authorization: 'Bearer ann', accept: 'text/event-stream' }
    const follow = (): Promise<Response> =>
      app.fetch(new Request('http://beaver.test/api/v1/changes', { headers }))
    expect((await follow()).status).toBe(503)
    await service.start()
    kit.provider.answerBy(() => say('hello'))
    const answer = await follow()
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
    let text = (await reader?.read())?.value ?? ''
    expect(text).toMatch(/^id: \d+\nevent: hello\n/)
    const { task_id } = await service.submitDirect('Greet me.')
    while (!text.includes(`"task_id":"${task_id}"`) || !text.includes('"status":"completed"'))
      text += (await reader?.read())?.value ?? ''
    await service.shutdown({ graceMs: 1_000, force: true })
    for (let piece = await reader?.read(); piece?.done === false; piece = await reader?.read())
      text += piece.value
    expect(text).not.toContain('event: error')
    expect((await follow()).status).toBe(503)
  })
})
