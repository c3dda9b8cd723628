// Two daemons on one journal: they share the work, either takes a request about a task of the other, and each
// reads its files for itself.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { SessionId } from '@beaver/core'
import { journalReader } from '@beaver/nats'
import { held, until } from '@beaver/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { DaemonProcess } from '../support/daemon.ts'
import { type FakeReply, say, use } from '../support/fake-provider.ts'
import { testServer, type TestServer } from '../support/nats.ts'
import { only, testSystem, type TestSystem, told } from '../support/system.ts'

let server: TestServer
let system: TestSystem
let daemons: readonly [DaemonProcess, DaemonProcess]
beforeAll(async () => {
  server = await testServer()
  system = await testSystem(server, {
    skills: ['skills'],
    permissions: { rules: [{ tool: 'echo', decision: 'ask' }] },
  })
  await skill('Say: old.')
  // The lease outlives what the tests do about the tasks of a dead daemon.
  const env = { BEAVER_TASKS_MAX: '4', BEAVER_LEASE_MS: '3000' }
  daemons = await Promise.all([system.daemon(env), system.daemon(env)])
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})
beforeEach(() => {
  system.provider.forget()
  system.provider.answerBy(() => say('done'))
})

async function skill(body: string): Promise<void> {
  await mkdir(join(system.workspace, 'skills', 'shared'), { recursive: true })
  await writeFile(
    join(system.workspace, 'skills', 'shared', 'SKILL.md'),
    `---\nname: shared\ndescription: Guides.\n---\n${body}\n`,
  )
}
const never = (): Promise<FakeReply> => held<FakeReply>().promise
const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'done',
    (error: { code: string }) => error.code,
  )
const ownerOf = async (taskId: string): Promise<string | undefined> =>
  only(await system.events(taskId), 'task_claimed').at(-1)?.data.daemon

/** Submits eight tasks that think until the test lets them, which is as many as both daemons hold. */
async function fill(text: string): Promise<readonly string[]> {
  const tasks = await Promise.all(
    Array.from({ length: 8 }, (_, i) => system.client.submit({ task: `${text} ${i}` })),
  )
  await until('both are full', () => system.provider.about(text).length === 8, { everyMs: 10 })
  return tasks.map(({ task_id }) => task_id)
}

