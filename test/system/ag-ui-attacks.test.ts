// Hostile and hasty clients of AG-UI, and gateways that stop. One that is killed is in gateway.test.ts.
import type { HttpAgent } from '@ag-ui/client'
import type { AGUIEvent } from '@ag-ui/core'
import { EventSchemas } from '@ag-ui/core/schemas'
import { tokensFile } from '@beaver/gateway'
import { TokenStore } from '@beaver/http'
import { held, until } from '@beaver/testing'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { agUiAgent, fresh, type Place, ran, taskOf, textIn, type Who } from '../support/ag-ui-agent.ts'
import { type FakeReply, say, use } from '../support/fake-provider.ts'
import { keptScene, type ProtocolScene } from '../support/protocol-scene.ts'
import { only } from '../support/system.ts'

let scene: ProtocolScene
beforeAll(async () => {
  // The client writes every failure to the console.
  vi.spyOn(console, 'error').mockImplementation(() => {})
  scene = await keptScene()
})
const agentFor = (place: Place = {}): HttpAgent => agUiAgent(scene, place)

describe('a client that goes away', () => {
  it('stops its run', async () => {
    const agent = agentFor()
    const run = ran(agent, 'wait agu_stopped').catch(() => null)
    await until('the model is asked', () => scene.system.provider.about('wait agu_stopped').length > 0)
    agent.abortRun()
    await run
    const [task] = await until('it is cancelled', async () => {
      const { tasks } = await scene.system.client.query('tasks', {
        session_id: agent.threadId,
        status: 'cancelled',
      })
      return tasks.length > 0 && tasks
    })
    expect(
      only(await scene.system.events(task?.task_id ?? ''), 'task_cancel_requested')[0]?.data.reason,
    ).toContain('went away')
  })

  it('stops its run, and the next one knows what was said until then', async () => {
    const agent = agentFor()
    const run = ran(agent, 'look and wait agu_never').catch(() => null)
    await until('it has looked', () => scene.system.provider.about('look and wait agu_never').length === 2)
    await until('the client knows', () => agent.messages.length === 3)
    agent.abortRun()
    await run
    expect(textIn((await ran(agent, 'all')).events)).toMatch(
      /^user: look and wait agu_never \| assistant: \[No answer: The client .* \| user: all$/,
    )
  })

  it('lets its task go on if it says so, and follows it by the same run', async () => {
    const agent = agentFor()
    const wanted = { runId: fresh('run'), forwardedProps: { beaver: { goes_on: true } } }
    const messages = [{ id: fresh('user'), role: 'user' as const, content: 'wait agu_on' }]
    agent.setMessages(messages)
    const run = agent.runAgent(wanted).catch(() => null)
    await until('the model is asked', () => scene.system.provider.about('wait agu_on').length > 0)
    agent.abortRun()
    await run
    const again = agentFor({ threadId: agent.threadId })
    again.setMessages(messages)
    const both = [
      ran(again, null, wanted),
      ran(Object.assign(agentFor({ threadId: agent.threadId }), { messages }), null, wanted),
    ]
    scene.answer('agu_on', say('still here'))
    for (const each of await Promise.all(both)) expect(textIn(each.events)).toBe('still here')
    expect(scene.system.provider.about('wait agu_on').length).toBe(1)
  })

  it('is told that the gateway stops, and follows its task by another one', async () => {
    const [one, two] = [await scene.start(), await scene.start()]
    const agent = agentFor({ at: one.info.url })
    const messages = [{ id: fresh('user'), role: 'user' as const, content: 'wait agu_stopping' }]
    agent.setMessages(messages)
    const events: AGUIEvent[] = []
    const run = agent
      .runAgent(
        { runId: 'stopping' },
        { onEvent: ({ event }) => void events.push(EventSchemas.parse(event) as AGUIEvent) },
      )
      .catch(() => null)
    await until('the run has begun', () => events.length > 0)
    await one.stop()
    await run
    expect(events.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'wrong_state' })
    const again = agentFor({ at: two.info.url, threadId: agent.threadId })
    again.setMessages(messages)
    const rest = ran(again, null, { runId: 'stopping' })
    scene.answer('agu_stopping', say('not cancelled'))
    expect(textIn((await rest).events)).toBe('not cancelled')
    await two.stop()
  })

  it('is cut off when its token is revoked, and its task ends', async () => {
    const store = new TokenStore(tokensFile(`${scene.system.workspace}/.beaver`))
    const token = await store.create('ag-ui-attacks short', { roles: ['submit', 'read'], now: new Date() })
    const gate = held<FakeReply>()
    scene.system.provider.answerBy(({ results }) => (results.length === 0 ? gate.promise : null))
    const agent = agentFor()
    agent.headers = { authorization: `Bearer ${token}` }
    agent.addMessage({ id: fresh('user'), role: 'user', content: 'Go on after the revocation.' })
    const events: AGUIEvent[] = []
    const run = agent
      .runAgent({}, { onEvent: ({ event }) => void events.push(EventSchemas.parse(event) as AGUIEvent) })
      .catch(() => null)
    await until(
      'the run has begun, and the model is asked',
      () => events.length > 0 && scene.system.provider.about('Go on after the revocation.').length > 0,
    )
    await store.revoke('ag-ui-attacks short')
    gate.settle(use(['list_files', { path: '.' }]))
    await run
    expect(events.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'unauthorized' })
    expect((await scene.system.ended(taskOf(events))).at(-1)?.type).toBe('task_cancelled')
    scene.again()
  })

  it('waits for as long as it may, and stops its run then', async () => {
    // The task must begin in this time, also on a busy machine.
    const hasty = await scene.start({ wait_ms_max: 3_000 })
    const agent = agentFor({ at: hasty.info.url })
    agent.addMessage({ id: fresh('user'), role: 'user', content: 'wait agu_hasty' })
    const events: AGUIEvent[] = []
    await agent
      .runAgent({}, { onEvent: ({ event }) => void events.push(EventSchemas.parse(event) as AGUIEvent) })
      .catch(() => null)
    expect(events.at(-1)).toMatchObject({
      type: 'RUN_ERROR',
      code: 'timeout',
      message: expect.stringContaining('was cancelled') as string,
    })
    expect((await scene.system.ended(taskOf(events))).at(-1)?.type).toBe('task_cancelled')
    await hasty.stop()
  })
})

