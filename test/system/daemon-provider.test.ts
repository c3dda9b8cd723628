// What a provider may do wrong, over real HTTP: each ends in the right class in the journal or is recovered
// from; nothing hangs, and the key is nowhere.
import { join } from 'node:path'
import type { RecordedEvent } from '@beaver/core/journal'
import { type FailureClass, failurePolicies } from '@beaver/core/supervision'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { placeIn } from '../support/cli.ts'
import type { DaemonProcess } from '../support/daemon.ts'
import { type FakeReply, refuse, say, type SeenRequest } from '../support/fake-provider.ts'
import { keptCommands, keptSystem } from '../support/kept-system.ts'
import { testServer, type TestServer } from '../support/nats.ts'
import { apiKey, only, testSystem, type TestSystem, told } from '../support/system.ts'

let server: TestServer
let system: TestSystem
let daemon: DaemonProcess
const cases = new Map<string, (request: SeenRequest, nth: number) => FakeReply | Promise<FakeReply>>()

/** It waits for an outage as by default. */
let patient: TestSystem
beforeAll(async () => {
  patient = (await keptSystem()).system
  server = await testServer()
  system = await testSystem(server)
  system.provider.answerBy((request) => {
    const nth = system.provider.requests.filter((each) => each.text === request.text).length
    const reply = cases.get(request.text)
    return reply === undefined ? say('ok') : reply(request, nth)
  })
  // It does not wait for an outage.
  daemon = await system.daemon({ BEAVER_MODEL_TIMEOUT_MS: '4000', BEAVER_PROVIDER_OUTAGE_MS_MAX: '0' })
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

async function run(
  name: string,
  reply: (request: SeenRequest, nth: number) => FakeReply | Promise<FakeReply>,
): Promise<readonly RecordedEvent[]> {
  cases.set(name, reply)
  // It waits without looking at the journal again and again: many tasks run at once.
  const { task_id } = await system.client.run({ task: name })
  return system.events(task_id)
}

const failures = (events: readonly RecordedEvent[]) =>
  only(events, 'provider_call_failed').map((event) => event.data)
const triesMax = (failureClass: FailureClass): number => {
  const policy = failurePolicies[failureClass]
  return policy.action === 'retry' ? policy.triesMax : 1
}

describe('a provider that', () => {
  test.concurrent.each<[string, FailureClass, number | null, () => FakeReply]>([
    ['refuses the key', 'provider_refused', 401, () => refuse(401, `Incorrect API key provided: ${apiKey}`)],
    ['refuses the request', 'provider_refused', 400, () => refuse(400, 'no such parameter')],
    ['has no such model', 'provider_refused', 404, () => refuse(404, 'model not found')],
    [
      'finds the conversation too long',
      'context_overflow',
      400,
      () => ({ status: 400, body: '{"error":{"code":"context_length_exceeded","message":"too long"}}' }),
    ],
    [
      'answers HTML',
      'malformed_output',
      null,
      () => ({ headers: { 'content-type': 'text/html' }, body: `<html>Bearer ${apiKey}</html>` }),
    ],
    ['answers half a JSON', 'malformed_output', null, () => ({ body: '{"choices":[{"mess' })],
    ['answers JSON of another shape', 'malformed_output', null, () => ({ body: `{"hello":"${apiKey}"}` })],
    ['answers nothing at all', 'malformed_output', null, () => ({ body: '' })],
    ['never answers', 'provider_timeout', null, () => null],
  ])('%s: the task fails as %s', async (name, failureClass, status, reply) => {
    const events = await run(name, reply)
    expect(events.at(-1)).toMatchObject({ type: 'task_failed', data: { failure: { class: failureClass } } })
    const tries = failures(events)
    expect(tries.map((each) => [each.failure.class, each.tries])).toEqual(
      Array.from({ length: triesMax(failureClass) }, (_, i) => [failureClass, i + 1]),
    )
    expect(tries.at(-1)?.retry_in_ms).toBeNull()
    if (status !== null) expect(tries[0]?.status).toBe(status)
    expect(system.provider.about(name)).toHaveLength(tries.length)
  })

  test.concurrent.each<[string, FailureClass, () => FakeReply]>([
    ['fails once', 'provider_unavailable', () => refuse(500, 'oops')],
    ['is overloaded once', 'provider_unavailable', () => refuse(503, 'overloaded')],
    ['cuts the line once', 'provider_unavailable', () => ({ body: '{"choices":[', cut: true })],
    ['answers garbage once', 'malformed_output', () => ({ body: 'Welcome to nginx' })],
    ['is silent once', 'provider_timeout', () => null],
  ])('%s is asked again, and the task completes', async (name, failureClass, reply) => {
    const events = await run(name, (_, nth) => (nth === 1 ? reply() : say('42')))
    expect(events.at(-1)).toMatchObject({ type: 'task_completed', data: { final_output: '42' } })
    expect(failures(events).map((each) => each.failure.class)).toEqual([failureClass])
    expect(told(events).filter((type) => type === 'assistant_message_added')).toHaveLength(1)
  })

  it('limits the rate is asked again after the time it names (Retry-After)', async () => {
    const times: number[] = []
    const events = await run('slow down', (_, nth) => {
      times.push(performance.now())
      return nth === 1 ? refuse(429, 'slow down', { 'retry-after': '1' }) : say('42')
    })
    expect(events.at(-1)?.type).toBe('task_completed')
    expect(failures(events)).toMatchObject([{ failure: { class: 'rate_limited' }, status: 429 }])
    expect(failures(events)[0]?.retry_in_ms).toBeGreaterThanOrEqual(1_000)
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(990)
  })

  it('was waited for in vain has its request closed', () => {
    expect(system.provider.about('never answers').every((request) => request.abandoned)).toBe(true)
  })
})

it('the key is sent to the provider, and is nowhere else: not in the journal, not in a blob, not in what the daemon says', async () => {
  await run(`the key in an answer`, () =>
    refuse(401, `${apiKey} is not valid; Authorization: Bearer ${apiKey}`),
  )
  expect(
    system.provider.requests.every((request) => request.headers.authorization === `Bearer ${apiKey}`),
  ).toBe(true)
  const stored = await server.stored()
  expect(stored.includes('beaver.provider_call_failed.v1')).toBe(true)
  for (const secret of [apiKey, 'SECRET', Buffer.from(apiKey).toString('base64')])
    expect([secret, stored.includes(secret)]).toEqual([secret, false])
  expect(daemon.stderr).not.toContain('SECRET')
})

// An outage of minutes and hours is in packages/providers/src/outage.test.ts.
it('a provider that fails for longer than the tries of a call is waited for, and the task completes when it is back', async () => {
  /** One more than the tries of a call. */
  const failing = 6
  let asked = 0
  patient.provider.answerBy(() => (++asked <= failing ? refuse(503, 'overloaded') : say('back')))
  const { task_id } = await patient.client.submit({ task: 'wait for it' })
  const events = await patient.ended(task_id)
  expect(events.at(-1)).toMatchObject({ type: 'task_completed', data: { final_output: 'back' } })
  expect(failures(events)).toHaveLength(failing)
  expect(
    failures(events).every(
      ({ failure, retry_in_ms }) => failure.class === 'provider_unavailable' && (retry_in_ms ?? 0) > 0,
    ),
  ).toBe(true)
})

it('what doctor says of the models is what the daemon has, and not the environment of who asks', async () => {
  await using elsewhere = await testSystem(server, {
    model: { base_url: 'http://127.0.0.1:9/v1', name: 'down' },
  })
  await elsewhere.daemon({ OPENAI_BASE_URL: '' })
  const host = await keptCommands()
  const doctor = async (of: TestSystem): Promise<string> => {
    const place = placeIn(server, of)
    const ran = await host.run(['doctor', '--json'], {
      ...place,
      cwd: '/',
      env: { ...place.env, BEAVER_HOME: join(of.workspace, '.beaver') },
    })
    const { checks } = JSON.parse(ran.out) as { checks: { name: string; status: string; says: string }[] }
    const [model] = checks.filter(({ name }) => name === 'model')
    return `${model?.status} ${model?.says}`
  }
  expect(await doctor(elsewhere)).toMatch(
    /^fail down at 127\.0\.0\.1:9, key set: it cannot be reached \(.+\)$/,
  )
  expect(await doctor(system)).toMatch(/^ok gpt-5-mini at 127\.0\.0\.1:\d+, key set, answers$/)
})

it('a cancel between two tries of the provider ends the task at once', async () => {
  cases.set('left alone', () => refuse(429, 'slow down', { 'retry-after': '20' }))
  const { task_id } = await system.client.submit({ task: 'left alone' })
  await system.reached(
    task_id,
    'the first try failed',
    (all) => only(all, 'provider_call_failed').length === 1,
  )
  await system.client.cancel(task_id, 'enough')
  expect(told(await system.ended(task_id)).at(-1)).toBe('task_cancelled')
  expect(system.provider.about('left alone')).toHaveLength(1)
})
