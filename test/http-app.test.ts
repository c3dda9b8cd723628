// The HTTP app in front of a real daemon and a real projector. It never listens: each request is a call of `fetch`.
import { createApp, type HttpApp, type KeptToken, tokenAccess, tokenHash } from '@beaver/http'
import { held, until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type FakeReply, say, use } from './support/fake-provider.ts'
import { testServer, type TestServer } from './support/nats.ts'
import { projectorProcess, type ProjectorProcess } from './support/projector.ts'
import { testSystem, type TestSystem } from './support/system.ts'

let server: TestServer
let system: TestSystem
let projector: ProjectorProcess
let app: HttpApp
const gate = held<FakeReply>()
const defects: unknown[] = []
const kept: KeptToken[] = [
  { name: 'ops', sha256: tokenHash('ops-token'), roles: ['admin'] },
  { name: 'reader', sha256: tokenHash('reader-token'), roles: ['read'] },
  { name: 'ann', sha256: tokenHash('ann-token'), roles: ['submit', 'read'], userId: 'ann' },
]

beforeAll(async () => {
  server = await testServer()
  system = await testSystem(server, { permissions: { rules: [{ tool: 'write_file', decision: 'ask' }] } })
  system.provider.answerBy(({ text, results }) => {
    if (text === 'wait') return gate.promise
    if (text === 'write') return results.length === 0 ? use(['write_file', { path: 'a.txt', content: 'x' }]) : say('written')
    return say(`You said: ${text}`)
  })
  await system.daemon()
  projector = await projectorProcess({ url: server.url, namespace: system.subjects.namespace })
  app = createApp({
    client: system.client,
    connected: () => true,
    access: tokenAccess(() => kept),
    hosts: () => ['beaver.test'],
    workspaceRoot: system.workspace,
    onDefect: (error) => defects.push(error),
  })
}, 60_000)
afterAll(async () => {
  await projector[Symbol.asyncDispose]()
  await system[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
  expect(defects).toEqual([])
})

interface Sent {
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly signal?: AbortSignal
}

const send = (method: string, path: string, { token = 'ops-token', headers = {}, body, signal }: Sent = {}): Promise<Response> =>
  app.fetch(
    new Request(`http://beaver.test${path}`, {
      method,
      headers: { host: 'beaver.test', authorization: `Bearer ${token}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    }),
  )
const told = async (answer: Response): Promise<Record<string, never>> => (await answer.json()) as Record<string, never>

/** The messages of a stream of events. */
async function messagesOf(answer: Response): Promise<{ id?: string; event: string; data: Record<string, unknown> }[]> {
  const blocks = (await answer.text()).split('\n\n').filter((block) => block.includes('event: '))
  return blocks.map((block) => {
    const field = (name: string): string | undefined => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1]
    const id = field('id')
    return { ...(id === undefined ? {} : { id }), event: field('event') ?? '', data: JSON.parse(field('data') ?? 'null') as Record<string, unknown> }
  })
}

describe('a task over HTTP', () => {
  it('is submitted, followed to its end, and shown', async () => {
    const submitted = await send('POST', '/api/v1/tasks', { body: { task: 'hello', title: 'a greeting' } })
    expect(submitted.status).toBe(202)
    const at = submitted.headers.get('location') ?? ''
    const events = await messagesOf(await send('GET', `${at}/events`, { headers: { accept: 'text/event-stream' } }))
    expect(events.map(({ id }) => Number(id))).toEqual(events.map((_, i) => i + 1))
    expect([events[0]?.event, events.at(-1)?.event]).toEqual(['task_submitted', 'task_completed'])
    await until('the read model has it', async () => (await told(await send('GET', at)))['task']?.['status'] === 'completed')
    expect(await told(await send('GET', `${at}/timeline`))).toMatchObject({
      events: expect.arrayContaining([expect.objectContaining({ kind: 'task_completed' })]) as unknown,
    })
    expect(await told(await send('GET', '/api/v1/tasks?limit=1'))).toMatchObject({ tasks: [{ title: 'a greeting' }] })
  })

  it('is followed from where a reader was, and a reader that goes away cancels nothing', async () => {
    const task_id: string = (await told(await send('POST', '/api/v1/tasks', { body: { task: 'wait' } })))['task_id'] ?? ''
    const gone = new AbortController()
    const first = await send('GET', `/api/v1/tasks/${task_id}/events`, { headers: { accept: 'text/event-stream' }, signal: gone.signal })
    const reader = first.body?.getReader()
    await reader?.read()
    await reader?.cancel()
    gone.abort()
    gate.settle(say('at last'))
    await system.ended(task_id)
    const rest = await messagesOf(await send('GET', `/api/v1/tasks/${task_id}/events`, { headers: { accept: 'text/event-stream', 'last-event-id': '2' } }))
    expect([rest[0]?.id, rest.at(-1)?.event]).toEqual(['3', 'task_completed'])
  })

  it('is one task for one Idempotency-Key, and another body with the key is refused', async () => {
    const post = (task: string): Promise<Response> => send('POST', '/api/v1/tasks', { body: { task }, headers: { 'idempotency-key': 'k1' } })
    const [one, again] = [await told(await post('same')), await told(await post('same'))]
    expect(again).toEqual(one)
    const other = await post('other')
    expect([other.status, (await told(other))['code']]).toEqual([409, 'conflict'])
  })

  it('waits for a decision, which the person with the role makes', async () => {
    const task_id: string = (await told(await send('POST', '/api/v1/tasks', { body: { task: 'write', approvals: 'wait' } })))['task_id'] ?? ''
    const calls = await until('it asks', async () => {
      const { calls: asked } = (await told(await send('GET', `/api/v1/tasks/${task_id}/approvals`))) as unknown as {
        calls: { call_id: string; call_hash: string }[]
      }
      return (asked?.length ?? 0) > 0 && asked
    })
    const body = { call_id: calls[0]?.call_id, call_hash: calls[0]?.call_hash }
    expect((await send('POST', `/api/v1/tasks/${task_id}/approve`, { body, token: 'reader-token' })).status).toBe(403)
    expect((await send('POST', `/api/v1/tasks/${task_id}/approve`, { body: { ...body, call_hash: '0' } })).status).toBe(409)
    expect((await send('POST', `/api/v1/tasks/${task_id}/approve`, { body })).status).toBe(200)
    expect((await system.ended(task_id)).at(-1)?.type).toBe('task_completed')
  })
})

describe('a chat over HTTP', () => {
  it('is answered when the task has ended, and goes on in its session', async () => {
    const first = await told(await send('POST', '/api/chat', { body: { message: 'one' } }))
    expect(first).toMatchObject({ status: 'completed', output_text: 'You said: one', finish_reason: 'stop', failure: null })
    const second = await told(await send('POST', '/api/chat', { body: { message: 'two', session_id: first['session_id'] } }))
    expect(second['session_id']).toBe(first['session_id'])
  })

  it('is streamed with one terminal event', async () => {
    const messages = await messagesOf(await send('POST', '/api/chat', { body: { message: 'three', stream: true } }))
    expect(messages[0]).toMatchObject({ event: 'submitted' })
    expect(messages.at(-1)).toMatchObject({ event: 'result', data: { output_text: 'You said: three' } })
    expect(messages.filter(({ event }) => event === 'result' || event === 'error')).toHaveLength(1)
  })

  it('speaks for the user of its token', async () => {
    expect((await send('POST', '/api/chat', { body: { message: 'x', user_id: 'bob' }, token: 'ann-token' })).status).toBe(403)
  })
})

describe('a team over HTTP', () => {
  const team = { strategy: 'sequential', members: [{ name: 'a', instruction: 'first' }, 'b'], message: 'go' }

  it('gives its report', async () => {
    const report = await told(await send('POST', '/api/v1/team/run', { body: team }))
    expect(report).toMatchObject({ success: true, steps: 2, interactions: [{}, {}] })
    expect(Object.keys(report['member_outputs'] ?? {})).toEqual(['a', 'b'])
  })

  it('is streamed with one terminal event', async () => {
    const messages = await messagesOf(await send('POST', '/api/v1/team/run', { body: { ...team, stream: true } }))
    expect([messages[0]?.event, messages.at(-1)?.event]).toEqual(['team_run_started', 'team_run_completed'])
  })

  it('is refused with the path of the problem', async () => {
    const refused = await send('POST', '/api/v1/team/run', { body: { ...team, members: [] } })
    expect([refused.status, await told(refused)]).toEqual([400, expect.objectContaining({ problems: [expect.objectContaining({ path: 'body.members' })] })])
  })
})

describe('a request that is refused', () => {
  it.each([
    ['without a token', 'GET', '/api/v1/tasks', { headers: { authorization: '' } }, 401, 'unauthorized'],
    ['with an unknown token', 'GET', '/api/v1/tasks', { token: 'no' }, 401, 'unauthorized'],
    ['without the role', 'POST', '/api/v1/tasks', { token: 'reader-token', body: { task: 'x' } }, 403, 'not_allowed'],
    ['of another host', 'GET', '/api/ping', { headers: { host: 'evil.example' } }, 403, 'not_allowed'],
    ['of a page', 'GET', '/api/ping', { headers: { origin: 'https://evil.example' } }, 403, 'not_allowed'],
    ['to nothing', 'GET', '/api/v1/nothing', {}, 404, 'not_found'],
    ['about no task', 'GET', '/api/v1/tasks/task_none', {}, 404, 'not_found'],
    ['with a method that is not there', 'DELETE', '/api/v1/tasks', {}, 405, 'method_not_allowed'],
    ['with an unknown field', 'POST', '/api/v1/tasks', { body: { task: 'x', colour: 'red' } }, 400, 'invalid_arguments'],
    ['with broken JSON', 'POST', '/api/v1/tasks', { body: '{"task":' }, 400, 'invalid_arguments'],
    ['with no body', 'POST', '/api/v1/tasks', {}, 400, 'invalid_arguments'],
    [
      'with a form',
      'POST',
      '/api/v1/tasks',
      { body: 'task=x', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
      415,
      'unsupported_media_type',
    ],
    ['that is too large', 'POST', '/api/v1/tasks', { body: { task: 'x'.repeat(2_000_001) } }, 413, 'too_large'],
    ['with a limit of letters', 'GET', '/api/v1/tasks?limit=many', {}, 400, 'invalid_arguments'],
    ['with a skill that is not there', 'POST', '/api/v1/tasks', { body: { task: 'x', skill: 'none' } }, 422, 'unknown_skill'],
    ['with a folder out of the root', 'POST', '/api/chat', { body: { message: 'x', workspace_dir: '../..' } }, 400, 'invalid_arguments'],
  ] as [string, string, string, Sent, number, string][])('%s says so', async (_, method, path, sent, status, code) => {
    const answer = await send(method, path, sent)
    expect([answer.status, answer.headers.get('content-type'), await told(answer)]).toEqual([
      status,
      'application/problem+json',
      expect.objectContaining({ code, status, type: `urn:beaver:error:${code}` }),
    ])
  })
})

it('the document names each route, and a ping needs no token', async () => {
  const { paths, openapi } = (await told(await send('GET', '/api/openapi.json', { headers: { authorization: '' } }))) as unknown as {
    paths: object
    openapi: string
  }
  expect([openapi, Object.keys(paths).length]).toEqual(['3.1.0', 24])
  expect(await told(await send('GET', '/api/ping', { headers: { authorization: '' } }))).toEqual({ status: 'ok', running: true, mode: 'daemon' })
})