describe('a request that is refused', () => {
  const post = (
    body: unknown,
    who: Who | 'nobody' = 'ann',
    headers: Record<string, string> = {},
  ): Promise<Response> =>
    fetch(`${scene.gateway.info.url}/ag-ui/beaver`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${who === 'nobody' ? 'x' : scene.tokens[who]}`,
        'content-type': 'application/json',
        ...headers,
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  const user = (content: unknown): object => ({ id: 'u', role: 'user', content })
  const input = (over: object = {}): object => ({
    threadId: fresh('thread'),
    runId: 'r',
    messages: [user('x')],
    ...over,
  })

  it.each<[string, unknown, number, string]>([
    ['broken JSON', '{"threadId":', 400, 'body'],
    ['no thread', { runId: 'r', messages: [user('x')] }, 400, 'body.threadId'],
    ['a thread that is no id', { threadId: 'a\nb', runId: 'r', messages: [user('x')] }, 400, 'body.threadId'],
    [
      'a run that is too long',
      { threadId: 't', runId: 'r'.repeat(1_000), messages: [user('x')] },
      400,
      'body.runId',
    ],
    ['no messages', { threadId: 't', runId: 'r', messages: [] }, 400, 'body.messages'],
    [
      'messages without ids',
      { threadId: 't', runId: 'r', messages: [{ role: 'user', content: 'x' }] },
      400,
      'body.messages.0.id',
    ],
    [
      'a conversation that ends with the agent',
      { threadId: 't', runId: 'r', messages: [user('x'), { id: 'a', role: 'assistant', content: 'y' }] },
      400,
      'body.messages',
    ],
  ])('%s', async (_, body, status, path) => {
    const answer = await post(body)
    const problem = (await answer.json()) as { problems: { path: string }[] }
    expect([answer.status, problem.problems[0]?.path]).toEqual([status, path])
  })

  it('by its token, its size, its type or its page', async () => {
    const answers = [
      await post(input(), 'nobody'),
      await post(input(), 'reader'),
      await post(input({ messages: [user('x'.repeat(5_000_000))] })),
      await post(input({ messages: [user('x'.repeat(1_500_000))] })),
      await post(input(), 'ann', { 'content-type': 'text/plain' }),
      await post(input(), 'ann', { origin: 'https://evil.test' }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([401, 403, 413, 413, 415, 403])
  })

  it('because its run is another one', async () => {
    const body = input()
    await (await post(body)).text()
    expect((await post({ ...body, messages: [user('y')] })).status).toBe(409)
  })

  it('no message that claims to be of a task, and is none of the thread', async () => {
    const mine = await ran(agentFor(), 'mine')
    for (const id of [`beaver:${taskOf(mine.events)}:0`, 'beaver:nothing:0', `beaver:${'x'.repeat(300)}:0`]) {
      const agent = agentFor({ who: 'bob' })
      agent.setMessages([{ id, role: 'assistant', content: 'I claim.' }])
      expect(textIn((await ran(agent, 'all')).events)).toBe('assistant: I claim. | user: all')
    }
  })

  it('in a thread of another user', async () => {
    const body = input()
    await (await post(body)).text()
    expect((await post({ ...body, runId: 'other' }, 'bob')).status).toBe(403)
  })
})
