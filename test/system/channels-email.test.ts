// The e-mail channel between a mailbox, a mail server and a real daemon: what comes by IMAP is answered by
// SMTP.
import { startChannels, type ChannelHost } from '@beaver/channels'
import { EmailChannel } from '@beaver/channels/email'
import { BeaverError, type Logger, silentLogger, systemClock } from '@beaver/core'
import { startGateway } from '@beaver/gateway'
import { natsMessageBus } from '@beaver/nats'
import { loadConfig } from '@beaver/platform'
import { until } from '@beaver/testing'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { say, use } from '../support/fake-provider.ts'
import { type ImapServer, imapServer, imapUser } from '../support/imap-server.ts'
import { own, written, type Written } from '../support/mail.ts'
import { keptScene, type ProtocolScene } from '../support/protocol-scene.ts'
import { type SmtpPeer, smtpPeer, smtpUser } from '../support/smtp-peer.ts'
import type { TestSystem } from '../support/system.ts'

const users: Readonly<Record<string, string>> = { 'ada@team.example': 'ada', 'bob@team.example': 'bob' }

let scene: ProtocolScene
let system: TestSystem
let mailbox: ImapServer
let peer: SmtpPeer
let host: ChannelHost | null = null
let name = ''
let names = 0

beforeAll(async () => {
  scene = await keptScene()
  system = scene.system
})
beforeEach(async () => {
  name = `mail${++names}`
  mailbox = await imapServer()
  peer = await smtpPeer({ login: true })
  system.provider.answerBy(({ text }) => say(`You said: ${text.slice(0, 500)}`))
})
afterEach(async () => {
  await host?.stop()
  host = null
  await mailbox[Symbol.asyncDispose]()
  await peer[Symbol.asyncDispose]()
})

const refusals: string[] = []
const logger: Logger = {
  ...silentLogger,
  warn: (event, message) => void (event === 'mail_refused' && refusals.push(message)),
}

function channelOf(of: { readonly pollMs?: number; readonly perHourMax?: number }): EmailChannel {
  const local = { host: '127.0.0.1', tls: 'none' } as const
  return new EmailChannel({
    name,
    address: own,
    imap: { ...local, port: mailbox.port, ...imapUser },
    smtp: { ...local, port: peer.port, ...smtpUser },
    mailbox: 'INBOX',
    since: '2026-01-01',
    senderCheck: { authserv_id: 'mx.team.example' },
    knows: (address) => Object.hasOwn(users, address),
    approvers: ['bob@team.example'],
    pollMs: 50,
    perHourMax: 100,
    timeoutMs: 2_000,
    clock: systemClock,
    logger,
    ...of,
  })
}

async function open(
  over: { readonly user_id?: string } = {},
  of: Parameters<typeof channelOf>[0] = {},
): Promise<void> {
  const channel = channelOf(of)
  const bus = await natsMessageBus(system.nc, system.subjects, { leaseMs: 500 })
  const settings = {
    users,
    unknown_users: 'refuse',
    approvers: ['bob@team.example'],
    tries_max: 5,
    ...over,
  } as const
  host = await startChannels({ bus, client: system.client, channels: [{ channel, settings }] })
}

