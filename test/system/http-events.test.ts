// What a console reads of a task over HTTP: its events in every way, its images, its nodes and its audit. The
// app stands in front of a real daemon and a real projector.
import { hash } from 'node:crypto'
import { createApp, type HttpApp, type KeptToken, tokenAccess, tokenHash } from '@beaver/http'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { say } from '../support/fake-provider.ts'
import { caller, messagesOf, told } from '../support/http-caller.ts'
import { keptScene, type ProtocolScene } from '../support/protocol-scene.ts'
import { only, type TestSystem } from '../support/system.ts'

let scene: ProtocolScene
let system: TestSystem
let app: HttpApp
const defects: unknown[] = []
const kept: KeptToken[] = [
  { name: 'ops', sha256: tokenHash('ops-token'), roles: ['admin'] },
  { name: 'ben', sha256: tokenHash('ben-token'), roles: ['submit', 'read'], userId: 'events-ben' },
  { name: 'ann', sha256: tokenHash('ann-token'), roles: ['submit', 'read'], userId: 'events-ann' },
  { name: 'boss', sha256: tokenHash('boss-token'), roles: ['read'], userId: 'events-boss', everyUser: true },
]

beforeAll(async () => {
  scene = await keptScene()
  system = scene.system
  app = createApp({
    client: system.client,
    connected: () => true,
    access: tokenAccess(() => kept),
    hosts: () => ['beaver.test'],
    heartbeatMs: 200,
    onDefect: (error) => defects.push(error),
  })
})
afterAll(() => expect(defects).toEqual([]))

const send = caller(() => app)

describe('a task over HTTP', () => {
  it('is followed with the pieces of its answers, if the reader wants them', async () => {
    const task = { task: 'wait events_live', stream: true }
    const task_id: string = (await told(await send('POST', '/api/v1/tasks', { body: task })))['task_id'] ?? ''
    const follow = (query: string, signal?: AbortSignal): Promise<Response> =>
      send('GET', `/api/v1/tasks/${task_id}/events${query}`, {
        headers: { accept: 'text/event-stream' },
        ...(signal === undefined ? {} : { signal }),
      })
    const plain = await follow('')
    const gone = new AbortController()
    const left = (await follow('?live=true', gone.signal)).body?.getReader()
    await left?.read()
    const waiting = left?.read()
    gone.abort()
    await left?.cancel()
    await waiting
    const live = messagesOf(await follow('?live=true'))
    await system.reached(task_id, 'a model is asked', (all) => only(all, 'run_started').length === 1)
    scene.answer('events_live', say('piece by piece'))
    const all = await live
    const events = all.filter(({ id }) => id !== undefined)
    const deltas = all.filter(({ event }) => event === 'delta')
    expect(deltas.map(({ data }) => data['text']).join('')).toBe('piece by piece')
    expect(deltas.every(({ id }) => id === undefined)).toBe(true)
    expect(all.at(-1)?.event).toBe('task_completed')
    expect(await messagesOf(plain)).toEqual(events)
  })

  it('has its events read newest first, by type, and one by one with their whole data', async () => {
    const text = `many words ${'x'.repeat(600_000)}`
    const task_id: string =
      (await told(await send('POST', '/api/v1/tasks', { body: { task: text } })))['task_id'] ?? ''
    const events = await system.ended(task_id)
    const at = `/api/v1/tasks/${task_id}/events`
    await until(
      'the read model has it',
      async () => (await send('GET', `${at}/${events.length}`)).status === 200,
    )
    const placesOf = async (query: string): Promise<unknown> =>
      (await told(await send('GET', `${at}${query}`)))['events'] as unknown
    expect(await placesOf('?order=desc&limit=2')).toMatchObject([
      { taskseq: events.length },
      { taskseq: events.length - 1 },
    ])
    const few = [{ type: 'task_submitted' }, { type: 'task_completed' }]
    expect(await placesOf('?types=task_completed&types=task_submitted')).toMatchObject(few)
    expect(await placesOf('?types=task_completed&types=task_submitted')).toMatchObject(few)
    expect(await placesOf('?limit=1')).toMatchObject([{ taskseq: 1, data: null }])
    const whole = await send('GET', `${at}/1`)
    expect(await told(whole)).toMatchObject({ task_id, event: { taskseq: 1, data: { request: { text } } } })
    expect(await told(await send('GET', `${at}/2`))).toMatchObject({
      event: { taskseq: 2, data: events[1]?.data },
    })
    const missing = await send('GET', `${at}/${events.length + 1}`)
    expect([missing.status, (await told(missing))['code']]).toEqual([404, 'not_found'])
    const stream = { accept: 'text/event-stream' }
    for (const [path, headers, place] of [
      [`${at}/0`, {}, 'path.taskseq'],
      [`${at}/1e3`, {}, 'path.taskseq'],
      [`${at}?types=`, {}, 'query.types.0'],
      [`${at}?order=up`, {}, 'query.order'],
      [`${at}?live=true`, {}, 'query.live'],
      [`${at}?order=desc`, stream, 'query.order'],
      [`${at}?types=run_started`, stream, 'query.types'],
      [`${at}?before=7`, stream, 'query.before'],
      [`${at}?node_id=a`, stream, 'query.node_id'],
    ] as const) {
      const refused = await send('GET', path, { headers })
      expect([path, refused.status, await told(refused)]).toMatchObject([
        path,
        400,
        { code: 'invalid_arguments', problems: [{ path: place }] },
      ])
    }
  })

  it('has its images read as what they are, by who reaches the task, and no other content', async () => {
    const gif = Buffer.from('GIF89a\u0003\0\u0002\0\u0080\0\0', 'latin1')
    const sha256 = hash('sha256', gif)
    const token = 'ann-token'
    const submit = async (body: object): Promise<string> =>
      (await told(await send('POST', '/api/v1/tasks', { body, token })))['task_id'] ?? ''
    const images = [{ data: gif.toString('base64'), name: '<script>.html' }]
    const task_id = await submit({ task: 'what is it?', images })
    const other = await submit({ task: `${sha256} ${'x'.repeat(70_000)}` })
    const [, large] = [await system.ended(task_id), await system.ended(other)]
    await until(
      'the read model has both',
      async () => (await send('GET', `/api/v1/tasks/${other}/events/${large.length}`)).status === 200,
    )
    const at = (task: string, sha = sha256): string => `/api/v1/tasks/${task}/images/${sha}`
    const shown = await send('GET', at(task_id), { token })
    expect(Buffer.from(await shown.arrayBuffer())).toEqual(gif)
    expect(Object.fromEntries(shown.headers)).toMatchObject({
      'content-type': 'image/gif',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    })
    const { event } = (await told(await send('GET', `/api/v1/tasks/${other}/events/1`))) as unknown as {
      event: { blob_sha256: string }
    }
    for (const [path, as, status] of [
      [at(task_id), 'ben-token', 404],
      [at(task_id), 'boss-token', 200],
      [at(other), token, 404],
      [at(other, event.blob_sha256), token, 404],
      [at(other, 'f'.repeat(64)), token, 404],
      [at(other, 'F'.repeat(64)), token, 400],
      [at(other, '..%2f..'), token, 400],
    ] as const)
      expect([path, as, (await send('GET', path, { token: as })).status]).toEqual([path, as, status])
  })
})

