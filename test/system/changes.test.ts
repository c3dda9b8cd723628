// The changes of tasks from the projector to a client over NATS, and to readers over HTTP.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BeaverClient, type Change, clientOn } from '@beaver/client'
import { event, type LogId, type SessionId, type TaskId } from '@beaver/core'
import { draft, emptyHead, joinBatch, seal } from '@beaver/core/journal'
import { createApp, type HttpApp, tokenAccess, tokenHash } from '@beaver/http'
import { connectNats, type NatsJournal, natsJournal, subjectsOf } from '@beaver/nats'
import { until } from '@beaver/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { testServer, type TestServer } from '../support/nats.ts'
import { projectorProcess, type ProjectorProcess } from '../support/projector.ts'
import { tcpProxy } from '../support/tcp-proxy.ts'

let server: TestServer
let namespace: string
let home: string
let projector: ProjectorProcess
let client: BeaverClient
let journal: NatsJournal
const closing: (() => Promise<unknown>)[] = []
const startProjector = async (): Promise<void> =>
  void (projector = await projectorProcess({ url: server.url, namespace, home }))

beforeAll(async () => {
  server = await testServer()
  namespace = server.newNamespace()
  home = await mkdtemp(join(tmpdir(), 'beaver-changes-'))
  const nc = await connectNats({ url: server.url, name: 'test' })
  journal = await natsJournal(nc, subjectsOf(namespace))
  client = clientOn(nc, subjectsOf(namespace))
  await startProjector()
})
afterAll(async () => {
  journal.close()
  await client.close()
  await projector[Symbol.asyncDispose]()
  await rm(home, { recursive: true })
  await server[Symbol.asyncDispose]()
})
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

/** Submits a task as a daemon does. */
async function submit(task: string, userId?: string): Promise<void> {
  const log: LogId = { tenant: 'local', session: task as SessionId, task: task as TaskId }
  const first = event('task_submitted', {
    ...{ task_id: log.task, session_id: log.session, tenant: log.tenant, previous_task_id: null },
    request: { text: 'x', workspace: '/', skill: null, source: 'test', user_id: userId },
  })
  const place = { epoch: 0, source: '/d', subject: task, time: '2026-01-01T00:00:00.000Z' }
  const { record } = seal(emptyHead, draft(first), place)
  const tail = { task: null, revision: 0 }
  const outcome = await journal.accept({ log, payloads: [joinBatch([record])], tail })
  if (outcome.kind !== 'accepted') throw new Error(outcome.kind)
}

/** A client that follows the changes; each message is noted when it comes. */
async function follow(by: BeaverClient = client): Promise<Change[]> {
  const stop = new AbortController()
  const changes: Change[] = []
  const following = (async () => {
    for await (const change of by.changes({ signal: stop.signal })) changes.push(change)
  })()
  closing.push(async () => {
    stop.abort()
    await following
  })
  await until('it follows', () => changes.length > 0)
  return changes
}

const idsIn = (changes: readonly Change[]): string[] =>
  changes.flatMap((change) => (change.kind === 'changed' ? change.tasks.map((task) => task.task_id) : []))
const numbered = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, i) => `${name}${i}`)
/** Waits until the projector has told of everything that it has applied, so that nothing old comes later. */
async function quiet(): Promise<void> {
  const changes = await follow()
  for (let told = false; !told;) {
    const [id, before] = [`quiet${++quiets}`, changes.length]
    await submit(id)
    await until('it is told', () => changes.length > before)
    // The first message of a projector names no tasks.
    told = idsIn(changes).includes(id)
  }
}
let quiets = 0