describe('a mail to Beaver', () => {
  it('becomes a task of its sender, and the answer is in its thread', async () => {
    await open()
    const { flags } = mailbox.deliver(
      written({
        id: '<one@team.example>',
        subject: '=?utf-8?q?Gr=C3=BC=C3=9Fe?=',
        more: ['References: <root@x> <mid@x>'],
        body: 'hello\r\n.\r\n',
      }),
    )
    const { mail, to, header } = await peer.answerTo('<one@team.example>')
    expect([to, mail.from?.address, mail.subject, mail.text?.trim()]).toEqual([
      ['ada@team.example'],
      own,
      'Re: Grüße',
      'You said: hello\n.',
    ])
    expect([mail.references, header('auto-submitted')]).toEqual([
      '<root@x> <mid@x> <one@team.example>',
      'auto-replied',
    ])
    expect(mail.messageId).toMatch(/^<out_[0-9a-f]{32}\.t_[0-9a-f]{32}@team\.example>$/)
    await until('the mail has its mark', () => flags.has('$BeaverTaken'))
    expect(flags.has('\\Seen')).toBe(false)
  })

  it('goes on in the session of its thread, also if the reply keeps only the last id', async () => {
    await open()
    mailbox.deliver(written({ id: '<first@team.example>' }))
    const { mail } = await peer.answerTo('<first@team.example>')
    mailbox.deliver(
      written({
        id: '<second@team.example>',
        subject: 'Re: A question',
        more: [`In-Reply-To: ${mail.messageId}`],
        body: 'and now?\r\n\r\nOn Tue, Beaver wrote:\r\n> You said: hello\r\n>\r\n',
      }),
    )
    const second = await peer.answerTo('<second@team.example>')
    expect(second.mail.text?.trim()).toBe('You said: and now?')
    expect(second.mail.messageId?.split('.')[1]).toBe(mail.messageId?.split('.')[1])
  })

  it('is taken once, however often it is there, and also if the process dies before the mark', async () => {
    mailbox.breakAt('UID STORE', 2)
    await open()
    const raw = written({ id: '<twice@team.example>' })
    mailbox.deliver(raw)
    mailbox.deliver(raw)
    await peer.answerTo('<twice@team.example>')
    await until('both have marks', () => mailbox.mails.every(({ flags }) => flags.has('$BeaverTaken')))
    mailbox.deliver(written({ id: '<last@team.example>' }))
    await peer.answerTo('<last@team.example>')
    expect(peer.sent.map(({ mail }) => mail.inReplyTo)).toEqual([
      '<twice@team.example>',
      '<last@team.example>',
    ])
  })

  it('has its text from HTML if it has no other, without what is not text', async () => {
    await open()
    mailbox.deliver(
      written({
        id: '<html@team.example>',
        subject: '',
        more: ['Content-Type: text/html; charset=utf-8'],
        body: '<style>p{}</style><p>Hello <b>you</b></p><script>x</script>',
      }),
    )
    expect((await peer.answerTo('<html@team.example>')).mail.text?.trim()).toBe('You said: Hello you')
  })

  it('is read only at its beginning: 25 MB of an attachment, and 10,000 recipients', async () => {
    await open()
    const attachment = 'QUJD'.repeat(18).concat('\r\n').repeat(350_000)
    const multipart = [
      '--b',
      'Content-Type: text/plain',
      '',
      'see there',
      '--b',
      'Content-Type: application/pdf; name="a.pdf"',
      'Content-Disposition: attachment; filename="a.pdf"',
      'Content-Transfer-Encoding: base64',
      '',
      attachment,
      '--b--',
    ]
    mailbox.deliver(
      written({
        id: '<big@team.example>',
        subject: '',
        more: ['Content-Type: multipart/mixed; boundary=b'],
        body: multipart.join('\r\n'),
      }),
    )
    const others = Array.from({ length: 10_000 }, (_, i) => `person${i}@other.example`).join(',\r\n ')
    mailbox.deliver(written({ id: '<many@team.example>', to: `${others}, ${own}` }))
    const { mail } = await peer.answerTo('<big@team.example>')
    expect(mail.text).toContain(
      'see there\n\n[Attachments that were not read: a.pdf]\n\n[Only the first 1000000 of ',
    )
    expect((await peer.answerTo('<many@team.example>')).to).toEqual(['ada@team.example'])
  })

  it('cannot write headers of the answer', async () => {
    await open()
    const subject = '=?utf-8?q?x=0D=0ABcc:_victim@other.example=0D=0A=0D=0Abody?='
    mailbox.deliver(
      written({
        id: '<inject@team.example>',
        subject,
        more: ['Reply-To: victim@other.example', 'References: <a@b>\r\n\t<c@d>bcc:victim@other.example'],
      }),
    )
    const { mail, to, header } = await peer.answerTo('<inject@team.example>')
    expect([to, mail.bcc, header('bcc'), mail.to?.map(({ address }) => address)]).toEqual([
      ['ada@team.example'],
      undefined,
      undefined,
      ['ada@team.example'],
    ])
    expect([mail.subject, mail.references]).toEqual([
      'Re: x Bcc: victim@other.example body',
      '<a@b> <c@d> <inject@team.example>',
    ])
  })

  it('is refused without an answer if its sender is not proven, is unknown, or is no person', async () => {
    refusals.length = 0
    await open()
    const pass = 'mx.team.example; dmarc=pass header.from=team.example'
    const hostile: readonly Written[] = [
      { results: null },
      { results: 'mx.evil.example; dmarc=pass header.from=team.example' },
      {
        results: 'mx.team.example; dmarc=fail header.from=team.example',
        more: [`Authentication-Results: ${pass}`],
      },
      { results: 'mx.team.example; dmarc=pass header.from=evil.example' },
      {
        results:
          'mx.team.example; spf=pass smtp.mailfrom="x; dmarc=pass header.from=team.example"@evil.example',
      },
      { results: 'mx.team.example; spf=fail (x; dmarc=pass header.from=team.example)' },
      { results: 'mx.team.example; dkim=pass header.d=evil.example; dkim=fail header.d=team.example' },
      { more: ['From: bob@team.example'] },
      { from: 'ada@team.example, mallory@evil.example' },
      {
        from: '"ada@team.example" <mallory@evil.example>',
        results: 'mx.team.example; dmarc=pass header.from=evil.example',
      },
      { from: 'carol@team.example' },
      { from: own },
      { to: 'list@other.example' },
      { more: ['Auto-Submitted: auto-replied'] },
      { more: ['List-Id: <x.team.example>'] },
      { more: ['Precedence: bulk'] },
      { top: ['Return-Path: <>'] },
      { more: ['Content-Type: multipart/report; boundary=b'] },
      { more: [`References: ${Array.from({ length: 101 }, (_, i) => `<loop${i}@x>`).join(' ')}`] },
      {
        more: ['Content-Type: multipart/mixed; boundary=a'],
        body: Array.from(
          { length: 500 },
          (_, i) =>
            `--${'a'.repeat(i + 1)}\r\nContent-Type: multipart/mixed; boundary=${'a'.repeat(i + 2)}\r\n`,
        ).join('\r\n'),
      },
    ]
    for (const each of hostile) mailbox.deliver(written(each))
    mailbox.deliver(
      written({
        id: '<good@team.example>',
        results: 'mx.team.example; dmarc=none; dkim=pass header.i=@team.example',
      }),
    )
    await peer.answerTo('<good@team.example>')
    expect(peer.sent).toHaveLength(1)
    expect(refusals).toHaveLength(hostile.length)
    expect(mailbox.mails.slice(0, -1).every(({ flags }) => flags.has('$BeaverRefused'))).toBe(true)
  })
})