describe('two daemons', () => {
  it('accept every request of a burst into one session, and drive them one after the other', async () => {
    const asked = await Promise.all(
      Array.from({ length: 60 }, (_, i) => system.client.submit({ task: `burst ${i}`, session_id: 'burst' })),
    )
    const line: string[] = []
    for await (const task of (await journalReader(system.nc, system.subjects)).tasks(
      'local',
      'burst' as SessionId,
    ))
      line.push(task)
    expect(line.toSorted()).toEqual(asked.map(({ task_id }) => task_id).toSorted())
    await system.ended(line.at(-1) ?? '')
    const [submitted, ...more] = await Promise.all(
      line.map(async (task) => only(await system.events(task), 'task_submitted')[0]?.data),
    )
    expect([submitted, ...more].map((data) => data?.previous_task_id)).toEqual([null, ...line.slice(0, -1)])
    expect(system.provider.requests).toHaveLength(60)
  })

  it('share the tasks there are; each is claimed once and ends once', async () => {
    const gate = held<FakeReply>()
    system.provider.answerBy(() => gate.promise)
    const first = await fill('share')
    const more = await Promise.all(['one more', 'another'].map((task) => system.client.submit({ task })))
    gate.settle(say('42'))
    const logs = await Promise.all(
      [...first, ...more.map(({ task_id }) => task_id)].map((id) => system.ended(id)),
    )
    const owners = logs.map((events) => {
      expect(
        told(events).filter((type) => /^task_(completed|incomplete|failed|cancelled)$/.test(type)),
      ).toEqual(['task_completed'])
      return only(events, 'task_claimed').map((claim) => claim.data.daemon)
    })
    expect(owners.every((claims) => claims.length === 1)).toBe(true)
    expect(new Set(owners.flat())).toEqual(new Set(daemons.map(({ id }) => id)))
    expect(system.provider.requests).toHaveLength(10)
  })

  it('answer a run wherever its task is driven, also after tasks of its session had to wait', async () => {
    system.provider.answerBy(({ text }) => say(`saw ${text}`))
    const session = await Promise.all(
      Array.from({ length: 4 }, (_, i) => system.client.run({ task: `chain ${i}`, session_id: 'chain' })),
    )
    expect(session.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed', 'completed'])
    const ran = await Promise.all(
      Array.from({ length: 20 }, (_, i) => system.client.run({ task: `anywhere ${i}` })),
    )
    expect(ran.map(({ final_output }) => final_output)).toEqual(ran.map((_, i) => `saw anywhere ${i}`))
  })

  it('answer a plain `task.run` about a task that the other one drives, when it ends', async () => {
    const gate = held<FakeReply>()
    system.provider.answerBy(() => gate.promise)
    const { task_id } = await system.client.submit({ task: 'elsewhere' })
    // The client of Beaver would hear of the end by itself, and ask again. Of twenty of these requests each
    // daemon gets some.
    const ask = { task: 'elsewhere', task_id }
    const asked = Array.from({ length: 20 }, () =>
      system.nc.request(system.subjects.service('task.run'), JSON.stringify(ask), { timeout: 60_000 }),
    )
    // What came before on their connections has been read by then.
    await Promise.all(Array.from({ length: 20 }, () => system.client.status()))
    gate.settle(say('42'))
    const answers = (await Promise.all(asked)).map((message) =>
      message.json<{ ok: boolean; result?: { status: string; final_output: string } }>(),
    )
    expect(answers.map(({ ok, result }) => [ok, result?.status, result?.final_output])).toEqual(
      answers.map(() => [true, 'completed', '42']),
    )
  })

  it('hand a cancel and a text that steers on to the daemon that has the task', async () => {
    system.provider.answerBy(never)
    const tasks = await fill('reach')
    const steered = tasks[0] ?? ''
    await Promise.all(Array.from({ length: 6 }, (_, i) => system.client.steer(steered, `text ${i};`)))
    await Promise.all(tasks.map((task) => system.client.cancel(task, 'enough')))
    for (const task of tasks)
      expect((await system.ended(task)).at(-1)).toMatchObject({ type: 'task_cancelled', epoch: 1 })
    expect(only(await system.events(steered), 'task_steer_requested')).toHaveLength(6)
  })

  it('take a cancel at any moment between the submit and the claim, and the task ends as cancelled', async () => {
    system.provider.answerBy(never)
    const tasks = await Promise.all(
      Array.from({ length: 40 }, async (_, i) => {
        const task_id = `race ${i}`
        const submitted = system.client.submit({ task: 'think', task_id })
        const code = await until('the task is known', async () => {
          const came = await codeOf(system.client.cancel(task_id, 'enough'))
          return came !== 'not_found' && came
        })
        await submitted
        return { task_id, code }
      }),
    )
    expect(tasks.map(({ code }) => code)).toEqual(tasks.map(() => 'done'))
    for (const { task_id } of tasks) expect((await system.ended(task_id)).at(-1)?.type).toBe('task_cancelled')
  })

  it('take a decision about a call, whoever had its task', async () => {
    system.provider.answerBy(({ results }) =>
      results.length === 0 ? use(['echo', { text: 'a' }]) : say('done'),
    )
    const { task_id } = await system.client.submit({ task: 'say it' })
    await system.reached(task_id, 'a call waits', (events) => told(events).includes('approval_requested'))
    // Every request goes to one of the two; ten of them reach both.
    for (let i = 0; i < 10; i++)
      expect(await codeOf(system.client.decide(task_id, { callId: `none ${i}`, approved: true }))).toBe(
        'not_found',
      )
    await system.client.decide(task_id, { callId: 'call_0', approved: true })
    expect(only(await system.ended(task_id), 'approval_granted')).toHaveLength(1)
  })

  it('read a skill again that changed, each for itself', async () => {
    await skill('Say: new.')
    await until('each has read it again', () =>
      daemons.every((daemon) => daemon.stderr.includes('files_read_again')),
    )
    await Promise.all(
      Array.from({ length: 12 }, (_, i) => system.client.run({ task: `Shared ${i}`, skill: 'shared' })),
    )
    expect(
      system.provider.requests.map(({ messages }) => JSON.stringify(messages).includes('Say: new.')),
    ).toEqual(Array.from({ length: 12 }, () => true))
  })
})

it('the tasks of a session, submitted at once, run one at a time in the order of acceptance; another session does not wait (D-47)', async () => {
  const gates = new Map(['1', '2', '3'].map((name) => [`part ${name}`, held<FakeReply>()]))
  system.provider.answerBy(({ text }) => gates.get(text)?.promise ?? say('side by side'))
  const tasks = await Promise.all(
    [...gates.keys()].map((task) => system.client.submit({ task, session_id: 's' })),
  )
  const chain = await Promise.all(
    tasks.map(async ({ task_id }) => {
      const [submitted] = only(await system.events(task_id), 'task_submitted')
      return { task_id, previous: submitted?.data.previous_task_id, text: submitted?.data.request.text ?? '' }
    }),
  )
  const order: typeof chain = []
  for (
    let next = chain.find(({ previous }) => previous === null);
    next !== undefined;
    next = chain.find(({ previous }) => previous === order.at(-1)?.task_id)
  )
    order.push(next)
  expect(order).toHaveLength(3)

  for (const [i, { task_id, text }] of order.entries()) {
    await until(`${text} is under way`, () => system.provider.about(text).length === 1, { everyMs: 5 })
    expect(system.provider.about('part').map((request) => request.text)).toEqual(
      order.slice(0, i + 1).map((each) => each.text),
    )
    // Another session runs, start to end, while this one waits.
    expect(await system.client.run({ task: `beside ${i}`, session_id: `other ${i}` })).toMatchObject({
      status: 'completed',
    })
    gates.get(text)?.settle(say(`said ${text}`))
    await system.ended(task_id)
  }
  const logs = await Promise.all(order.map(({ task_id }) => system.events(task_id)))
  const [begun, ended] = [
    logs.map((events) => only(events, 'run_started')[0]?.time ?? ''),
    logs.map((events) => events.at(-1)?.time ?? ''),
  ]
  for (let i = 1; i < order.length; i++) expect((begun[i] ?? '') >= (ended[i - 1] ?? '')).toBe(true)
})

// The last one: it ends one of the two.
it('where one of two daemons is dead, the other journals a cancel and a text that steers, and the next owner obeys', async () => {
  system.provider.answerBy(never)
  const tasks = await fill('orphan')
  const [dead, other] = daemons
  const owners = await Promise.all(tasks.map(async (task) => ({ task, owner: await ownerOf(task) })))
  const of = (daemon: DaemonProcess): string[] =>
    owners.flatMap(({ task, owner }) => (owner === daemon.id ? [task] : []))
  const [cancelled = '', steered = '', ...rest] = of(dead)
  await system.kill(dead)
  system.provider.answerBy(() => say('done'))
  await system.client.cancel(cancelled, 'enough')
  await system.client.steer(steered, 'Faster.')
  expect(told(await system.events(cancelled))).toContain('task_cancel_requested') // The next owner may have claimed it by now.
  for (const task of [...rest, ...of(other)]) await system.client.cancel(task, 'not needed')
  const events = await system.ended(cancelled)
  expect(events.at(-1)).toMatchObject({ type: 'task_cancelled', epoch: 2 })
  expect(only(events, 'task_claimed').at(-1)?.data.daemon).toBe(other.id)
  const [request] = only(events, 'task_submitted')
  expect(system.provider.about(request?.data.request.text ?? '')).toHaveLength(1)
  expect((await system.ended(steered)).at(-1)).toMatchObject({ type: 'task_completed', epoch: 2 })
  expect(JSON.stringify(system.provider.about('Faster.').at(-1)?.messages).split('Faster.')).toHaveLength(2)
})
