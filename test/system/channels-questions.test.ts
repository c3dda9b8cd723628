// Questions of calls in chats: shown with their options, answered by the next message or by a code, in front
// of a real daemon and a real nats-server.
import { type Channel, type ChannelHost, type ChannelSettings, startChannels } from '@beaver/channels'
import type { OutboundMessage } from '@beaver/contracts'
import { natsMessageBus } from '@beaver/nats'
import { until } from '@beaver/testing'
import { beforeAll, describe, expect, it } from 'vitest'
import { PlayedChannel } from '../support/played-channel.ts'
import { keptScene } from '../support/protocol-scene.ts'
import { only, type TestSystem } from '../support/system.ts'

// What a task says names the call that its agent makes: "ask_user {…}".
let system: TestSystem
beforeAll(async () => void (system = (await keptScene()).system))

const settings: ChannelSettings = {
  users: { Ada: 'ada', Bob: 'bob', Eve: 'eve' },
  unknown_users: 'refuse',
  approvers: ['Eve'],
  tries_max: 3,
}

async function started(channel: Channel, of: Partial<ChannelSettings> = {}): Promise<ChannelHost> {
  const bus = await natsMessageBus(system.nc, system.subjects, { leaseMs: 1_000 })
  return startChannels({
    bus,
    client: system.client,
    channels: [{ channel, settings: { ...settings, ...of } }],
  })
}

const branch = 'ask_user {"question":"Which branch?","options":["main","next"]}'
const asked = (
  channel: PlayedChannel,
  kind: OutboundMessage['kind'] = 'question',
): Promise<OutboundMessage> =>
  until(`the chat is asked (${kind})`, () => channel.sent.findLast((each) => each.kind === kind), {
    everyMs: 10,
  })
const codeIn = ({ text }: OutboundMessage): string =>
  /"(?:answer|approve) ([0-9a-z]{3}-[0-9a-z]{3})/.exec(text)?.[1] ?? ''
const answers = async (taskId: string | null | undefined) =>
  only(await system.events(taskId ?? ''), 'question_answered').map(({ data }) => data)

describe('a question of an agent', () => {
  it('is shown with its options, and the next message of its user answers it', async () => {
    const channel = new PlayedChannel()
    const host = await started(channel)
    const { task_id } = await channel.write('m1', branch)
    const question = await asked(channel)
    expect(question).toMatchObject({
      in_reply_to: 'm1',
      task_id,
      question: { options: ['main', 'next'], several: false, free_text: false },
    })
    expect(question.text).toContain(
      'Which branch?\n  1) main\n  2) next\nAnswer with the number or the text of an option.',
    )
    // The network repeats the message of the task: it is no answer.
    expect(await channel.write('m1', branch)).toEqual({ message_id: 'm1', task_id, duplicate: true })
    await channel.write('a1', 'old')
    expect((await channel.answerTo('a1')).text).toContain(
      '"old" is not one of the options. Answer with one of: "main", "next".',
    )
    expect(await channel.write('a2', '2')).toMatchObject({ task_id: null })
    expect(await channel.answerTo('a2')).toMatchObject({ kind: 'notice', text: 'Answered: next', task_id })
    expect((await channel.answerTo('m1')).text).toBe('So: next')
    expect(await answers(task_id)).toMatchObject([
      { answer: { action: 'accept', answers: ['next'] }, user_id: 'ada' },
    ])
    // The question is gone, so the next message is a task again.
    await channel.write('m2', 'next')
    expect((await channel.answerTo('m2')).text).toBe('You said: next')
    await host.stop()
  })

  it('is answered by nobody else, not in another chat, not with too many characters, and once', async () => {
    const channel = new PlayedChannel()
    const host = await started(channel)
    const { task_id } = await channel.write('m1', 'ask_user {"question":"Why?"}')
    const code = codeIn(await asked(channel))
    const told = async (id: string, text: string, over: object = {}): Promise<string> => {
      await channel.write(id, text, over)
      return (await channel.answerTo(id)).text
    }
    await until(
      'the read model has it',
      async () =>
        (await system.client.query('questions', { task_id: task_id ?? '' }).catch(() => null))?.questions
          .length === 1,
    )
    expect(await told('x1', `answer ${code} because`, { user: 'Mallory' })).toContain(
      'is not among the users',
    )
    for (const [id, over] of Object.entries({
      x2: { user: 'Bob' },
      x3: { chat_id: 'other' },
      x4: { chat_id: 'other', user: 'Eve' },
    }))
      expect(await told(id, `answer ${code} because`, over)).toContain(
        `No question with the code ${code} waits for you in this chat.`,
      )
    expect(await told('x5', `answer aaa-aaa because`)).toContain('No question with the code aaa-aaa')
    expect(await told('x6', 'x'.repeat(10_001))).toContain(
      'An answer has 10001 characters. The limit is 10000.',
    )
    expect(await answers(task_id)).toEqual([])
    expect(await told('x7', 'because\nI can\n-- \nAda')).toBe('Answered: because\nI can')
    expect((await channel.answerTo('m1')).text).toBe('So: because\nI can')
    const ended = async (): Promise<boolean> =>
      (await system.client.query('task', { task_id: task_id ?? '' })).task.ended_at !== null
    await until('the read model has the end', ended)
    expect(await told('x8', `answer ${code} again`)).toContain('was already answered by ada')
    expect(channel.sent.findLast((each) => each.in_reply_to === 'x8')?.error?.code).toBe('conflict')
    expect(await answers(task_id)).toHaveLength(1)
    await host.stop()
  })

  it('waits while the gateway is gone, and its code answers it in another process', async () => {
    const channel = new PlayedChannel()
    const first = await started(channel)
    const { task_id } = await channel.write('m1', branch)
    const code = codeIn(await asked(channel))
    await until(
      'the read model has it',
      async () =>
        (await system.client.query('questions', { task_id: task_id ?? '' }).catch(() => null))?.questions
          .length === 1,
    )
    await first.stop()
    const second = await started(channel)
    await channel.write('a1', `answer ${code} MAIN`)
    expect(await channel.answerTo('a1')).toMatchObject({ kind: 'notice', text: 'Answered: main' })
    expect((await channel.answerTo('m1')).text).toBe('So: main')
    await second.stop()
  })

  it('can be declined, with a reason that the agent reads', async () => {
    const channel = new PlayedChannel()
    const host = await started(channel)
    await channel.write('m1', branch)
    await channel.write('a1', `decline ${codeIn(await asked(channel))} ask Bob`)
    expect((await channel.answerTo('a1')).text).toBe('Declined to answer.')
    expect((await channel.answerTo('m1')).text).toContain('ask Bob')
    await host.stop()
  })
})

