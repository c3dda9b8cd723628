// Tools that hold up the thread they share with other agents: the daemon notices and frees everybody else.
// A daemon that ends while its NATS is away is in without-nats.test.ts.
import { held } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DaemonProcess } from '../support/daemon.ts'
import { type FakeReply, say, use } from '../support/fake-provider.ts'
import { testServer, type TestServer } from '../support/nats.ts'
import { workingIn } from '../support/processes.ts'
import { only, type TestSystem, testSystem, told } from '../support/system.ts'

const badTools = new URL('../support/bad-tools.ts', import.meta.url).pathname

describe('a thread that a tool holds up', () => {
  let server: TestServer
  let system: TestSystem
  let daemon: DaemonProcess
  let another: DaemonProcess
  let innocent = ''
  /** What the model answers to the innocent ones. */
  let gate = held<FakeReply>()
  beforeAll(async () => {
    server = await testServer()
    system = await testSystem(server, { tools: [badTools], daemon: { worker_heap_mb_max: 64 } })
    // A task `<tool>: <what>` calls that tool once and then says what it read; another is innocent.
    system.provider.answerBy(({ text, results }) => {
      const [tool = '', what] = text.split(': ')
      if (what === undefined) return gate.promise
      return results.length === 0 ? use([tool, { what }]) : say(`read ${results.at(-1)}`)
    })
    // A thread for each way, so that the tools do not wait for one another.
    daemon = await system.daemon({ BEAVER_WORKER_THREADS: '5' })
    innocent = (await system.client.submit({ task: 'innocent' })).task_id
  })
  afterAll(async () => {
    // A program outlives the daemon whose tool called it.
    for (const { pid } of workingIn(system.workspace)) process.kill(pid, 'SIGKILL')
    await system[Symbol.asyncDispose]()
    await server[Symbol.asyncDispose]()
  })

  it('is left alone for three seconds while the tool may take longer', async () => {
    const events = await system.ended(
      (await system.client.submit({ task: 'patient: hold the thread' })).task_id,
    )
    expect(events.at(-1)).toMatchObject({ type: 'task_completed', data: { final_output: 'read held it' } })
    expect(daemon.stderr).not.toContain('thread_lost')
  })

  it('is ended when the deadline of the tool is over, and the tool times out in a cell after that', async () => {
    const ways = [
      'brief: loop',
      'brief: backtrack',
      'brief: microtasks',
      'brief_wait: wait',
      'brief_thrash: thrash',
    ]
    const tasks = await Promise.all(ways.map((way) => system.client.submit({ task: way })))
    for (const [i, way] of ways.entries()) {
      const events = await system.ended(tasks[i]?.task_id ?? '', 60_000)
      expect(only(events, 'run_restarted')).toMatchObject([{ data: { suspect_tools: [way.split(': ')[0]] } }])
      expect(only(events, 'tool_result_recorded')).toMatchObject([
        { data: { success: false, error: 'tool_timeout' } },
      ])
      expect(events.at(-1)?.type).toBe('task_completed')
    }
  })

  it('is lost to one tool three times at most: after that every call of the tool runs in a cell at once', async () => {
    // The test before has seen each of the three.
    const events = await system.ended((await system.client.submit({ task: 'brief: wait' })).task_id)
    expect(only(events, 'tool_result_recorded')).toMatchObject([
      { data: { success: false, error: 'tool_timeout' } },
    ])
    expect(told(events)).not.toContain('run_restarted')
  })

  it('keeps others waiting, who then go on without a charge', async () => {
    gate.settle(say('done'))
    const events = await system.ended(innocent)
    expect(events.at(-1)).toMatchObject({ type: 'task_completed', data: { final_output: 'done' } })
    expect(told(events)).not.toContain('run_restarted')
  })

  it('is freed by a cancel if its tool would be allowed to go on for minutes', async () => {
    const { task_id } = await system.client.submit({ task: 'patient: wait' })
    await system.reached(task_id, 'the tool waits', (all) => told(all).includes('tool_call_started'))
    await system.client.cancel(task_id, 'enough')
    const events = await system.ended(task_id)
    expect(
      told(events).filter((type) => type === 'task_cancel_requested' || type === 'run_restarted'),
    ).toEqual(['task_cancel_requested', 'run_restarted'])
    expect(events.at(-1)?.type).toBe('task_cancelled')
  })

  it('and that cannot be ended ends its daemon, which hands everything over; another daemon goes on', async () => {
    gate = held<FakeReply>()
    // So many that some share the thread.
    const innocents = await Promise.all(
      Array.from({ length: 10 }, (_, i) => system.client.submit({ task: `innocent ${i}` })),
    )
    const { task_id } = await system.client.submit({ task: 'brief_system: system call' })
    await system.reached(task_id, 'the tool runs', (all) => told(all).includes('tool_call_started'))
    another = await system.daemon({ BEAVER_WORKER_THREADS: '2' })
    const { code, signal } = await daemon.exited
    expect([code, signal]).not.toEqual([0, null])
    expect(daemon.stderr).toContain('does not end')
    gate.settle(say('done'))
    for (const each of innocents) {
      const events = await system.ended(each.task_id)
      expect(events.at(-1)).toMatchObject({ type: 'task_completed', data: { final_output: 'done' } })
      expect(only(events, 'task_claimed').map(({ data }) => data.daemon)).toEqual([daemon.id, another.id])
      expect(told(events)).not.toContain('run_restarted')
    }
    const events = await system.ended(task_id)
    expect(events.at(-1)?.type).toBe('task_completed')
    expect(only(events, 'run_restarted')).toMatchObject([
      { epoch: 1, data: { suspect_tools: ['brief_system'] } },
    ])
    expect(only(events, 'tool_result_recorded')).toMatchObject([{ data: { error: 'tool_timeout' } }])
  })

  // The last one: it ends the other daemon, which has a thread for each of these tools.
  it('keeps no daemon from ending by SIGTERM, which hands its task over, whatever holds the thread', async () => {
    const tasks = await Promise.all(
      ['thrash', 'system call'].map((what) => system.client.submit({ task: `patient: ${what}` })),
    )
    for (const { task_id } of tasks)
      await system.reached(task_id, 'the tool runs', (all) => told(all).includes('tool_call_started'))
    another.kill('SIGTERM')
    await another.exited
    for (const { task_id } of tasks) expect(told(await system.events(task_id)).at(-1)).toBe('task_released')
  })
})
