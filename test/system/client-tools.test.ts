// Tools that a client brings with its task: over NATS, across kill -9 of the daemon, and over HTTP with tokens
// of several users, in front of real daemons.
import { newTaskView, evolveTaskView } from '@beaver/core/task-view'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { say, type SeenRequest, use } from '../support/fake-provider.ts'
import { testServer, type TestServer } from '../support/nats.ts'
import { protocolScene, type ProtocolScene } from '../support/protocol-scene.ts'
import { only, testSystem, type TestSystem, told } from '../support/system.ts'

const client_tools = [
  {
    name: 'colour',
    description: 'Reads a colour.',
    parameters: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] },
  },
]
/** Asks the client for the colours of two places at once, then says what it got. */
const answers = ({ results }: SeenRequest) =>
  results.length === 0
    ? use(['colour', { at: 'door' }], ['colour', { at: 'roof' }])
    : say(`So: ${results.join(' and ')}`)
const isWithClient = (events: Parameters<typeof told>[0]): boolean =>
  told(events).filter((type) => type === 'client_call_requested').length === 2

describe('a program that brings a tool', () => {
  let server: TestServer
  let system: TestSystem
  beforeAll(async () => {
    server = await testServer()
    system = await testSystem(server)
    system.provider.answerBy(answers)
  })
  afterAll(async () => {
    await system[Symbol.asyncDispose]()
    await server[Symbol.asyncDispose]()
  })

  it('answers its calls after kill -9 of daemons, and no model and no client is asked twice', async () => {
    const first = await system.daemon()
    const { task_id: waits } = await system.client.submit({ task: 'one', client_tools })
    await system.reached(waits, 'it is suspended', (all) => told(all).includes('task_suspended'))
    expect(only(await system.events(waits), 'task_suspended')[0]?.data).toMatchObject({
      waits_for: 'client',
      reason: '2 calls wait for the client.',
    })
    const { task_id: runs } = await system.client.submit({ task: 'two', client_tools })
    await system.reached(runs, 'both calls are with the client', isWithClient)
    await system.kill(first)

    await system.daemon()
    for (const task of [waits, runs]) {
      const view = newTaskView()
      for await (const event of system.client.events(task)) evolveTaskView(view, event)
      expect(view.clientCalls.map(({ tool, written }) => [tool, written])).toEqual([
        ['colour', '{"at":"door"}'],
        ['colour', '{"at":"roof"}'],
      ])
      expect([view.askedCalls, view.openQuestions]).toEqual([[], []])
      const [door, roof] = view.clientCalls.map(({ callId }) => callId) as [string, string]
      // One after the other: the task waits on for the second.
      await system.client.answerCalls(task, [{ callId: door, content: 'blue' }])
      await system.client.answerCalls(task, [{ callId: door, content: 'blue' }])
      await expect(system.client.answerCalls(task, [{ callId: door, content: 'red' }])).rejects.toMatchObject(
        { code: 'conflict' },
      )
      await system.client.answerCalls(task, [{ callId: roof, content: '', error: 'no ladder' }])
      const all = await system.ended(task)
      expect(all.at(-1)).toMatchObject({
        type: 'task_completed',
        data: { taint: { untrusted: ['client tool colour'] } },
      })
      expect(JSON.stringify(all.at(-1)?.data)).toMatch(/So: blue and .*no ladder/)
      expect(only(all, 'client_call_requested')).toHaveLength(2)
      expect(only(all, 'client_call_answered')).toHaveLength(2)
      expect(only(all, 'assistant_message_added')).toHaveLength(2)
      await expect(
        system.client.answerCalls(task, [{ callId: 'nobody', content: 'x' }]),
      ).rejects.toMatchObject({ code: 'conflict' })
    }
  })

  it.each([
    ['has a name of a tool of the system', { client_tools: [{ name: 'read_file' }] }],
    ['has a name of a workflow', { client_tools: [{ name: 'GraphWorkflow' }] }],
    ['has a name that Beaver needs', { client_tools: [{ name: 'ask_user' }] }],
    ['comes twice', { client_tools: [{ name: 'a' }, { name: 'a' }] }],
    ['has a name that no model can call', { client_tools: [{ name: 'a b' }] }],
    ['is chosen and not there', { tool_choice: { mode: 'required' as const, names: ['nothing'] } }],
  ])('is refused if the tool %s', async (_, more) => {
    await expect(system.client.submit({ task: 'x', ...more })).rejects.toMatchObject({
      code: 'invalid_arguments',
    })
  })
})

