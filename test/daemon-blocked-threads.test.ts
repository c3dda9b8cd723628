// Tools that hold up the thread they share with other agents: the daemon notices and frees everybody else.
import { held, until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type FakeReply, say, use } from './support/fake-provider.ts'
import { testServer, type TestServer } from './support/nats.ts'
import { only, type TestSystem, testSystem, told } from './support/system.ts'

const badTools = new URL('./support/bad-tools.ts', import.meta.url).pathname

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

describe('a tool that holds up the thread beyond its deadline', () => {
  let system: TestSystem
  let innocent = ''
  const gate = held<FakeReply>()
  beforeAll(async () => {
    system = await systemOf()
    script(system, gate.promise)
    // A thread for each way, so that the tools do not wait for one another.
    await system.daemon({ BEAVER_WORKER_THREADS: '5' })
    innocent = (await system.client.submit({ task: 'innocent' })).task_id
  })
  afterAll(() => system[Symbol.asyncDispose]())

  it('is ended within 5 s after it, and times out in a cell after that', async () => {
    const ways = ['loop', 'backtrack', 'wait', 'microtasks', 'thrash']
    const tasks = await Promise.all(ways.map((way) => system.client.submit({ task: `brief_${way}: ${way}` })))
    for (const [i, way] of ways.entries()) {
      const events = await system.ended(tasks[i]?.task_id ?? '', 60_000)
      const [begun, restarted] = [only(events, 'tool_call_started')[0], only(events, 'run_restarted')[0]]
      expect(restarted).toMatchObject({ data: { suspect_tools: [`brief_${way}`] } })
      // Its time is 1 s.
      expect(Date.parse(restarted?.time ?? '') - Date.parse(begun?.time ?? '')).toBeLessThan(6_000)
      expect(only(events, 'tool_result_recorded')).toMatchObject([{ data: { success: false, error: 'tool_timeout' } }])
      expect(events.at(-1)?.type).toBe('task_completed')
    }
  })

  it('costs a daemon three threads at most: after that every call of it runs in a cell at once', async () => {
    const restarts: number[] = []
    for (let i = 0; i < 4; i++) {
      const events = await system.ended((await system.client.submit({ task: 'brief: end the thread' })).task_id, 40_000)
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
})

it('a thread that is merely busy for two seconds is left alone', async () => {
  await using system = await systemOf()
  script(system, held<FakeReply>().promise)
  const daemon = await system.daemon()
  const events = await system.ended((await system.client.submit({ task: 'patient: busy' })).task_id)
  expect(events.at(-1)).toMatchObject({ type: 'task_completed', data: { final_output: 'read was busy' } })
  expect(daemon.stderr).not.toContain('thread_lost')
})

it('a cancel frees a thread whose tool would be allowed to go on for minutes', async () => {
  await using system = await systemOf()
  script(system, held<FakeReply>().promise)
  await system.daemon()
  const { task_id } = await system.client.submit({ task: 'patient: loop' })
  await system.reached(task_id, 'the tool loops', (all) => told(all).includes('tool_call_started'))
  await system.client.cancel(task_id, 'enough')
  const events = await system.ended(task_id)
  const [cancelled, freed] = [only(events, 'task_cancel_requested')[0], only(events, 'run_restarted')[0]]
  expect(Date.parse(freed?.time ?? '') - Date.parse(cancelled?.time ?? '')).toBeLessThan(5_000)
  expect(events.at(-1)?.type).toBe('task_cancelled')
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

describe('SIGTERM ends a daemon in time', () => {
  it.each(['thrash', 'system call'])('whose thread is held up by "%s"', async (what) => {
    await using system = await systemOf()
    script(system, held<FakeReply>().promise)
    const daemon = await system.daemon()
    const { task_id } = await system.client.submit({ task: `patient: ${what}` })
    await system.reached(task_id, 'the tool runs', (all) => told(all).includes('tool_call_started'))
    const begun = performance.now()
    daemon.kill('SIGTERM')
    await daemon.exited
    expect(performance.now() - begun).toBeLessThan(5_500)
    expect(told(await system.events(task_id)).at(-1)).toBe('task_released')
  })

  it('whose NATS is away', async () => {
    await using own = await testServer()
    await using system = await testSystem(own)
    system.provider.answerBy(() => held<FakeReply>().promise)
    const daemon = await system.daemon()
    await system.client.submit({ task: 'think' })
    await until('the provider is asked', () => system.provider.requests.length === 1, { everyMs: 5 })
    process.kill(own.pid, 'SIGSTOP')
    try {
      const begun = performance.now()
      daemon.kill('SIGTERM')
      await daemon.exited
      expect(performance.now() - begun).toBeLessThan(5_500)
      expect(daemon.stderr).toContain('"process_stopped_late"')
    } finally {
      process.kill(own.pid, 'SIGCONT')
    }
  })
})
