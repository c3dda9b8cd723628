// Given a client that waits for a task, a daemon that is away, dies or goes costs time and not the answer; the task is one task.
import { clientOn } from '@beaver/client'
import { held, until } from '@beaver/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type FakeReply, say, use } from './support/fake-provider.ts'
import { testServer, type TestServer } from './support/nats.ts'
import { projectorProcess } from './support/projector.ts'
import { testSystem, type TestSystem } from './support/system.ts'

let server: TestServer
beforeAll(async () => void (server = await testServer()))
afterAll(() => server[Symbol.asyncDispose]())

/** How many tasks were ever accepted. */
async function acceptedIn({ nc, subjects }: TestSystem): Promise<number> {
  const info = await nc.request(`$JS.API.STREAM.INFO.${subjects.stream}`, JSON.stringify({ subjects_filter: subjects.acceptances }))
  const { state } = info.json<{ state: { subjects?: Record<string, number> } }>()
  return Object.values(state.subjects ?? {}).reduce((sum, messages) => sum + messages, 0)
}

const asked = (system: TestSystem): Promise<unknown> => until('the model is asked', () => system.provider.requests.length > 0, { everyMs: 5 })

it('a daemon that is still starting is waited for', async () => {
  await using system = await testSystem(server)
  system.provider.answerBy(() => say('42'))
  const client = clientOn(system.nc, system.subjects, { daemonMs: 60_000 })
  const [submitted, ran] = [client.submit({ task: 'x' }), client.run({ task: 'y' })]
  await system.daemon()
  expect((await system.ended((await submitted).task_id)).at(-1)?.type).toBe('task_completed')
  expect(await ran).toMatchObject({ status: 'completed', final_output: '42' })
  expect(await acceptedIn(system)).toBe(2)
})

it('where none comes that is told, after a while', async () => {
  await using system = await testSystem(server)
  const client = clientOn(system.nc, system.subjects, { daemonMs: 250 })
  const begun = performance.now()
  const asks = [client.submit({ task: 'x' }), client.run({ task: 'x' }), client.cancel('t', 'why'), client.query('tasks')]
  for (const { reason } of (await Promise.allSettled(asks)) as PromiseRejectedResult[])
    expect(reason).toMatchObject({ code: 'no_daemon', message: expect.stringContaining('beaver up') as string })
  expect(performance.now() - begun).toBeGreaterThanOrEqual(100)
  expect(await acceptedIn(system)).toBe(0)
})

it('a projector that is still starting is waited for, by queries and by searches', async () => {
  await using system = await testSystem(server)
  const client = clientOn(system.nc, system.subjects, { daemonMs: 60_000 })
  const asks = [client.query('tasks'), client.sessions.search('x')]
  await using projector = await projectorProcess({ url: server.url, namespace: system.subjects.namespace })
  expect(await Promise.all(asks)).toEqual([{ tasks: [], more: false, next: null }, []])
  expect(projector.pid).toBeGreaterThan(0)
})

it('a daemon killed while its task runs: the answer comes from the next one, of the same task', async () => {
  await using system = await testSystem(server)
  const answer = held<FakeReply>()
  system.provider.answerBy(() => answer.promise)
  const client = clientOn(system.nc, system.subjects, { daemonMs: 60_000, askAgainMs: 300 })
  const first = await system.daemon()
  const ran = client.run({ task: 'x' })
  await asked(system)
  await system.kill(first)
  await system.daemon()
  answer.settle(say('42'))
  const { status, final_output, task_id, session_id } = await ran
  expect([status, final_output]).toEqual(['completed', '42'])
  expect([task_id.slice(0, 5), session_id]).toEqual(['task_', task_id])
  expect(await acceptedIn(system)).toBe(1)
})

it('a daemon that goes away while its task runs: the answer comes from the next one', async () => {
  await using system = await testSystem(server)
  const answer = held<FakeReply>()
  system.provider.answerBy(() => answer.promise)
  const first = await system.daemon()
  const ran = system.client.run({ task: 'x', session_id: 'mine' })
  await asked(system)
  first.kill('SIGTERM')
  await first.exited
  await system.daemon()
  answer.settle(say('42'))
  expect(await ran).toMatchObject({ status: 'completed', final_output: '42', session_id: 'mine' })
  expect(await acceptedIn(system)).toBe(1)
})