describe('a question of a tool', () => {
  it('may permit something, so only an approver answers it', async () => {
    const channel = new PlayedChannel()
    const host = await started(channel)
    const { task_id } = await channel.write('m1', 'deploy {"to":"prod"}')
    const question = await asked(channel)
    expect(question.text).toMatch(
      /^The tool deploy asks:\nDeploy to prod\?\n {2}1\) Yes\n {2}2\) No\n[\s\S]* Eve may answer\.$/,
    )
    await channel.write('a1', `answer ${codeIn(question)} Yes`)
    expect((await channel.answerTo('a1')).text).toContain('waits for you in this chat')
    await channel.write('a2', `answer ${codeIn(question)} Yes`, { user: 'Eve' })
    expect((await channel.answerTo('a2')).text).toBe('Answered: Yes')
    expect((await channel.answerTo('m1')).text).toBe('So: accept Yes')
    expect(await answers(task_id)).toMatchObject([{ user_id: 'eve' }])
    await host.stop()
  })

  it('with a form takes its fields', async () => {
    const channel = new PlayedChannel()
    const host = await started(channel, { approvers: ['Ada'] })
    await channel.write('m1', 'sign_up {}')
    expect((await asked(channel)).text).toContain(
      'Who are you?\n  age (optional): integer\n  name: Your name; string\nAnswer with a line <field>=<value> for each field.',
    )
    await channel.write('a1', 'name=Ada Byron age=old')
    expect((await channel.answerTo('a1')).text).toContain('age')
    await channel.write('a2', 'name=Ada Byron\nage=36')
    expect((await channel.answerTo('a2')).text).toBe('Answered: Ada Byron, 36')
    expect((await channel.answerTo('m1')).text).toBe('So: accept Ada Byron 36')
    await host.stop()
  })

  it('that nobody in the channel may answer says so', async () => {
    const channel = new PlayedChannel()
    const host = await started(channel, { approvers: [] })
    const { task_id } = await channel.write('m1', 'deploy {"to":"prod"}')
    expect((await asked(channel)).text).toContain(
      `Nobody in this channel may answer. Answer with: beaver answer ${task_id}`,
    )
    await system.client.answer(task_id ?? '', {
      callId: 'call_0',
      answer: { action: 'accept', answers: ['No'] },
    })
    expect((await channel.answerTo('m1')).text).toBe('So: accept No')
    await host.stop()
  })
})

describe('an approval', () => {
  it('may change the arguments, which must fit the tool and the rules, and has no other condition', async () => {
    const channel = new PlayedChannel()
    const host = await started(channel, { approvers: ['Ada'] })
    const { task_id } = await channel.write('m1', 'echo {"text":"careful: rm everything"}')
    const code = codeIn(await asked(channel, 'approval'))
    const told = async (id: string, text: string): Promise<string> => {
      await channel.write(id, text)
      return (await channel.answerTo(id)).text
    }
    expect(await told('d1', `approve ${code} but only a bit`)).toContain('The call still waits.')
    expect(await told('d2', `approve ${code} {"txt":1}`)).toContain('still waits')
    expect(await told('d3', `approve ${code} {“text”: “a”}`)).toContain('still waits')
    expect(await told('d4', `approve ${code} {"text":"the forbidden plan"}`)).toContain('rule forbids it')
    expect(only(await system.events(task_id ?? ''), 'approval_granted')).toEqual([])
    expect(await told('d5', `approve ${code}\n{"text":\n"list everything"}\n-- \nAda`)).toBe(
      `Allowed with your arguments: ${code}`,
    )
    expect((await channel.answerTo('m1')).text).toContain('list everything')
    expect(only(await system.events(task_id ?? ''), 'approval_granted')).toMatchObject([
      { data: { arguments: '{"text":\n"list everything"}' } },
    ])
    await host.stop()
  })
})
