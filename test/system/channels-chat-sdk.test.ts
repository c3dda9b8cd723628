// Channels of chat networks by the adapters of the Chat SDK: Telegram (a fake Bot API) and Slack (the package
// `emulate`), in front of a real daemon.
import type { Receive } from '@beaver/channels'
import { ChatSdkChannel } from '@beaver/channels/chat-sdk'
import { BeaverError, silentLogger, systemClock } from '@beaver/core'
import { type Gateway, startGateway } from '@beaver/gateway'
import { natsMessageBus } from '@beaver/nats'
import { loadConfig } from '@beaver/platform'
import { until } from '@beaver/testing'
import { join } from 'node:path'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { say, use } from '../support/fake-provider.ts'
import { keptScene, type ProtocolScene } from '../support/protocol-scene.ts'
import { sendSlackEvent, type SlackPeer, slackPeer, slackSecret, slackToken } from '../support/slack-peer.ts'
import type { TestSystem } from '../support/system.ts'
import { type TelegramPeer, telegramPeer, telegramSecret, telegramToken } from '../support/telegram-peer.ts'

let scene: ProtocolScene
let system: TestSystem
let gateway: Gateway | null = null
let name = ''
let names = 0

beforeAll(async () => {
  scene = await keptScene()
  system = scene.system
})
beforeEach(() => {
  name = `net${++names}`
  system.provider.answerBy(({ text }) => say(`You said: ${text.slice(0, 200)}`))
})
afterEach(async () => {
  await gateway?.stop()
  gateway = null
})

const secrets = { TELEGRAM: telegramToken, HOOK: telegramSecret, SLACK: slackToken, SIGNING: slackSecret }

async function open(
  settings: object,
  env: Record<string, string> = secrets,
  more: object = {},
): Promise<string> {
  const set = {
    gateway: {
      port: 0,
      channels_lease_ms: 500,
      ...more,
      channels: { [name]: { type: 'chat_sdk', ...settings } as never },
    },
  }
  const config = loadConfig({ home: join(system.workspace, '.beaver'), set }, env, system.workspace)
  gateway = await startGateway(
    { ...config, namespace: system.subjects.namespace },
    { url: scene.server.url, login: {} },
  )
  return `${gateway.info.url}/api/v1/channels/${name}/events`
}

const uncertain = async () =>
  (await (await natsMessageBus(system.nc, system.subjects)).uncertain()).filter(
    ({ channel }) => channel === name,
  )
const deadLetters = async () =>
  (await (await natsMessageBus(system.nc, system.subjects)).deadLetters(100)).filter(
    ({ channel }) => channel === name,
  )

