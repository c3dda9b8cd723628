// The HTTP app in front of a real daemon and a real projector. It never listens: each request is a call of
// `fetch`.
import {
  type AppOptions,
  createApp,
  type HttpApp,
  type KeptToken,
  tokenAccess,
  tokenHash,
} from '@beaver/http'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { say } from '../support/fake-provider.ts'
import { caller, messagesOf, type Sent, told } from '../support/http-caller.ts'
import { keptScene, type ProtocolScene } from '../support/protocol-scene.ts'
import { only, type TestSystem } from '../support/system.ts'

let scene: ProtocolScene
let system: TestSystem
let app: HttpApp
let options: AppOptions
const defects: unknown[] = []
const kept: KeptToken[] = [
  { name: 'ops', sha256: tokenHash('ops-token'), roles: ['admin'] },
  { name: 'reader', sha256: tokenHash('reader-token'), roles: ['read'] },
  { name: 'writer', sha256: tokenHash('writer-token'), roles: ['submit'] },
  { name: 'ben', sha256: tokenHash('ben-token'), roles: ['submit', 'read', 'approve'], userId: 'http-ben' },
  {
    name: 'boss',
    sha256: tokenHash('boss-token'),
    roles: ['read', 'approve'],
    userId: 'boss',
    everyUser: true,
  },
  { name: 'pat', sha256: tokenHash('pat-token'), roles: ['submit', 'read', 'approve'], userId: 'pat' },
  { name: 'ann', sha256: tokenHash('ann-token'), roles: ['submit', 'read'], userId: 'ann' },
]

beforeAll(async () => {
  scene = await keptScene()
  system = scene.system
  options = {
    client: system.client,
    connected: () => true,
    access: tokenAccess(() => kept),
    hosts: () => ['beaver.test'],
    origins: ['https://console.test'],
    workspaceRoot: system.workspace,
    heartbeatMs: 200,
    onDefect: (error) => defects.push(error),
  }
  app = createApp(options)
})
afterAll(() => expect(defects).toEqual([]))

const send = caller(() => app)

