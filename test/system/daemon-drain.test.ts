// SIGTERM and SIGINT: a daemon lets running tasks finish for a while, hands over the rest, and exits with 0.
// Nothing is lost. What a drain does in every order of events is in packages/runtime/src/daemon.test.ts and
// in the simulation.
import { clientOn } from '@beaver/client'
import { foldTask } from '@beaver/core/fold'
import { held, until } from '@beaver/testing'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import type { DaemonProcess } from '../support/daemon.ts'
import { type FakeReply, say, use } from '../support/fake-provider.ts'
import { testServer, type TestServer } from '../support/nats.ts'
import { only, testSystem, type TestSystem, told } from '../support/system.ts'

let server: TestServer
let system: TestSystem
beforeAll(async () => {
  server = await testServer()
  system = await testSystem(server, {
    permissions: { rules: [{ tool: 'echo', pattern: '*careful*', decision: 'ask' }] },
  })
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})
beforeEach(() => system.provider.forget())

const daemons: DaemonProcess[] = []
// No daemon of a test takes a task of the next one.
afterEach(async () => {
  for (const daemon of daemons.splice(0)) {
    daemon.kill('SIGKILL')
    await daemon.exited
  }
})

/** A daemon whose leases no test waits for: what another one has, it was handed. */
async function patientDaemon(drainMs: number): Promise<DaemonProcess> {
  const daemon = await system.daemon({ BEAVER_LEASE_MS: '300000', BEAVER_DRAIN_MS: String(drainMs) })
  daemons.push(daemon)
  return daemon
}

/** Waits until no daemon takes a request. */
async function nobodyTakesRequests(): Promise<void> {
  const impatient = clientOn(system.nc, system.subjects, { daemonMs: 0 })
  const refuses = (): Promise<boolean> =>
    impatient.status().then(
      () => false,
      (error: { code: string }) => error.code === 'no_daemon',
    )
  await until('it takes no more requests', refuses, { everyMs: 20 })
}

it('SIGTERM lets a running task finish within the grace period; meanwhile a person who approves or cancels is heard', async () => {
  const answer = held<FakeReply>()
  system.provider.answerBy(({ text, results }) => {
    if (text === 'think') return answer.promise
    return results.length === 0 ? use(['echo', { text: 'careful' }]) : say('done')
  })
  const one = await patientDaemon(600_000)
  const [thinks, approved, cancelled] = await Promise.all(
    ['think', 'approve me', 'cancel me'].map(async (task) => (await system.client.submit({ task })).task_id),
  )
  await until('the provider is asked', () => system.provider.about('think').length === 1, { everyMs: 5 })
  for (const id of [approved, cancelled])
    await system.reached(id ?? '', 'a call waits', (events) => told(events).includes('approval_requested'))
  one.kill('SIGTERM')
  await nobodyTakesRequests()
  await patientDaemon(0)
  await system.client.cancel(cancelled ?? '', 'enough')
  await system.client.decide(approved ?? '', { callId: 'call_0', approved: true })
  for (const [id, journaled, end] of [
    [cancelled, 'task_cancel_requested', 'task_cancelled'],
    [approved, 'approval_granted', 'task_completed'],
  ] as const) {
    const events = await system.ended(id ?? '')
    expect(only(events, 'task_claimed')[0]?.data.daemon).toBe(one.id)
    expect(told(events).filter((type) => type === journaled)).toHaveLength(1)
    expect(events.at(-1)?.type).toBe(end)
  }
  answer.settle(say('42'))
  expect(await one.exited).toEqual({ code: 0, signal: null })
  expect((await system.events(thinks ?? '')).at(-1)).toMatchObject({
    type: 'task_completed',
    epoch: 1,
    data: { final_output: '42' },
  })
})

it('SIGINT hands over what does not finish: a root, a team, and a task that waits for its turn go on at once at the daemon that is there', async () => {
  const agents = ['a', 'b'].map((name) => ({ name, instruction: `do ${name}` }))
  let finish = false
  system.provider.answerBy(({ text, results }) => {
    if (text === 'echo' && results.length === 0) return use(['echo', { text: 'a' }])
    if (!finish)
      return text === 'team' ? use(['ConcurrentWorkflow', { task: 't', agents }]) : held<FakeReply>().promise
    return say(`saw ${results.length} result`)
  })
  const one = await patientDaemon(0)
  const tasks = await Promise.all(['echo', 'team', 'think'].map((task) => system.client.submit({ task })))
  const first = await system.client.submit({ task: 'first', session_id: 's' })
  const parked = await system.client.submit({ task: 'second', session_id: 's' })
  // Two for the root that has called its tool, three for the team, and one for each of the others.
  await until('all that can run does', () => system.provider.requests.length === 7, { everyMs: 5 })
  finish = true
  const two = await patientDaemon(600_000)
  one.kill('SIGINT')
  expect(await one.exited).toEqual({ code: 0, signal: null })
  await until(
    'the requests of the first daemon are given up',
    () => system.provider.requests.filter(({ abandoned }) => abandoned).length === 5,
    { everyMs: 5 },
  )
  const logs = await Promise.all([...tasks, first, parked].map(({ task_id }) => system.ended(task_id)))
  for (const events of logs) {
    expect(events.at(-1)).toMatchObject({ type: 'task_completed' })
    expect(foldTask(events).ownersLost).toBe(0)
    expect(only(events, 'task_claimed').at(-1)?.data.daemon).toBe(two.id)
  }
  for (const events of logs.slice(0, 4)) {
    expect(only(events, 'task_claimed').map((claim) => claim.epoch)).toEqual([1, 2])
    expect(told(events)).toContain('task_released')
    expect(told(events)).not.toContain('run_cancelled')
  }
  expect(logs[0]?.at(-1)).toMatchObject({ data: { final_output: 'saw 1 result' } })
  expect(only(logs[0] ?? [], 'assistant_message_added')).toHaveLength(2)

  // A drain of an idle daemon is over at once, however long it may take.
  two.kill('SIGTERM')
  expect(await two.exited).toEqual({ code: 0, signal: null })
})
