// A gateway that is killed again and again, and sometimes stopped, while messages of three channels are under
// way: a webhook, whose receiver knows messages by their keys, and Telegram and e-mail, which know no keys.
// Nothing is lost. What has a key is not doubled. What has none is doubled only if nobody can know better,
// and then it is counted.
import { natsMessageBus } from '@beaver/nats'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { say } from '../support/fake-provider.ts'
import { type GatewayProcess, gatewayProcess } from '../support/gateway.ts'
import { type ImapServer, imapServer, imapUser } from '../support/imap-server.ts'
import { testServer, type TestServer } from '../support/nats.ts'
import { type SmtpPeer, smtpPeer } from '../support/smtp-peer.ts'
import { type TestSystem, testSystem } from '../support/system.ts'
import { type TelegramPeer, telegramPeer, telegramToken } from '../support/telegram-peer.ts'
import { peerSecret, sendSigned, type WebhookPeer, webhookPeer } from '../support/webhook-peer.ts'

const kills = Number(process.env['BEAVER_TEST_KILLS'] ?? 12)
const chats = 8
/** How many messages a chat sends before it waits for their answers. */
const atOnce = 3
/** How long Telegram and the mail server take to say that it has a message. */
const answerMs = 25

let server: TestServer
let system: TestSystem
let hook: WebhookPeer
let telegram: TelegramPeer
let mailbox: ImapServer
let mails: SmtpPeer
let gateway: GatewayProcess