describe('a task over HTTP', () => {
  it('is submitted, followed to its end, and shown', async () => {
    const submitted = await send('POST', '/api/v1/tasks', { body: { task: 'hello', title: 'a greeting' } })
    expect(submitted.status).toBe(202)
    const at = submitted.headers.get('location') ?? ''
    const events = await messagesOf(
      await send('GET', `${at}/events`, { headers: { accept: 'text/event-stream' } }),
    )
    expect(events.map(({ id }) => Number(id))).toEqual(events.map((_, i) => i + 1))
    expect([events[0]?.event, events.at(-1)?.event]).toEqual(['task_submitted', 'task_completed'])
    await until(
      'the read model has it',
      async () => (await told(await send('GET', at)))['task']?.['status'] === 'completed',
    )
    expect(await told(await send('GET', `${at}/timeline`))).toMatchObject({
      events: expect.arrayContaining([expect.objectContaining({ kind: 'task_completed' })]) as unknown,
    })
    const { session_id: session } = await told(submitted)
    expect(await told(await send('GET', `/api/v1/tasks?session_id=${session}`))).toMatchObject({
      tasks: [{ title: 'a greeting' }],
    })
  })

  it('is followed from where a reader was, and a reader that goes away cancels nothing', async () => {
    const task_id: string =
      (await told(await send('POST', '/api/v1/tasks', { body: { task: 'wait http_left' } })))['task_id'] ?? ''
    const gone = new AbortController()
    const first = await send('GET', `/api/v1/tasks/${task_id}/events`, {
      headers: { accept: 'text/event-stream' },
      signal: gone.signal,
    })
    const reader = first.body?.getReader()
    await reader?.read()
    await reader?.cancel()
    gone.abort()
    scene.answer('http_left', say('at last'))
    await system.ended(task_id)
    const rest = await messagesOf(
      await send('GET', `/api/v1/tasks/${task_id}/events`, {
        headers: { accept: 'text/event-stream', 'last-event-id': '2' },
      }),
    )
    expect([rest[0]?.id, rest.at(-1)?.event]).toEqual(['3', 'task_completed'])
    const same = await send('GET', `/api/v1/tasks/${task_id}/events?after=2`, {
      headers: { accept: 'text/event-stream' },
    })
    expect(await messagesOf(same)).toEqual(rest)
  })

  it('is not followed any more when the token of the reader is revoked', async () => {
    kept.push({ name: 'leaver', sha256: tokenHash('leaver-token'), roles: ['admin'] })
    const task_id: string =
      (await told(await send('POST', '/api/v1/tasks', { body: { task: 'wait http_hold' } })))['task_id'] ?? ''
    const stream = await send('GET', `/api/v1/tasks/${task_id}/events`, {
      token: 'leaver-token',
      headers: { accept: 'text/event-stream' },
    })
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
    let before = ''
    while (!before.includes('event: user_message_added')) before += (await reader?.read())?.value ?? ''
    expect(before).toContain('event: task_submitted')
    kept.pop()
    let rest = ''
    for (let piece = await reader?.read(); piece?.done === false; piece = await reader?.read())
      rest += piece.value
    expect(rest).toMatch(/^(: still here\n\n)*event: error\ndata: .*"code":"unauthorized".*\n\n$/)
    scene.answer('http_hold', say('done'))
    await system.ended(task_id)
  })

  it('is not followed for a request that has no body in its answer', async () => {
    const { task_id } = await told(await send('POST', '/api/v1/tasks', { body: { task: 'hello' } }))
    await system.ended(task_id ?? '')
    await until(
      'the read model has it',
      async () => (await send('GET', `/api/v1/tasks/${task_id}`)).status === 200,
    )
    const head = await send('HEAD', `/api/v1/tasks/${task_id}/events`, {
      headers: { accept: 'text/event-stream' },
    })
    expect([head.status, head.headers.get('content-type')]).toEqual([200, 'application/json'])
  })

  it('is steered on behalf of the user of the token, once for one Idempotency-Key', async () => {
    const token = 'ann-token'
    const task_id: string =
      (await told(await send('POST', '/api/v1/tasks', { body: { task: 'wait http_steered' }, token })))[
        'task_id'
      ] ?? ''
    const steer = (text: string): Promise<Response> =>
      send('POST', `/api/v1/tasks/${task_id}/steer`, {
        body: { text },
        token,
        headers: { 'idempotency-key': 'http 1' },
      })
    const [first, again, other] = [
      await steer('Be brief.'),
      await steer('Be brief.'),
      await steer('Be long.'),
    ]
    expect([first.status, again.status, other.status]).toEqual([202, 202, 409])
    expect(await told(again)).toEqual(await told(first))
    scene.answer('http_steered', say('done'))
    const events = await system.ended(task_id)
    const steers = events.filter(({ type }) => type === 'task_steer_requested')
    expect(steers.map(({ data }) => data)).toEqual([
      expect.objectContaining({ text: 'Be brief.', user_id: 'ann' }),
    ])
    expect((await steer('Too late.')).status).toBe(409)
  })

  it('has its budget raised on behalf of the user of the token, with the role that decides', async () => {
    const token = 'pat-token'
    const task = { task: 'wait http_raised', budget: { usd: 1 } }
    const task_id: string =
      (await told(await send('POST', '/api/v1/tasks', { body: task, token })))['task_id'] ?? ''
    const raise = (usd: number, by = token): Promise<Response> =>
      send('POST', `/api/v1/tasks/${task_id}/raise`, {
        body: { more: { usd }, reason: 'It is long.' },
        token: by,
        headers: { 'idempotency-key': 'raise 1' },
      })
    const [first, again, other] = [await raise(2), await raise(2), await raise(3)]
    expect([first.status, again.status, other.status]).toEqual([202, 202, 409])
    expect(await told(again)).toEqual(await told(first))
    // Ann may submit and read, and not approve.
    expect([(await raise(0)).status, (await raise(2, 'ann-token')).status]).toEqual([400, 403])
    scene.answer('http_raised', say('done'))
    const raises = (await system.ended(task_id)).filter(({ type }) => type === 'budget_raised')
    expect(raises.map(({ data }) => data)).toEqual([
      expect.objectContaining({ more: { usd: 2 }, reason: 'It is long.', user_id: 'pat' }),
    ])
  })

  it('is cancelled and retried on behalf of the user of the token', async () => {
    const token = 'ann-token'
    const task_id: string =
      (await told(await send('POST', '/api/v1/tasks', { body: { task: 'wait http_endless' }, token })))[
        'task_id'
      ] ?? ''
    expect(
      (await send('POST', `/api/v1/tasks/${task_id}/cancel`, { body: { reason: 'Enough.' }, token })).status,
    ).toBe(202)
    const events = await system.ended(task_id)
    expect(events.find(({ type }) => type === 'task_cancel_requested')?.data).toMatchObject({
      reason: 'Enough.',
      user_id: 'ann',
    })
    scene.answer('http_endless', say('done'))
    const budget = { usd: 1 }
    const retried = await told(
      await send('POST', `/api/v1/tasks/${task_id}/retry`, { body: { budget }, token }),
    )
    const [submitted] = await system.ended(retried['task_id'] ?? '')
    expect(submitted?.data).toMatchObject({ request: { user_id: 'ann', retry_of: task_id, budget } })
    const { task_id: other } = await told(
      await send('POST', '/api/v1/tasks', { body: { task: 'wait http_cleo', user_id: 'cleo' } }),
    )
    await send('POST', `/api/v1/tasks/${other}/cancel`, {})
    await system.ended(other ?? '')
    expect((await send('POST', `/api/v1/tasks/${other}/retry`, { token })).status).toBe(404)
  })

  it('is one task for one Idempotency-Key, and another body with the key is refused', async () => {
    const post = (task: string): Promise<Response> =>
      send('POST', '/api/v1/tasks', { body: { task }, headers: { 'idempotency-key': 'http 2' } })
    const [one, again] = [await told(await post('same')), await told(await post('same'))]
    expect(again).toEqual(one)
    const other = await post('other')
    expect([other.status, (await told(other))['code']]).toEqual([409, 'conflict'])
  })

  it('waits for a decision, which the person with the role makes', async () => {
    const task_id: string =
      (
        await told(
          await send('POST', '/api/v1/tasks', { body: { task: 'write over_http', approvals: 'wait' } }),
        )
      )['task_id'] ?? ''
    const calls = await until('it asks', async () => {
      const { calls: asked } = (await told(
        await send('GET', `/api/v1/tasks/${task_id}/approvals`),
      )) as unknown as {
        calls: { call_id: string; call_hash: string }[]
      }
      return (asked?.length ?? 0) > 0 && asked
    })
    const body = { call_id: calls[0]?.call_id, call_hash: calls[0]?.call_hash }
    expect(
      (await send('POST', `/api/v1/tasks/${task_id}/approve`, { body, token: 'reader-token' })).status,
    ).toBe(403)
    expect(
      (await send('POST', `/api/v1/tasks/${task_id}/approve`, { body: { ...body, call_hash: '0' } })).status,
    ).toBe(409)
    expect(
      (await send('POST', `/api/v1/tasks/${task_id}/approve`, { body: { ...body, call_id: 'no_such_call' } }))
        .status,
    ).toBe(404)
    expect((await send('POST', `/api/v1/tasks/${task_id}/approve`, { body })).status).toBe(200)
    const again = async (verb: 'approve' | 'deny') => {
      const answer = await send('POST', `/api/v1/tasks/${task_id}/${verb}`, {
        body: verb === 'deny' ? { ...body, reason: 'No.' } : body,
      })
      return [answer.status, (await told(answer))['detail']]
    }
    const first = [
      409,
      expect.stringMatching(/^The call call_0 was already allowed by http:ops \(over ada\) at \d{4}-/),
    ]
    expect(await again('deny')).toEqual(first)
    expect((await system.ended(task_id)).at(-1)?.type).toBe('task_completed')
    for (const verb of ['approve', 'deny'] as const) expect(await again(verb)).toEqual(first)
  })
})

