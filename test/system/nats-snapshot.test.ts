// Snapshots of streams on real servers: what a stream is after it was restored on another one.
import { randomBytes } from 'node:crypto'
import {
  connectNats,
  deleteEmptyStream,
  describeStream,
  restoreStream,
  snapshotStream,
  type StreamDescription,
  streamPulse,
} from '@beaver/nats'
import {
  AckPolicy,
  DiscardPolicy,
  jetstream,
  type JetStreamManager,
  jetstreamManager,
  RetentionPolicy,
} from '@nats-io/jetstream'
import { headers, type NatsConnection } from '@nats-io/nats-core'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type OwnServer, ownServer } from '../support/nats.ts'

let from: OwnServer
let to: OwnServer
let nc: NatsConnection
let other: NatsConnection
let jsm: JetStreamManager
beforeAll(async () => {
  ;[from, to] = await Promise.all([ownServer({ sync: 'default' }), ownServer({ sync: 'default' })])
  ;[nc, other] = (await Promise.all([from, to].map(({ url }) => connectNats({ url, name: 'test' })))) as [
    NatsConnection,
    NatsConnection,
  ]
  jsm = await jetstreamManager(nc)
})
afterAll(async () => {
  await Promise.all([nc.close(), other.close()])
  await Promise.all([from, to].map((server) => server[Symbol.asyncDispose]()))
})

async function snapshotOf(stream: string): Promise<{ of: StreamDescription; pieces: Buffer[] }> {
  const pieces: Buffer[] = []
  const of = await snapshotStream(nc, stream, async (piece) => void pieces.push(Buffer.from(piece)))
  return { of: of!, pieces }
}
async function* each(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces
}
const messagesOf = async (at: NatsConnection, stream: string, last: number): Promise<object[]> => {
  const manager = await jetstreamManager(at)
  const found: object[] = []
  for (let seq = 1; seq <= last; seq++) {
    const message = await manager.streams.getMessage(stream, { seq }).catch(() => null)
    if (message !== null) {
      const { subject, data, time, header } = message
      found.push({
        seq,
        subject,
        data: Buffer.from(data).toString('base64'),
        time: time.toISOString(),
        of: header.get('Of'),
      })
    }
  }
  return found
}

it('a stream of many pieces is the same on another server, as it was when its snapshot began, while others write', async () => {
  await jsm.streams.add({
    name: 'J',
    subjects: ['j.>'],
    discard: DiscardPolicy.New,
    deny_purge: true,
    allow_direct: true,
    allow_atomic: true,
  })
  const js = jetstream(nc)
  const of = headers()
  of.set('Of', 'a')
  for (let i = 0; i < 120; i++)
    await js.publish(`j.${i % 7}`, randomBytes(9_000), i % 3 === 0 ? { headers: of } : {})
  for (const seq of [5, 6, 80]) await jsm.streams.deleteMessage('J', seq, false)
  let over = false
  const writing = (async () => {
    while (!over) await js.publish('j.later', 'more')
  })()
  const { of: snapshot, pieces } = await snapshotOf('J')
  over = true
  await writing
  expect(pieces.length).toBeGreaterThan(4)
  await restoreStream(other, snapshot, each(pieces))
  const restored = await describeStream(other, 'J')
  expect(restored).toMatchObject({
    created: snapshot.created,
    state: { messages: snapshot.state.messages, last_seq: snapshot.state.last_seq },
  })
  const { last_seq } = snapshot.state
  expect(await messagesOf(other, 'J', last_seq)).toEqual(await messagesOf(nc, 'J', last_seq))
  expect((await describeStream(nc, 'J'))!.state.last_seq).toBeGreaterThanOrEqual(last_seq)
  // Every reader knows it as the stream that it was.
  const [before, after] = [await streamPulse(nc, 'J').look(), await streamPulse(other, 'J').look()]
  expect([before, after]).toEqual([
    expect.objectContaining({ kind: 'there', identity: `J@${snapshot.created}` }),
    expect.objectContaining({ identity: `J@${snapshot.created}` }),
  ])
})

it('a queue has no consumer, and gives everything that was not acknowledged to the one that is made anew', async () => {
  const queue = {
    name: 'Q',
    subjects: ['q.>'],
    retention: RetentionPolicy.Workqueue,
    max_msgs_per_subject: 1,
    discard: DiscardPolicy.Old,
  }
  await jsm.streams.add(queue)
  const worker = { durable_name: 'daemons', ack_policy: AckPolicy.Explicit }
  await jsm.consumers.add('Q', worker)
  for (const name of ['done', 'under-way', 'waiting']) await jetstream(nc).publish(`q.${name}`, name)
  const taken = await (
    await jetstream(nc).consumers.get('Q', 'daemons')
  ).fetch({ max_messages: 2, expires: 1_000 })
  for await (const message of taken) if (message.subject === 'q.done') await message.ackAck()
  const { of: snapshot, pieces } = await snapshotOf('Q')
  await restoreStream(other, snapshot, each(pieces))
  const manager = await jetstreamManager(other)
  expect((await manager.streams.info('Q')).state).toMatchObject({
    messages: 2,
    last_seq: 3,
    consumer_count: 0,
  })
  await manager.consumers.add('Q', worker)
  const seen: string[] = []
  for await (const message of await (
    await jetstream(other).consumers.get('Q', 'daemons')
  ).fetch({ max_messages: 2, expires: 1_000 }))
    seen.push(message.string())
  expect(seen).toEqual(['under-way', 'waiting'])
})

it('a stream is made whole or not at all, and none takes the place of another', async () => {
  const { of: snapshot, pieces } = await snapshotOf('J')
  await expect(restoreStream(other, snapshot, each(pieces))).rejects.toMatchObject({
    code: 'unreachable',
    message: expect.stringContaining('stream J'),
  })
  await expect(deleteEmptyStream(other, 'J')).rejects.toMatchObject({ code: 'wrong_state' })
  await (await jetstreamManager(other)).streams.delete('J')
  await expect(restoreStream(other, snapshot, each(pieces.slice(0, 2)))).rejects.toMatchObject({
    code: 'unreachable',
  })
  expect(await describeStream(other, 'J')).toBeNull()
})

it('ends at the end of an append, however many are written meanwhile', async () => {
  await jsm.streams.add({ name: 'B', subjects: ['b.>'], allow_atomic: true, allow_direct: true })
  let over = false
  let written = 0
  const appends = Array.from({ length: 4 }, async (_, writer) => {
    for (let n = 0; !over; n++) {
      const batch = await jetstream(nc).startBatch(`b.${writer}`, `${n}`)
      for (let i = 0; i < 40; i++) batch.add(`b.${writer}`, `${n}`)
      await batch.commit(`b.${writer}`, `${n}`)
      written++
    }
  })
  await until('the writers write', () => written > 20)
  const ends: (string | undefined)[] = []
  for (let i = 0; i < 30; i++) {
    const { of } = await snapshotOf('B')
    const last = await jsm.streams.getMessage('B', { seq: of.state.last_seq })
    ends.push(last?.header.get('Nats-Batch-Commit'))
  }
  over = true
  await Promise.all(appends)
  expect(ends.filter((end) => end !== '1')).toEqual([])
})

it('of no stream there is no snapshot, and who cannot keep a piece ends it', async () => {
  expect(await snapshotStream(nc, 'NONE', () => Promise.resolve())).toBeNull()
  await expect(snapshotStream(nc, 'J', () => Promise.reject(new Error('no space')))).rejects.toThrow(
    'no space',
  )
  expect(await describeStream(nc, 'J')).not.toBeNull()
})
