// Channels in front of a real daemon, over a real nats-server: from a message to its answer.
import {
  type Channel,
  type ChannelHost,
  type ChannelSettings,
  ConsoleChannel,
  startChannels,
} from '@beaver/channels'
import type { OutboundMessage } from '@beaver/contracts'
import { natsMessageBus } from '@beaver/nats'
import { held, memoryMessageBus, messageStorage, outboundOf, until, virtualClock } from '@beaver/testing'
import { beforeAll, describe, expect, it } from 'vitest'
import { type FakeReply, refuse, say, use } from '../support/fake-provider.ts'
import { PlayedChannel } from '../support/played-channel.ts'
import { keptScene } from '../support/protocol-scene.ts'
import { only, type TestSystem } from '../support/system.ts'

let system: TestSystem
beforeAll(async () => void (system = (await keptScene()).system))

const settings: ChannelSettings = {
  users: { Ada: 'ada', Bob: 'bob' },
  unknown_users: 'refuse',
  approvers: ['Ada'],
  tries_max: 3,
}

async function started(
  channel: Channel,
  over: Partial<Parameters<typeof startChannels>[0]> = {},
  of: Partial<ChannelSettings> = {},
): Promise<ChannelHost> {
  const bus = await natsMessageBus(system.nc, system.subjects, { leaseMs: 1_000 })
  return startChannels({
    bus,
    client: system.client,
    channels: [{ channel, settings: { ...settings, ...of } }],
    ...over,
  })
}

describe('a message in a chat', () => {
  it('becomes a task of its user in the session of the chat, and is answered once', async () => {
    const channel = new PlayedChannel()
    const host = await started(channel)
    system.provider.answerBy(({ messages }) =>
      say(`heard ${messages.filter(({ role }) => role === 'user').length}`),
    )
    const { task_id, duplicate } = await channel.write('m1', 'one')
    expect(duplicate).toBe(false)
    expect(await channel.answerTo('m1')).toMatchObject({
      kind: 'answer',
      text: 'heard 1',
      task_id,
      error: null,
    })
    expect(await channel.write('m1', 'one')).toEqual({ message_id: 'm1', task_id, duplicate: true })
    await channel.write('m2', 'two')
    expect((await channel.answerTo('m2')).text).toBe('heard 2')
    expect(channel.sent.map(({ in_reply_to }) => in_reply_to)).toEqual(['m1', 'm2'])
    expect(only(await system.events(task_id ?? ''), 'task_submitted')).toMatchObject([
      {
        data: {
          session_id: `${channel.name}:c`,
          request: { user_id: 'ada', source: `channel:${channel.name}` },
        },
      },
    ])
    await host.stop()
  })

  it('of nobody who is known, of another user than the chat belongs to, and of a task that fails is answered by an error', async () => {
    const channel = new PlayedChannel()
    const host = await started(channel)
    system.provider.answerBy(({ text }) => (text.includes('fail') ? refuse(400, 'never') : say('ok')))
    await channel.write('m1', 'hello', { user: 'Mallory' })
    expect(await channel.answerTo('m1')).toMatchObject({
      kind: 'error',
      task_id: null,
      error: { code: 'not_allowed' },
    })
    await channel.write('m2', 'hello')
    expect((await channel.answerTo('m2')).kind).toBe('answer')
    await channel.write('m3', 'hello', { user: 'Bob' })
    expect(await channel.answerTo('m3')).toMatchObject({ kind: 'error', error: { code: 'not_allowed' } })
    await channel.write('m4', 'fail')
    expect(await channel.answerTo('m4')).toMatchObject({
      kind: 'error',
      error: { code: expect.stringContaining('provider') as string },
    })
    await host.stop()
  })

  it('that is too long, empty or strange is refused where it comes in', async () => {
    const channel = new PlayedChannel()
    const host = await started(channel)
    for (const message of [
      { text: 'x'.repeat(100_001) },
      { text: '' },
      { chat_id: 'x'.repeat(91) },
      { chat_id: 'a\u0000b' },
      { message_id: '' },
      { user: '' },
    ])
      await expect(channel.write('m', 'hello', message)).rejects.toMatchObject({ code: 'invalid_arguments' })
    await host.stop()
  })
})

