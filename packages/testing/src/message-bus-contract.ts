// What every MessageBus must do, for the in-memory twin and the adapter on JetStream.
import type { Handled, InboundMessage, MessageBus, OutboundMessage } from '@beaver/contracts'
import { describe, expect, test } from 'vitest'
import { held, until } from './until.ts'

const done: Handled = { kind: 'done' }
let channels = 0
/** An unused channel. */
const freshChannel = (): string => `web${++channels}`

export const inboundOf = (
  channel: string,
  chat_id: string,
  message_id: string,
  over: Partial<InboundMessage> = {},
): InboundMessage => ({
  channel,
  chat_id,
  message_id,
  kind: 'message',
  user: { name: 'Ada', user_id: 'ada' },
  text: `text of ${message_id}`,
  at: '2026-11-23T00:00:00.000Z',
  ...over,
})

export const outboundOf = (channel: string, chat_id: string, id: string): OutboundMessage => ({
  id,
  channel,
  chat_id,
  in_reply_to: null,
  kind: 'answer',
  text: `text of ${id}`,
  task_id: null,
  error: null,
  at: '2026-11-23T00:00:00.000Z',
})

/** @param open opens two ends of one bus, like two processes; called once, before the first test */
export function messageBusContract(
  name: string,
  open: () => Promise<readonly [MessageBus, MessageBus]>,
): void {
  describe(`${name} as a message bus`, () => {
    let opened: Promise<readonly [MessageBus, MessageBus]> | null = null
    const parts = (): Promise<readonly [MessageBus, MessageBus]> => (opened ??= open())

    test('takes one message of a writer once, and the same id of another writer in the same chat as another message', async () => {
      const [bus, other] = await parts()
      const sent = inboundOf(freshChannel(), 'a', 'm')
      const ofBen = { ...sent, user: { name: 'Ben', user_id: 'ben' } }
      expect([
        await bus.publish('inbound', sent),
        await other.publish('inbound', sent),
        await other.publish('inbound', ofBen),
      ]).toEqual([{ duplicate: false }, { duplicate: true }, { duplicate: false }])
    })

    test('gives the messages of a chat in their order, one at a time, to several takers together', async () => {
      const [bus, other] = await parts()
      const channel = freshChannel()
      const seen: string[] = []
      let atOnce = 0
      const stop = new AbortController()
      const handle = async ({ message_id }: InboundMessage): Promise<Handled> => {
        expect(++atOnce).toBe(1)
        seen.push(message_id)
        await new Promise((resolve) => setImmediate(resolve))
        atOnce--
        return done
      }
      const taking = [bus, other].map((each) =>
        each.take('inbound', { channels: [channel], signal: stop.signal, handle }),
      )
      const ids = Array.from({ length: 30 }, (_, i) => `m${i}`)
      for (const id of ids) await bus.publish('inbound', inboundOf(channel, 'chat 1 .*> 会话', id))
      await until('all are taken', () => seen.length >= ids.length)
      stop.abort()
      await Promise.all(taking)
      expect(seen).toEqual(ids)
      expect((await bus.loads()).filter((load) => load.channel === channel)).toEqual([])
    })

    test('lets no chat wait for another, and no decision wait for the messages before it', async () => {
      const [bus] = await parts()
      const channel = freshChannel()
      const gate = held<Handled>()
      const seen: string[] = []
      const stop = new AbortController()
      const handle = (message: InboundMessage): Promise<Handled> => {
        seen.push(message.message_id)
        return message.message_id === 'slow' ? gate.promise : Promise.resolve(done)
      }
      const taking = bus.take('inbound', { channels: [channel], signal: stop.signal, handle })
      await bus.publish('inbound', inboundOf(channel, 'a', 'slow'))
      await until('the slow one is taken', () => seen.includes('slow'))
      await bus.publish('inbound', inboundOf(channel, 'a', 'behind'))
      await bus.publish('inbound', inboundOf(channel, 'b', 'beside'))
      await bus.publish('inbound', inboundOf(channel, 'a', 'decision', { kind: 'control' }))
      await until('the others are taken', () => seen.includes('beside') && seen.includes('decision'))
      expect(seen).not.toContain('behind')
      gate.settle(done)
      await until('the one behind is taken', () => seen.includes('behind'))
      stop.abort()
      await taking
    })

    test('keeps one message of an id, in each queue and each chat', async () => {
      const [bus, other] = await parts()
      const channel = freshChannel()
      expect(await bus.publish('inbound', inboundOf(channel, 'a', 'm'))).toEqual({ duplicate: false })
      expect(await other.publish('inbound', inboundOf(channel, 'a', 'm'))).toEqual({ duplicate: true })
      expect(await bus.publish('inbound', inboundOf(channel, 'b', 'm'))).toEqual({ duplicate: false })
      expect(await bus.publish('outbound', outboundOf(channel, 'a', 'm'))).toEqual({ duplicate: false })
      const loads = (await other.loads()).filter((load) => load.channel === channel)
      expect(
        loads.map(({ queue, chat_id, messages }) => `${queue} ${chat_id} ${messages}`).toSorted(),
      ).toEqual(['inbound a 1', 'inbound b 1', 'outbound a 1'])
    })

    test('gives a message again that its taker gave back or failed at, before those behind it', async () => {
      const [bus] = await parts()
      const channel = freshChannel()
      const seen: string[] = []
      const stop = new AbortController()
      const outcomes: (() => Promise<Handled>)[] = [
        async () => ({ kind: 'back' }),
        () => Promise.reject(new Error('a defect')),
      ]
      for (const id of ['m1', 'm2']) await bus.publish('outbound', outboundOf(channel, 'a', id))
      const handle = ({ id }: OutboundMessage): Promise<Handled> => {
        seen.push(id)
        return outcomes.shift()?.() ?? Promise.resolve(done)
      }
      const taking = bus.take('outbound', { channels: [channel], signal: stop.signal, handle })
      await until('both are done', () => seen.length === 4)
      stop.abort()
      await taking
      expect(seen).toEqual(['m1', 'm1', 'm1', 'm2'])
    })

    test('keeps what is given up, goes on behind it, and gives it again when somebody asks', async () => {
      const [bus, other] = await parts()
      const channel = freshChannel()
      const seen: string[] = []
      const stop = new AbortController()
      for (const id of ['bad', 'good']) await bus.publish('inbound', inboundOf(channel, 'a', id))
      const handle = async ({ message_id }: InboundMessage): Promise<Handled> => {
        seen.push(message_id)
        return seen.length === 1 ? { kind: 'dead', reason: 'It is "bad"\n– 坏.' } : done
      }
      const taking = bus.take('inbound', { channels: [channel], signal: stop.signal, handle })
      await until('the good one is taken', () => seen.includes('good'))
      const [letter, ...more] = (await other.deadLetters(1_000)).filter((each) => each.channel === channel)
      expect([letter, more]).toMatchObject([{ queue: 'inbound', reason: 'It is "bad"\n– 坏.' }, []])
      expect(JSON.parse(letter?.content ?? '')).toEqual(inboundOf(channel, 'a', 'bad'))
      await other.sendAgain(letter?.id ?? '')
      await until('the bad one is taken again', () => seen.length === 3)
      expect((await bus.deadLetters(1_000)).filter((each) => each.channel === channel)).toEqual([])
      await expect(bus.sendAgain(letter?.id ?? '')).rejects.toMatchObject({ code: 'not_found' })
      stop.abort()
      await taking
    })

    test('counts a message whose try began and did not end, and forgets the tries that ended', async () => {
      const [bus, other] = await parts()
      const channel = freshChannel()
      const seen: boolean[] = []
      const stop = new AbortController()
      const outcomes: readonly Handled[] = [{ kind: 'back' }, { kind: 'back' }, done, done]
      const handle = async (message: OutboundMessage): Promise<Handled> => {
        // The second try comes from another process.
        seen.push((await (seen.length === 1 ? other : bus).begin(message, `at ${seen.length}`)).again)
        if (seen.length === 2) await other.withdraw(message)
        return outcomes[seen.length - 1] ?? done
      }
      const taking = bus.take('outbound', { channels: [channel], signal: stop.signal, handle })
      for (const id of ['m1', 'm2']) await bus.publish('outbound', outboundOf(channel, 'a', id))
      await until(
        'all are settled',
        async () => seen.length === 4 && !(await bus.loads()).some((load) => load.channel === channel),
      )
      stop.abort()
      await taking
      expect(seen).toEqual([false, true, false, false])
      expect((await bus.begin(outboundOf(channel, 'a', 'm1'), 'now')).again).toBe(false)
      expect((await other.uncertain()).filter((each) => each.channel === channel)).toEqual([
        { channel, tries: 1, latest: [{ id: 'm1', chat_id: 'a', at: 'at 1' }] },
      ])
    })

    test('takes only the channels that it is asked for, and leaves the rest when it stops', async () => {
      const [bus] = await parts()
      const [channel, another] = [freshChannel(), freshChannel()]
      const seen: string[] = []
      const stop = new AbortController()
      await bus.publish('inbound', inboundOf(another, 'a', 'not mine'))
      for (const id of ['m1', 'm2', 'm3']) await bus.publish('inbound', inboundOf(channel, 'a', id))
      const handle = async ({ message_id }: InboundMessage): Promise<Handled> => {
        seen.push(message_id)
        stop.abort()
        return done
      }
      await bus.take('inbound', { channels: [channel], signal: stop.signal, handle })
      expect(seen).toEqual(['m1'])
      const left = (await bus.loads()).filter((load) => [channel, another].includes(load.channel))
      expect(left.map(({ channel: of, messages }) => [of === channel, messages])).toEqual(
        expect.arrayContaining([
          [true, 2],
          [false, 1],
        ]),
      )
    })
  })
}