describe('a client', () => {
  it('gets the new row when it asks after the change, for many tasks', async () => {
    await quiet()
    const ids = numbered('row', 200)
    const stop = new AbortController()
    const seen = new Set<string>()
    const late: string[] = []
    let kind: string | null = null
    const following = (async () => {
      for await (const change of client.changes({ signal: stop.signal })) {
        kind ??= change.kind
        // A projector that is behind names no tasks, but says that any may have changed.
        if (change.kind === 'reset')
          for (const id of ids.filter((each) => !seen.has(each)))
            if ((await client.query('tasks', { session_id: id })).tasks.length > 0) seen.add(id)
        if (seen.size === ids.length) stop.abort()
        if (change.kind !== 'changed') continue
        const asked = change.tasks.filter(({ task_id: id }) => id.startsWith('row') && !seen.has(id))
        const rows = await Promise.all(
          asked.map(({ session_id: session }) => client.query('tasks', { session_id: session })),
        )
        for (const [i, { task_id: id, status }] of asked.entries()) {
          seen.add(id)
          if (rows[i]?.tasks[0]?.status !== status) late.push(id)
        }
        if (seen.size === ids.length) stop.abort()
      }
    })()
    await until('it follows', () => kind !== null)
    for (let i = 0; i < ids.length; i += 20) await Promise.all(ids.slice(i, i + 20).map((id) => submit(id)))
    await until('all are told', () => stop.signal.aborted)
    await following
    expect([kind, late]).toEqual(['hello', []])
  })

  it('hears what a task is, and the sequence until which the projector is', async () => {
    await quiet()
    const changes = await follow()
    const { sequence } = await client.query('status')
    expect(changes).toEqual([{ kind: 'hello', sequence }])
    await submit('told', 'ann')
    await until('it is told', () => changes.length > 1)
    expect(changes[1]).toEqual({
      kind: 'changed',
      sequence: sequence + 1,
      tasks: [{ task_id: 'told', session_id: 'told', user_id: 'ann', taskseq: 1, status: 'submitted' }],
    })
  })

  it('whose line to NATS was cut is told so, and hears the next change', async () => {
    await quiet()
    await using proxy = await tcpProxy(server.port)
    const nc = await connectNats({ url: `nats://127.0.0.1:${proxy.port}`, name: 'cut' })
    const cut = clientOn(nc, subjectsOf(namespace))
    closing.push(() => cut.close())
    const changes = await follow(cut)
    proxy.cut()
    await until('it is told so', () => changes.some(({ kind }) => kind === 'reset'))
    await submit('after-the-cut')
    await until('it hears the change', () => idsIn(changes).includes('after-the-cut'))
  })

  it('hears that anything may have changed when a projector that was killed is back, and then changes', async () => {
    await quiet()
    const changes = await follow()
    await projector[Symbol.asyncDispose]()
    await submit('while-it-was-away')
    expect(changes.map(({ kind }) => kind)).toEqual(['hello'])
    // Without a projector, a client follows as well.
    const others = await follow()
    expect(others).toEqual([{ kind: 'hello', sequence: null }])
    await startProjector()
    for (const each of [changes, others])
      await until('it is told so', () => each.some(({ kind }) => kind === 'reset'))
    const { tasks } = await client.query('tasks', { session_id: 'while-it-was-away' })
    expect(tasks).toHaveLength(1)
    await submit('after-it-was-away')
    for (const each of [changes, others])
      await until('it hears the change', () => idsIn(each).includes('after-it-was-away'))
    expect(changes.filter(({ kind }) => kind === 'reset')).toHaveLength(1)
  })

  it('whose projector builds everything again hears it once', async () => {
    await quiet()
    await projector[Symbol.asyncDispose]()
    for (const suffix of ['', '-wal', '-shm']) await rm(`${projector.file}${suffix}`, { force: true })
    const changes = await follow()
    await startProjector()
    await submit('after-the-rebuild')
    await until('it hears of it', () => changes.some(({ kind }) => kind === 'reset'))
    await submit('later')
    await until('it hears the change', () => idsIn(changes).includes('later'))
    expect(changes.filter(({ kind }) => kind === 'reset')).toHaveLength(1)
  })
})

