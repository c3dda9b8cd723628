// What a stranger publishes neither stops a daemon nor sticks, nor blocks what comes after it
// (docs/ARCHITECTURE.md).
import { clientOn } from '@beaver/client'
import { askProjector, connectNats, encodeToken, presentDaemons, subjectsOf } from '@beaver/nats'
import { held, readPrometheusText, until } from '@beaver/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type FakeReply, say, use } from '../support/fake-provider.ts'
import { garbage, manyFaults, strangeLog } from '../support/garbage.ts'
import { testServer, type TestServer } from '../support/nats.ts'
import { projectorProcess, type ProjectorProcess } from '../support/projector.ts'
import { only, testSystem, type TestSystem, told } from '../support/system.ts'
import type { DaemonProcess } from '../support/daemon.ts'

let server: TestServer
let system: TestSystem
let daemon: DaemonProcess
beforeAll(async () => {
  server = await testServer()
  system = await testSystem(server)
  daemon = await system.daemon({ BEAVER_TASKS_MAX: '16', BEAVER_STATUS_LISTEN: 'on' })
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})
beforeEach(() => {
  system.provider.forget()
  system.provider.answerBy(() => say('42'))
})

/** Lines that say that something broke. */
const broken =
  /"event":"(callback_failed|task_crashed|queue_unreadable|projector_stalled|worker_lost|peer_unasked)"|UnhandledPromise|at async|uncaught/
const expectWell = ({ stderr }: { readonly stderr: string }): void =>
  expect(stderr.split('\n').filter((line) => broken.test(line))).toEqual([])
/** For a daemon that is so busy that it may miss a heartbeat of its queue, which it then reads again. */
const expectNoCrash = ({ stderr }: { readonly stderr: string }): void =>
  expect(stderr).not.toMatch(/callback_failed|task_crashed|UnhandledPromise|uncaught/)
/** The patience of a client. It is no claim: a busy machine stretches every time. */
const patient = { timeoutMs: 60_000 }

/** How much the daemon says it refused. A busy one is asked again. */
async function refused(): Promise<number> {
  const present = await until(
    'the daemon says that it is there',
    async () => (await presentDaemons(system.nc, system.subjects, { waitMs: 300 }))[0],
  )
  return present.refused ?? 0
}

/** Publishes on a stream, and waits until the stream has the message. */
const store = async (subject: string, payload: Uint8Array | string): Promise<number> =>
  (await system.nc.request(subject, payload)).json<{ seq: number }>().seq