describe('what the daemon has loaded', () => {
  it('is read with the role read, page by page and by name', async () => {
    const read = (path: string, token = 'reader-token') => send('GET', path, { token })
    const page = await told(await read('/api/v1/loaded?kind=tool&limit=2'))
    expect(page).toMatchObject({
      ...{ entries: [{ kind: 'tool' }, { kind: 'tool' }], more: true, next: 2 },
    })
    expect(page['entries']?.[0]).not.toHaveProperty('schema')
    expect(await told(await read('/api/v1/loaded?kind=workflow&name=GraphWorkflow'))).toMatchObject({
      ...{ total: 1, more: false, next: null },
      entries: [{ name: 'GraphWorkflow', is_tool: true, schema: { type: 'object' } }],
    })
    const answers = [
      await read('/api/v1/loaded?name=nothing'),
      await read('/api/v1/loaded?kind=secret'),
      await read('/api/v1/loaded', 'writer-token'),
    ]
    expect(answers.map(({ status }) => status)).toEqual([404, 400, 403])
  })

  it('plans a workflow, and a refused call is an answer', async () => {
    const plan = async (body: object, token = 'reader-token') => {
      const answer = await send('POST', '/api/v1/plan', { token, body })
      return [answer.status, await told(answer)]
    }
    const agents = [{ name: 'a', instruction: 'Say hello.' }]
    const workflow = 'SequentialWorkflow'
    expect(await plan({ workflow, arguments: { task: 't', agents } })).toMatchObject([
      200,
      { ok: true, graph: { nodes: [{ node_id: 'a' }] }, grows_to_max: null, conditions: [] },
    ])
    expect(await plan({ workflow: 'Nothing', arguments: {} })).toMatchObject([
      200,
      { ok: false, error: { code: 'unknown_workflow' } },
    ])
    expect(await plan({ workflow })).toMatchObject([400, { code: 'invalid_arguments' }])
    expect(await plan({ workflow, arguments: {} }, 'writer-token')).toMatchObject([403, {}])
  })
})