describe('what was answered over NATS alone', () => {
  const submit = async (token: string, body: object): Promise<string> => {
    const task_id: string =
      (await told(await send('POST', '/api/v1/tasks', { body, token })))['task_id'] ?? ''
    const { length } = await system.ended(task_id)
    const at = `/api/v1/tasks/${task_id}`
    await until(
      'the read model has it',
      async () => (await send('GET', `${at}/events/${length}`)).status === 200,
    )
    return task_id
  }

  it('is a node of a team, for who reaches the task', async () => {
    const workflow = { name: 'workflow:sum_up', arguments: { text: 'a long text' } }
    const task_id = await submit('ann-token', { workflow })
    const at = `/api/v1/tasks/${task_id}/nodes/summary`
    expect(await told(await send('GET', at, { token: 'ann-token' }))).toMatchObject({
      task_id,
      node: { node_id: 'summary' },
      calls: [{ kind: 'model' }],
    })
    expect((await send('GET', at, { token: 'boss-token' })).status).toBe(200)
    expect((await send('GET', at, { token: 'ben-token' })).status).toBe(404)
    expect((await send('GET', `${at}x`, { token: 'ann-token' })).status).toBe(400)
  })

  it('is the audit, of the tasks that the token reaches, compared with the journal if it asks for that', async () => {
    const task_id = await submit('ann-token', { task: 'hello' })
    await submit('ben-token', { task: 'hello' })
    const { length } = await system.events(task_id)
    const at = `/api/v1/tasks/${task_id}/audit`
    for (const token of ['ann-token', 'boss-token'])
      expect(await told(await send('GET', `${at}?verify=true`, { token }))).toMatchObject({
        verified: { tasks: 1, events: length, differs: [] },
        heads: [{ task_id, last_taskseq: length, chain_ok: true }],
      })
    expect((await send('GET', at, { token: 'ben-token' })).status).toBe(404)
    expect((await send('GET', `${at}?verify=true`, { token: 'ben-token' })).status).toBe(404)
    const auditOf = async (token: string) =>
      (await told(await send('GET', '/api/v1/audit?verify=true&limit=500', { token }))) as unknown as {
        heads: { task_id: string }[]
        verified: { tasks: number; tasks_left: number }
      }
    const [ofAnn, ofBen, ofBoss] = [
      await auditOf('ann-token'),
      await auditOf('ben-token'),
      await auditOf('boss-token'),
    ]
    const idsIn = ({ heads }: typeof ofAnn): string[] => heads.map((head) => head.task_id)
    expect(idsIn(ofAnn)).toContain(task_id)
    expect(idsIn(ofBen)).not.toContain(task_id)
    expect(idsIn(ofBoss)).toEqual(expect.arrayContaining([...idsIn(ofAnn), ...idsIn(ofBen)]))
    for (const { heads, verified } of [ofAnn, ofBen])
      expect(verified.tasks + verified.tasks_left).toBe(heads.length)
  })

  it('is the projector and the quarantine, for a token that reaches all tasks alone', async () => {
    expect(await told(await send('GET', '/api/v1/projector', { token: 'boss-token' }))).toMatchObject({
      fault: null,
      tasks: expect.any(Number) as number,
    })
    expect(await told(await send('GET', '/api/v1/quarantine', { token: 'boss-token' }))).toMatchObject({
      messages: expect.any(Array) as [],
    })
    for (const path of ['/api/v1/projector', '/api/v1/quarantine']) {
      const refused = await send('GET', path, { token: 'ann-token' })
      expect([path, refused.status, (await told(refused))['code']]).toEqual([path, 403, 'not_allowed'])
    }
  })
})