describe('a reader over HTTP', () => {
  const tokens = [
    { name: 'ann', roles: ['read'], userId: 'ann' },
    { name: 'ben', roles: ['read'], userId: 'ben' },
    { name: 'program', roles: ['read'] },
    { name: 'writer', roles: ['submit'] },
  ] as const
  const kept = [...tokens.map((token) => ({ ...token, sha256: tokenHash(token.name) }))]
  let app: HttpApp
  let isConnected = true
  beforeAll(() => {
    const connected = (): boolean => isConnected
    app = createApp({
      ...{
        client,
        connected,
        access: tokenAccess(() => kept),
        hosts: () => ['beaver.test'],
        heartbeatMs: 20,
      },
    })
  })
  afterAll(() => app.close())

  const send = (as: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Response> =>
    app.fetch(
      new Request('http://beaver.test/api/v1/changes', {
        method,
        headers: { authorization: `Bearer ${as}`, ...headers },
      }),
    )
  interface Told {
    readonly id: string | undefined
    readonly event: string | undefined
    readonly data: { readonly sequence: number; readonly tasks?: readonly { readonly task_id: string }[] }
  }
  /** Reads a stream. What came is in `told`, and in `text` as it came. */
  async function read(as: string) {
    const answer = await send(as, { accept: 'text/event-stream' })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
    ])
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
    const seen = { text: '', ended: false }
    const reading = (async () => {
      for (let piece = await reader?.read(); piece?.done === false; piece = await reader?.read())
        seen.text += piece.value
      seen.ended = true
    })()
    closing.push(async () => {
      await reader?.cancel()
      await reading
    })
    const told = (): Told[] =>
      seen.text
        .split('\n\n')
        .filter((part) => part.includes('data: '))
        .map((part) => ({
          id: /^id: (.*)$/m.exec(part)?.[1],
          event: /^event: (.*)$/m.exec(part)?.[1],
          data: JSON.parse(/^data: (.*)$/m.exec(part)?.[1] ?? 'null') as Told['data'],
        }))
    const ids = (): string[] =>
      told().flatMap(({ event, data }) =>
        (event === 'changed' ? (data.tasks ?? []) : []).map((task) => task.task_id),
      )
    await until('it has begun', () => told().length > 0)
    return { seen, told, ids }
  }

  it('hears of the tasks that it reaches alone', async () => {
    await quiet()
    const [ann, ben, program] = [await read('ann'), await read('ben'), await read('program')]
    expect(ann.told()).toMatchObject([{ event: 'hello', data: { sequence: expect.any(Number) as number } }])
    const { sequence } = await client.query('status')
    for (const [task, user] of [
      ['http-of-ann', 'ann'],
      ['http-of-nobody', undefined],
      ['http-of-ben', 'ben'],
      ['http-end-ann', 'ann'],
      ['http-end-ben', 'ben'],
    ] as const)
      await submit(task, user)
    await until('all is told', () => ann.ids().includes('http-end-ann') && ben.ids().includes('http-end-ben'))
    await until('the program hears all', () => program.ids().length === 5)
    expect([ann.ids(), ben.ids()]).toEqual([
      ['http-of-ann', 'http-end-ann'],
      ['http-of-ben', 'http-end-ben'],
    ])
    for (const hidden of ['nobody', 'of-ben', 'end-ben']) expect(ann.seen.text).not.toContain(hidden)
    expect(program.told().at(-1)).toMatchObject({ id: String(sequence + 5), event: 'changed' })
  })

  it('needs the role read, and a Beaver that runs', async () => {
    expect((await send('writer', { accept: 'text/event-stream' })).status).toBe(403)
    isConnected = false
    const answer = await send('ann', { accept: 'text/event-stream' })
    isConnected = true
    expect([answer.status, await answer.json()]).toEqual([
      503,
      expect.objectContaining({ code: 'unreachable' }),
    ])
  })

  it('that does not ask for a stream gets the sequence, and keeps nothing open', async () => {
    await quiet()
    const { sequence } = await client.query('status')
    expect(await (await send('ann')).json()).toEqual({ sequence })
    const head = await send('ann', { accept: 'text/event-stream' }, 'HEAD')
    expect([head.status, head.headers.get('content-type')]).toEqual([200, 'application/json'])
  })

  it('whose token is revoked hears nothing more', async () => {
    const { seen } = await read('program')
    const [token] = kept.splice(2, 1)
    await submit('after-the-revocation')
    await until('it has ended', () => seen.ended)
    if (token !== undefined) kept.splice(2, 0, token)
    expect(seen.text).toMatch(/event: error\ndata: .*"code":"unauthorized".*\n\n$/)
    expect(seen.text).not.toContain('after-the-revocation')
  })

  it('that comes when the app closes is refused, and the others are told so', async () => {
    const { seen } = await read('ann')
    await app.close()
    await until('it has ended', () => seen.ended)
    expect(seen.text).toContain('"code":"wrong_state"')
    expect((await send('ann', { accept: 'text/event-stream' })).status).toBe(503)
  })
})