describe('an answer', () => {
  it('that cannot be sent holds up its chat alone, is dead in the end, and can be sent again', async () => {
    const channel = new PlayedChannel()
    const bus = await natsMessageBus(system.nc, system.subjects, { leaseMs: 1_000 })
    const host = await started(channel, { bus }, { tries_max: 2 })
    system.provider.answerBy(({ text }) => say(text))
    let broken = true
    channel.outcome = async ({ chat_id, in_reply_to }) =>
      broken && chat_id === 'broken' && in_reply_to === 'b1'
        ? { kind: 'later', reason: 'It answered 500.' }
        : { kind: 'sent' }
    await channel.write('b1', 'one', { chat_id: 'broken' })
    await channel.write('b2', 'two', { chat_id: 'broken' })
    await channel.write('o1', 'other', { chat_id: 'other' })
    await channel.answerTo('o1')
    expect(channel.sent.map(({ in_reply_to }) => in_reply_to)).toEqual(['o1'])
    await channel.answerTo('b2')
    const letters = (await bus.deadLetters(100)).filter((letter) => letter.channel === channel.name)
    expect(letters).toMatchObject([{ queue: 'outbound', reason: 'It answered 500. (tried 2 times)' }])
    broken = false
    await bus.sendAgain(letters[0]?.id ?? '')
    expect((await channel.answerTo('b1')).text).toBe('one')
    await host.stop()
  })
})

it('a message that arrived in part is no uncertain one for the process that knows it, and one for the next process', async () => {
  const storage = messageStorage()
  const channel = new PlayedChannel()
  channel.unkeyed = true
  const told: boolean[] = []
  channel.outcome = async (_message, again) => {
    told.push(again)
    return told.length === 4
      ? { kind: 'sent' }
      : { kind: 'later', reason: 'full', ...(told.length === 1 ? {} : { partly: true }) }
  }
  const bus = memoryMessageBus(storage)
  const clock = virtualClock()
  const first = await started(channel, { bus, clock }, { tries_max: 10 })
  await bus.publish('outbound', outboundOf(channel.name, 'c', 'out'))
  await until('it was tried three times', () => (clock.advance(1_000), told.length === 3))
  await first.stop()
  const second = await started(channel, { bus: memoryMessageBus(storage) })
  await until('it is sent', () => channel.sent.length === 1)
  await second.stop()
  expect(told).toEqual([false, false, false, true])
  expect(await bus.uncertain()).toMatchObject([{ channel: channel.name, tries: 1 }])
})

it('answers a message once that its network repeats after the queue has forgotten it', async () => {
  system.provider.answerBy(() => say('once'))
  const channel = new PlayedChannel()
  const at = new Date(Date.now() - 3_600_000).toISOString()
  const first = await started(channel, { bus: memoryMessageBus() })
  const { task_id } = await channel.write('m', 'hello', { at })
  await channel.answerTo('m')
  await first.stop()
  await until(
    'the read model has the task',
    () => system.client.query('task', { task_id: task_id ?? '', limit: 1 }).catch(() => null),
    { everyMs: 10 },
  )
  const second = await started(channel, { bus: memoryMessageBus() })
  expect(await channel.write('m', 'hello', { at })).toMatchObject({ duplicate: true })
  await channel.write('new', 'hello', { at })
  await channel.answerTo('new')
  await second.stop()
  expect(channel.sent.map(({ in_reply_to }) => in_reply_to)).toEqual(['m', 'new'])
})