describe('a workflow for a profile', () => {
  it('is added with the role admin alone, to a profile and of a workflow that exist', async () => {
    const add = async (name: string, workflow: unknown, token = 'ops-token') => {
      const at = `/api/v1/profiles/${encodeURIComponent(name)}/workflows`
      const answer = await send('POST', at, { token, body: { workflow } })
      const { code, changed } = await told(answer)
      return [answer.status, code ?? changed]
    }
    // Agents of this profile have the workflow already, so other files keep their profile.
    expect(await add('clerk', 'GraphWorkflow')).toEqual([200, false])
    for (const token of ['ann-token', 'ben-token', 'boss-token', 'reader-token', 'writer-token'])
      expect([token, ...(await add('clerk', 'GraphWorkflow', token))]).toEqual([token, 403, 'not_allowed'])
    for (const name of ['nobody', '../../clerk.json', '/etc/passwd', '../..', 'clerk\u0000', '<b>'])
      expect([name, ...(await add(name, 'workflow:sum_up'))]).toEqual([name, 422, 'unknown_profile'])
    expect(await add('clerk', 'workflow:../clerk')).toEqual([422, 'unknown_workflow'])
    expect(await add('clerk', 'x'.repeat(201))).toEqual([400, 'invalid_arguments'])
    expect(await add('clerk', ['workflow:sum_up'])).toEqual([400, 'invalid_arguments'])
  })
})