describe('Telegram', () => {
  let peer: TelegramPeer
  beforeEach(async () => void (peer = await telegramPeer()))
  afterEach(() => peer[Symbol.asyncDispose]())

  const polling = (over: object = {}) => ({
    adapter: 'telegram',
    options: { mode: 'polling', apiUrl: peer.url, longPolling: { timeout: 1, retryDelayMs: 50 } },
    secrets_env: { botToken: 'TELEGRAM' },
    users: { '7': 'ada' },
    timeout_ms: 1_000,
    tries_max: 5,
    ...over,
  })
  const hooked = (over: object = {}) =>
    polling({
      options: { mode: 'webhook', apiUrl: peer.url },
      secrets_env: { botToken: 'TELEGRAM', secretToken: 'HOOK' },
      ...over,
    })
  const push = (url: string, update: object, secret: string = telegramSecret) =>
    fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-telegram-bot-api-secret-token': secret },
      body: JSON.stringify(update),
    })

  it('is polled: what a person writes is answered in its chat, and also a command', async () => {
    await open(polling())
    peer.write({ chat: 7, from: 7, text: 'hello' })
    peer.write({ chat: 7, from: 7, text: '/start now' })
    peer.write({ chat: 8, from: 8, text: 'let me in' })
    await peer.reads(7, 'You said: hello')
    await peer.reads(7, 'You said: /start now')
    await peer.reads(8, 'is not among the users')
    expect(peer.sent).toHaveLength(3)
    await until('all is confirmed', () => peer.unconfirmed === 0)
  })

  it('sends events: they are durable before it is told so, count once, and count only with the secret', async () => {
    const url = await open(hooked())
    const update = peer.write({ chat: 7, from: 7, text: 'hello' })
    await until('the network is reached', async () => (await push(url, update, 'wrong')).status === 401)
    expect((await fetch(url, { method: 'POST', body: JSON.stringify(update) })).status).toBe(401)
    expect((await push(url, update)).status).toBe(200)
    expect((await push(url, update)).status).toBe(200)
    expect((await push(url.replace(name, 'other'), update)).status).toBe(404)
    expect((await push(url.replace('events', 'messages'), update)).status).toBe(404)
    expect(
      (
        await fetch(url, {
          method: 'POST',
          headers: { 'x-telegram-bot-api-secret-token': telegramSecret },
          body: '{',
        })
      ).status,
    ).toBe(400)
    await peer.reads(7, 'You said: hello')
    await push(url, peer.write({ chat: 7, from: 7, text: 'last' }))
    await peer.reads(7, 'You said: last')
    expect(peer.sent).toHaveLength(2)
  })

  it('hears in a group only who calls its name, and never a program', async () => {
    const url = await open(hooked())
    const group = { chat: -5, from: 7, group: true }
    const all = [
      { ...group, text: 'nobody is meant' },
      { ...group, text: '@beaver_bot a bot asks', bot: true },
      { ...group, text: '@beaver_bot hello' },
    ]
    for (const each of all) {
      const update = peer.write(each)
      await until('it is taken', async () => (await push(url, update)).status === 200)
    }
    await peer.reads(-5, 'You said: hello')
    expect(peer.sent).toHaveLength(1)
  })

  it('gets a long answer in pieces, without calls to everybody, and what has no text is a message too', async () => {
    const long = `${'A line of words.\n'.repeat(400)}@everyone <!channel>`
    system.provider.answerBy(() => say(long))
    let pieces = 0
    peer.answerBy(() => (++pieces === 2 || pieces === 4 ? { status: 429, retryAfter: 0 } : 'take'))
    await open(polling({ chars_max: 2_000 }))
    peer.write({ chat: 7, from: 7, caption: '' })
    await peer.reads(7, '@\u200Beveryone <\u200B!channel>')
    expect(peer.sent.length).toBeGreaterThan(3)
    expect(peer.sent.map(({ text }) => text).join('')).toBe(
      long.replace('@', '@\u200B').replace('<', '<\u200B'),
    )
    expect(await uncertain()).toEqual([])
    expect(system.provider.requests.at(-1)?.text).toContain('[Attachments that were not read: plan.pdf]')
  })

  it('may refuse a message now or for ever, and may hang up without a word: then it comes again, says so, and is counted', async () => {
    await open(polling())
    const tries = new Map<string, number>()
    const tryOf = (text: string): number => (
      tries.set(text, (tries.get(text) ?? 0) + 1),
      tries.get(text) ?? 0
    )
    peer.answerBy(({ text }) => {
      if (text.includes('never'))
        return { status: 403, description: 'Forbidden: bot was blocked by the user' }
      if (text.includes('limited')) return tryOf('limited') === 1 ? { status: 429, retryAfter: 1 } : 'take'
      if (text.includes('hung')) return tryOf('hung') === 1 ? 'keep and hang up' : 'take'
      return 'take'
    })
    peer.write({ chat: 7, from: 7, text: 'limited' })
    await peer.reads(7, 'limited')
    expect(await uncertain()).toEqual([])
    peer.write({ chat: 7, from: 7, text: 'never' })
    await until('it is dead', async () => (await deadLetters()).length === 1)
    peer.write({ chat: 7, from: 7, text: 'hung' })
    await peer.reads(7, '(This may have come before.)\nYou said: hung')
    expect(peer.sent.filter(({ text }) => text.includes('hung'))).toHaveLength(2)
    expect(await uncertain()).toMatchObject([{ tries: 1 }])
  })

  it('asks about a call, and hears who may decide', async () => {
    system.provider.answerBy(({ messages }) =>
      messages.some(({ role }) => role === 'tool') ? say('done') : use(['echo', { text: 'careful' }]),
    )
    await open(polling({ approvers: ['9'], user_id: 'team', users: { '7': 'ada', '9': 'bob' } }))
    peer.write({ chat: -6, from: 7, group: true, text: '@beaver_bot do it' })
    const { text } = await peer.reads(-6, 'An agent asks to call echo')
    const [, code = ''] = /approve ([0-9a-z]{3}-[0-9a-z]{3})/.exec(text) ?? []
    for (const text of ['yes', `ok, approve ${code}`]) peer.write({ chat: -6, from: 9, group: true, text })
    await peer.reads(-6, `This chat waits for: approve ${code}`)
    peer.write({ chat: -6, from: 7, group: true, text: `approve ${code}` })
    await peer.reads(-6, 'may not decide')
    peer.write({ chat: -6, from: 9, group: true, text: `@beaver_bot approve ${code}` })
    await peer.reads(-6, `Allowed: ${code}`)
    await peer.reads(-6, 'done')
  })

  it('shows that the bot writes, no previews of links, and that a changed message is not read', async () => {
    system.provider.answerBy(() => say('See https://example.com **now**.'))
    const url = await open(hooked())
    const taken = (update: object) =>
      until('it is taken', async () => (await push(url, update)).status === 200)
    await taken(peer.write({ chat: -5, from: 7, group: true, text: '@beaver_bot helo', id: 900_001 }))
    await peer.reads(-5, 'See https://example.com')
    expect(peer.typing).toContain(-5)
    for (const text of ['@beaver_bot hello', '@beaver_bot hello!'])
      await taken(peer.edit({ chat: -5, from: 7, group: true, text, id: 900_001 }))
    await taken(peer.edit({ chat: -5, from: 7, group: true, text: 'nobody is meant', id: 900_003 }))
    await peer.reads(-5, 'Beaver does not read edited messages. Write the change as a new message.')
    await taken(peer.write({ chat: 7, from: 7, text: 'last' }))
    await peer.reads(7, 'See https://example.com')
    expect(peer.sent.map(({ chat, previews }) => [chat, previews])).toEqual([
      [-5, false],
      [-5, false],
      [7, false],
    ])
  })

  it('is told that a message was taken only when it is durable', async () => {
    const opened = (options: object) =>
      ChatSdkChannel.open({
        name,
        adapter: 'telegram',
        options: { botToken: telegramToken, apiUrl: peer.url, ...options },
        charsMax: 3_500,
        timeoutMs: 1_000,
        clock: systemClock,
        logger: silentLogger,
      })
    let away = 2
    const taken: string[] = []
    const receive: Receive = async ({ message_id, text }) => {
      if (away-- > 0) throw new BeaverError('unreachable', 'The queue is away.')
      taken.push(text)
      return { message_id, task_id: null, duplicate: false }
    }
    const hook = await opened({ mode: 'webhook', secretToken: telegramSecret })
    await hook.start(receive)
    const body = JSON.stringify(peer.write({ chat: 7, from: 7, text: 'pushed' }))
    const told = () =>
      hook.takeEvent({ headers: new Headers({ 'x-telegram-bot-api-secret-token': telegramSecret }), body })
    await until('the network is reached', () =>
      told().then(
        () => true,
        ({ message }: Error) => message.includes('queue'),
      ),
    )
    await expect(told()).rejects.toThrow('The queue is away.')
    expect((await told()).status).toBe(200)
    await hook.stop()
    await expect(told()).rejects.toThrow('does not run')
    away = 1
    const poll = await opened({ mode: 'polling', longPolling: { timeout: 1 } })
    await poll.start(receive)
    await until('it was tried', () => away === 0)
    expect(peer.unconfirmed).toBe(1)
    await until('it was tried again', () => taken.length === 2)
    await until('it is confirmed', () => peer.unconfirmed === 0)
    await poll.stop()
    expect(taken).toEqual(['pushed', 'pushed'])
  })

  it('may be away when the gateway starts', async () => {
    const url = peer.url
    await peer[Symbol.asyncDispose]()
    await open({ ...hooked(), options: { mode: 'webhook', apiUrl: url } })
    peer = await telegramPeer()
  })

  it('takes only so many requests of an address before it judges one', async () => {
    const url = await open(hooked(), secrets, { requests_per_second_max: 1 })
    const statuses = await Promise.all(
      Array.from({ length: 10 }, async () => (await push(url, {}, 'wrong')).status),
    )
    expect(statuses.filter((status) => status === 429)).toHaveLength(6)
    expect(statuses.filter((status) => status !== 429 && status !== 401 && status !== 503)).toEqual([])
  })

  it.each([
    [{ adapter: 'telegram', options: { botToken: 'inline' } }, 'secrets_env'],
    [{ adapter: '../evil' }, 'adapter'],
    [{ adapter: 'not-there' }, 'needs the package @chat-adapter/not-there'],
    [
      { adapter: 'telegram', options: { mode: 'sideways' }, secrets_env: { botToken: 'TELEGRAM' } },
      'Invalid mode',
    ],
    [{ adapter: 'telegram', secrets_env: { botToken: 'NOWHERE' } }, '$NOWHERE'],
  ])('is not started with %j', async (settings, says) => {
    await expect(open(settings)).rejects.toThrow(says)
  })
})