beforeAll(async () => {
  server = await testServer()
  hook = await webhookPeer()
  telegram = await telegramPeer({ answerMs })
  const one = { type: 'webhook', url: hook.url, secret_env: 'HOOK', users: { Ada: 'ada' }, tries_max: 1_000 }
  const two = {
    type: 'chat_sdk',
    adapter: 'telegram',
    options: { mode: 'polling', apiUrl: telegram.url, longPolling: { timeout: 1, retryDelayMs: 50 } },
    secrets_env: { botToken: 'TELEGRAM' },
    users: { '7': 'ada' },
    tries_max: 1_000,
  }
  mailbox = await imapServer()
  mails = await smtpPeer({ answerMs })
  const three = {
    type: 'email',
    address: 'beaver@team.example',
    imap: { host: '127.0.0.1', port: mailbox.port, tls: 'none', user: imapUser.user, password_env: 'MAIL' },
    smtp: { host: '127.0.0.1', port: mails.port, tls: 'none' },
    since: '2026-01-01',
    sender_check: 'relay',
    users: { 'ada@team.example': 'ada' },
    sender_per_hour_max: 100_000,
    tries_max: 1_000,
  }
  system = await testSystem(server, {
    gateway: { port: 0, channels_lease_ms: 500, channels: { one, two, three } },
  })
  system.provider.answerBy(({ text }) => say(text))
  await system.daemon()
})
afterAll(async () => {
  gateway.kill('SIGKILL')
  await gateway.exited
  await hook[Symbol.asyncDispose]()
  await telegram[Symbol.asyncDispose]()
  await mailbox[Symbol.asyncDispose]()
  await mails[Symbol.asyncDispose]()
  await system[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const opened = (): Promise<GatewayProcess> =>
  gatewayProcess({
    cwd: system.workspace,
    env: {
      NATS_URL: server.url,
      BEAVER_NAMESPACE: system.subjects.namespace,
      BEAVER_HOME: `${system.workspace}/.beaver`,
      HOOK: peerSecret,
      TELEGRAM: telegramToken,
      MAIL: imapUser.password,
    },
  })

/** Sends a message until a gateway takes it, as a network does. */
async function push(message: { chat_id: string; message_id: string; text: string }): Promise<void> {
  for (;;) {
    const answer = await sendSigned(`${gateway.url}/api/v1/channels/one/messages`, message).catch(() => null)
    if (answer?.status === 202) return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

interface Network {
  /** A person writes a text. */
  write(chat: number, id: string): Promise<void>
  answered(chat: number, id: string, withinMs: number): Promise<unknown>
}
/** A mail in the thread of its chat. */
const mailOf = (chat: number, id: string): string =>
  [
    'From: ada@team.example',
    'To: beaver@team.example',
    `Message-ID: <${id}@team.example>`,
    `References: <root-${chat}@team.example>`,
    `Date: ${new Date().toUTCString()}`,
    '',
    id,
  ].join('\r\n')

const names = ['one', 'two', 'three'] as const
type Name = (typeof names)[number]
const networks: Readonly<Record<Name, Network>> = {
  one: {
    write: (chat, id) => push({ chat_id: `c${chat}`, message_id: id, text: id }),
    answered: (_chat, id, withinMs) => hook.answerTo(id, withinMs),
  },
  two: {
    write: async (chat, id) => void telegram.write({ chat: chat + 1, from: 7, text: `${id}.` }),
    answered: (chat, id, withinMs) => telegram.reads(chat + 1, `${id}.`, withinMs),
  },
  three: {
    write: async (chat, id) => void mailbox.deliver(mailOf(chat, id)),
    answered: (_chat, id, withinMs) => mails.answerTo(`<${id}@team.example>`, withinMs),
  },
}

it(`a gateway that is killed ${kills} times loses no message, and doubles none of which it can know`, async () => {
  gateway = await opened()
  const written: { name: Name; chat: number; id: string }[] = []
  let over = false
  const people = names.flatMap((name) =>
    Array.from({ length: chats }, async (_, chat) => {
      for (let i = 0; !over; i++) {
        const id = `${name}-${chat}-${i}`
        written.push({ name, chat, id })
        await networks[name].write(chat, id)
        if (i % atOnce === atOnce - 1) await networks[name].answered(chat, id, 120_000)
      }
    }),
  )
  for (let kill = 0; kill < kills; kill++) {
    // Each place in the life of a gateway is as good as any other.
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 700))
    gateway.kill(kill % 3 === 2 ? 'SIGTERM' : 'SIGKILL')
    await gateway.exited
    gateway = await opened()
  }
  over = true
  await Promise.all(people)
  for (const { name, chat, id } of written) await networks[name].answered(chat, id, 60_000)
  const idsOf = (name: string): readonly string[] =>
    written.flatMap((each) => (each.name === name ? [each.id] : [])).toSorted()
  const byKey = new Map(hook.delivered.map(({ message }) => [message.id, message]))
  const texts = telegram.sent.map(({ text }) =>
    text.replace('(This may have come before.)\n', '').replace(/\.$/, ''),
  )
  const answers = {
    two: texts,
    three: mails.sent.map(({ mail }) => String(mail.inReplyTo).slice(1, -'@team.example>'.length)),
  }
  const counts = await (await natsMessageBus(system.nc, system.subjects)).uncertain()
  const unkeyed = (['two', 'three'] as const).map((name) => {
    const [all, different] = [answers[name].length, new Set(answers[name])]
    return {
      name,
      different,
      doubled: all - different.size,
      uncertain: counts.find(({ channel }) => channel === name)?.tries ?? 0,
    }
  })
  process.stderr.write(
    `${kills} kills: ${written.length} messages. With a key: ${byKey.size} answers, ${hook.delivered.length - byKey.size} deliveries repeated with the same key. ` +
      `Without a key: ${unkeyed.map(({ name, different, uncertain, doubled }) => `${name}: ${different.size} answers, ${uncertain} uncertain, ${doubled} of them there twice`).join('; ')}\n`,
  )
  expect([...byKey.values()].map(({ in_reply_to }) => String(in_reply_to)).toSorted()).toEqual(idsOf('one'))
  expect([...byKey.values()].every(({ in_reply_to, text }) => text === in_reply_to)).toBe(true)
  for (const { name, different, doubled, uncertain } of unkeyed) {
    expect([...different].toSorted()).toEqual(idsOf(name))
    expect(doubled).toBeLessThanOrEqual(uncertain)
  }
  // A mail that is there twice is the same mail.
  expect(new Set(mails.sent.map(({ mail }) => mail.messageId)).size).toBe(idsOf('three').length)
  expect(system.provider.requests.length).toBe(written.length)
}, 1_800_000)