describe('a client of HTTP that brings a tool', () => {
  let scene: ProtocolScene
  beforeAll(async () => {
    scene = await protocolScene({
      answer: (request) => (request.text.startsWith('which colour') ? answers(request) : undefined),
    })
  })
  afterAll(() => scene[Symbol.asyncDispose]())
  const post = async (who: keyof ProtocolScene['tokens'], path: string, body: object) => {
    const headers = { authorization: `Bearer ${scene.tokens[who]}`, 'content-type': 'application/json' }
    const answer = await fetch(`${scene.gateway.info.url}/api/v1/tasks${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    return { status: answer.status, body: (await answer.json()) as { task_id?: string } }
  }

  it('answers its calls, and nobody else does', async () => {
    const { status, body } = await post('ann', '', { task: 'which colour', client_tools })
    expect(status).toBe(202)
    const task = body.task_id ?? ''
    const all = await scene.system.reached(task, 'both calls are with the client', isWithClient)
    const ids = only(all, 'client_call_requested').map(({ data }) => data.call_id)
    const saying = (content: string) => ({ answers: ids.map((call_id) => ({ call_id, content })) })
    const at = `/${task}/client-answers`
    expect((await post('bob', at, saying('bob'))).status).toBe(404)
    expect((await post('reader', at, saying('reader'))).status).toBe(403)
    expect((await post('ann', at, { answers: [] })).status).toBe(400)
    expect((await post('ann', at, { answers: [{ call_id: 'nobody', content: '' }] })).status).toBe(404)
    expect(await post('ann', at, saying('blue'))).toMatchObject({
      status: 200,
      body: { task_id: task, call_ids: ids },
    })
    expect((await post('ann', at, saying('blue'))).status).toBe(200)
    expect((await post('ann', at, saying('red'))).status).toBe(409)
    const ended = await scene.system.ended(task)
    expect(ended.at(-1)).toMatchObject({ data: { final_output: 'So: blue and blue' } })
    expect(only(ended, 'client_call_answered').map(({ data }) => data.user_id)).toEqual(['ann', 'ann'])
  })

  it('is shown as waiting for its client, and never in the inbox', async () => {
    const { body } = await post('ann', '', { task: 'which colour now', client_tools })
    const task = body.task_id ?? ''
    await scene.system.reached(task, 'it is suspended', (all) => told(all).includes('task_suspended'))
    const get = async (path: string) => {
      const headers = { authorization: `Bearer ${scene.tokens.ann}` }
      const answer = await fetch(`${scene.gateway.info.url}/api/v1${path}`, { headers })
      return (await answer.json()) as { tasks?: { task_id: string; status: string }[]; waiting?: number }
    }
    const shown = async () => (await get('/tasks?status=waiting_for_client')).tasks?.[0]
    await until('it is shown', async () => (await shown())?.status === 'waiting_for_client', { everyMs: 20 })
    expect((await shown())?.task_id).toBe(task)
    expect((await get('/tasks?status=waiting_for_person')).tasks).toEqual([])
    expect((await get('/inbox')).waiting).toBe(0)
    expect((await post('ann', `/${task}/cancel`, { reason: 'enough' })).status).toBeLessThan(300)
    expect((await scene.system.ended(task)).at(-1)?.type).toBe('task_cancelled')
  })
})