describe('Slack', () => {
  let peer: SlackPeer
  beforeEach(async () => void (peer = await slackPeer()))
  afterEach(() => peer[Symbol.asyncDispose]())

  const settings = (over: object = {}) => ({
    adapter: 'slack',
    options: { apiUrl: peer.apiUrl },
    secrets_env: { botToken: 'SLACK', signingSecret: 'SIGNING' },
    users: { [peer.person]: 'ada' },
    timeout_ms: 2_000,
    tries_max: 3,
    ...over,
  })

  it('is answered in the thread of the message, once for all its events', async () => {
    const url = await open(settings())
    const { ts, event } = await peer.write(`<@${peer.bot}> hello`)
    await until('the network is reached', async () => (await sendSlackEvent(url, event)).status === 200)
    const mention = {
      ...event,
      event_id: 'EvMention',
      event: { ...(event as { event: object }).event, type: 'app_mention' },
    }
    expect((await sendSlackEvent(url, mention)).status).toBe(200)
    expect((await sendSlackEvent(url, event, { 'x-slack-retry-num': '1' })).status).toBe(200)
    await peer.reads(ts, 'You said: hello')
    const next = await peer.write(`<@${peer.bot}> again`, ts)
    await sendSlackEvent(url, next.event)
    await peer.reads(ts, 'You said: again')
    expect((await peer.messages(ts)).filter(({ user }) => user !== peer.person)).toHaveLength(2)
  })

  it('is told once that a changed message is not read, and shows nothing that is behind a link', async () => {
    const url = await open(settings())
    const written = await peer.write(`<@${peer.bot}> helo`)
    await until(
      'the network is reached',
      async () => (await sendSlackEvent(url, written.event)).status === 200,
    )
    await peer.reads(written.ts, 'You said: helo')
    for (const text of ['hello', 'hello!'])
      expect((await sendSlackEvent(url, peer.edit(written, `<@${peer.bot}> ${text}`))).status).toBe(200)
    await peer.reads(written.ts, 'Beaver does not read edited messages.')
    await sendSlackEvent(url, (await peer.write(`<@${peer.bot}> last`, written.ts)).event)
    await peer.reads(written.ts, 'You said: last')
    expect((await peer.messages(written.ts)).filter(({ user }) => user !== peer.person)).toHaveLength(3)
    expect(peer.unfurls).toEqual([false, false, false])
  })

  it('is believed only with its signature, soon after its time', async () => {
    const url = await open(settings())
    const { event } = await peer.write(`<@${peer.bot}> hello`)
    await until(
      'the network is reached',
      async () => (await sendSlackEvent(url, { type: 'url_verification', challenge: 'c' })).status === 200,
    )
    expect(await (await sendSlackEvent(url, { type: 'url_verification', challenge: 'c' })).json()).toEqual({
      challenge: 'c',
    })
    expect((await sendSlackEvent(url, event, { 'x-slack-signature': 'v0=00' })).status).toBe(401)
    expect(
      (
        await sendSlackEvent(url, event, {
          'x-slack-request-timestamp': String(Math.floor(Date.now() / 1_000) - 301),
        })
      ).status,
    ).toBe(401)
    expect((await sendSlackEvent(url, { ...event, more: 'x'.repeat(3_000_000) })).status).toBe(413)
    const { ts, event: good } = await peer.write(`<@${peer.bot}> good`)
    await sendSlackEvent(url, good)
    await peer.reads(ts, 'You said: good')
    expect((await peer.messages()).filter(({ user }) => user !== peer.person)).toHaveLength(0)
  })
})