describe('a call that waits for a person', () => {
  const echoing = (): void =>
    system.provider.answerBy(({ messages }) => {
      const result = messages.findLast((message) => message.role === 'tool')
      return result === undefined
        ? use(['echo', { text: 'careful' }])
        : say(`It said: ${String(result.content)}`)
    })
  const asked = (channel: PlayedChannel, after = 0): Promise<OutboundMessage> =>
    until('the chat is asked', () => channel.sent.filter(({ kind }) => kind === 'approval')[after], {
      everyMs: 10,
    })
  const codeIn = ({ text }: OutboundMessage): string => /approve (\S+)"/.exec(text)?.[1] ?? ''

  it('is asked about in the chat, and only an approver decides, in this chat', async () => {
    const channel = new PlayedChannel()
    const host = await started(channel, {}, { user_id: 'team' })
    echoing()
    const { task_id } = await channel.write('m1', 'say it')
    const question = await asked(channel)
    expect(question).toMatchObject({ in_reply_to: 'm1', task_id })
    expect(question.text).toContain('An agent asks to call echo: ')
    const code = codeIn(question)
    await channel.write('d1', `approve ${code}`, { user: 'Bob' })
    expect(await channel.answerTo('d1')).toMatchObject({ kind: 'error', error: { code: 'not_allowed' } })
    await channel.write('d2', `approve ${code}`, { user: 'Mallory' })
    expect(await channel.answerTo('d2')).toMatchObject({ kind: 'error', error: { code: 'not_allowed' } })
    expect(channel.sent.some(({ in_reply_to, kind }) => in_reply_to === 'm1' && kind === 'answer')).toBe(
      false,
    )
    await channel.write('d3', `approve ${code}`)
    expect(await channel.answerTo('d3')).toMatchObject({ kind: 'notice', text: `Allowed: ${code}` })
    expect((await channel.answerTo('m1')).text).toContain('careful')
    expect(only(await system.events(task_id ?? ''), 'approval_granted')).toMatchObject([
      { data: { user_id: 'ada' } },
    ])
    await until(
      'the read model has the end',
      async () => (await system.client.query('task', { task_id: task_id ?? '' })).task.ended_at !== null,
    )
    await channel.write('d4', `deny ${code}`)
    expect(await channel.answerTo('d4')).toMatchObject({
      error: { code: 'conflict', message: expect.stringContaining('was already allowed by ada') as string },
    })
    await host.stop()
  })

  it('is refused with a reason that the model reads, also after the process was replaced', async () => {
    const channel = new PlayedChannel()
    const first = await started(channel)
    echoing()
    await channel.write('m1', 'say it')
    const code = codeIn(await asked(channel))
    await first.stop()
    const second = await started(channel)
    await until('the second one knows the call', async () => {
      const id = `d${channel.sent.length}${Math.random()}`
      await channel.write(id, `deny ${code} not today`)
      return (await channel.answerTo(id)).kind === 'notice'
    })
    expect((await channel.answerTo('m1')).text).toContain('not today')
    expect(channel.sent.filter(({ kind }) => kind === 'approval')).toHaveLength(1)
    await second.stop()
  })
})

describe('a stop', () => {
  it('leaves what has no answer to the next process, which runs nothing twice', async () => {
    const channel = new PlayedChannel()
    const gate = held<FakeReply>()
    system.provider.forget()
    system.provider.answerBy(() => gate.promise)
    const first = await started(channel)
    for (const id of ['m1', 'm2']) await channel.write(id, `wait ${channel.name}`)
    await until('the model is asked', () => system.provider.about(channel.name).length === 1)
    await first.stop()
    gate.settle(say('done'))
    const second = await started(channel)
    expect([(await channel.answerTo('m1')).text, (await channel.answerTo('m2')).text]).toEqual([
      'done',
      'done',
    ])
    expect(system.provider.about(channel.name)).toHaveLength(2)
    await second.stop()
  })

  it('turns it into errors if the operator says so', async () => {
    const channel = new PlayedChannel()
    const gate = held<FakeReply>()
    system.provider.answerBy(() => gate.promise)
    const host = await started(channel, { onStop: 'errors' })
    for (const id of ['m1', 'm2', 'm3']) await channel.write(id, `wait ${channel.name}`)
    await until('the model is asked', () => system.provider.about(channel.name).length === 1)
    await host.stop()
    expect(channel.sent.map(({ in_reply_to, error }) => [in_reply_to, error?.code])).toEqual([
      ['m1', 'gateway_stopped'],
      ['m2', 'gateway_stopped'],
      ['m3', 'gateway_stopped'],
    ])
    gate.settle(say('late'))
  })
})

describe('the console', () => {
  it('answers each line, and ends with its input when all are answered', async () => {
    system.provider.answerBy(({ text }) => say(`You said: ${text}\u001b[2J`))
    const printed: string[] = []
    async function* lines() {
      yield 'hello'
      yield '  '
      yield 'again'
    }
    let ids = 0
    const channel = new ConsoleChannel({
      name: 'console',
      chat_id: 'c',
      user: 'Ada',
      lines: lines(),
      print: (all) => printed.push(...all),
      newId: () => `line ${++ids}`,
    })
    const host = await started(channel, { bus: memoryMessageBus() })
    await channel.over
    await host.stop()
    expect(printed).toEqual(['You said: hello\\u{1b}[2J', 'You said: again\\u{1b}[2J'])
  })
})