describe('what belongs to a user', () => {
  it('does not exist for a token of another user, whatever it asks for', async () => {
    const token = 'ann-token'
    const task_id: string =
      (
        await told(
          await send('POST', '/api/v1/tasks', {
            body: { task: 'write over_http', approvals: 'wait' },
            token,
          }),
        )
      )['task_id'] ?? ''
    const call = await until('it asks', async () => {
      const { calls } = (await told(
        await send('GET', `/api/v1/tasks/${task_id}/approvals`, { token }),
      )) as unknown as { calls?: { call_id: string }[] }
      return calls?.[0]
    })
    const at = `/api/v1/tasks/${task_id}`
    const run = `${at}/runs/${only(await system.events(task_id), 'run_started')[0]?.data.run_id}`
    const read: [string, string, Sent][] = [
      ['GET', at, {}],
      ['GET', `${at}/spans?run_ids=a&run_ids=b`, {}],
      ['GET', run, {}],
      ['GET', `${run}/prompt`, {}],
      ['GET', `/api/v1/tasks/${task_id.slice(0, -2)}`, {}],
      ['GET', `${at}/timeline`, {}],
      ['GET', `${at}/approvals`, {}],
      ['GET', `${at}/events`, {}],
      ['GET', `${at}/events`, { headers: { accept: 'text/event-stream' } }],
      ['GET', `${at}/events?live=true&after=2`, { headers: { accept: 'text/event-stream' } }],
      ['GET', `${at}/events/1`, {}],
      ['GET', `/api/v1/sessions/${task_id}`, {}],
    ]
    const decision = { body: { call_id: call.call_id, reason: 'No.' } }
    const control: [string, string, Sent][] = [
      ['POST', `${at}/cancel`, {}],
      ['POST', `${at}/steer`, { body: { text: 'Stop.' } }],
      ['POST', `${at}/raise`, { body: { more: { usd: 1 } } }],
      ['POST', `${at}/retry`, {}],
      ['POST', `${at}/approve`, { body: { call_id: call.call_id } }],
      ['POST', `${at}/deny`, decision],
    ]
    for (const [method, path, sent] of [...read, ...control]) {
      const answer = await send(method, path, { ...sent, token: 'ben-token' })
      expect([method, path, answer.status, (await told(answer))['code']]).toEqual([
        method,
        path,
        404,
        'not_found',
      ])
    }
    for (const list of [
      '/api/v1/tasks',
      '/api/v1/sessions',
      '/api/v1/approvals',
      '/api/v1/inbox',
      '/api/v1/search?query=over_http',
    ])
      expect(await (await send('GET', list, { token: 'ben-token' })).text()).not.toContain(task_id)
    expect((await send('GET', '/api/v1/tasks?user_id=ann', { token: 'ben-token' })).status).toBe(403)
    expect((await send('GET', '/api/v1/inbox?user_id=ann', { token: 'ben-token' })).status).toBe(403)
    for (const own of [token, 'boss-token'])
      expect(await (await send('GET', '/api/v1/inbox', { token: own })).text()).toContain(task_id)
    for (const [method, path, sent] of read) {
      const answer = await send(method, path, { ...sent, token: 'boss-token' })
      await answer.body?.cancel()
      expect([path, answer.status]).toEqual([path, 200])
    }
    expect((await send('POST', `${at}/deny`, { ...decision, token: 'boss-token' })).status).toBe(200)
    const events = await system.ended(task_id)
    expect(events.find(({ type }) => type === 'approval_denied')?.data).toMatchObject({
      reason: 'No.',
      user_id: 'boss',
    })
  })

  it('is summed for the user of a token alone', async () => {
    await told(await send('POST', '/api/chat', { body: { message: 'count me' }, token: 'ben-token' }))
    const calls = async (token: string): Promise<number> =>
      ((await told(await send('GET', '/api/v1/usage', { token }))) as unknown as { total: { calls: number } })
        .total.calls
    await until('the read model has it', async () => (await calls('ben-token')) === 1)
    expect(await calls('ops-token')).toBeGreaterThan(1)
  })

  it('counts as failed for the user of a token alone', async () => {
    const failed = async (token: string): Promise<string[]> => {
      const { groups } = (await told(await send('GET', '/api/v1/failures', { token }))) as unknown as {
        groups: { task_ids: string[] }[]
      }
      return groups.flatMap(({ task_ids: ids }) => ids)
    }
    const fails = async (token: string): Promise<string> =>
      (await told(await send('POST', '/api/v1/tasks', { body: { task: 'fail' }, token })))['task_id'] ?? ''
    const ofBen = await fails('ben-token')
    const ofPat = await fails('pat-token')
    await until('the read model has both', async () => {
      const all = await failed('ops-token')
      return all.includes(ofBen) && all.includes(ofPat)
    })
    expect(await failed('ben-token')).toContain(ofBen)
    expect(await failed('ben-token')).not.toContain(ofPat)
    expect(await failed('pat-token')).toContain(ofPat)
    expect(await failed('pat-token')).not.toContain(ofBen)
    expect((await send('GET', '/api/v1/failures?user_id=pat', { token: 'ben-token' })).status).toBe(403)
  })
})

