// AgentService: which tasks are its own, and how long it waits for them. Tasks that its client starts are its
// own; tasks of other services are not.
import { type AgentService, AgentTeam, type BeaverError } from '@beaver/service'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fakeProvider, say, use } from '../support/fake-provider.ts'
import { type TestServer, testServer } from '../support/nats.ts'
import { hold, refused, type TestServices, testServices } from '../support/service.ts'

let server: TestServer
let kit: TestServices
/** Another service of the same namespace. */
let running: AgentService
beforeAll(async () => {
  server = await testServer()
  kit = await testServices(server)
  running = kit.service()
  await running.start()
})
afterAll(async () => {
  await kit[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

describe('what a service waits for', () => {
  it('is its own tasks, even if somebody waits for the result of another one meanwhile', async () => {
    const [own, other] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    kit.provider.answerBy(async ({ text }) => {
      await (text.includes('My slow one.') ? own.promise : other.promise)
      return say('done')
    })
    const service = kit.service()
    await service.start()
    const ofRunning = running.submitDirect('The slow one of another service.', { taskId: 'slow-one' })
    const mine = service.submitDirect('My slow one.')
    await until(
      'both are asked',
      () => ['My slow one.', 'of another service'].every((text) => kit.provider.about(text).length > 0),
      { everyMs: 5 },
    )
    const stopping = service.stop({ graceMs: 20_000 })
    const followed = service.result('slow-one')
    own.resolve()
    await stopping
    expect([(await mine).status, service.state]).toEqual(['completed', 'stopped'])
    other.resolve()
    expect([(await followed).status, (await ofRunning).status]).toEqual(['completed', 'completed'])
    await service.shutdown()
  })

  it('is not a task that another service started: it is neither waited for nor cancelled (A2)', async () => {
    const held = hold(kit, 'Of the other service.')
    const service = kit.service()
    await service.start()
    const ofRunning = running.submitDirect('Of the other service.', { taskId: 'of-the-other' })
    await held.asked
    const seen = Promise.withResolvers<void>()
    const followed = service
      .result('of-the-other', { onEvent: () => seen.resolve() })
      .catch((error: BeaverError) => error)
    await seen.promise
    await service.stop({ graceMs: 0, force: true })
    await service.shutdown({ graceMs: 0 })
    expect(await followed).toMatchObject(refused('no_daemon'))
    held.release()
    expect(await ofRunning).toMatchObject({ status: 'completed' })
  })

  it('is a task and a team of its client, whose calls the program is asked about; a service that stopped refuses them', async () => {
    const asked: string[] = []
    const service = kit.service({
      // In a namespace of its own, so that no other service drives its tasks.
      config: {
        namespace: server.newNamespace(),
        permissions: { rules: [{ tool: 'echo', decision: 'ask' }] },
      },
      onApproval: ({ tool_name }) => asked.push(tool_name) > 0,
    })
    await service.start()
    kit.provider.answerBy(({ results }) =>
      results.length === 0 ? use(['echo', { text: 'x' }]) : say('done'),
    )
    const ends: string[] = []
    const team = new AgentTeam(service.client, { members: ['a', 'b'], strategy: 'broadcast' })
    const runs = [
      team.run('Ask.').then(({ success }) => ends.push(`team ${success}`)),
      service.client.run({ task: 'Ask.' }).then(({ status }) => ends.push(`run ${status}`)),
    ]
    const { task_id } = await service.client.submit({ task: 'Ask.' })
    await service.stop({ graceMs: 30_000 })
    expect(asked).toEqual(['echo', 'echo', 'echo', 'echo'])
    const { task } = await until('it is projected', () =>
      service.client.query('task', { task_id }).catch(() => null),
    )
    await Promise.all(runs)
    expect([ends.toSorted(), task.task_id]).toEqual([['run completed', 'team true'], task_id])
    for (const [name, call] of Object.entries({
      submit: () => service.client.submit({ task: 'late' }),
      run: () => service.client.run({ task: 'late' }),
      retry: () => service.client.retry(task_id),
    }))
      await expect(call()).rejects.toMatchObject(
        refused('wrong_state', new RegExp(`client.${name}\\(\\) is refused: this AgentService is stopped`)),
      )
    await expect(team.run('late')).rejects.toMatchObject(refused('wrong_state', /is stopped/))
    await service.shutdown()
  })

  it('is waited for without a bound, if the program says so', async () => {
    const held = hold(kit, 'Ends some time.')
    const service = kit.service({ config: { namespace: server.newNamespace() } })
    await service.start()
    const outcome = service.submitDirect('Ends some time.')
    await held.asked
    const stopped = service.stop({ graceMs: Infinity, force: true })
    expect(await running.submitDirect('Meanwhile.')).toMatchObject({ status: 'completed' })
    held.release()
    await stopped
    expect(await outcome).toMatchObject({ status: 'completed' })
    await service.shutdown()
  })

  it('takes as long as the grace of its shutdown, not longer', async () => {
    const held = hold(kit, 'Never ends.')
    const service = kit.service({
      config: {
        namespace: server.newNamespace(),
        daemon: { worker_threads: 1, lease_ms: 1_000, drain_ms: 60_000 },
      },
    })
    const outcome = service.processDirect('Never ends.').catch((error: BeaverError) => error.code)
    await held.asked
    await service.shutdown({ graceMs: 50 })
    expect([await outcome, service.state]).toEqual(['no_daemon', 'closed'])
    held.release()
  })
})

it('a service that has closed keeps no connection to an endpoint (PR-06)', async () => {
  await using provider = await fakeProvider()
  // In a namespace of its own, because another service would share the task.
  const service = kit.service({
    config: { namespace: server.newNamespace(), model: { base_url: provider.url, name: 'own' } },
  })
  await service.processDirect('Ask it.')
  expect(await provider.connections()).toBeGreaterThan(0)
  await service.shutdown()
  await until('the connections are closed', async () => (await provider.connections()) === 0)
})
