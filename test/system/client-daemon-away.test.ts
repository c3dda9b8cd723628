// Given a client that waits for a task, a daemon that is away or goes costs time and not the answer; the task
// is one task. A daemon that is killed under a waiting client is in daemon-crash.test.ts.
import { clientOn, type TaskOutcome } from '@beaver/client'
import { held, until } from '@beaver/testing'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { placeIn, runBeaver } from '../support/cli.ts'
import type { DaemonProcess } from '../support/daemon.ts'
import { type FakeReply, say, use } from '../support/fake-provider.ts'
import { testServer, type TestServer } from '../support/nats.ts'
import { projectorProcess } from '../support/projector.ts'
import { testSystem, type TestSystem } from '../support/system.ts'

let server: TestServer
/** It has no projector. */
let system: TestSystem
let daemon: DaemonProcess
/** What was asked for before there was a daemon. */
let early: readonly [submitted: string, ran: TaskOutcome]
beforeAll(async () => {
  server = await testServer()
  system = await testSystem(server, { permissions: { rules: [{ tool: 'echo', decision: 'ask' }] } })
  system.provider.answerBy(() => say('42'))
  const client = clientOn(system.nc, system.subjects, { daemonMs: 60_000 })
  const [submitted, ran] = [client.submit({ task: 'x' }), client.run({ task: 'y' })]
  daemon = await system.daemon()
  early = [(await submitted).task_id, await ran]
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})
beforeEach(() => {
  system.provider.forget()
  system.provider.answerBy(() => say('42'))
})

/** How many tasks were ever accepted. */
async function acceptedIn({ nc, subjects }: TestSystem): Promise<number> {
  const info = await nc.request(
    `$JS.API.STREAM.INFO.${subjects.stream}`,
    JSON.stringify({ subjects_filter: subjects.acceptances }),
  )
  const { state } = info.json<{ state: { subjects?: Record<string, number> } }>()
  return Object.values(state.subjects ?? {}).reduce((sum, messages) => sum + messages, 0)
}

const asked = (times = 1): Promise<unknown> =>
  until('the model is asked', () => system.provider.requests.length === times, { everyMs: 5 })

it('a daemon that is still starting is waited for', async () => {
  expect((await system.ended(early[0])).at(-1)?.type).toBe('task_completed')
  expect(early[1]).toMatchObject({ status: 'completed', final_output: '42' })
})

it('where none comes that is told, after a while', async () => {
  await using empty = await testSystem(server)
  const client = clientOn(empty.nc, empty.subjects, { daemonMs: 250 })
  const begun = performance.now()
  const asks = [
    client.submit({ task: 'x' }),
    client.run({ task: 'x' }),
    client.cancel('t', 'why'),
    client.query('tasks'),
  ]
  for (const { reason } of (await Promise.allSettled(asks)) as PromiseRejectedResult[])
    expect(reason).toMatchObject({
      code: 'no_daemon',
      message: expect.stringContaining('beaver up') as string,
    })
  expect(performance.now() - begun).toBeGreaterThanOrEqual(100)
  expect(await acceptedIn(empty)).toBe(0)
})

it('a projector that is still starting is waited for, by queries and by searches', async () => {
  await using empty = await testSystem(server)
  const client = clientOn(empty.nc, empty.subjects, { daemonMs: 60_000 })
  const asks = [client.query('tasks'), client.sessions.search('x')]
  await using projector = await projectorProcess({ url: server.url, namespace: empty.subjects.namespace })
  expect(await Promise.all(asks)).toEqual([{ tasks: [], more: false, next: null }, []])
  expect(projector.pid).toBeGreaterThan(0)
})

it('where no projector runs, a call that would wait is refused at once with --no-input, and --deltas tells what the model says', async () => {
  system.provider.answerBy(({ results }) =>
    results.length === 0 ? use(['echo', { text: 'x' }]) : say('They said no.'),
  )
  const { exit, out } = await runBeaver(
    ['run', 'say it', '--no-input', '--json', '--deltas'],
    placeIn(server, system),
  )
  expect(exit).toBe(0)
  const lines = out
    .trim()
    .split('\n')
    .map(
      (line) => JSON.parse(line) as { event?: { type: string }; delta?: { text: string }; status?: string },
    )
  const types = lines.flatMap(({ event }) => (event === undefined ? [] : [event.type]))
  expect(types.filter((type) => type.startsWith('approval_'))).toEqual([
    'approval_requested',
    'approval_denied',
  ])
  expect(lines.map(({ delta }) => delta?.text ?? '').join('')).toContain('They said')
  expect(lines.at(-1)).toMatchObject({ status: 'completed' })
})

