// Webhook channels of a gateway: signed requests in, signed answers out.
import { type Gateway, startGateway } from '@beaver/gateway'
import { loadConfig } from '@beaver/platform'
import { natsMessageBus } from '@beaver/nats'
import { join } from 'node:path'
import { Validator } from '@seriousme/openapi-schema-validator'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { keptScene, type ProtocolScene } from '../support/protocol-scene.ts'
import type { TestSystem } from '../support/system.ts'
import { peerSecret, sendSigned, type WebhookPeer, webhookPeer } from '../support/webhook-peer.ts'

let scene: ProtocolScene
let system: TestSystem
let peer: WebhookPeer
let gateway: Gateway
let names = 0
let name = ''

beforeAll(async () => {
  scene = await keptScene()
  system = scene.system
})
afterEach(async () => {
  await gateway.stop()
  await peer[Symbol.asyncDispose]()
})

const configured = (settings: object, env: Record<string, string> = { HOOK: peerSecret }) =>
  loadConfig(
    {
      home: join(system.workspace, '.beaver'),
      set: { gateway: { port: 0, channels_lease_ms: 500, channels: { [name]: settings as never } } },
    },
    env,
    system.workspace,
  )

async function open(settings: object = {}): Promise<string> {
  peer = await webhookPeer()
  name = `hook${++names}`
  const config = configured({
    type: 'webhook',
    url: peer.url,
    secret_env: 'HOOK',
    users: { Ada: 'ada' },
    timeout_ms: 300,
    tries_max: 3,
    ...settings,
  })
  gateway = await startGateway(
    { ...config, namespace: system.subjects.namespace },
    { url: scene.server.url, login: {} },
  )
  return `${gateway.info.url}/api/v1/channels/${name}/messages`
}

const statusOf = async (answer: Promise<Response>): Promise<number> => (await answer).status
const codeOf = async (answer: Promise<Response>): Promise<unknown> =>
  ((await (await answer).json()) as { code?: unknown }).code

