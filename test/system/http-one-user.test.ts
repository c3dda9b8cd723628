// Ben has a token with a user, and attacks what belongs to Ann: over every way by which HTTP takes an id.
import { createHash } from 'node:crypto'
import { createApp, type HttpApp, type KeptToken, tokenAccess, tokenHash, type TokenRole } from '@beaver/http'
import { connectNats } from '@beaver/nats'
import { clientOn } from '@beaver/client'
import { until } from '@beaver/testing'
import { beforeAll, expect, it } from 'vitest'
import { say } from '../support/fake-provider.ts'
import { keptScene, type ProtocolScene } from '../support/protocol-scene.ts'
import type { TestSystem } from '../support/system.ts'
import { tcpProxy } from '../support/tcp-proxy.ts'

let scene: ProtocolScene
let system: TestSystem
let app: HttpApp
const token = (name: string, roles: readonly TokenRole[], of: Partial<KeptToken> = {}): KeptToken => ({
  name,
  sha256: tokenHash(name),
  roles,
  ...of,
})
const all = ['read', 'submit', 'approve'] as const
const kept = [
  token('ann', all, { userId: 'ann' }),
  token('ben', all, { userId: 'ben' }),
  token('boss', all, { userId: 'boss', everyUser: true }),
  token('chief', ['admin'], { userId: 'chief' }),
  token('program', all),
]
const made = (over: Partial<Parameters<typeof createApp>[0]> = {}): HttpApp =>
  createApp({
    client: system.client,
    connected: () => true,
    access: tokenAccess(() => kept),
    hosts: () => ['beaver.test'],
    ...over,
  })

beforeAll(async () => {
  scene = await keptScene()
  system = scene.system
  app = made()
})

