// The message bus on a real nats-server.
import type { Handled } from '@beaver/contracts'
import { connectNats, natsMessageBus, subjectsOf } from '@beaver/nats'
import { inboundOf, messageBusContract, until } from '@beaver/testing'
import type { NatsConnection } from '@nats-io/nats-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ownServer, type OwnServer } from '../support/nats.ts'

let server: OwnServer
const closing: (() => Promise<unknown>)[] = []
beforeAll(async () => void (server = await ownServer({ sync: 'default' })))
afterAll(async () => {
  for (const close of closing.toReversed()) await close()
  await server[Symbol.asyncDispose]()
})

async function connected(): Promise<NatsConnection> {
  const nc = await connectNats({ url: server.url, name: 'bus' })
  closing.push(() => nc.close())
  return nc
}

messageBusContract('natsMessageBus', async () => {
  const subjects = subjectsOf('contract')
  return [await natsMessageBus(await connected(), subjects), await natsMessageBus(await connected(), subjects)]
})

const done: Handled = { kind: 'done' }

describe('the message bus', () => {
  it('sets strange content aside, and takes what follows it in the same chat', async () => {
    const subjects = subjectsOf('garbage')
    const nc = await connected()
    const bus = await natsMessageBus(nc, subjects)
    const lane = subjects.channelLane('inbound', 'web', 'a', 'message')
    const strange = ['', '{', '\u0000'.repeat(900_000), '{"channel":"web"}', JSON.stringify(inboundOf('web', 'another chat', 'm')), Buffer.from([0xff, 0xfe])]
    for (const content of strange) await nc.request(lane, content, { timeout: 5_000 })
    await bus.publish('inbound', inboundOf('web', 'a', 'good'))
    const seen: string[] = []
    const stop = new AbortController()
    const taking = bus.take('inbound', {
      channels: ['web'],
      signal: stop.signal,
      handle: async ({ message_id }) => (seen.push(message_id), done),
    })
    await until('the good one is taken', () => seen.length > 0)
    stop.abort()
    await taking
    expect(seen).toEqual(['good'])
    expect((await bus.deadLetters(100)).map(({ id, reason }) => [id, reason.slice(0, 14)])).toEqual([
      ['in_1', 'It is no JSON:'],
      ['in_2', 'It is no JSON:'],
      ['in_3', 'It is no JSON:'],
      ['in_4', 'It is no inbou'],
      ['in_5', 'It names anoth'],
      ['in_6', 'It is no JSON:'],
    ])
  })

  it('gives what a taker held that died to the next one, after the lease', async () => {
    const subjects = subjectsOf('lease')
    const nc = await connected()
    const dying = await natsMessageBus(nc, subjects, { leaseMs: 500 })
    const next = await natsMessageBus(await connected(), subjects, { leaseMs: 500 })
    const seen: string[] = []
    const stop = new AbortController()
    for (const id of ['m1', 'm2']) await next.publish('inbound', inboundOf('web', 'a', id))
    void dying.take('inbound', {
      channels: ['web'],
      signal: stop.signal,
      handle: ({ message_id }) => (seen.push(`dying ${message_id}`), new Promise(() => {})),
    })
    await until('the first taker has it', () => seen.length === 1)
    const taking = next.take('inbound', { channels: ['web'], signal: stop.signal, handle: async ({ message_id }) => (seen.push(message_id), done) })
    await nc.close()
    await until('the second taker has all', () => seen.length === 3)
    stop.abort()
    await taking
    expect(seen).toEqual(['dying m1', 'm1', 'm2'])
  })

  it('keeps a message that takes longer than its lease', async () => {
    const subjects = subjectsOf('beats')
    const bus = await natsMessageBus(await connected(), subjects, { leaseMs: 300 })
    const seen: string[] = []
    const stop = new AbortController()
    await bus.publish('inbound', inboundOf('web', 'a', 'slow'))
    const handle = async ({ message_id }: { message_id: string }): Promise<Handled> => {
      seen.push(message_id)
      const begun = performance.now()
      await until('three leases are over', () => performance.now() - begun > 1_000, { everyMs: 50 })
      return done
    }
    const taking = bus.take('inbound', { channels: ['web'], signal: stop.signal, handle })
    await until('nothing waits', async () => (await bus.loads()).length === 0, { everyMs: 50 })
    stop.abort()
    await taking
    expect(seen).toEqual(['slow'])
  })

  it('gives up a message that nobody settles, and goes on behind it', async () => {
    const bus = await natsMessageBus(await connected(), subjectsOf('poison'))
    const seen: string[] = []
    const stop = new AbortController()
    for (const id of ['poison', 'good']) await bus.publish('inbound', inboundOf('web', 'a', id))
    const handle = async ({ message_id }: { message_id: string }): Promise<Handled> => (seen.push(message_id), message_id === 'good' ? done : { kind: 'back' })
    const taking = bus.take('inbound', { channels: ['web'], signal: stop.signal, handle })
    await until('the good one is taken', () => seen.includes('good'))
    stop.abort()
    await taking
    expect(seen).toHaveLength(1_001)
    expect(await bus.deadLetters(10)).toMatchObject([{ reason: 'It was taken 1000 times, and nobody settled it.' }])
  })

  it('serves more chats at once than a stream usually has consumers', async () => {
    const bus = await natsMessageBus(await connected(), subjectsOf('many'))
    const chats = Array.from({ length: 1_500 }, (_, i) => `chat ${i}`)
    await Promise.all(chats.map((chat) => bus.publish('inbound', inboundOf('web', chat, 'm'))))
    const seen = new Set<string>()
    const stop = new AbortController()
    const taking = bus.take('inbound', { channels: ['web'], signal: stop.signal, handle: async ({ chat_id }) => (seen.add(chat_id), done) })
    await until('all are taken', () => seen.size === chats.length, { withinMs: 60_000, everyMs: 10 })
    stop.abort()
    await taking
  })

  it('takes no more messages of a chat than a number, and those of others meanwhile', async () => {
    const bus = await natsMessageBus(await connected(), subjectsOf('full'))
    const publish = (chat: string, id: string): Promise<unknown> => bus.publish('inbound', inboundOf('web', chat, id))
    for (let i = 0; i < 10_000; i += 500) await Promise.all(Array.from({ length: 500 }, (_, j) => publish('flood', `m${i + j}`)))
    await expect(publish('flood', 'one more')).rejects.toMatchObject({ code: 'wrong_state', message: expect.stringContaining('Send it again later') as string })
    await publish('other', 'm')
    expect((await bus.loads()).map(({ messages }) => messages)).toEqual(expect.arrayContaining([10_000, 1]))
  })

  it('goes on after the server was killed', async () => {
    const subjects = subjectsOf('crash')
    const bus = await natsMessageBus(await connected(), subjects, { leaseMs: 500 })
    const seen = new Set<string>()
    const stop = new AbortController()
    const taking = bus.take('inbound', { channels: ['web'], signal: stop.signal, handle: async ({ message_id }) => (seen.add(message_id), done) })
    for (const id of ['m1', 'm2']) await bus.publish('inbound', inboundOf('web', 'a', id))
    await server.crash()
    for (const id of ['m3', 'm4'])
      await until(
        'it is published',
        () =>
          bus.publish('inbound', inboundOf('web', 'a', id)).then(
            () => true,
            () => false,
          ),
        { everyMs: 50 },
      )
    await until('all are taken', () => seen.size === 4, { everyMs: 20 })
    stop.abort()
    await taking
  })
})
