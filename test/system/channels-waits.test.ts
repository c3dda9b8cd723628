// What a chat shows while its task waits for a person or works for long, in front of a real daemon and a real
// nats-server.
import { type Channel, type ChannelHost, type ChannelSettings, startChannels } from '@beaver/channels'
import type { OutboundMessage } from '@beaver/contracts'
import { natsMessageBus } from '@beaver/nats'
import { held, until, virtualClock } from '@beaver/testing'
import { beforeEach, describe, expect, it } from 'vitest'
import { type FakeReply, say, use } from '../support/fake-provider.ts'
import { PlayedChannel } from '../support/played-channel.ts'
import { keptScene } from '../support/protocol-scene.ts'
import { only, type TestSystem } from '../support/system.ts'

let system: TestSystem
beforeEach(async () => void (system = (await keptScene()).system))

const settings: ChannelSettings = {
  users: { Ada: 'ada', Bob: 'bob' },
  unknown_users: 'refuse',
  approvers: ['Ada'],
  user_id: 'team',
  tries_max: 3,
}

async function started(
  channel: Channel,
  over: Partial<Parameters<typeof startChannels>[0]> = {},
): Promise<ChannelHost> {
  const bus = await natsMessageBus(system.nc, system.subjects, { leaseMs: 1_000 })
  return startChannels({ bus, client: system.client, channels: [{ channel, settings }], ...over })
}

const asked = (channel: PlayedChannel, kind: OutboundMessage['kind']): Promise<OutboundMessage> =>
  until(`the chat is asked (${kind})`, () => channel.sent.findLast((each) => each.kind === kind), {
    everyMs: 10,
  })
const codeIn = ({ text }: OutboundMessage): string =>
  /"(?:answer|approve) ([0-9a-z]{3}-[0-9a-z]{3})/.exec(text)?.[1] ?? ''