describe('garbage on every subject that Beaver listens on', () => {
  let projector: ProjectorProcess
  beforeAll(
    async () =>
      void (projector = await projectorProcess({
        url: server.url,
        namespace: system.subjects.namespace,
        env: { BEAVER_STATUS_LISTEN: 'on' },
      })),
  )
  afterAll(() => projector[Symbol.asyncDispose]())

  const subjectsUnderTest: [string, (system: TestSystem, daemonId: string) => string][] = [
    ['accepted', ({ subjects }) => subjects.accepted(strangeLog())],
    ['events of no task', ({ subjects }) => subjects.events(strangeLog())],
    ['a claimed id', ({ subjects }) => subjects.taskId('local', strangeLog().task)],
    ['a stray subject of the journal', ({ subjects }) => `${subjects.logs.slice(0, -1)}stray`],
    ['another spelling of a log', ({ subjects }) => `${subjects.logs.slice(0, -1)}=61.=61.accepted`],
    ['a log with another last token', ({ subjects }) => `${subjects.logs.slice(0, -1)}a.a.foo`],
    ['wake', ({ subjects }) => subjects.wake(strangeLog())],
    ['wake of no task', ({ subjects }) => `${subjects.wakes.slice(0, -1)}x`],
    ['alarm', ({ subjects }) => subjects.alarm(strangeLog())],
    ['ended', ({ subjects }) => subjects.ended(strangeLog())],
    ['ended of no task', ({ subjects }) => `${subjects.anyEnded.slice(0, -1)}x`],
    ['presence', ({ subjects }) => subjects.presence],
    ['the question of presence', ({ subjects }) => subjects.presenceQuestion],
    ['live', ({ subjects }) => subjects.live(strangeLog())],
    ['daemon', ({ subjects }, daemonId) => subjects.daemon(daemonId)],
    ...(
      ['task.submit', 'task.run', 'task.cancel', 'task.steer', 'task.decide', 'task.retry', 'status'] as const
    ).map((name): [string, (of: TestSystem) => string] => [
      `service ${name}`,
      ({ subjects }) => subjects.service(name),
    ]),
    ...(['tasks', 'task', 'audit', 'status', 'quarantine', 'open_tasks'] as const).map(
      (name): [string, (of: TestSystem) => string] => [
        `query ${name}`,
        ({ subjects }) => subjects.query(name),
      ],
    ),
  ]

  it.each(subjectsUnderTest)('%s: the next task runs', async (_, subjectOf) => {
    for (const each of garbage) {
      const options = each.headers === undefined ? {} : { headers: each.headers }
      system.nc.publish(subjectOf(system, daemon.id), each.payload, options)
      system.nc.publish(subjectOf(system, daemon.id), each.payload, {
        ...options,
        reply: '_INBOX.nobody.here',
      })
    }
    await system.nc.flush()
    expect(await system.client.run({ task: 'go on' }, patient)).toMatchObject({ status: 'completed' })
    expectWell(daemon)
    expectWell(projector)
  })

  it('is counted, listed by the projector and told by the daemon', async () => {
    const { nc, subjects } = system
    const status = await until('the projector has seen all', async () => {
      const now = await askProjector({ nc, subjects, timeoutMs: 5_000 }, 'status', {})
      return now.behind === 0 && now
    })
    expect(status.quarantined).toBeGreaterThan(4 * garbage.length)
    const { total, messages, more } = await askProjector({ nc, subjects, timeoutMs: 5_000 }, 'quarantine', {
      limit: 200,
    })
    expect([total, more]).toEqual([status.quarantined, false])
    expect(messages.find(({ bytes }) => bytes > 1_000_000)).toMatchObject({
      reason: expect.stringContaining('not a batch of CloudEvents records') as string,
    })
    expect(Math.max(...messages.map(({ excerpt }) => excerpt.length))).toBeLessThanOrEqual(2_048)
    expect(messages.some(({ subject }) => subject?.endsWith('local.stray'))).toBe(true)
    expect(await refused()).toBeGreaterThan(10)
    expect(status.tasks - Object.values(status.by_status).reduce((sum, n) => sum + n, 0)).toBe(0)
    // Only the records of another task, each in a log of its own, are shown as tasks: they are records.
    expect(status.by_status['completed']).toBe(subjectsUnderTest.length)
  })

  it('leaves the metrics readable, with no name of a stranger in them', async () => {
    for (const { stderr } of [daemon, projector]) {
      const [, url = ''] = /Metrics are at (\S+)\./.exec(stderr) ?? []
      const text = await (await fetch(url)).text()
      expect(readPrometheusText(text).size).toBeGreaterThan(10)
      expect(text).not.toMatch(/stranger|garbage/)
    }
  })
})