interface Sent {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly of?: HttpApp
}
const send = (
  as: string,
  method: string,
  path: string,
  { body, headers = {}, of = app }: Sent = {},
): Promise<Response> =>
  of.fetch(
    new Request(`http://beaver.test${path}`, {
      method,
      headers: {
        host: 'beaver.test',
        authorization: `Bearer ${as}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }),
  )
const told = async (answer: Response): Promise<Record<string, string>> =>
  (await answer.json()) as Record<string, string>
const submit = async (as: string, body: object): Promise<string> =>
  (await told(await send(as, 'POST', '/api/v1/tasks', { body })))['task_id'] ?? ''
const stream = { headers: { accept: 'text/event-stream' } }

it('an id that is taken does not say in which session, nor by whom', async () => {
  await submit('ann', { task: 'hello', task_id: 'taken', session_id: 'diary-of-ann' })
  const tries = [
    { task: 'hello', task_id: 'taken' },
    { task: 'hello', task_id: 'taken', session_id: 'of-ben' },
  ]
  for (const body of tries) {
    const answer = await send('ben', 'POST', '/api/v1/tasks', { body })
    const text = await answer.text()
    expect([answer.status, text]).toEqual([409, expect.stringContaining('taken')])
    expect(text).not.toContain('diary')
  }
})

it('an earlier task of another user is no history', async () => {
  const until_ = await submit('ann', { task: 'hello', session_id: 'past-of-ann' })
  const mine = await submit('ben', { task: 'hello', session_id: 'past-of-ben' })
  const answers = await Promise.all(
    [
      { task: 'all', session_id: 'past-of-ben', history_until: until_ },
      { task: 'all', session_id: 'past-of-ann', history_until: until_ },
      { task: 'all', session_id: 'past-of-ann', history_until: mine },
    ].map((body) => send('ben', 'POST', '/api/v1/tasks', { body })),
  )
  expect(answers.map(({ status }) => status)).toEqual([400, 403, 400])
})

it('a list and a count with filters have the tasks of the user alone', async () => {
  const filters = 'text=gazelle&status=completed&status=failed'
  const ofAnn = await submit('ann', { task: 'say gazelle' })
  const ofBen = await submit('ben', { task: 'say gazelle' })
  await Promise.all([ofAnn, ofBen].map((id) => system.ended(id)))
  const listed = async (as: string, path: string): Promise<unknown> => (await send(as, 'GET', path)).json()
  const idsOf = async (as: string, query: string): Promise<string[]> => {
    const { tasks } = (await listed(as, `/api/v1/tasks?${query}`)) as { tasks: { task_id: string }[] }
    return tasks.map(({ task_id: id }) => id)
  }
  await until('the read model has both tasks', async () => (await idsOf('boss', filters)).length === 2)
  const byId = `task_ids=${ofAnn}&task_ids=${ofBen}`
  for (const query of [filters, byId, `${filters}&${byId}`, `${byId}&tokens_min=1`]) {
    expect([query, await idsOf('ann', query), await idsOf('ben', query)]).toEqual([query, [ofAnn], [ofBen]])
    const count = { tasks: 1, at_least: false }
    expect(await listed('ben', `/api/v1/tasks/count?${query}`)).toMatchObject(count)
    expect(await listed('boss', `/api/v1/tasks/count?${query}`)).toMatchObject({ ...count, tasks: 2 })
  }
  expect(await idsOf('ben', `task_ids=${ofAnn}`)).toEqual([])
  expect((await send('ben', 'GET', '/api/v1/tasks/count?user_id=ann')).status).toBe(403)
  expect((await send('ben', 'GET', `/api/v1/tasks/${ofAnn}/graph`)).status).toBe(404)
  expect(await listed('ann', `/api/v1/tasks/${ofAnn}/graph`)).toMatchObject({ task_id: ofAnn, nodes: [] })
})

it('nobody says over HTTP that another token, or a chat, submitted a task', async () => {
  for (const source of ['http:ann', 'http:ben2', 'channel:telegram', 'HTTP:ann'])
    expect([
      source,
      (await send('ben', 'POST', '/api/v1/tasks', { body: { task: 'x', source } })).status,
    ]).toEqual([source, 400])
  for (const source of ['http:ben', 'ci']) {
    const [first] = await system.ended(await submit('ben', { task: 'x', source }))
    expect(first?.data).toMatchObject({ request: { source } })
  }
})

it.each(['boss', 'chief', 'program'])('%s, who reaches all tasks, retries one for its user', async (as) => {
  const task_id = await submit('ann', { task: `wait hou_${as}` })
  expect((await send(as, 'POST', `/api/v1/tasks/${task_id}/cancel`, { body: {} })).status).toBe(202)
  await system.ended(task_id)
  const answer = await send(as, 'POST', `/api/v1/tasks/${task_id}/retry`)
  const { task_id: retry } = await told(answer)
  expect(answer.status).toBe(202)
  expect((await system.events(retry ?? ''))[0]?.data).toMatchObject({
    request: { user_id: 'ann', retry_of: task_id },
  })
  scene.answer(`hou_${as}`, say('done'))
})

it('a token with a user makes no session of a channel, and uses none', async () => {
  const of = made({
    isOfChannel: ({ session_id = '', task_id }) => session_id.startsWith('support:') || task_id === 'chat_1',
  })
  const session_id = 'support:room10'
  const a2a = {
    jsonrpc: '2.0',
    id: 1,
    method: 'SendMessage',
    params: { message: { messageId: 'm', role: 'ROLE_USER', contextId: session_id, parts: [{ text: 'x' }] } },
  }
  const agUi = {
    threadId: session_id,
    runId: 'r',
    messages: [{ id: '1', role: 'user', content: 'x' }],
    tools: [],
    context: [],
    state: {},
    forwardedProps: {},
  }
  const ways = [
    ['/api/v1/tasks', { task: 'x', session_id }, {}],
    ['/api/chat', { message: 'x', session_id }, {}],
    ['/api/v1/team/run', { strategy: 'broadcast', members: [{ name: 'a' }], message: 'x', session_id }, {}],
    ['/a2a/beaver', a2a, { 'a2a-version': '1.0' }],
    ['/ag-ui/beaver', agUi, { accept: 'text/event-stream' }],
  ] as const
  for (const [path, body, headers] of ways)
    for (const as of ['ben', 'boss'])
      expect([path, as, await (await send(as, 'POST', path, { body, headers, of })).text()]).toEqual([
        path,
        as,
        expect.stringContaining('is a chat of a channel'),
      ])
  expect((await send('ben', 'POST', '/api/v1/tasks', { body: { task: 'x', session_id }, of })).status).toBe(
    403,
  )
  expect(
    await told(await send('ben', 'POST', '/api/v1/tasks', { body: { task: 'x', task_id: 'chat_1' }, of })),
  ).toMatchObject({
    code: 'not_allowed',
    problems: [{ path: 'task_id' }],
  })
  // A task of the chat, which Ben's own user gave there.
  const { task_id } = await system.client.submit({ task: 'hello', session_id, user_id: 'ben' })
  await system.ended(task_id)
  const goesOn = { model: 'beaver', input: 'x', previous_response_id: `resp_${task_id}` }
  expect(await (await send('ben', 'POST', '/v1/responses', { body: goesOn, of })).text()).toContain(
    'is a chat of a channel',
  )
  const retried = await send('ben', 'POST', `/api/v1/tasks/${task_id}/retry`, { of })
  expect([retried.status, await retried.text()]).toEqual([
    403,
    expect.stringContaining('is a chat of a channel'),
  ])
  for (const as of ['chief', 'program'])
    expect(
      (await send(as, 'POST', '/api/v1/tasks', { body: { task: 'x', session_id: `support:${as}` }, of }))
        .status,
    ).toBe(202)
  expect(
    (await send('ben', 'POST', '/api/v1/tasks', { body: { task: 'x', session_id: 'support' }, of })).status,
  ).toBe(202)
})

it('a key names a task of one token and one user, whoever else uses the same key', async () => {
  const body = { task: 'hello' }
  const keyed = async (as: string, more: object = {}, of = app): Promise<readonly [number, string]> => {
    const answer = await send(as, 'POST', '/api/v1/tasks', {
      body: { ...body, ...more },
      headers: { 'idempotency-key': 'order 1' },
      of,
    })
    return [answer.status, (await told(answer))['task_id'] ?? '']
  }
  const first = await keyed('ann')
  const renewed = made({
    access: tokenAccess(() => [
      { ...token('ann', all, { userId: 'ann' }), sha256: tokenHash('ann-renewed') },
      { ...token('ben', all, { userId: 'ann' }), sha256: tokenHash('name-that-was-of-ben') },
    ]),
  })
  const others = [
    await keyed('ben'),
    await keyed('name-that-was-of-ben', {}, renewed),
    await keyed('program', { user_id: 'ann' }),
    await keyed('program', { user_id: 'ben' }),
    await keyed('program'),
  ]
  expect([first, ...others].map(([status]) => status)).toEqual(Array(6).fill(202))
  expect(new Set([first, ...others].map(([, id]) => id)).size).toBe(6)
  expect(await keyed('ann')).toEqual(first)
  expect(await keyed('ann-renewed', {}, renewed)).toEqual(first)
  // Over OpenAI's interface, "user" is the user.
  const ids = new Set<string>()
  for (const user of ['ann', 'ben']) {
    const answer = await send('program', 'POST', '/v1/responses', {
      body: { model: 'beaver', input: 'hello', user, background: true },
      headers: { 'idempotency-key': 'response 1' },
    })
    expect([user, answer.status]).toEqual([user, 200])
    ids.add((await told(answer))['id'] ?? '')
  }
  expect(ids.size).toBe(2)
})

it('nobody takes the id of a key before its user does', async () => {
  const task_id = await submit('ann', { task: 'wait hou_key' })
  const key = { 'idempotency-key': 'before' }
  // The computation is no secret.
  const values = JSON.stringify(['ann', 'ann', 'key', 'before'])
  const foreseen = `key_${createHash('sha256').update(values).digest('hex').slice(0, 32)}`
  const refused = { code: 'invalid_arguments', problems: [{ path: 'body.task_id' }] }
  for (const as of ['ben', 'program', 'chief'])
    expect(
      await told(await send(as, 'POST', '/api/v1/tasks', { body: { task: 'hello', task_id: foreseen } })),
    ).toMatchObject(refused)
  const answer = await send('ann', 'POST', '/api/v1/tasks', { body: { task: 'hello' }, headers: key })
  expect([answer.status, (await told(answer))['task_id']]).toEqual([202, foreseen])
  const steer = { text: 'x', request_id: foreseen }
  expect(
    await told(await send('boss', 'POST', `/api/v1/tasks/${task_id}/steer`, { body: steer })),
  ).toMatchObject({ code: 'invalid_arguments', problems: [{ path: 'body.request_id' }] })
  scene.answer('hou_key', say('done'))
})

it('a response is cancelled on behalf of the user of the token', async () => {
  const body = { model: 'beaver', input: 'wait hou_ann', background: true }
  const { id = '' } = await told(await send('ann', 'POST', '/v1/responses', { body }))
  expect((await send('ben', 'POST', `/v1/responses/${id}/cancel`)).status).toBe(404)
  expect(
    (await send('ben', 'POST', '/v1/responses', { body: { ...body, previous_response_id: id } })).status,
  ).toBe(400)
  expect((await send('boss', 'POST', `/v1/responses/${id}/cancel`)).status).toBe(200)
  const events = await system.ended(id.replace('resp_', ''))
  expect(events.find(({ type }) => type === 'task_cancel_requested')?.data).toMatchObject({ user_id: 'boss' })
})

it('a reader that comes when the app has closed is told so, whatever it wants to read', async () => {
  const closed = made()
  const task_id = await submit('ann', { task: 'hello' })
  await closed.close()
  for (const path of [`/api/v1/tasks/${task_id}/events`, '/api/v1/tasks/nothing/events']) {
    const answer = await send('ann', 'GET', path, { ...stream, of: closed })
    expect([path, answer.status, (await told(answer))['code']]).toEqual([path, 503, 'wrong_state'])
  }
})

it('a task is not said to be missing while nobody can look', async () => {
  const task_id = await submit('ann', { task: 'hello' })
  await system.ended(task_id)
  await using proxy = await tcpProxy(scene.server.port)
  const nc = await connectNats({ url: `nats://127.0.0.1:${proxy.port}`, name: 'test' })
  let isThere = true
  const of = made({ client: clientOn(nc, system.subjects), connected: () => isThere })
  const status = async (): Promise<unknown[]> => {
    const answer = await send('ann', 'GET', `/api/v1/tasks/${task_id}/events`, { ...stream, of })
    return answer.ok
      ? [answer.status, (await answer.text()).includes('task_completed')]
      : [answer.status, (await told(answer))['code']]
  }
  proxy.silence('both', { newToo: true })
  isThere = false
  expect(await status()).toEqual([503, 'unreachable'])
  proxy.silence('none', { newToo: false })
  isThere = true
  await until('it is read again', async () => (await status()).join() === '200,true')
  await nc.close()
})

it('what agents keep about a user is read for this user alone', async () => {
  const path = '/api/v1/memory'
  expect(await told(await send('ann', 'GET', path))).toMatchObject({
    user: { entries: [] },
    memory: { entries: [] },
  })
  expect((await send('ben', 'GET', `${path}?user_id=ann`)).status).toBe(403)
})