describe('a chat over HTTP', () => {
  it('is answered when the task has ended, and goes on in its session', async () => {
    const first = await told(await send('POST', '/api/chat', { body: { message: 'one' } }))
    expect(first).toMatchObject({
      status: 'completed',
      output_text: 'You said: one',
      finish_reason: 'stop',
      failure: null,
    })
    const second = await told(
      await send('POST', '/api/chat', { body: { message: 'two', session_id: first['session_id'] } }),
    )
    expect(second['session_id']).toBe(first['session_id'])
  })

  it('is streamed with one terminal event', async () => {
    const messages = await messagesOf(
      await send('POST', '/api/chat', { body: { message: 'three', stream: true } }),
    )
    expect(messages[0]).toMatchObject({ event: 'submitted' })
    expect(messages.at(-1)).toMatchObject({ event: 'result', data: { output_text: 'You said: three' } })
    expect(messages.filter(({ event }) => event === 'result' || event === 'error')).toHaveLength(1)
  })

  it('speaks for the user of its token', async () => {
    expect(
      (await send('POST', '/api/chat', { body: { message: 'x', user_id: 'bob' }, token: 'ann-token' }))
        .status,
    ).toBe(403)
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
    const messages = await messagesOf(
      await send('POST', '/api/v1/team/run', { body: { ...team, stream: true } }),
    )
    expect([messages[0]?.event, messages.at(-1)?.event]).toEqual(['team_run_started', 'team_run_completed'])
  })

  it('that takes longer than a request waits has a terminal event too, and goes on', async () => {
    const hasty = createApp({
      client: system.client,
      connected: () => true,
      access: tokenAccess(() => kept),
      hosts: () => ['beaver.test'],
      runMsMax: 1_000,
    })
    const headers = {
      host: 'beaver.test',
      authorization: 'Bearer ops-token',
      'content-type': 'application/json',
    }
    const body = JSON.stringify({ ...team, message: 'wait for the gate http_team', stream: true })
    const messages = await messagesOf(
      await hasty.fetch(new Request('http://beaver.test/api/v1/team/run', { method: 'POST', headers, body })),
    )
    const taskId = messages[0]?.data['task_id'] as string
    expect(messages.at(-1)).toMatchObject({
      event: 'team_run_failed',
      data: { task_id: taskId, message: expect.stringContaining(taskId) as string },
    })
    scene.answer('http_team', say('at last'))
    expect((await system.ended(taskId)).at(-1)?.type).toBe('task_completed')
  })

  it('is refused with the path of the problem', async () => {
    const refused = await send('POST', '/api/v1/team/run', { body: { ...team, members: [] } })
    expect([refused.status, await told(refused)]).toEqual([
      400,
      expect.objectContaining({ problems: [expect.objectContaining({ path: 'body.members' })] }),
    ])
  })
})