it('a program that answers each answer, and hides it, is stopped', async () => {
  refusals.length = 0
  await open({}, { perHourMax: 5 })
  peer.answerBy(({ messageId = '' }) => {
    mailbox.deliver(
      written({ subject: 'Re: your answer', more: [`In-Reply-To: ${messageId}`], body: 'I am away.' }),
    )
    return 'take'
  })
  mailbox.deliver(written({}))
  await until('it is stopped', () => refusals.length === 1)
  expect([peer.sent.length, refusals[0]]).toEqual([
    5,
    'A mail was refused and not answered: more than 5 mails of its sender came within an hour.',
  ])
})

it('a mail that cannot be taken now waits in the mailbox, holds up its thread, and counts once', async () => {
  const taken: string[] = []
  let [away, tries] = [true, 0]
  const channel = channelOf({ perHourMax: 3, pollMs: 10 })
  await channel.start(async ({ message_id }) => {
    tries++
    if (away && message_id !== '<other@team.example>')
      throw new BeaverError('wrong_state', 'Too many messages wait.')
    taken.push(message_id)
    return { message_id, task_id: null, duplicate: false }
  })
  mailbox.deliver(written({ id: '<a1@team.example>', more: ['References: <a@x>'] }))
  mailbox.deliver(written({ id: '<a2@team.example>', more: ['References: <a@x>'] }))
  mailbox.deliver(written({ id: '<other@team.example>' }))
  await until('it was tried often', () => tries > 20)
  expect(taken).toEqual(['<other@team.example>'])
  away = false
  await until('all are taken', () => taken.length === 3)
  await channel.stop()
  expect(taken).toEqual(['<other@team.example>', '<a1@team.example>', '<a2@team.example>'])
})