it('a task that takes longer than anybody waits for goes on, and its id is told', async () => {
  const before = await acceptedIn(system)
  const answer = held<FakeReply>()
  system.provider.answerBy(() => answer.promise)
  const client = clientOn(system.nc, system.subjects, { askAgainMs: 100 })
  const refused = await client.run({ task: 'x' }, { timeoutMs: 600 }).catch((error: Error) => error)
  expect(refused).toMatchObject({
    code: 'timeout',
    message: expect.stringMatching(/^The task task_\w{26} did not end within 0.6 s/) as string,
  })
  answer.settle(say('42'))
  const [task_id = ''] = /task_\w{26}/.exec((refused as Error).message) ?? []
  expect(await client.run({ task: 'x', task_id })).toMatchObject({
    task_id,
    status: 'completed',
    final_output: '42',
  })
  expect(await acceptedIn(system)).toBe(before + 1)
})

it('a cancel that was carried out without an answer counts as carried out, and another one is refused', async () => {
  system.provider.answerBy(() => held<FakeReply>().promise)
  const { task_id } = await system.client.submit({ task: 'x' })
  await asked()
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
  system.provider.answerBy(({ results }) => (results.length === 0 ? use(['echo', { text: 'x' }]) : say('42')))
  const agents = ['a', 'b'].map((name) => ({ name, instruction: 'echo' }))
  const { task_id } = await system.client.submit({
    workflow: { name: 'SequentialWorkflow', arguments: { task: 'x', agents } },
  })
  const waits = (calls: number) =>
    system.reached(
      task_id,
      `call ${calls} waits`,
      (events) => events.filter(({ type }) => type === 'approval_requested').length === calls,
    )
  await waits(1)
  await system.client.decide(task_id, { callId: 'call_0', approved: true })
  await waits(2)
  // The first request does not arrive, and meanwhile somebody else denies the call.
  const service = (name: Parameters<TestSystem['subjects']['service']>[0]): string => `lost.${name}`
  let seen = 0
  const lost = system.nc.subscribe('lost.task.decide', {
    callback(_, message) {
      const denied =
        seen++ === 0
          ? system.client.decide(task_id, { callId: 'call_0', approved: false, reason: 'no' })
          : null
      if (denied === null)
        void system.nc
          .request(system.subjects.service('task.decide'), message.data, { timeout: 10_000 })
          .then((answer) => message.respond(answer.data))
    },
  })
  const client = clientOn(system.nc, { ...system.subjects, service }, { daemonMs: 60_000 })
  await expect(client.decide(task_id, { callId: 'call_0', approved: true })).rejects.toMatchObject({
    code: expect.stringMatching(/conflict|not_found/) as string,
  })
  expect(
    (await system.ended(task_id)).filter(({ type }) => type.startsWith('approval_')).map(({ type }) => type),
  ).toEqual(['approval_requested', 'approval_granted', 'approval_requested', 'approval_denied'])
  lost.unsubscribe()
})

// The last one: it ends the daemon.
it('a daemon that goes away while tasks run: a client has the answer from the next one; a plain request is told, and its task goes on', async () => {
  const before = await acceptedIn(system)
  const answer = held<FakeReply>()
  system.provider.answerBy(() => answer.promise)
  const ran = system.client.run({ task: 'x', session_id: 'mine' })
  const plain = system.nc.request(
    system.subjects.service('task.run'),
    JSON.stringify({ task: 'x', task_id: 'goes on' }),
    { timeout: 60_000 },
  )
  await asked(2)
  daemon.kill('SIGTERM')
  await daemon.exited
  const { error } = (await plain).json<{ error?: { code: string; message: string } }>()
  expect([error?.code, error?.message]).toEqual(['no_daemon', expect.stringContaining('goes on')])
  await system.daemon()
  answer.settle(say('42'))
  expect(await ran).toMatchObject({ status: 'completed', final_output: '42', session_id: 'mine' })
  expect((await system.ended('goes on')).at(-1)?.type).toBe('task_completed')
  expect(await acceptedIn(system)).toBe(before + 2)
})