describe('a webhook channel', () => {
  it('is in the document of the gateway, which a public validator accepts', async () => {
    await open()
    const document = (await (await fetch(`${gateway.info.url}/api/openapi.json`)).json()) as { paths: object }
    expect(Object.keys(document.paths)).toContain('/api/v1/channels/{name}/messages')
    expect(await new Validator().validate(document as never)).toMatchObject({ valid: true })
  })

  it('takes a signed message once, and sends a signed answer with its key', async () => {
    const url = await open()
    const answer = await sendSigned(url, { message_id: 'm1' })
    expect([answer.status, await answer.json()]).toMatchObject([202, { message_id: 'm1', duplicate: false }])
    expect(await peer.answerTo('m1')).toMatchObject({
      kind: 'answer',
      channel: name,
      chat_id: 'c',
      text: 'You said: hello',
    })
    const replayed = await sendSigned(url, { message_id: 'm1' })
    expect([replayed.status, await replayed.json()]).toMatchObject([
      202,
      { message_id: 'm1', duplicate: true },
    ])
    await sendSigned(url, { message_id: 'm2' })
    await peer.answerTo('m2')
    expect(
      peer.delivered.map(({ message: { in_reply_to, id }, signed, headers }) => [
        in_reply_to,
        signed,
        headers['idempotency-key'] === id,
      ]),
    ).toEqual([
      ['m1', true, true],
      ['m2', true, true],
    ])
  })

  it('has chats that no token of a user can take or use', async () => {
    const url = await open()
    const submit = (token: string, named: object) =>
      fetch(`${gateway.info.url}/api/v1/tasks`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ task: 'all', ...named }),
      })
    for (const named of [
      { session_id: `${name}:room10` },
      { session_id: 'console-ann:ann' },
      { task_id: `chat_${'0'.repeat(32)}` },
    ])
      expect(await codeOf(submit(scene.tokens.ann, named))).toBe('not_allowed')
    await sendSigned(url, { chat_id: 'room10', message_id: 'm1' })
    expect(await peer.answerTo('m1')).toMatchObject({ kind: 'answer', text: 'You said: hello' })
    expect(
      await statusOf(
        submit(scene.tokens.ann, { session_id: `other-${name}:room10`, task_id: `other-${name}` }),
      ),
    ).toBe(202)
  })

  it('refuses what is not signed rightly, is old, large or strange, and does nothing of it', async () => {
    const url = await open()
    const seconds = (away: number): string => String(Math.floor(Date.now() / 1_000) + away)
    expect(
      await statusOf(sendSigned(url, { message_id: 'm' }, { 'webhook-signature': `v1,${'A'.repeat(43)}=` })),
    ).toBe(401)
    expect(await statusOf(sendSigned(url, { message_id: 'm' }, { 'webhook-signature': '' }))).toBe(401)
    expect(await statusOf(sendSigned(url, { message_id: 'm' }, { 'webhook-timestamp': seconds(-301) }))).toBe(
      401,
    )
    expect(await statusOf(sendSigned(url, { message_id: 'm' }, { 'webhook-timestamp': seconds(301) }))).toBe(
      401,
    )
    expect(await statusOf(sendSigned(url, { message_id: 'm' }, { 'webhook-id': 'another' }))).toBe(401)
    expect(await codeOf(sendSigned(url, { message_id: 'm', text: 'x'.repeat(10_000_000) }))).toBe('too_large')
    expect(await codeOf(sendSigned(url, { message_id: 'm', text: 'x'.repeat(100_001) }))).toBe(
      'invalid_arguments',
    )
    expect(await codeOf(sendSigned(url, { message_id: 'm', user: { name: 'Ada' } }))).toBe(
      'invalid_arguments',
    )
    expect(await codeOf(sendSigned(url, { message_id: 'm', user_id: 'admin' }))).toBe('invalid_arguments')
    expect(await statusOf(sendSigned(url.replace(name, 'nobody'), { message_id: 'm' }))).toBe(404)
    expect(await statusOf(fetch(url, { method: 'POST', body: '{' }))).toBe(401)
    expect(
      await statusOf(
        sendSigned(url, { message_id: 'm', user: { name: 'Ada' } }, { 'webhook-signature': 'v1,x' }),
      ),
    ).toBe(401)
    expect(await statusOf(fetch(url))).toBe(405)
    await sendSigned(url, { message_id: 'good', user: 'Mallory' })
    expect(await peer.answerTo('good')).toMatchObject({ kind: 'error', error: { code: 'not_allowed' } })
    expect(peer.delivered).toHaveLength(1)
  })

  it('goes on with other chats while a receiver hangs or fails for one', async () => {
    const url = await open()
    peer.answerBy(({ chat_id }) => (chat_id === 'hangs' ? null : chat_id === 'fails' ? 500 : 204))
    for (const chat_id of ['hangs', 'fails']) await sendSigned(url, { message_id: `${chat_id} 1`, chat_id })
    await sendSigned(url, { message_id: 'hangs 2', chat_id: 'hangs' })
    await sendSigned(url, { message_id: 'other', chat_id: 'other' })
    await peer.answerTo('other', 3_000)
    await peer.answerTo('fails 1')
    peer.answerBy(() => 204)
    await peer.answerTo('hangs 2')
    const letters = (await (await natsMessageBus(system.nc, system.subjects)).deadLetters(100)).filter(
      ({ channel }) => channel === name,
    )
    expect(letters.length).toBeLessThanOrEqual(2)
  })

  it('repeats what may succeed later, when the receiver says so, and gives up at once what never will', async () => {
    const url = await open()
    let tries = 0
    peer.answerBy(({ in_reply_to }) =>
      in_reply_to === 'gone' ? 410 : ++tries === 1 ? { status: 429, headers: { 'retry-after': '2' } } : 204,
    )
    const begun = performance.now()
    await sendSigned(url, { message_id: 'later', chat_id: 'a' })
    await sendSigned(url, { message_id: 'gone', chat_id: 'b' })
    await peer.answerTo('gone')
    while (tries < 2) await peer.answerTo('later').then(() => new Promise((resolve) => setImmediate(resolve)))
    expect(performance.now() - begun).toBeGreaterThan(1_900)
    const letters = (await (await natsMessageBus(system.nc, system.subjects)).deadLetters(100)).filter(
      ({ channel }) => channel === name,
    )
    expect(letters).toMatchObject([{ queue: 'outbound', reason: 'The receiver answered 410.' }])
    expect(peer.delivered.filter(({ message }) => message.in_reply_to === 'gone')).toHaveLength(1)
  })

  it('answers 60 messages of one chat in their order, and one of another chat meanwhile', async () => {
    const url = await open()
    const ids = Array.from({ length: 60 }, (_, i) => `m${i}`)
    for (const message_id of ids)
      expect(await statusOf(sendSigned(url, { message_id, text: message_id }))).toBe(202)
    await sendSigned(url, { message_id: 'other', chat_id: 'other' })
    await peer.answerTo('other')
    expect(peer.delivered.length).toBeLessThan(60)
    await peer.answerTo('m59', 60_000)
    expect(
      peer.delivered
        .filter(({ message }) => message.chat_id === 'c')
        .map(({ message }) => message.in_reply_to),
    ).toEqual(ids)
  })

  it('does not start without its secret, and says what to set', async () => {
    await open()
    const config = configured({ type: 'webhook', url: peer.url, secret_env: 'HOOK' }, {})
    await expect(
      startGateway({ ...config, namespace: system.subjects.namespace }, { url: scene.server.url, login: {} }),
    ).rejects.toMatchObject({
      code: 'invalid_configuration',
      message: expect.stringContaining('$HOOK of the channel') as string,
    })
  })
})