describe('a daemon that a stranger talks to', () => {
  it.each([
    ['the journal', (of: TestSystem) => of.subjects.events(strangeLog())],
    ['the JetStream API', (of: TestSystem) => `$JS.API.STREAM.INFO.${of.subjects.stream}`],
    ['a service of Beaver', (of: TestSystem) => of.subjects.service('task.cancel')],
  ])('answers to an inbox only, and not to %s', async (_, replyOf) => {
    const before = await refused()
    const seen: string[] = []
    const reply = replyOf(system)
    const listening = system.nc.subscribe(reply, {
      callback: (_error, message) => void seen.push(message.string()),
    })
    for (const subject of [
      system.subjects.service('status'),
      system.subjects.service('task.submit'),
      system.subjects.daemon(daemon.id),
      system.subjects.presenceQuestion,
    ])
      system.nc.publish(subject, JSON.stringify({ task: 'a task of a stranger', command: 'ping' }), { reply })
    await system.nc.flush()
    expect(await system.client.run({ task: 'go on' }, patient)).toMatchObject({ status: 'completed' })
    expect(seen.filter((text) => text !== '')).toEqual([]) // An empty message is a question of a process that looks at the stream.
    listening.unsubscribe()
    expect((await refused()) - before).toBe(4)
    expect(system.provider.requests).toHaveLength(1)
  })

  it('hands on a lease of this queue, and no other subject', async () => {
    const { namespace } = system.subjects
    for (const lease of [
      '$JS.ACK.OTHER.daemons.1.1.1.1.1',
      `$JS.ACK.BEAVER_${namespace}.others.1.1.1.1.1`,
      `$JS.API.STREAM.DELETE.BEAVER_${namespace}`,
      '$JS.ACK.>',
    ]) {
      const asked = {
        command: 'lease',
        tenant: 'local',
        session_id: 's',
        task_id: 't',
        deliveries: 1,
        lease,
        cause: 'accepted',
      }
      const answer = (
        await system.nc.request(system.subjects.daemon(daemon.id), JSON.stringify(asked))
      ).json<{ ok: boolean; error: { code: string } }>()
      expect([lease, answer.ok, answer.error.code]).toEqual([lease, false, 'invalid_arguments'])
    }
  })

  it('does not stop for 300 acceptances of 27 kB that are no records', async () => {
    const [before, said] = [await refused(), daemon.stderr.length]
    for (let i = 0; i < 300; i++) system.nc.publish(system.subjects.accepted(strangeLog()), manyFaults)
    await system.nc.flush()
    for (let i = 0; i < 5; i++)
      expect(await system.client.run({ task: `task ${i}` }, patient)).toMatchObject({ status: 'completed' })
    await until('each is set aside', async () => (await refused()) - before === 300)
    expectNoCrash(daemon)
    expect(daemon.stderr.length - said).toBeLessThan(50_000)
    const consumer = await system.nc.request(`$JS.API.CONSUMER.INFO.${system.subjects.stream}.daemons`)
    expect(consumer.json<{ num_ack_pending: number }>().num_ack_pending).toBe(0)
  })

  it('refuses most of a flood of requests of one client, and serves another client', async () => {
    const before = await refused()
    let answers = 0
    const inbox = system.nc.subscribe('_INBOX.flood', { callback: () => void answers++ })
    const sent = 60_000
    for (const subject of [system.subjects.service('status'), system.subjects.presenceQuestion]) {
      for (let i = 0; i < sent; i++) system.nc.publish(subject, '{}', { reply: '_INBOX.flood' })
      await system.nc.flush()
    }
    const nc = await connectNats({ url: server.url, name: 'another' })
    const another = clientOn(nc, subjectsOf(system.subjects.namespace, { caller: 'ben' }))
    expect(await another.run({ task: 'go on' }, patient)).toMatchObject({ status: 'completed' })
    await another.close()
    let refusals = 0
    await until('it says how much it refused', async () => (refusals = (await refused()) - before) > sent)
    expect(answers).toBeLessThan(refusals)
    inbox.unsubscribe()
    expectNoCrash(daemon)
  })

  describe('where a message that is no record', () => {
    const logOf = (session: string, task: string) => ({ tenant: 'local', session, task }) as never
    const thinking = (): Promise<unknown> =>
      until('the provider is asked', () => system.provider.about('think').length === 1, { everyMs: 5 })

    it('is in the log of a running task, ends the task with the reason, and goes on with the others', async () => {
      const gate = held<FakeReply>()
      system.provider.answerBy(({ text }) => (text.includes('think') ? gate.promise : say('42')))
      const { task_id, session_id } = await system.client.submit({ task: 'think' })
      const after = await system.client.submit({ task: 'next in the session', session_id })
      await thinking()
      await store(system.subjects.events(logOf(session_id, task_id)), 'garbage')
      gate.settle(say('42'))
      const events = await system.ended(task_id)
      expect(told(events).slice(-2)).toEqual(['task_dead_lettered', 'task_failed'])
      expect(only(events, 'task_failed')[0]?.data.failure?.message).toMatch(/a message that is no record/)
      expect(told(await system.ended(after.task_id)).at(-1)).toBe('task_completed')
      expect(await system.client.run({ task: 'another' }, patient)).toMatchObject({ status: 'completed' })
      expectNoCrash(daemon)
    })

    it('is in the log of a task that calls tools, ends it at the question before the next call', async () => {
      const gate = held<FakeReply>()
      system.provider.answerBy(({ results }) => (results.length === 0 ? gate.promise : say('done')))
      const { task_id } = await system.client.submit({ task: 'think' })
      await thinking()
      await store(system.subjects.events(logOf(task_id, task_id)), Buffer.alloc(900_000, 'x'))
      gate.settle(use(['echo', { text: 'a' }]))
      expect(told(await system.ended(task_id)).at(-1)).toBe('task_failed')
      expect(system.provider.requests).toHaveLength(1)
    })

    it('is behind the end of a task, changes nothing', async () => {
      const before = daemon.stderr.length
      const done = await system.client.run({ task: 'think' }, patient)
      const log = logOf(done.session_id, done.task_id)
      await store(system.subjects.events(log), 'garbage')
      await store(system.subjects.accepted(log), 'garbage')
      await store(system.subjects.wake(log), 'garbage')
      expect(await system.client.run({ task: 'think', task_id: done.task_id }, patient)).toMatchObject({
        status: 'completed',
        final_output: '42',
      })
      expect(await system.client.run({ task: 'next', session_id: done.session_id }, patient)).toMatchObject({
        status: 'completed',
      })
      expectWell({ stderr: daemon.stderr.slice(before) })
    })

    it('is the newest of a session, or has the id of a task, hides and delays no task', async () => {
      const before = daemon.stderr.length
      const session_id = 'web:会话'
      const first = await system.client.run({ task: 'one', session_id }, patient)
      await store(system.subjects.accepted(logOf(session_id, 'stranger')), 'garbage')
      await store(system.subjects.events(logOf(first.task_id, first.task_id)), 'garbage')
      const second = await system.client.run({ task: 'two', session_id }, patient)
      expect(second.status).toBe('completed')
      const [submitted] = only(await system.events(second.task_id), 'task_submitted')
      expect(submitted?.data.previous_task_id).toBe(first.task_id)
      await expect(system.client.cancel(first.task_id, 'because')).rejects.toMatchObject({ code: 'conflict' })
      const taken = `taken${encodeToken('.')}`
      await store(system.subjects.taskId('local', taken), 'garbage')
      await expect(system.client.submit({ task: 'x', task_id: taken })).rejects.toMatchObject({
        code: 'conflict',
      })
      expectWell({ stderr: daemon.stderr.slice(before) })
    })

    // The last one: it ends the daemon.
    it('is in the log of a task whose daemon is gone, ends the task at its next claim', async () => {
      system.provider.answerBy(() => held<FakeReply>().promise)
      const { task_id } = await system.client.submit({ task: 'think' })
      await thinking()
      await system.kill(daemon)
      for (let i = 0; i < 3; i++) await store(system.subjects.events(logOf(task_id, task_id)), `garbage ${i}`)
      await system.daemon()
      const events = await system.ended(task_id)
      expect(only(events, 'task_failed')[0]?.data.failure?.message).toMatch(/3 messages that are no records/)
    })
  })
})

it('an answer of a rogue responder that is no JSON is an error with a code', async () => {
  await using system = await testSystem(server)
  system.nc.subscribe(system.subjects.service('status'), {
    callback: (_, message) => void message.respond('garbage'),
  })
  await system.nc.flush()
  await expect(system.client.run({ task: 'x' }, { timeoutMs: 500 })).rejects.toMatchObject({
    name: 'BeaverError',
  })
})
