// Tools that hold up the thread they share with other agents: the daemon notices and frees everybody else.
// A daemon that ends while its NATS is away is in without-nats.test.ts.
import { held } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DaemonProcess } from '../support/daemon.ts'
import { type FakeReply, say, use } from '../support/fake-provider.ts'
import { testServer, type TestServer } from '../support/nats.ts'
import { only, type TestSystem, testSystem, told } from '../support/system.ts'

const badTools = new URL('../support/bad-tools.ts', import.meta.url).pathname

let server: TestServer
beforeAll(async () => void (server = await testServer()))
afterAll(() => server[Symbol.asyncDispose]())

const systemOf = (): Promise<TestSystem> => testSystem(server, { tools: [badTools], daemon: { worker_heap_mb_max: 64 } })

/** A task `<tool>: <what>` calls that tool once and then says what it read; another waits for `gate`, as its first answer. */
function script(system: TestSystem, gate: Promise<FakeReply>): void {
  system.provider.answerBy(({ text, results }) => {
    const [tool = '', what] = text.split(': ')
    if (what === undefined) return gate
    return results.length === 0 ? use([tool, { what }]) : say(`read ${results.at(-1)}`)
  })
}

describe('a thread that a tool holds up', () => {
  let system: TestSystem
  let daemon: DaemonProcess
  let innocent = ''
  const gate = held<FakeReply>()
  beforeAll(async () => {
    system = await systemOf()
    script(system, gate.promise)
    // A thread for each way, so that the tools do not wait for one another.
    daemon = await system.daemon({ BEAVER_WORKER_THREADS: '5' })
    innocent = (await system.client.submit({ task: 'innocent' })).task_id
  })
  afterAll(() => system[Symbol.asyncDispose]())

  it('is left alone while it is merely busy for two seconds', async () => {
    const events = await system.ended((await system.client.submit({ task: 'patient: busy' })).task_id)
    expect(events.at(-1)).toMatchObject({ type: 'task_completed', data: { final_output: 'read was busy' } })
    expect(daemon.stderr).not.toContain('thread_lost')
  })

  it('is ended when the deadline of the tool is over, and the tool times out in a cell after that', async () => {
    const ways = ['loop', 'backtrack', 'wait', 'microtasks', 'thrash']
    const tasks = await Promise.all(ways.map((way) => system.client.submit({ task: `brief_${way}: ${way}` })))
    for (const [i, way] of ways.entries()) {
      const events = await system.ended(tasks[i]?.task_id ?? '', 60_000)
      expect(only(events, 'run_restarted')[0]).toMatchObject({ data: { suspect_tools: [`brief_${way}`] } })
      expect(only(events, 'tool_result_recorded')).toMatchObject([{ data: { success: false, error: 'tool_timeout' } }])
      expect(events.at(-1)?.type).toBe('task_completed')
    }
  })

  it('is lost to one tool three times at most: after that every call of the tool runs in a cell at once', async () => {
    const restarts: number[] = []
    for (let i = 0; i < 4; i++) {
      const events = await system.ended((await system.client.submit({ task: 'bad: end the thread' })).task_id, 40_000)
      expect(only(events, 'tool_result_recorded')).toMatchObject([{ data: { success: false, error: 'tool_crash' } }])
      restarts.push(only(events, 'run_restarted').length)
    }
    expect(restarts).toEqual([1, 1, 1, 0])
  })

  it('keeps others waiting, who then go on without a charge', async () => {
    gate.settle(say('done'))
    const events = await system.ended(innocent)
    expect(events.at(-1)).toMatchObject({ type: 'task_completed', data: { final_output: 'done' } })
    expect(told(events)).not.toContain('run_restarted')
  })

  it('is freed by a cancel if its tool would be allowed to go on for minutes', async () => {
    const { task_id } = await system.client.submit({ task: 'patient: loop' })
    await system.reached(task_id, 'the tool loops', (all) => told(all).includes('tool_call_started'))
    await system.client.cancel(task_id, 'enough')
    const events = await system.ended(task_id)
    expect(told(events).filter((type) => type === 'task_cancel_requested' || type === 'run_restarted')).toEqual(['task_cancel_requested', 'run_restarted'])
    expect(events.at(-1)?.type).toBe('task_cancelled')
  })

  // The last one: it ends the daemon.
  it('keeps no daemon from ending by SIGTERM, which hands its task over, whatever holds the thread', async () => {
    const tasks = await Promise.all(['thrash', 'system call'].map((what) => system.client.submit({ task: `patient: ${what}` })))
    for (const { task_id } of tasks) await system.reached(task_id, 'the tool runs', (all) => told(all).includes('tool_call_started'))
    daemon.kill('SIGTERM')
    await daemon.exited
    for (const { task_id } of tasks) expect(told(await system.events(task_id)).at(-1)).toBe('task_released')
  })
})

it('a thread that cannot be ended ends its daemon, which hands everything over; another daemon goes on', async () => {
  await using system = await systemOf()
  const gate = held<FakeReply>()
  script(system, gate.promise)
  const one = await system.daemon()
  const innocents = await Promise.all(Array.from({ length: 5 }, (_, i) => system.client.submit({ task: `innocent ${i}` })))
  const { task_id } = await system.client.submit({ task: 'brief: system call' })
  await system.reached(task_id, 'the tool runs', (all) => told(all).includes('tool_call_started'))
  const two = await system.daemon()
  const { code, signal } = await one.exited
  expect([code, signal]).not.toEqual([0, null])
  expect(one.stderr).toContain('does not end')
  gate.settle(say('done'))
  for (const each of innocents) {
    const events = await system.ended(each.task_id)
    expect(events.at(-1)).toMatchObject({ type: 'task_completed', data: { final_output: 'done' } })
    expect(only(events, 'task_claimed').map(({ data }) => data.daemon)).toEqual([one.id, two.id])
    expect(told(events)).not.toContain('run_restarted')
  }
  const events = await system.ended(task_id)
  expect(events.at(-1)?.type).toBe('task_completed')
  expect(only(events, 'run_restarted')).toMatchObject([{ epoch: 1, data: { suspect_tools: ['brief'] } }])
  expect(only(events, 'tool_result_recorded')).toMatchObject([{ data: { error: 'tool_timeout' } }])
})
