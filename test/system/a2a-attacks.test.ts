// Hostile and hasty clients of A2A, and a gateway that stops. One that is killed is in gateway.test.ts.
import { join } from 'node:path'
import { tokensFile } from '@beaver/gateway'
import { TokenStore } from '@beaver/http'
import { until } from '@beaver/testing'
import { beforeAll, describe, expect, it } from 'vitest'
import { say } from '../support/fake-provider.ts'
import { keptScene, type ProtocolScene } from '../support/protocol-scene.ts'

let scene: ProtocolScene
beforeAll(async () => void (scene = await keptScene()))

interface Sent {
  readonly who?: keyof ProtocolScene['tokens'] | 'nobody'
  readonly agent?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly at?: string
  readonly signal?: AbortSignal
}

function post(
  body: unknown,
  { who = 'ann', agent = 'beaver', headers = {}, at = scene.gateway.info.url, signal }: Sent = {},
): Promise<Response> {
  const token = who === 'nobody' ? 'nobody' : scene.tokens[who]
  return fetch(`${at}/a2a/${encodeURIComponent(agent)}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'a2a-version': '1.0',
      ...headers,
    },
    body: (typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body)) as string,
    ...(signal === undefined ? {} : { signal }),
  })
}

interface Told {
  readonly id: unknown
  readonly error?: {
    readonly code: number
    readonly message: string
    readonly data?: readonly Record<string, unknown>[]
  }
  readonly result?: { readonly task?: TaskTold } & TaskTold
}
interface TaskTold {
  readonly id: string
  readonly status: { readonly state: string }
  readonly artifacts?: readonly { readonly parts: readonly { readonly text: string }[] }[]
}

let ids = 0
const call = (method: string, params: unknown, id: unknown = 1): object => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
})
const text = (said: string): object => ({ text: said })
const said = (parts: readonly unknown[], over: object = {}): object => ({
  message: { messageId: `m${++ids}`, role: 'ROLE_USER', parts, ...over },
})
const send = (parts: readonly unknown[], over: object = {}, configuration: object = {}): object =>
  call('SendMessage', { ...said(parts, over), configuration })
const told = async (answer: Promise<Response>): Promise<Told> => (await (await answer).json()) as Told
const taskOf = async (answer: Promise<Response>): Promise<TaskTold> => {
  const { result, error } = await told(answer)
  if (result?.task === undefined) throw new Error(JSON.stringify(error))
  return result.task
}
const start = (what: string, of: Sent = {}): Promise<TaskTold> =>
  taskOf(post(send([text(what)], {}, { returnImmediately: true }), of))
const answerIn = ({ artifacts }: TaskTold): string =>
  artifacts?.[0]?.parts.map((part) => part.text).join('') ?? ''

describe('a request that is refused', () => {
  it.each<[string, unknown, number, RegExp]>([
    ['broken JSON', '{"jsonrpc": "2.0"', -32700, /is not JSON/],
    ['an empty body', '', -32700, /is not JSON/],
    ['a batch', [call('GetTask', { id: 'x' })], -32600, /one request at a time/],
    ['no object', '"SendMessage"', -32600, /no request of JSON-RPC/],
    ['null', 'null', -32600, /no request of JSON-RPC/],
    [
      'another version of JSON-RPC',
      { ...call('GetTask', {}), jsonrpc: '1.0' },
      -32600,
      /jsonrpc: must be "2.0"/,
    ],
    ['an id that is an object', call('GetTask', {}, {}), -32600, /id/],
    ['params in a list', call('GetTask', []), -32600, /params/],
    ['an unknown method', call('message/send', {}), -32601, /no method "message\/send"/],
    ['a method of every object', call('constructor', {}), -32601, /no method "constructor"/],
    ['no message', call('SendMessage', {}), -32602, /params.message is missing/],
    [
      'a message without an id',
      call('SendMessage', { message: { role: 'ROLE_USER', parts: [text('x')] } }),
      -32602,
      /messageId is missing/,
    ],
    ['a message of the agent', send([text('x')], { role: 'ROLE_AGENT' }), -32602, /must be "ROLE_USER"/],
    ['no parts', send([]), -32602, /has no parts/],
    ['parts that are a text', send('hello' as unknown as []), -32602, /parts must be a list/],
    ['an empty part', send([{}]), -32602, /neither text nor data/],
    ['a part with two contents', send([{ text: 'x', data: {} }]), -32602, /both text and data/],
    ['an empty text', send([text(' \n ')]), -32602, /is empty/],
    ['a file', send([text('look'), { raw: 'aGVsbG8=', mediaType: 'image/png' }]), -32005, /part 1 is a file/],
    ['a link to a file', send([{ url: 'http://127.0.0.1:1/x' }]), -32005, /part 0 is a file/],
    [
      'an answer that is no text',
      send([text('x')], {}, { acceptedOutputModes: ['image/png'] }),
      -32005,
      /write text/,
    ],
    [
      'push notifications with a message',
      send([text('x')], {}, { taskPushNotificationConfig: { url: 'http://127.0.0.1:1/' } }),
      -32003,
      /no push/,
    ],
    [
      'push notifications',
      call('CreateTaskPushNotificationConfig', { taskId: 'x', url: 'http://127.0.0.1:1/' }),
      -32003,
      /no push/,
    ],
    ['a context that is no id', send([text('x')], { contextId: 'a\u0000b' }), -32602, /contextId/],
    ['a context that is too long', send([text('x')], { contextId: 'x'.repeat(200) }), -32602, /contextId/],
    ['a task that does not exist', send([text('x')], { taskId: 'nothing' }), -32001, /no task "nothing"/],
    ['GetTask without an id', call('GetTask', {}), -32602, /params.id is missing/],
    ['GetTask of nothing', call('GetTask', { id: 'nothing' }), -32001, /no task "nothing"/],
    [
      'a history of less than nothing',
      call('GetTask', { id: 'x', historyLength: -1 }),
      -32602,
      /historyLength/,
    ],
    ['SubscribeToTask of nothing', call('SubscribeToTask', { id: 'nothing' }), -32001, /no task/],
    ['CancelTask of nothing', call('CancelTask', { id: 'nothing' }), -32001, /no task/],
    ['a state that does not exist', call('ListTasks', { status: 'DONE' }), -32602, /is no state/],
    ['a page that does not exist', call('ListTasks', { pageToken: 'x' }), -32602, /nextPageToken/],
    ['a page that is too long', call('ListTasks', { pageSize: 10_000 }), -32602, /pageSize/],
  ])('%s', async (_, body, code, message) => {
    const answer = await post(body)
    const { error } = (await answer.json()) as Told
    expect([answer.status, error?.code]).toEqual([200, code])
    expect(error?.message).toMatch(message)
  })

  it('an agent that does not exist', async () => {
    expect((await told(post(send([text('x')]), { agent: 'gpt-5' }))).error).toMatchObject({
      code: -32602,
      message: expect.stringContaining('no profile') as string,
    })
    expect((await told(post(send([text('x')]), { agent: 'workflow:none' }))).error).toMatchObject({
      code: -32602,
    })
  })

  it.each([
    ['no version, which means 0.3', {}],
    ['an older version', { 'a2a-version': '0.3' }],
    ['a newer version', { 'a2a-version': '2.0' }],
  ] as [string, Record<string, string>][])('%s', async (_, headers) => {
    const answer = fetch(`${scene.gateway.info.url}/a2a/beaver`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${scene.tokens.ann}`,
        'content-type': 'application/json',
        ...headers,
      },
      body: JSON.stringify(send([text('x')])),
    })
    expect((await told(answer)).error).toMatchObject({
      code: -32009,
      data: [{ reason: 'VERSION_NOT_SUPPORTED' }],
    })
  })

  it('by its status, if HTTP has a word for it', async () => {
    const large = send([text('x'.repeat(5_000_000))])
    const statuses = [
      await post(send([text('x')]), { who: 'nobody' }),
      await post(send([text('x')]), { who: 'reader' }),
      await post(call('GetTask', { id: 'x' }), { who: 'writer' }),
      await post(large),
      await post(send([text('x')]), { headers: { 'content-type': 'text/plain' } }),
      await post(new Uint8Array([0x7b, 0xff, 0x7d])),
      await post(send([text('x')]), { headers: { origin: 'https://evil.test' } }),
    ].map(({ status, headers }) => [status, headers.get('content-type')])
    expect(statuses.map(([status]) => status)).toEqual([401, 403, 403, 413, 415, 400, 403])
    expect(new Set(statuses.map(([, type]) => type))).toEqual(new Set(['application/problem+json']))
  })

  it('a message that is larger than a task may be', async () => {
    const { error } = await told(post(send([text('x'.repeat(1_200_000))])))
    expect(error).toMatchObject({ code: -32602 })
    expect(error?.message.length).toBeLessThan(1_000)
  })

  it('nothing, for data that is nested very deeply', async () => {
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`
    const asked = await post(JSON.stringify(send([{ data: 'DEEP' }])).replace('"DEEP"', deep))
    expect((await taskOf(Promise.resolve(asked))).status.state).toBe('TASK_STATE_COMPLETED')
  })

  it('too many requests', async () => {
    const slow = await scene.start({ requests_per_second_max: 1 })
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => post(call('GetTask', { id: 'x' }), { at: slow.info.url })),
    )
    await slow.stop()
    const refused = answers.find(({ status }) => status === 429)
    expect([refused?.status, refused?.headers.get('retry-after')]).toEqual([429, '1'])
  })
})

describe('the task of another user', () => {
  it('does not exist, for any method', async () => {
    const { id } = await start('wait a2a_secret')
    const asks = (['GetTask', 'CancelTask', 'SubscribeToTask'] as const).map((method) =>
      told(post(call(method, { id }), { who: 'bob' })),
    )
    const sends = [
      send([text('x')], { taskId: id }),
      send([{ data: { call_id: 'call_0', approved: true } }], { taskId: id }),
    ].map((body) => told(post(body, { who: 'bob' })))
    expect((await Promise.all([...asks, ...sends])).map(({ error }) => error?.code)).toEqual([
      -32001, -32001, -32001, -32001, -32001,
    ])
    expect((await told(post(call('GetTask', { id })))).result?.id).toBe(id)
    expect((await told(post(call('GetTask', { id }), { agent: 'clerk' }))).error?.code).toBe(-32001)
    scene.answer('a2a_secret', say('ok'))
    await scene.system.ended(id)
  })

  it('is not read by a token that may only submit, whatever it sends', async () => {
    const { id } = await start('say and wait', { who: 'admin' })
    await until('the model is asked', () => scene.system.provider.about('say and wait').length > 0)
    const steered = await taskOf(
      post(send([text('tell me')], { taskId: id }, { returnImmediately: true }), { who: 'writer' }),
    )
    expect([steered.id, JSON.stringify(steered)]).toEqual([id, expect.not.stringContaining('say and wait')])
    expect(
      (await post(call('SendStreamingMessage', said([text('and me')], { taskId: id })), { who: 'writer' }))
        .status,
    ).toBe(403)
    const { result } = await told(post(call('CancelTask', { id }), { who: 'writer' }))
    expect([result?.status.state, JSON.stringify(result)]).toEqual([
      'TASK_STATE_CANCELED',
      expect.not.stringContaining('say and wait'),
    ])
  })

  it('is not reached by its context or by the id of its message', async () => {
    const body = (over: object): object =>
      call('SendMessage', said([text('hello')], { messageId: 'shared', ...over }))
    const mine = await taskOf(post(body({ contextId: 'of-ann' })))
    expect((await told(post(body({ contextId: 'of-ann' }), { who: 'bob' }))).error).toMatchObject({
      code: -32602,
      message: expect.stringContaining('only that user') as string,
    })
    expect((await taskOf(post(body({}), { who: 'bob' }))).id).not.toBe(mine.id)
  })
})

/** The messages of a stream, as they come. */
async function* streamed(answer: Response): AsyncGenerator<Told> {
  let buffer = ''
  for await (const piece of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    buffer += piece
    const blocks = buffer.split('\n\n')
    buffer = blocks.pop() ?? ''
    for (const block of blocks) {
      const data = /^data: (.*)$/m.exec(block)?.[1]
      if (data !== undefined) yield JSON.parse(data) as Told
    }
  }
}

describe('a stream', () => {
  it('ends with an error when its token is revoked, and the task goes on', async () => {
    const home = join(scene.system.workspace, '.beaver')
    const store = new TokenStore(tokensFile(home))
    const token = await store.create('a2a-attacks short', { roles: ['submit', 'read'], now: new Date() })
    const headers = { authorization: `Bearer ${token}` }
    const answer = await post(call('SendStreamingMessage', said([text('wait a2a_revoked')])), { headers })
    const messages = streamed(answer)
    const first = (await messages.next()).value as Told
    await store.revoke('a2a-attacks short')
    scene.answer('a2a_revoked', say('too late'))
    const rest: Told[] = []
    for await (const each of messages) rest.push(each)
    expect(rest.at(-1)?.error).toMatchObject({ code: -32603, data: [{ reason: 'UNAUTHORIZED' }] })
    expect(JSON.stringify(rest)).not.toContain('too late')
    await scene.system.ended(first.result?.task?.id ?? '')
  })

  it('ends with an error when the gateway stops, and the task goes on', async () => {
    const stopping = await scene.start()
    const messages = streamed(
      await post(call('SendStreamingMessage', said([text('wait a2a_stopping')])), { at: stopping.info.url }),
    )
    const id = ((await messages.next()).value as Told).result?.task?.id ?? ''
    await stopping.stop()
    const rest: Told[] = []
    for await (const each of messages) rest.push(each)
    expect(rest.at(-1)?.error).toMatchObject({ code: -32603, data: [{ reason: 'WRONG_STATE' }] })
    scene.answer('a2a_stopping', say('not cancelled'))
    expect((await scene.system.ended(id)).at(-1)?.type).toBe('task_completed')
  })
})

it('answers in the envelope of JSON-RPC, and with nothing besides', async () => {
  const [good, bad] = [await told(post(send([text('hello')]))), await told(post(call('GetTask', {}, 'mine')))]
  expect([Object.keys(good), Object.keys(bad), good.id, bad.id]).toEqual([
    ['jsonrpc', 'id', 'result'],
    ['jsonrpc', 'id', 'error'],
    1,
    'mine',
  ])
})

it('answers many requests at once, each with its own task', async () => {
  const tasks = await Promise.all(
    Array.from({ length: 20 }, (_, i) => taskOf(post(send([text(`number ${i}`)])))),
  )
  expect(tasks.map(answerIn)).toEqual(tasks.map((_, i) => `You said: number ${i}`))
  expect(new Set(tasks.map(({ id }) => id)).size).toBe(20)
})

it('a client that waits for an answer and leaves cancels nothing', async () => {
  const leaving = new AbortController()
  const answer = post(send([text('wait a2a_gone')]), { signal: leaving.signal })
  await until('the model is asked', () => scene.system.provider.about('wait a2a_gone').length > 0)
  leaving.abort()
  await expect(answer).rejects.toThrow()
  scene.answer('a2a_gone', say('here'))
  await until('it ends', async () => {
    const { result } = (await told(
      post(call('ListTasks', { pageSize: 100, includeArtifacts: true })),
    )) as unknown as { result: { tasks: TaskTold[] } }
    return result.tasks.some((task) => answerIn(task) === 'here')
  })
})

it('a request that may not wait any longer is answered with the task as it is', async () => {
  const hasty = await scene.start({ wait_ms_max: 300 })
  const task = await taskOf(post(send([text('wait a2a_hasty')]), { at: hasty.info.url }))
  expect(task.status.state).toBe('TASK_STATE_WORKING')
  scene.answer('a2a_hasty', say('done'))
  await scene.system.ended(task.id)
  await hasty.stop()
})
