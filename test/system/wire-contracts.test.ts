// The answers of a real daemon, held to their contracts in both directions: the schema accepts them and drops
// nothing of them.
import {
  daemonContracts,
  type RequestInput,
  requestContracts,
  type RequestName,
  type RequestOutput,
} from '@beaver/contracts'
import { askOneDaemon, call } from '@beaver/nats'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { refuse, say, use } from '../support/fake-provider.ts'
import { testServer, type TestServer } from '../support/nats.ts'
import { testSystem, type TestSystem } from '../support/system.ts'

const asks = { permissions: { rules: [{ tool: 'echo', pattern: '*', decision: 'ask' }] } }

let server: TestServer
let system: TestSystem
beforeAll(async () => {
  server = await testServer()
  system = await testSystem(server, asks)
  system.provider.answerBy(({ text, results }) => {
    if (text === 'fail') return refuse(401, 'Incorrect API key provided')
    return text === 'ask' && results.length === 0 ? use(['echo', { text: 'hello' }]) : say('done')
  })
  await system.daemon()
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

async function ask<Name extends RequestName>(
  name: Name,
  input: RequestInput<Name>,
): Promise<RequestOutput<Name>> {
  const sent = await call(system.nc, system.subjects.service(name), input, {
    timeoutMs: 10_000,
    whom: 'daemon',
  })
  const read = requestContracts[name].output.parse(sent)
  expect(read).toStrictEqual(sent)
  return read
}

const waits = (taskId: string): Promise<unknown> =>
  system.reached(taskId, 'a call waits', (events) =>
    events.some((event) => event.type === 'approval_requested'),
  )

it('a daemon answers task.submit and task.decide as their contracts say', async () => {
  const { task_id } = await ask('task.submit', { task: 'ask', task_id: 'decided' })
  await waits(task_id)
  expect(await ask('task.decide', { task_id, call_id: 'call_0', approved: true })).toEqual({
    task_id,
    call_id: 'call_0',
    approved: true,
  })
  expect((await system.ended(task_id)).at(-1)?.type).toBe('task_completed')
})

it('a daemon answers task.cancel as its contract says', async () => {
  const { task_id } = await ask('task.submit', { task: 'ask', task_id: 'cancelled' })
  await waits(task_id)
  expect(await ask('task.cancel', { task_id })).toEqual({ task_id, node_id: null })
  expect((await system.ended(task_id)).at(-1)?.type).toBe('task_cancelled')
})

it('a daemon answers task.run and task.retry as their contracts say', async () => {
  const { task_id, status } = await ask('task.run', { task: 'fail', task_id: 'failed' })
  expect(status).toBe('failed')
  expect(await ask('task.retry', { task_id })).toMatchObject({ retry_of: task_id })
})

it('a daemon answers status as its contract says', async () => {
  expect((await ask('status', {})).workflows).toContain('GraphWorkflow')
})

it('a daemon answers loaded and plan as their contracts say', async () => {
  const { entries } = await ask('loaded', { kind: 'tool', name: 'echo' })
  expect(entries).toMatchObject([
    { kind: 'tool', rules: [{ decision: 'ask', tool: 'echo', pattern: '*' }], schema: { type: 'object' } },
  ])
  const all = await ask('loaded', {})
  expect(new Set(all.entries.map(({ kind }) => kind))).toContain('workflow')
  const agents = [{ name: 'a', instruction: 'Say hello.' }]
  expect(
    await ask('plan', { workflow: 'SequentialWorkflow', arguments: { task: 't', agents } }),
  ).toMatchObject({
    ok: true,
    graph: { nodes: [{ node_id: 'a' }] },
  })
  expect(await ask('plan', { workflow: 'SequentialWorkflow', arguments: {} })).toMatchObject({ ok: false })
})

it('a daemon answers actors as its contract says, also on its own subject', async () => {
  const { task_id } = await ask('task.submit', { task: 'ask', task_id: 'held' })
  await waits(task_id)
  const { daemon, tasks } = await ask('actors', {})
  expect(tasks.map((each) => each.task_id)).toContain(task_id)
  const own = await askOneDaemon(
    { nc: system.nc, subjects: system.subjects, timeoutMs: 10_000 },
    daemon,
    'actors',
    {},
  )
  expect(own.daemon).toBe(daemon)
  const short = await ask('actors', { tasks: 'none' })
  expect([short.tasks, short.policies, short.tasks_driven > 0]).toEqual([[], [], true])
  await ask('task.cancel', { task_id })
})

it('a daemon answers memory as its contract says', async () => {
  expect((await ask('memory', {})).user.entries).toEqual([])
})

it('a daemon answers another daemon as the contract says', async () => {
  const { daemon } = await ask('status', {})
  const sent = await call(
    system.nc,
    system.subjects.daemon(daemon),
    { command: 'ping' },
    { timeoutMs: 5_000, whom: 'daemon' },
  )
  expect(daemonContracts.ping.output.parse(sent)).toStrictEqual(sent)
  const log = { tenant: 'local', session_id: 'nobody', task_id: 'nobody' }
  const lease = {
    command: 'lease',
    ...log,
    cause: 'woken',
    deliveries: 1,
    lease: `$JS.ACK.${system.subjects.wakeStream}.daemons.1.1.1.1.0`,
  }
  const handed = await call(system.nc, system.subjects.daemon(daemon), lease, {
    timeoutMs: 5_000,
    whom: 'daemon',
  })
  expect(daemonContracts.lease.output.parse(handed)).toStrictEqual(handed)
})