it('a caller that goes away before its whole body was sent is no defect', async () => {
  const gone = new AbortController()
  const body = new ReadableStream({
    pull(controller) {
      gone.abort()
      controller.error(new Error('aborted'))
    },
  })
  const headers = { host: 'beaver.test', authorization: 'Bearer ops-token' }
  const answer = await app.fetch(
    new Request('http://beaver.test/api/v1/tasks', {
      method: 'POST',
      headers,
      body,
      duplex: 'half',
      signal: gone.signal,
    }),
  )
  expect(answer.status).toBe(400)
})

it('a page of an allowed origin may use the app from a browser, also its refusals', async () => {
  const page = { origin: 'https://console.test' }
  const asked = await send('OPTIONS', '/api/v1/tasks', {
    headers: { ...page, 'access-control-request-method': 'POST' },
  })
  const answers = [
    asked,
    await send('GET', '/api/v1/tasks', { headers: page }),
    await send('GET', '/api/v1/tasks', { headers: page, token: 'no' }),
  ]
  expect(answers.map(({ status, headers }) => [status, headers.get('access-control-allow-origin')])).toEqual([
    [204, page.origin],
    [200, page.origin],
    [401, page.origin],
  ])
  expect(asked.headers.get('access-control-allow-headers')).toContain('authorization')
  expect(asked.headers.get('access-control-allow-headers')).toContain('traceparent')
  const other = await send('OPTIONS', '/api/v1/tasks', { headers: { origin: 'https://evil.example' } })
  expect([other.status, other.headers.get('access-control-allow-origin')]).toEqual([403, null])
})

