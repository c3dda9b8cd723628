// A chat whose task waits for more in a budget, in front of a real daemon and a real nats-server.
import { type Channel, type ChannelHost, type ChannelSettings, startChannels } from '@beaver/channels'
import type { OutboundMessage } from '@beaver/contracts'
import { natsMessageBus } from '@beaver/nats'
import { until } from '@beaver/testing'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { say, use } from '../support/fake-provider.ts'
import { PlayedChannel } from '../support/played-channel.ts'
import { budgetedScene, type ProtocolScene } from '../support/protocol-scene.ts'
import { only } from '../support/system.ts'

let scene: ProtocolScene
beforeAll(async () => void (scene = await budgetedScene()))
beforeEach(() => {
  scene.again()
  // The first call uses a tool, and the second one answers.
  scene.system.provider.answerBy(({ results }) =>
    results.length === 0 ? use(['echo', { text: 'apples' }]) : say('Compared.'),
  )
})

const settings: ChannelSettings = {
  users: { Ada: 'ada', Bob: 'bob' },
  unknown_users: 'refuse',
  approvers: ['Ada'],
  user_id: 'team',
  tries_max: 3,
}

async function started(channel: Channel, over: Partial<ChannelSettings> = {}): Promise<ChannelHost> {
  const { system } = scene
  const bus = await natsMessageBus(system.nc, system.subjects, { leaseMs: 1_000 })
  const channels = [{ channel, settings: { ...settings, ...over } }]
  return startChannels({ bus, client: system.client, channels })
}

const asked = (channel: PlayedChannel, id = 'm1'): Promise<OutboundMessage> =>
  until(
    'the chat is asked',
    () => channel.sent.findLast((each) => each.kind === 'approval' && each.in_reply_to === id),
    { everyMs: 10 },
  )
const reason =
  'the budget of the task has no place for the next call (used 1 of 1 model call, needed up to 1 model call)'

describe('a chat whose task waits for more in a budget', () => {
  it('is told why, takes an amount from an approver only, and goes on', async () => {
    const channel = new PlayedChannel()
    const host = await started(channel)
    const { task_id } = await channel.write('m1', 'Compare the apples')
    const ask = await asked(channel)
    expect(ask).toMatchObject({ task_id, kind: 'approval' })
    expect(ask.text).toMatch(
      /^The task waits: .*\n.*"more 1 model call" to give 1 model call more, or "cancel" to stop the task.* Ada may decide\.$/,
    )
    expect(ask.text).toContain(reason)
    await channel.write('b', 'more 5', { user: 'Bob' })
    expect((await channel.answerTo('b')).error?.code).toBe('not_allowed')
    for (const [i, text] of ['more', 'more of this', 'more 5?', 'yes'].entries()) {
      await channel.write(`x${i}`, text)
      const answer = await channel.answerTo(`x${i}`)
      expect(answer.error?.code).toBe('waits_for_decision')
      expect(answer.text).toContain('Answer "more 1 model call"')
    }
    await channel.write('g', '“More 5 model calls.”')
    expect((await channel.answerTo('g')).text).toBe('Given: 5 model calls more to the budget of the task.')
    expect((await channel.answerTo('m1')).text).toBe('Compared.')
    expect(only(await scene.system.events(task_id ?? ''), 'budget_raised')).toMatchObject([
      { data: { more: { model_calls: 5 }, reason: 'Given in the chat.', user_id: 'ada' } },
    ])
    await host.stop()
  })

  it('is cancelled by an approver', async () => {
    const channel = new PlayedChannel()
    const host = await started(channel)
    const { task_id } = await channel.write('m1', 'Compare the pears')
    await asked(channel)
    await channel.write('c', 'cancel')
    expect((await channel.answerTo('c')).text).toBe('The task is cancelled.')
    expect((await channel.answerTo('m1')).error?.code).toBe('cancelled')
    expect((await scene.system.ended(task_id ?? '')).at(-1)).toMatchObject({ type: 'task_cancelled' })
    await host.stop()
  })

  it('takes an amount also in another gateway than the one that asked', async () => {
    const channel = new PlayedChannel()
    // It holds the chat like one that was killed.
    const first = await started(channel)
    const { task_id } = await channel.write('m1', 'Compare the plums')
    await asked(channel)
    await until('the read model knows that it waits', async () =>
      (await scene.system.client.query('tasks', { status: 'waiting', limit: 200 })).tasks.some(
        (each) => each.task_id === task_id,
      ),
    )
    const second = await started(channel)
    await channel.write('y', 'yes')
    expect((await channel.answerTo('y')).text).toContain('This chat waits for: more in a budget.')
    await channel.write('g', 'more 5')
    expect((await channel.answerTo('g')).text).toMatch(/^Given: 5 model calls more/)
    expect((await channel.answerTo('m1')).text).toBe('Compared.')
    await first.stop()
    await second.stop()
  })

  it('is told that only an operator gives more to a budget that tasks share', async () => {
    const channel = new PlayedChannel()
    const host = await started(channel, { profile: 'clerk' })
    const { task_id } = await channel.write('m1', 'Compare the nuts')
    const { text } = await asked(channel)
    expect(text).toContain('Only an operator can give more to the budget of the profile clerk for a day')
    await channel.write('g', 'more 5')
    expect((await channel.answerTo('g')).text).toContain('Only an operator can give more')
    await scene.system.client.cancel(task_id ?? '', 'Enough.')
    await channel.answerTo('m1')
    await host.stop()
  })
})