describe('a chat whose call waits', () => {
  it('takes a decision that is written almost right, and says of all else at once that it was not read', async () => {
    const channel = new PlayedChannel()
    const host = await started(channel)
    system.provider.forget()
    const { task_id } = await channel.write('m1', 'echo {"text":"careful"}')
    const code = codeIn(await asked(channel, 'approval'))
    const told = async (id: string, text: string, over: object = {}): Promise<OutboundMessage> => {
      expect((await channel.write(id, text, over)).task_id).toBe(null)
      return channel.answerTo(id)
    }
    const hint = `This chat waits for: approve ${code} or deny ${code} (echo: {"text":"careful"})\nYour message was not read.`
    for (const text of [
      'yes',
      'APPROVE',
      `don't approve ${code}`,
      `approve ${code}? no`,
      `please approve ${code}`,
      'And list the files.',
    ])
      expect(await told(`x ${text}`, text)).toMatchObject({
        kind: 'error',
        text: expect.stringContaining(hint) as string,
        error: { code: 'waits_for_decision' },
      })
    expect((await told('b', 'what is this?', { user: 'Bob' })).text).toMatch(/ Ada may decide\.$/)
    expect((await told('u', 'hello', { user: 'Mallory' })).error?.code).toBe('not_allowed')
    // The network repeats the message of the task, and another chat is another one.
    expect(await channel.write('m1', 'echo {"text":"careful"}')).toEqual({
      message_id: 'm1',
      task_id,
      duplicate: true,
    })
    await channel.write('o1', 'hello', { chat_id: 'other' })
    expect((await channel.answerTo('o1')).text).toBe('You said: hello')
    expect(await told('d', `“Approve \`${code}\`.”, thanks 👍`)).toMatchObject({
      kind: 'notice',
      text: `Allowed: ${code}`,
    })
    expect((await channel.answerTo('m1')).text).toBe('So: {"text":"careful"}')
    expect(only(await system.events(task_id ?? ''), 'approval_granted')).toMatchObject([
      { data: { user_id: 'ada' } },
    ])
    // Nothing waits any more, and the model has seen nothing of what was refused.
    await channel.write('m2', 'all')
    const all = (await channel.answerTo('m2')).text
    expect(all).not.toMatch(/yes|APPROVE|don't|list the files|what is this/)
    await host.stop()
  })

  it('says so, too, where another process asked, and where a person may not answer the question', async () => {
    const channel = new PlayedChannel()
    const host = await started(channel)
    const { task_id } = await channel.write('m1', 'deploy {"to":"prod"}')
    const code = codeIn(await asked(channel, 'question'))
    await channel.write('b', 'yes', { user: 'Bob' })
    expect((await channel.answerTo('b')).text).toContain(
      `This chat waits for: answer ${code} … or decline ${code} (Deploy to prod?)`,
    )
    await channel.write('a', 'No')
    expect((await channel.answerTo('m1')).text).toBe('So: accept No')
    await channel.write('m2', 'echo {"text":"careful"}')
    const call = codeIn(
      await until('the chat is asked', () =>
        channel.sent.find(({ in_reply_to, kind }) => in_reply_to === 'm2' && kind === 'approval'),
      ),
    )
    await until('the read model has it', async () =>
      (await system.client.query('approvals', { limit: 200 })).calls.some(({ subject }) =>
        subject.includes('careful'),
      ),
    )
    await host.stop()
    // The message came in while the first process asked; the second one has not heard of the call yet.
    const bus = await natsMessageBus(system.nc, system.subjects)
    const user = { name: 'Ada', user_id: 'ada' }
    const at = new Date().toISOString()
    await bus.publish('inbound', {
      channel: channel.name,
      chat_id: 'c',
      message_id: 'late',
      kind: 'control',
      user,
      text: 'yes',
      at,
    })
    const second = await started(channel)
    expect((await channel.answerTo('late')).text).toContain(`approve ${call} or deny ${call}`)
    await channel.write('d', `deny ${call}`)
    await channel.answerTo('m2')
    await bus.publish('inbound', {
      channel: channel.name,
      chat_id: 'c',
      message_id: 'later',
      kind: 'control',
      user,
      text: 'yes',
      at,
    })
    expect((await channel.answerTo('later')).text).toContain(
      'What this chat waited for was settled meanwhile.',
    )
    await second.stop()
    expect(task_id).not.toBe(null)
  })
})

describe('a chat whose call another gateway follows', () => {
  const hasIt = (name: 'approvals' | 'questions', task_id: string | null | undefined): Promise<unknown> =>
    until('the read model has it', async () => {
      const found = await system.client.query(name, { task_id: task_id ?? '' }).catch(() => null)
      return found !== null && ('calls' in found ? found.calls : found.questions).length > 0
    })

  it('is told at once what it waits for, and the agent never sees the text', async () => {
    const channel = new PlayedChannel()
    // It holds the chat like one that was killed, and the next gateway takes the chat over when its lease
    // ends.
    const first = await started(channel)
    const { task_id } = await channel.write('m1', 'echo {"text":"careful"}')
    const code = codeIn(await asked(channel, 'approval'))
    await hasIt('approvals', task_id)
    const second = await started(channel)
    expect(await channel.write('y', 'yes at once')).toMatchObject({ task_id: null })
    expect((await channel.answerTo('y')).text).toContain(
      `This chat waits for: approve ${code} or deny ${code}`,
    )
    await channel.write('d', `approve ${code}`)
    expect((await channel.answerTo('m1')).text).toBe('So: {"text":"careful"}')
    expect(await channel.write('m2', 'all')).not.toMatchObject({ task_id: null })
    expect((await channel.answerTo('m2')).text).not.toContain('yes at once')
    await first.stop()
    await second.stop()
  })

  it('takes the next message as the answer to its question', async () => {
    const channel = new PlayedChannel()
    const first = await started(channel)
    const { task_id } = await channel.write(
      'm1',
      'ask_user {"question":"Which branch?","options":["main","next"]}',
    )
    await asked(channel, 'question')
    await hasIt('questions', task_id)
    const second = await started(channel)
    await channel.write('a', '“Main.”')
    expect(await channel.answerTo('a')).toMatchObject({ kind: 'notice', text: 'Answered: main' })
    expect((await channel.answerTo('m1')).text).toBe('So: main')
    await first.stop()
    await second.stop()
  })

  it('keeps the order of messages, although the read model answers late for one', async () => {
    const channel = new PlayedChannel()
    const { client } = system
    const gate = held<null>()
    let asks = 0
    const query = (async (...asked: Parameters<typeof client.query>) => {
      if (++asks <= 3) await gate.promise
      return client.query(...asked)
    }) as typeof client.query
    const rest = {
      submit: client.submit.bind(client),
      watch: client.watch.bind(client),
      events: client.events.bind(client),
      raise: client.raise.bind(client),
      cancel: client.cancel.bind(client),
      decide: client.decide.bind(client),
      answer: client.answer.bind(client),
    }
    const host = await started(channel, { client: { ...rest, query } })
    const taken = [channel.write('m1', 'hello m1'), channel.write('m2', 'hello m2')]
    await until('both are asked about', () => asks === 6)
    await client.query('approvals', { limit: 1 })
    gate.settle(null)
    await Promise.all(taken)
    for (const id of ['m1', 'm2']) await channel.answerTo(id)
    expect(channel.sent.map(({ in_reply_to }) => in_reply_to)).toEqual(['m1', 'm2'])
    await host.stop()
  })
})

it('a wrong code, and one of another kind, get what waits', async () => {
  const channel = new PlayedChannel()
  const host = await started(channel)
  const told = async (id: string, text: string): Promise<string> => {
    await channel.write(id, text)
    return (await channel.answerTo(id)).text
  }
  await channel.write('m1', 'echo {"text":"careful"}')
  const call = codeIn(await asked(channel, 'approval'))
  const waits = `This chat waits for: approve ${call} or deny ${call} (echo: {"text":"careful"})`
  expect(await told('d1', 'approve zzz-999')).toBe(
    `No call with the code zzz-999 waits in this chat. ${waits}`,
  )
  expect(await told('d2', `answer ${call} main`)).toBe(waits)
  expect(await told('d3', `approve ${call} but not now`)).toMatch(/^The call still waits\./)
  expect(await told('d4', `deny ${call}`)).toBe(`Refused: ${call}`)
  await channel.answerTo('m1')
  const again = await told('d5', `deny ${call}`)
  expect(again).toMatch(new RegExp(`^The call ${call} was already refused by ada`))
  await channel.write('m2', 'ask_user {"question":"Which branch?","options":["main","next"]}')
  const question = codeIn(await asked(channel, 'question'))
  expect(await told('d6', `approve ${question}`)).toBe(
    `This chat waits for: answer ${question} … or decline ${question} (Which branch?)`,
  )
  await told('d7', 'main')
  await channel.answerTo('m2')
  await host.stop()
})

it('in a group, a text that calls nobody is read only if an approver names a call that waits', async () => {
  const channel = new PlayedChannel()
  const host = await started(channel)
  await channel.write('m1', 'echo {"text":"careful"}')
  const code = codeIn(await asked(channel, 'approval'))
  const aside = (id: string, text: string, user = 'Ada') => channel.write(id, text, { aside: true, user })
  const before = channel.sent.length
  await aside('x1', 'yes')
  await aside('x2', 'please approve zzz-999')
  await aside('x3', `please approve ${code}`, 'Bob')
  await channel.write('x4', `please approve ${code}`, { aside: true, edited: true })
  await aside('a', `please approve ${code}`)
  expect((await channel.answerTo('a')).text).toContain(`This chat waits for: approve ${code} or deny ${code}`)
  expect(channel.sent.slice(before).map(({ in_reply_to }) => in_reply_to)).toEqual(['a'])
  await channel.write('d', `deny ${code}`)
  await channel.answerTo('m1')
  await host.stop()
})

it('the second person of a chat is told at once that it belongs to somebody else', async () => {
  const channel = new PlayedChannel()
  const host = await started(channel, {
    channels: [
      {
        channel,
        settings: { users: settings.users, unknown_users: 'refuse', approvers: ['Ada'], tries_max: 3 },
      },
    ],
  })
  await channel.write('m1', 'echo {"text":"careful"}')
  const code = codeIn(await asked(channel, 'approval'))
  await channel.write('b', 'and me?', { user: 'Bob' })
  expect(await channel.answerTo('b')).toMatchObject({
    text: expect.stringContaining('This chat belongs to the person') as string,
    error: { code: 'not_allowed' },
  })
  await channel.write('d', `deny ${code}`)
  await channel.answerTo('m1')
  await host.stop()
})

it('a chat is shown that Beaver works, also by the next process, and not while it waits for a person', async () => {
  const channel = new PlayedChannel()
  const gate = held<FakeReply>()
  let shows = 0
  channel.shownWork = { show: async () => void shows++, lineAfterMs: 10_000 }
  system.provider.forget()
  system.provider.answerBy(({ text, results }) =>
    text.startsWith('wait')
      ? gate.promise
      : results.length === 0
        ? use(['echo', { text: 'careful' }])
        : say('echoed'),
  )
  const clock = virtualClock(Date.now())
  const lines = () => channel.sent.filter(({ text }) => text.includes('is working on it'))
  const passes = async (what: string, isDone: () => boolean): Promise<void> =>
    void (await until(what, () => (clock.advance(1_000), isDone()), { everyMs: 10 }))
  const first = await started(channel, { clock })
  const { task_id } = await channel.write('m1', `wait ${channel.name}`)
  await passes('it is shown', () => shows > 2)
  await passes('there is a line', () => lines().length > 0)
  expect(lines()).toMatchObject([{ kind: 'notice', in_reply_to: null, task_id }])
  const before = shows
  let isStopped = false
  void first.stop().then(() => (isStopped = true))
  await passes('it has stopped', () => isStopped)
  const second = await started(channel, { clock })
  await passes('it is shown again', () => shows > before + 4)
  gate.settle(say('done'))
  await passes('there is the answer', () => channel.sent.some(({ in_reply_to }) => in_reply_to === 'm1'))
  const after = shows
  clock.advance(60_000)
  expect(shows).toBe(after)
  expect(lines()).toHaveLength(1)
  await channel.write('m2', 'echo')
  const code = codeIn(await asked(channel, 'approval'))
  const atQuestion = shows
  clock.advance(60_000)
  expect(shows).toBe(atQuestion)
  await channel.write('d', `approve ${code}`)
  expect((await channel.answerTo('m2')).text).toBe('echoed')
  await second.stop()
})

it('an edited message is told once as not read, until its person writes again', async () => {
  const channel = new PlayedChannel()
  const host = await started(channel)
  await channel.write('m1', 'hello')
  await channel.answerTo('m1')
  const edit = (id: string, user = 'Ada') => channel.write(id, 'hullo', { edited: true, user })
  const told = () =>
    channel.sent
      .filter(({ text }) => text.startsWith('Beaver does not read edited messages.'))
      .map(({ in_reply_to }) => in_reply_to)
  for (const id of ['m1', 'm1', 'm0']) expect(await edit(id)).toMatchObject({ task_id: null })
  await edit('m1', 'Mallory')
  await channel.write('m2', 'all')
  expect((await channel.answerTo('m2')).text).not.toContain('hullo')
  expect(told()).toEqual(['m1'])
  await edit('m2')
  await until('it is told again', () => told().length === 2)
  await channel.write('m3', 'hello')
  await edit('m1')
  await until('it is told again of the same message', () => told().length === 3)
  await host.stop()
})