describe('a request that is refused', () => {
  it.each([
    ['without a token', 'GET', '/api/v1/tasks', { headers: { authorization: '' } }, 401, 'unauthorized'],
    ['with an unknown token', 'GET', '/api/v1/tasks', { token: 'no' }, 401, 'unauthorized'],
    [
      'without the role',
      'POST',
      '/api/v1/tasks',
      { token: 'reader-token', body: { task: 'x' } },
      403,
      'not_allowed',
    ],
    ['of another host', 'GET', '/api/ping', { headers: { host: 'evil.example' } }, 403, 'not_allowed'],
    ['of a page', 'GET', '/api/ping', { headers: { origin: 'https://evil.example' } }, 403, 'not_allowed'],
    ['to nothing', 'GET', '/api/v1/nothing', {}, 404, 'not_found'],
    ['about no task', 'GET', '/api/v1/tasks/task_none', {}, 404, 'not_found'],
    ['with a method that is not there', 'DELETE', '/api/v1/tasks', {}, 405, 'method_not_allowed'],
    [
      'with an unknown field',
      'POST',
      '/api/v1/tasks',
      { body: { task: 'x', colour: 'red' } },
      400,
      'invalid_arguments',
    ],
    ['with broken JSON', 'POST', '/api/v1/tasks', { body: '{"task":' }, 400, 'invalid_arguments'],
    ['with no body', 'POST', '/api/v1/tasks', {}, 400, 'invalid_arguments'],
    [
      'that is nested 20,000 deep',
      'POST',
      '/api/v1/tasks',
      {
        body: `{"workflow":{"name":"SequentialWorkflow","arguments":{"task":${'['.repeat(20_000)}${']'.repeat(20_000)}}}}`,
      },
      400,
      'invalid_arguments',
    ],
    [
      'with a form',
      'POST',
      '/api/v1/tasks',
      { body: 'task=x', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
      415,
      'unsupported_media_type',
    ],
    [
      'that is too large',
      'POST',
      '/api/v1/tasks',
      { body: { task: 'x'.repeat(2_000_001) } },
      413,
      'too_large',
    ],
    ['with a limit of letters', 'GET', '/api/v1/tasks?limit=many', {}, 400, 'invalid_arguments'],
    [
      'with a skill that is not there',
      'POST',
      '/api/v1/tasks',
      { body: { task: 'x', skill: 'none' } },
      422,
      'unknown_skill',
    ],
    [
      'with a model that is not there',
      'POST',
      '/api/v1/tasks',
      { body: { task: 'x', model: 'none' } },
      400,
      'invalid_arguments',
    ],
    [
      'in a chat with a model that is not there',
      'POST',
      '/api/chat',
      { body: { message: 'x', model: 'none' } },
      400,
      'invalid_arguments',
    ],
    [
      'with a folder out of the root',
      'POST',
      '/api/chat',
      { body: { message: 'x', workspace_dir: '../..' } },
      400,
      'invalid_arguments',
    ],
  ] as [string, string, string, Sent, number, string][])(
    '%s says so',
    async (_, method, path, sent, status, code) => {
      const answer = await send(method, path, sent)
      expect([answer.status, answer.headers.get('content-type'), await told(answer)]).toEqual([
        status,
        'application/problem+json',
        expect.objectContaining({ code, status, type: `urn:beaver:error:${code}` }),
      ])
    },
  )
})

it('the page for people shows each route, runs nothing, and loads nothing', async () => {
  const answer = await send('GET', '/api/docs', { headers: { authorization: '' } })
  const page = await answer.text()
  const { paths } = (await told(await send('GET', '/api/openapi.json'))) as unknown as {
    paths: Readonly<Record<string, Readonly<Record<string, { operationId: string }>>>>
  }
  const operations = Object.values(paths).flatMap((each) =>
    Object.values(each).map(({ operationId }) => operationId),
  )
  expect(operations.filter((id) => !page.includes(`id="${id}"`))).toEqual([])
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=UTF-8'])
  expect(answer.headers.get('content-security-policy')).toMatch(/default-src 'none'/)
  expect(page).not.toMatch(/<script|<link|<img|src=|url\(|https?:\/\//i)
  // What concerns programs that speak NATS, and words of the specification, say nothing to a reader of this
  // page.
  for (const other of [/D-\d\d/, /On behalf of others/, /&quot;nats&quot;/, /(\bobject) or \1/])
    expect(page).not.toMatch(other)
  for (const needed of ['$BEAVER', '$TOKEN', '<code>approve</code>']) expect(page).toContain(needed)
  const targets = [...page.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id)
  expect(targets.filter((id) => !page.includes(`id="${id}"`))).toEqual([])
})

it('the document names each route, and a ping needs no token', async () => {
  const { paths, openapi } = (await told(
    await send('GET', '/api/openapi.json', { headers: { authorization: '' } }),
  )) as unknown as {
    paths: object
    openapi: string
  }
  expect([openapi, Object.keys(paths).length]).toEqual(['3.1.0', 60])
  expect(await told(await send('GET', '/api/ping', { headers: { authorization: '' } }))).toEqual({
    status: 'ok',
    running: true,
    mode: 'daemon',
  })
})

it('cancels the task of a completion that waited for as long as it may, if nobody asks again', async () => {
  const impatient = createApp({ ...options, runMsMax: 1_000, againMsMax: 500 })
  const text = 'wait app_left'
  const answer = await impatient.fetch(
    new Request('http://beaver.test/v1/chat/completions', {
      method: 'POST',
      headers: { authorization: 'Bearer ops-token', 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'beaver', messages: [{ role: 'user', content: text }] }),
    }),
  )
  expect([answer.status, await answer.json()]).toMatchObject([504, { error: { code: 'timeout' } }])
  const { task_id } = await until('the task is known', async () =>
    (await system.client.query('tasks', { limit: 50 })).tasks.find((each) => each.text === text),
  )
  expect((await system.ended(task_id)).at(-1)?.type).toBe('task_cancelled')
  await impatient.close()
})