describe('the mailbox and the mail server', () => {
  it('may go away and come back', async () => {
    await open()
    mailbox.deliver(written({ id: '<before@team.example>' }))
    await peer.answerTo('<before@team.example>')
    mailbox.cutOff()
    mailbox.breakAt('SELECT', 1)
    mailbox.deliver(written({ id: '<after@team.example>' }))
    await peer.answerTo('<after@team.example>')
  })

  it('says by itself that a mail came', async () => {
    await open({}, { pollMs: 3_600_000 })
    await until('it waits', () => mailbox.commands.includes('IDLE'))
    mailbox.deliver(written({ id: '<told@team.example>' }))
    await peer.answerTo('<told@team.example>', 5_000)
    await until('it waits again', () => mailbox.commands.filter((each) => each === 'IDLE').length > 1)
    mailbox.deliver(written({ id: '<again@team.example>' }))
    await peer.answerTo('<again@team.example>', 5_000)
  })

  it('may keep no keywords: then a taken mail is answered', async () => {
    await mailbox[Symbol.asyncDispose]()
    mailbox = await imapServer({ keywords: false })
    await open()
    const { flags } = mailbox.deliver(written({ id: '<plain@team.example>' }))
    await peer.answerTo('<plain@team.example>')
    await until('the mail has its mark', () => flags.has('\\Answered'))
  })

  it('may refuse an answer now or for ever, and may hang up without a word: then the same mail comes again, and is counted', async () => {
    await open()
    let tries = 0
    peer.answerBy(({ inReplyTo }) =>
      inReplyTo === '<never@team.example>'
        ? 550
        : inReplyTo === '<later@team.example>' && ++tries === 1
          ? 450
          : 'take',
    )
    mailbox.deliver(written({ id: '<never@team.example>' }))
    mailbox.deliver(written({ id: '<later@team.example>' }))
    await peer.answerTo('<later@team.example>')
    const bus = await natsMessageBus(system.nc, system.subjects)
    await until('one is dead', async () =>
      (await bus.deadLetters(100)).some(({ channel }) => channel === name),
    )
    expect((await bus.uncertain()).filter(({ channel }) => channel === name)).toEqual([])
    let hung = 0
    peer.answerBy(({ inReplyTo }) =>
      inReplyTo === '<hung@team.example>' && ++hung === 1 ? 'keep and hang up' : 'take',
    )
    mailbox.deliver(written({ id: '<hung@team.example>' }))
    const copies = (): readonly (string | undefined)[] =>
      peer.sent.flatMap(({ mail }) => (mail.inReplyTo === '<hung@team.example>' ? [mail.messageId] : []))
    await until('it came again', () => copies().length === 2)
    expect(copies()[0]).toBe(copies()[1])
    expect((await bus.uncertain()).filter(({ channel }) => channel === name)).toMatchObject([{ tries: 1 }])
  })

  it.each(['away', 'silent'])('do not keep a stop waiting when the mailbox is %s', async (how) => {
    const { port } = mailbox
    await mailbox[Symbol.asyncDispose]()
    const deaf = createServer()
    if (how === 'silent') await new Promise<void>((resolve) => deaf.listen(port, '127.0.0.1', resolve))
    const connected = how === 'silent' ? new Promise((resolve) => deaf.once('connection', resolve)) : null
    await open()
    await connected
    await host?.stop()
    deaf.close()
    mailbox = await imapServer()
  })
})