it('a task that takes longer than anybody waits for goes on, and its id is told', async () => {
  await using system = await testSystem(server)
  const answer = held<FakeReply>()
  system.provider.answerBy(() => answer.promise)
  await system.daemon()
  const client = clientOn(system.nc, system.subjects, { askAgainMs: 100 })
  const refused = await client.run({ task: 'x' }, { timeoutMs: 600 }).catch((error: Error) => error)
  expect(refused).toMatchObject({ code: 'timeout', message: expect.stringMatching(/^The task task_\w{26} did not end within 0.6 s/) as string })
  answer.settle(say('42'))
  const [task_id = ''] = /task_\w{26}/.exec((refused as Error).message) ?? []
  expect(await client.run({ task: 'x', task_id })).toMatchObject({ task_id, status: 'completed', final_output: '42' })
  expect(await acceptedIn(system)).toBe(1)
})

it('a cancel that the dying daemon still got is asked again, and journaled', async () => {
  await using system = await testSystem(server)
  const answer = held<FakeReply>()
  system.provider.answerBy(() => answer.promise)
  const client = clientOn(system.nc, system.subjects, { daemonMs: 60_000 })
  const first = await system.daemon()
  const { task_id } = await client.submit({ task: 'x' })
  await asked(system)
  first.kill('SIGSTOP')
  const cancelled = client.cancel(task_id, 'no longer needed')
  await system.nc.flush()
  await system.kill(first)
  await system.daemon()
  await cancelled
  const events = await system.ended(task_id)
  expect(events.at(-1)?.type).toBe('task_cancelled')
  expect(events.some((event) => event.type === 'task_cancel_requested' && event.data.reason === 'no longer needed')).toBe(true)
})

it('a cancel that was carried out without an answer counts as carried out, and another one is refused', async () => {
  await using system = await testSystem(server)
  const answer = held<FakeReply>()
  system.provider.answerBy(() => answer.promise)
  await system.daemon()
  const { task_id } = await system.client.submit({ task: 'x' })
  await asked(system)
  // The answer to the first request is lost on the way. All others come.
  const service = (name: Parameters<TestSystem['subjects']['service']>[0]): string => `lossy.${name}`
  let seen = 0
  const lossy = system.nc.subscribe('lossy.task.cancel', {
    callback: (_, message) =>
      void system.nc
        .request(system.subjects.service('task.cancel'), message.data, { timeout: 10_000 })
        .then((answer) => (seen++ === 0 ? null : message.respond(answer.data))),
  })
  const client = clientOn(system.nc, { ...system.subjects, service }, { daemonMs: 60_000 })
  await client.cancel(task_id, 'mine')
  await system.ended(task_id)
  expect(seen).toBeGreaterThan(1)
  await expect(client.cancel(task_id, 'of somebody else')).rejects.toMatchObject({ code: 'conflict' })
  lossy.unsubscribe()
})

it('an approval that got lost is not taken for that of a call of another run with the same id', async () => {
  await using system = await testSystem(server, { permissions: { rules: [{ tool: 'echo', decision: 'ask' }] } })
  system.provider.answerBy(({ results }) => (results.length === 0 ? use(['echo', { text: 'x' }]) : say('42')))
  await system.daemon()
  const agents = ['a', 'b'].map((name) => ({ name, instruction: 'echo' }))
  const { task_id } = await system.client.submit({ workflow: { name: 'SequentialWorkflow', arguments: { task: 'x', agents } } })
  const waits = (calls: number) =>
    system.reached(task_id, `call ${calls} waits`, (events) => events.filter(({ type }) => type === 'approval_requested').length === calls)
  await waits(1)
  await system.client.decide(task_id, { callId: 'call_0', approved: true })
  await waits(2)
  // The first request does not arrive, and meanwhile somebody else denies the call.
  const service = (name: Parameters<TestSystem['subjects']['service']>[0]): string => `lost.${name}`
  let seen = 0
  const lost = system.nc.subscribe('lost.task.decide', {
    callback(_, message) {
      const denied = seen++ === 0 ? system.client.decide(task_id, { callId: 'call_0', approved: false, reason: 'no' }) : null
      if (denied === null)
        void system.nc.request(system.subjects.service('task.decide'), message.data, { timeout: 10_000 }).then((answer) => message.respond(answer.data))
    },
  })
  const client = clientOn(system.nc, { ...system.subjects, service }, { daemonMs: 60_000 })
  await expect(client.decide(task_id, { callId: 'call_0', approved: true })).rejects.toMatchObject({
    code: expect.stringMatching(/conflict|not_found/) as string,
  })
  expect((await system.ended(task_id)).filter(({ type }) => type.startsWith('approval_')).map(({ type }) => type)).toEqual([
    'approval_requested',
    'approval_granted',
    'approval_requested',
    'approval_denied',
  ])
  lost.unsubscribe()
})
