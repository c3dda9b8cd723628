// Cancelling and retrying all tasks of a filter over HTTP: first a count, then the work, for the tasks that the
// token reaches alone.
import type { BulkCount, BulkRequest, BulkResult } from '@beaver/contracts'
import { createApp, type HttpApp, type KeptToken, tokenAccess, tokenHash, type TokenRole } from '@beaver/http'
import { until } from '@beaver/testing'
import { beforeAll, expect, it } from 'vitest'
import { say } from '../support/fake-provider.ts'
import { keptScene, type ProtocolScene } from '../support/protocol-scene.ts'
import type { TestSystem } from '../support/system.ts'

let scene: ProtocolScene
let system: TestSystem
let app: HttpApp
const token = (name: string, roles: readonly TokenRole[], of: Partial<KeptToken> = {}): KeptToken => ({
  name,
  sha256: tokenHash(name),
  roles,
  ...of,
})
const kept = [
  token('ann', ['read', 'submit'], { userId: 'ann' }),
  token('ben', ['read', 'submit'], { userId: 'ben' }),
  token('boss', ['admin']),
  token('reader', ['read']),
  token('writer', ['submit']),
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

type Answer = BulkCount & BulkResult & { readonly code: string; readonly problems: { path: string }[] }

async function bulk(as: string, body: object, of = app): Promise<[status: number, answer: Answer]> {
  const answer = await of.fetch(
    new Request('http://beaver.test/api/v1/tasks/bulk', {
      method: 'POST',
      headers: { host: 'beaver.test', authorization: `Bearer ${as}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  )
  return [answer.status, (await answer.json()) as Answer]
}

const counted = async (as: string, body: Omit<BulkRequest, 'dry_run'>): Promise<BulkCount> =>
  (await bulk(as, { ...body, dry_run: true }))[1]
const done = async (as: string, body: Omit<BulkRequest, 'dry_run'>, of = app): Promise<BulkResult> =>
  (await bulk(as, { ...body, dry_run: false }, of))[1]

/** Submits tasks, and waits until the read model has them in this state. */
async function submitted(
  tasks: readonly { task: string; user_id?: string; session_id?: string }[],
  status: 'open' | 'failed' | 'completed' | 'cancelled',
): Promise<string[]> {
  const ids: string[] = []
  for (const each of tasks) ids.push((await system.client.submit(each)).task_id)
  if (status === 'cancelled') for (const id of ids) await system.client.cancel(id, 'Not needed.')
  await known(ids, status)
  return ids
}

const known = (ids: readonly string[], status: 'open' | 'failed' | 'completed' | 'cancelled') =>
  until(`${ids.join()} are ${status} in the read model`, async () => {
    const { tasks } = await system.client.query('tasks', { task_ids: [...ids], status, limit: 200 })
    return tasks.length === ids.length
  })

const cancelsOf = async (id: string): Promise<unknown[]> =>
  (await system.events(id)).flatMap((each) => (each.type === 'task_cancel_requested' ? [each.data] : []))

it('a token with a user counts and cancels the tasks of this user alone, and none that came later', async () => {
  const task = 'wait bulkcancel'
  const filter = { text: 'bulkcancel' }
  const ofAnn = await submitted([{ task, user_id: 'ann' }], 'open')
  const [newer = '', ...ofBen] = (
    await submitted(
      [
        { task, user_id: 'ben' },
        { task, user_id: 'ben' },
        { task, user_id: 'ben' },
      ],
      'open',
    )
  ).toReversed()
  const count = await counted('ben', {
    verb: 'cancel',
    filter: { ...filter, task_ids: [...ofAnn, ...ofBen] },
  })
  expect(count).toMatchObject({ matched: 2, able: 2, at_least: false, left_out: [] })
  expect(count.tasks.map(({ task_id }) => task_id)).toEqual(ofBen)
  expect(await counted('boss', { verb: 'cancel', filter })).toMatchObject({ matched: 4, able: 4 })
  const other = { verb: 'cancel', filter: { user_id: 'ann' }, dry_run: true }
  expect(await bulk('ben', other)).toMatchObject([403, { code: 'not_allowed' }])

  const asked = { verb: 'cancel', filter, before: count.before, reason: 'Enough.' } as const
  expect(await done('ben', asked)).toEqual({
    ...{ dry_run: false, done: 2, refused: [], next: null, stopped: null },
  })
  await known(ofBen, 'cancelled')
  expect(await cancelsOf(ofBen[0] ?? '')).toMatchObject([{ reason: 'Enough.', user_id: 'ben' }])
  // The answer may have been lost.
  expect(await done('ben', asked)).toMatchObject({ done: 0, refused: [], next: null })
  for (const id of ofBen) expect(await cancelsOf(id)).toHaveLength(1)
  for (const id of [newer, ...ofAnn]) expect(await cancelsOf(id)).toEqual([])
  expect(await counted('ben', { verb: 'cancel', filter })).toMatchObject({
    ...{ matched: 3, able: 1, left_out: [{ why: 'ended', tasks: 2 }] },
  })
  scene.answer('bulkcancel', say('done'))
  await known([newer, ...ofAnn], 'completed')
})

it('a task that was asked to cancel, and goes on, is not asked again', async () => {
  const [id = ''] = await submitted([{ task: 'wait bulktwice' }], 'open')
  const { before } = await counted('boss', { verb: 'cancel', filter: { text: 'bulktwice' } })
  // The read model of this gateway is of the time before the task ended.
  const page = await system.client.query('tasks', { task_ids: [id], limit: 1 })
  const late = made({
    client: {
      ...system.client,
      query: (async (name: string, input: never) =>
        name === 'tasks' ? page : system.client.query(name as 'tasks', input)) as never,
    },
  })
  const asked = { verb: 'cancel', filter: { text: 'bulktwice' }, before } as const
  expect(await done('boss', asked)).toMatchObject({ done: 1, refused: [] })
  await known([id], 'cancelled')
  expect(await done('boss', asked, late)).toMatchObject({ done: 1, refused: [] })
  expect(await cancelsOf(id)).toHaveLength(1)
  scene.answer('bulktwice', say('done'))
})

it('a task that ends before its turn comes is refused with a code, and the others are cancelled', async () => {
  const [first = '', second = ''] = await submitted(
    [{ task: 'wait bulkends' }, { task: 'wait bulkgoeson' }],
    'open',
  )
  const filter = { task_ids: [first, second] }
  const { before } = await counted('boss', { verb: 'cancel', filter })
  const late = made({
    client: {
      ...system.client,
      query: (async (name: string, input: never) => {
        const answer = await system.client.query(name as 'tasks', input)
        if (name === 'tasks') {
          scene.answer('bulkends', say('done'))
          await system.ended(first)
        }
        return answer
      }) as never,
    },
  })
  expect(await done('boss', { verb: 'cancel', filter, before }, late)).toMatchObject({
    ...{ done: 1, next: null, stopped: null },
    refused: [{ task_id: first, code: 'conflict', message: expect.stringContaining('has ended already') }],
  })
  expect((await system.ended(second)).at(-1)?.type).toBe('task_cancelled')
  scene.answer('bulkgoeson', say('done'))
})

it('retries what failed once, however often it is asked, a part at a time', async () => {
  const session = 'bulk-retry'
  const of = (task: string, user_id = 'ann') => ({ task, user_id, session_id: `${session}-${user_id}` })
  const failed = await submitted([of('fail'), of('fail'), of('fail')], 'failed')
  await submitted([of('hello')], 'completed')
  await submitted([of('wait bulkretry')], 'cancelled')
  const [ofBen = ''] = await submitted([of('fail', 'ben')], 'failed')
  const filter = { session_id: `${session}-ann` }
  const count = await counted('ann', { verb: 'retry', filter })
  expect(count).toMatchObject({
    ...{ matched: 5, able: 3 },
    left_out: [
      { why: 'not_failed', tasks: 1 },
      { why: 'cancelled', tasks: 1 },
    ],
  })
  expect(count.tasks.map(({ task_id }) => task_id)).toEqual(failed.toReversed())
  const asked = { verb: 'retry', filter, before: count.before, limit: 2 } as const
  const first = await done('ann', asked)
  expect(first).toMatchObject({ done: 2, refused: [], next: expect.any(Number) })
  expect(await done('ann', { ...asked, before: first.next ?? 0 })).toMatchObject({ done: 1, next: null })
  // The answers may have been lost, and the read model may know the retries already or not.
  for (const before of [count.before, first.next ?? 0, count.before])
    expect(await done('ann', { ...asked, before })).toMatchObject({ refused: [] })
  const retries = failed.map((id) => `${id}.retry-1`)
  await known(retries, 'failed')
  expect(await done('ann', asked)).toMatchObject({ done: 0, refused: [], next: null })
  const { tasks } = await system.client.query('tasks', { session_id: filter.session_id, limit: 200 })
  expect(tasks.flatMap(({ retry_of }) => retry_of ?? []).toSorted()).toEqual(failed.toSorted())
  expect(await counted('ann', { verb: 'retry', filter })).toMatchObject({
    ...{ matched: 8, able: 3 },
    left_out: expect.arrayContaining([{ why: 'already_retried', tasks: 3 }]),
  })
  const ids: Pick<BulkRequest, 'verb' | 'filter'> = { verb: 'retry', filter: { task_ids: [ofBen] } }
  expect(await counted('ann', ids)).toMatchObject({ matched: 0, able: 0, tasks: [] })
  expect(await done('ann', { ...ids, before: count.before + 100 })).toMatchObject({ done: 0, refused: [] })
  scene.answer('bulkretry', say('done'))
})

it('retries cancelled tasks if the filter says so, and tells why a task cannot be retried', async () => {
  const [gone = ''] = await submitted([{ task: 'wait bulkgone' }], 'cancelled')
  const filter: BulkRequest['filter'] = { task_ids: [gone], status: 'cancelled' }
  const { before, able } = await counted('boss', { verb: 'retry', filter })
  expect(able).toBe(1)
  // Somebody else retries it with another budget, which this gateway does not know yet.
  const late = made({
    client: {
      ...system.client,
      query: (async (name: string, input: never) => {
        const answer = await system.client.query(name as 'tasks', input)
        if (name === 'tasks') await system.client.retry(gone, { budget: { model_calls: 7 } })
        return answer
      }) as never,
    },
  })
  expect(await done('boss', { verb: 'retry', filter, before }, late)).toMatchObject({
    ...{ done: 0, refused: [{ task_id: gone, code: 'conflict' }], next: null },
  })
  scene.answer('bulkgone', say('done'))
})

it.each([
  ['a filter that names nothing', {}, 'body.filter'],
  ['a filter that leaves out no task', { filter: { text: ' ', tokens_min: 0 } }, 'body.filter'],
  ['words that are none', { filter: { text: '\u0301 \u0085' } }, 'body.filter'],
  ['both a filter and all', { filter: { skill: 'x' }, all: true }, 'body.all'],
  ['no count before it', { filter: { skill: 'x' }, dry_run: false }, 'body.before'],
  ['a reason for a retry', { filter: { skill: 'x' }, verb: 'retry', reason: 'x' }, 'body.reason'],
  ['an unknown filter', { filter: { skil: 'x' } }, 'body.filter'],
])('refuses %s', async (_, more, path) => {
  const body = { verb: 'cancel', filter: {}, dry_run: true, ...more }
  expect(await bulk('boss', body)).toMatchObject([400, { code: 'invalid_arguments', problems: [{ path }] }])
})

it('all tasks are meant if the request says so, and a token needs the roles of a list and of the verb', async () => {
  const whole = { verb: 'cancel', filter: {}, all: true, dry_run: true }
  const [status, { matched }] = await bulk('boss', whole)
  expect([status, matched > 0]).toEqual([200, true])
  for (const as of ['reader', 'writer'])
    expect([as, await bulk(as, whole)]).toMatchObject([as, [403, { code: 'not_allowed' }]])
})