describe('the configuration of a gateway', () => {
  const gatewayWith = (channel: object, env: Record<string, string>) => {
    const set = { gateway: { port: 0, channels_lease_ms: 500, channels: { [name]: channel as never } } }
    const config = loadConfig({ home: join(system.workspace, '.beaver'), set }, env, system.workspace)
    return startGateway(
      { ...config, namespace: system.subjects.namespace },
      { url: scene.server.url, login: {} },
    )
  }
  const local = (port: number, variable: string) => ({
    host: '127.0.0.1',
    port,
    tls: 'none',
    user: 'beaver',
    password_env: variable,
  })
  const channel = () => ({
    type: 'email',
    address: own,
    imap: local(mailbox.port, 'IN'),
    smtp: local(peer.port, 'OUT'),
    since: '2026-01-01',
    sender_check: 'relay',
    users,
  })

  it('names the mail servers, and the variables with their passwords', async () => {
    await expect(gatewayWith(channel(), { IN: imapUser.password })).rejects.toMatchObject({
      code: 'invalid_configuration',
      message: expect.stringContaining('$OUT') as string,
    })
    const gateway = await gatewayWith(channel(), { IN: imapUser.password, OUT: smtpUser.password })
    mailbox.deliver(written({ id: '<relayed@team.example>', results: null }))
    await peer.answerTo('<relayed@team.example>')
    await gateway.stop()
    // The server offers no TLS: then nothing is said to it, and above all no password.
    const [asked, connections] = [mailbox.commands.length, mailbox.connections]
    const strict = {
      ...channel(),
      imap: { ...local(mailbox.port, 'IN'), tls: 'starttls' },
      smtp: { ...local(peer.port, 'OUT'), tls: 'starttls' },
    }
    const cautious = await gatewayWith(strict, { IN: imapUser.password, OUT: smtpUser.password })
    await until('it was tried twice', () => mailbox.connections > connections + 1)
    await cautious.stop()
    expect(mailbox.commands.slice(asked).some((each) => /LOGIN|AUTH/.test(each))).toBe(false)
  })

  it.each([
    [
      { imap: { host: 'mail.team.example', port: 143, tls: 'none' } },
      'imap.tls: must be "implicit" or "starttls"',
    ],
    [
      { smtp: { host: 'mail.team.example', port: 465, user: 'beaver' } },
      'smtp.password_env: must be given with "user"',
    ],
    [{ smtp: { host: 'mail.team.example', port: 465, password: 'inline' } }, 'password'],
    [{ address: 'Beaver@team.example' }, 'address: must be an address in lower case'],
    [{ users: { 'Ada@team.example': 'ada' } }, 'users.Ada@team.example: must be an address in lower case'],
    [{ approvers: ['bob'] }, 'approvers'],
    [{ since: 'yesterday' }, 'since: must be a day'],
    [{ sender_check: undefined }, 'sender_check'],
  ])('refuses %j', (over, says) => {
    const set = { gateway: { channels: { m: { ...channel(), ...over } as never } } }
    expect(() => loadConfig({ home: '/nowhere', set }, {}, '/')).toThrow(says)
  })
})

it('asks those who may decide about a call, and takes their reply from the thread', async () => {
  system.provider.answerBy(({ messages }) =>
    messages.some(({ role }) => role === 'tool') ? say('done') : use(['echo', { text: 'careful' }]),
  )
  await open({ user_id: 'team' })
  mailbox.deliver(written({ id: '<call@team.example>' }))
  const { mail, to } = await peer.answerTo('<call@team.example>')
  expect(to).toEqual(['ada@team.example', 'bob@team.example'])
  const [, code = ''] = /"approve ([0-9a-z]{3}-[0-9a-z]{3})"/.exec(mail.text ?? '') ?? []
  const reply = {
    subject: `Re: ${mail.subject}`,
    body: `approve ${code}\r\n\r\nOn Tue, Beaver wrote:\r\n> An agent asks`,
    more: [`In-Reply-To: ${mail.messageId}`],
  }
  mailbox.deliver(written({ id: '<ada@team.example>', ...reply }))
  expect((await peer.answerTo('<ada@team.example>')).mail.text).toContain('may not decide')
  mailbox.deliver(written({ id: '<bob@team.example>', from: 'bob@team.example', ...reply }))
  expect((await peer.answerTo('<bob@team.example>')).mail.text).toContain('Allowed')
  await until('the answer came', () =>
    peer.sent.some(
      ({ mail: each }) => each.inReplyTo === '<call@team.example>' && each.text?.trim() === 'done',
    ),
  )
})
