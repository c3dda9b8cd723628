// A call that asks waits for a person, wherever the daemon is meanwhile, and is decided once.
import { until } from '@beaver/testing'
import type { LiveDelta } from '@beaver/core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DaemonProcess } from './support/daemon.ts'
import { say, use } from './support/fake-provider.ts'
import { testServer, type TestServer } from './support/nats.ts'
import { only, type TestSystem, testSystem, told } from './support/system.ts'

const asks = { permissions: { rules: [{ tool: 'echo', pattern: '*careful*', decision: 'ask' }] } }

let server: TestServer
let system: TestSystem
let sharedDaemon: DaemonProcess
beforeAll(async () => {
  server = await testServer()
  system = await testSystem(server, asks)
  sharedDaemon = await system.daemon()
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

/** One system, whose daemon goes on, for the tests that do not need their own. */
const shared = (): TestSystem => {
  system.provider.forget()
  return system
}

/** A root that echoes once and then says what came of it. */
function echoing(system: TestSystem, text = 'careful'): void {
  system.provider.answerBy(({ messages }) => {
    const result = messages.findLast((message) => message.role === 'tool')
    return result === undefined ? use(['echo', { text }]) : say(`It said: ${String(result.content)}`)
  })
}

const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'done',
    (error: { code: string }) => error.code,
  )
const waits = (system: TestSystem, taskId: string) =>
  system.reached(taskId, 'a call waits', (events) => events.some((event) => event.type === 'approval_requested'))

describe('a call that needs an approval', () => {
  it('is asked for, waits, and runs once when a person approves it', async () => {
    const system = shared()
    echoing(system)
    const { task_id } = await system.client.submit({ task: 'say it' })
    expect(only(await waits(system, task_id), 'approval_requested')).toMatchObject([{ data: { call_id: 'call_0', tool_name: 'echo' } }])
    expect(told(await system.events(task_id))).not.toContain('tool_call_started')
    expect(await codeOf(system.client.decide(task_id, { callId: 'nope', approved: true }))).toBe('not_found')
    await system.client.decide(task_id, { callId: 'call_0', approved: true })
    const events = await system.ended(task_id)
    expect(told(events).filter((type) => /approval|tool_/.test(type))).toEqual([
      'approval_requested',
      'approval_granted',
      'tool_call_started',
      'tool_result_recorded',
    ])
    expect(events.at(-1)).toMatchObject({ type: 'task_completed', data: { final_output: 'It said: {"text":"careful"}' } })
    expect(await codeOf(system.client.decide(task_id, { callId: 'call_0', approved: false }))).toBe('conflict')
  })

  it('is not run when a person denies it; the model is told who and why', async () => {
    const system = shared()
    echoing(system)
    const { task_id } = await system.client.submit({ task: 'say it' })
    await waits(system, task_id)
    await system.client.decide(task_id, { callId: 'call_0', approved: false, reason: 'not today' })
    const events = await system.ended(task_id)
    const [result] = only(events, 'tool_result_recorded')
    expect(result?.data).toMatchObject({ success: false, error: 'approval_denied' })
    expect(result?.data.content).toContain('ada')
    expect(result?.data.content).toContain('not today')
    expect(told(events)).not.toContain('tool_call_started')
    expect(events.at(-1)?.type).toBe('task_completed')
  })

  it('is refused at once where nobody can answer', async () => {
    const system = shared()
    echoing(system)
    const { task_id } = await system.client.submit({ task: 'say it', approvals: 'refuse' })
    const events = await system.ended(task_id)
    expect(only(events, 'approval_denied')).toMatchObject([{ data: { call_id: 'call_0', by: 'beaver' } }])
    expect(only(events, 'tool_result_recorded')).toMatchObject([{ data: { error: 'approval_denied' } }])
  })

  it('is refused when nobody has answered in time', async () => {
    await using system = await testSystem(server, { permissions: { ...asks.permissions, wait_ms_max: 100 } })
    echoing(system)
    await system.daemon()
    const { task_id } = await system.client.submit({ task: 'say it' })
    expect(only(await system.ended(task_id), 'approval_denied')[0]?.data.reason).toContain('0.1 s')
  })

  it('still waits after its daemon was killed, is not asked for again, and is decided while nobody owns it', async () => {
    await using system = await testSystem(server, asks)
    echoing(system)
    const first = await system.daemon()
    const { task_id } = await system.client.submit({ task: 'say it' })
    await waits(system, task_id)
    await system.kill(first)
    await system.daemon()
    await system.reached(task_id, 'it was taken over', (events) => only(events, 'task_claimed').length === 2)
    await system.client.decide(task_id, { callId: 'call_0', approved: true })
    const events = await system.ended(task_id)
    expect(told(events).filter((type) => /approval|tool_/.test(type))).toEqual([
      'approval_requested',
      'approval_granted',
      'tool_call_started',
      'tool_result_recorded',
    ])
    expect(system.provider.requests).toHaveLength(2)
  })

  it('is decided through a daemon that does not own its task', async () => {
    await using system = await testSystem(server, asks)
    echoing(system)
    await system.daemon({ BEAVER_TASKS_MAX: '1' })
    const { task_id } = await system.client.submit({ task: 'say it' })
    await waits(system, task_id)
    await system.daemon()
    // Every request goes to one of the two; ten of them reach both.
    for (let i = 0; i < 10; i++) expect(await codeOf(system.client.decide(task_id, { callId: `none ${i}`, approved: true }))).toBe('not_found')
    await system.client.decide(task_id, { callId: 'call_0', approved: true })
    const granted = only(await system.ended(task_id), 'approval_granted')
    expect(granted).toHaveLength(1)
  })

  it('is decided by the id the provider gave it, however odd', async () => {
    const system = shared()
    const id = `a/b ${'x'.repeat(2_000)}`
    system.provider.answerBy(({ results }) => {
      const call = use(['echo', { text: 'careful' }])
      return results.length > 0 || call === null ? say('done') : { body: call.body.replace('call_0', id) }
    })
    const { task_id } = await system.client.submit({ task: 'say it' })
    await waits(system, task_id)
    await system.client.decide(task_id, { callId: id, approved: true })
    expect((await system.ended(task_id)).at(-1)?.type).toBe('task_completed')
  })

  it('ends with its task when that is cancelled', async () => {
    const system = shared()
    echoing(system)
    const { task_id } = await system.client.submit({ task: 'say it' })
    await waits(system, task_id)
    await system.client.cancel(task_id, 'enough')
    expect(told(await system.ended(task_id, 2_000)).at(-1)).toBe('task_cancelled')
  })
})

it('a rule that denies keeps a call from running, and tells the model', async () => {
  await using system = await testSystem(server, { permissions: { rules: [{ tool: 'echo', decision: 'deny' }] } })
  echoing(system)
  await system.daemon()
  const { task_id } = await system.client.submit({ task: 'say it' })
  const events = await system.ended(task_id)
  expect(only(events, 'tool_result_recorded')).toMatchObject([{ data: { success: false, error: 'permission_denied' } }])
  expect(told(events)).not.toContain('tool_call_started')
})

it('what a streamed answer says is published while it is said; the journal holds the whole', async () => {
  const system = shared()
  const chunk = (delta: object, finish_reason: string | null = null): string =>
    `data: ${JSON.stringify({ id: 'r', object: 'chat.completion.chunk', model: 'fake-model', choices: [{ index: 0, delta, finish_reason }] })}\n\n`
  system.provider.answerBy(() => ({
    headers: { 'content-type': 'text/event-stream' },
    body: [chunk({ role: 'assistant', content: 'Good ' }), chunk({ content: 'morning' }), chunk({}, 'stop'), 'data: [DONE]\n\n'].join(''),
  }))
  const stop = new AbortController()
  const said: LiveDelta[] = []
  const listening = (async () => {
    for await (const delta of system.client.deltas('greeting', { signal: stop.signal })) said.push(delta)
  })()
  await system.nc.flush()
  await system.client.submit({ task: 'greet', task_id: 'greeting', stream: true })
  expect((await system.ended('greeting')).at(-1)).toMatchObject({ data: { final_output: 'Good morning' } })
  await until('all of it was heard', () => said.map((delta) => delta.text).join('') === 'Good morning', { everyMs: 5 })
  stop.abort()
  await listening
  expect(said[0]).toMatchObject({ call: 1, offset: 0, agent_name: 'root', node_id: null })
  expect(system.provider.requests[0]?.stream).toBe(true)
})

it('an answer larger than a message is published in pieces, and costs no daemon', async () => {
  const system = shared()
  const whole = '中\u0001'.repeat(600_000)
  system.provider.answerBy(() => say(whole))
  const daemon = sharedDaemon
  const stop = new AbortController()
  let said = ''
  const listening = (async () => {
    for await (const delta of system.client.deltas('long', { signal: stop.signal })) said += delta.text
  })()
  await system.nc.flush()
  await system.client.submit({ task: 'much', task_id: 'long', stream: true })
  await system.ended('long')
  await until('all of it was heard', () => said === whole, { everyMs: 5 })
  stop.abort()
  await listening
  expect(daemon.stderr).not.toContain('Error')
})
