// The journal on a real nats-server: group commit through the faults that a network has. Readers are in
// nats-readers.test.ts, a server that dies in nats-outages.test.ts.
import { createServer, type AddressInfo, type Server } from 'node:net'
import { type BeaverError, type LogId, switchOff } from '@beaver/core'
import { connectNats, natsJournal, type NatsJournal, type Subjects, subjectsOf } from '@beaver/nats'
import { until } from '@beaver/testing'
import { jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/nats-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testServer, type TestServer } from '../support/nats.ts'
import { tcpProxy } from '../support/tcp-proxy.ts'

let server: TestServer
let nc: NatsConnection
let journal: NatsJournal
let subjects: Subjects
const closing: (() => Promise<unknown>)[] = []
beforeAll(async () => {
  server = await testServer()
  subjects = subjectsOf(server.newNamespace())
  nc = await connectNats({ url: server.url, name: 'journal' })
  closing.push(() => nc.close())
  journal = await natsJournal(nc, subjects)
})
afterAll(async () => {
  for (const close of closing.toReversed()) await close()
  await server[Symbol.asyncDispose]()
})

let logs = 0
const freshLog = (session = 's'): LogId => ({ tenant: 'local', session, task: `task ${++logs}` }) as LogId
const bytes = (text: string): Uint8Array => Buffer.from(text)
const textsOf = async (log: LogId): Promise<string[]> =>
  (await journal.read(log)).map((entry) => Buffer.from(entry.payload).toString())

describe('a batch', () => {
  it('in which one unit is fenced: that one fails alone, and nothing of it is stored', async () => {
    const all = Array.from({ length: 30 }, () => freshLog())
    const outcomes = await Promise.all(
      all.map((log, i) =>
        journal.append({ log, expectedRevision: i === 11 ? 99 : 0, payloads: [bytes(`of ${i}`)] }),
      ),
    )
    expect(outcomes.map(({ kind }) => kind)).toEqual(all.map((_, i) => (i === 11 ? 'fenced' : 'appended')))
    expect(await textsOf(all[11] as LogId)).toEqual([])
    expect(await textsOf(all[12] as LogId)).toEqual(['of 12'])
  })

  it('gives each append the revision it really has', async () => {
    const all = Array.from({ length: 30 }, () => freshLog())
    const outcomes = await Promise.all(
      all.map((log) => journal.append({ log, expectedRevision: 0, payloads: [bytes('x')] })),
    )
    for (const [i, outcome] of outcomes.entries())
      expect(await journal.last(all[i] as LogId)).toMatchObject({
        revision: outcome.kind === 'appended' ? outcome.revision : -1,
      })
  })

  it('keeps two units of one session apart: of two acceptances at once one has to read the tail again', async () => {
    const [one, two] = [freshLog('together'), freshLog('together')]
    const accept = (log: LogId) =>
      journal.accept({ log, payloads: [bytes('first')], tail: { task: null, revision: 0 } })
    const outcomes = await Promise.all([accept(one), accept(two)])
    expect(outcomes.map(({ kind }) => kind)).toEqual(['accepted', 'tail_moved'])
    expect(await textsOf(two)).toEqual([])
  })

  it('is one unit where a bench has switched the optimisation off', async () => {
    const batchesOf = async (all: readonly LogId[]): Promise<number> => {
      await Promise.all(
        all.map((log) => journal.append({ log, expectedRevision: 0, payloads: [bytes('x')] })),
      )
      const jsm = await jetstreamManager(nc)
      const stored = await Promise.all(
        all.map((log) => jsm.direct.getMessage(subjects.stream, { last_by_subj: subjects.events(log) })),
      )
      return new Set(stored.flatMap((message) => message?.header.get('Nats-Batch-Id') || [])).size
    }
    const fresh = (): LogId[] => Array.from({ length: 30 }, () => freshLog())
    expect(await batchesOf(fresh())).toBeGreaterThan(0)
    switchOff('group_commit')
    try {
      expect(await batchesOf(fresh())).toBe(0)
    } finally {
      switchOff(undefined)
    }
  })

  it('of more messages than one batch holds is written whole', async () => {
    const all = Array.from({ length: 450 }, () => freshLog())
    const outcomes = await Promise.all(
      all.map((log) => journal.append({ log, expectedRevision: 0, payloads: [bytes('x')] })),
    )
    expect(outcomes.filter(({ kind }) => kind === 'appended')).toHaveLength(450)
    await journal.settled()
  })

  it('of units of several messages gives each its own revision', async () => {
    const all = Array.from({ length: 30 }, () => freshLog())
    const payloads = (i: number): Uint8Array[] =>
      Array.from({ length: (i % 4) + 1 }, (_, n) => bytes(`${i}.${n}`))
    const outcomes = await Promise.all(
      all.map((log, i) =>
        journal.append({ log, expectedRevision: i === 11 ? 99 : 0, payloads: payloads(i) }),
      ),
    )
    for (const [i, outcome] of outcomes.entries()) {
      const log = all[i] as LogId
      expect(outcome).toEqual(
        i === 11 ? { kind: 'fenced' } : { kind: 'appended', revision: (await journal.last(log))?.revision },
      )
      expect(await textsOf(log)).toEqual(
        i === 11 ? [] : payloads(i).map((payload) => Buffer.from(payload).toString()),
      )
    }
  })

  it('writes a unit larger than a message, whole', async () => {
    const log = freshLog()
    const payloads = Array.from({ length: 12 }, (_, i) => new Uint8Array(900 * 1024).fill(i))
    expect((await journal.append({ log, expectedRevision: 0, payloads })).kind).toBe('appended')
    expect((await journal.read(log)).map((entry) => [entry.payload.length, entry.payload[0]])).toEqual(
      payloads.map((payload, i) => [payload.length, i]),
    )
  })

  it('refuses a unit of more messages than the server takes as one, at once', async () => {
    const payloads = Array.from({ length: 1_001 }, () => bytes('x'))
    await expect(journal.append({ log: freshLog(), expectedRevision: 0, payloads })).rejects.toMatchObject({
      code: 'internal',
    })
  })

  it('takes ids of the greatest length and of any script', async () => {
    const log = { tenant: '会'.repeat(64), session: '会'.repeat(128), task: '\u{1F9AB}'.repeat(64) } as LogId
    const ofTenant = await natsJournal(nc, subjectsOf(subjects.namespace, { tenant: log.tenant }))
    expect(
      await ofTenant.accept({
        log,
        payloads: [bytes('x')],
        tail: await ofTenant.sessionTail(log.tenant, log.session),
      }),
    ).toMatchObject({
      kind: 'accepted',
    })
    expect((await ofTenant.read(log)).map(({ payload }) => Buffer.from(payload).toString())).toEqual(['x'])
    ofTenant.close()
  })

  it('refuses a message larger than the server takes, at once, and takes no other with it', async () => {
    const [huge, small] = [freshLog(), freshLog()]
    const [refused, stored] = await Promise.allSettled([
      journal.append({ log: huge, expectedRevision: 0, payloads: [new Uint8Array(1024 * 1024 + 1)] }),
      journal.append({ log: small, expectedRevision: 0, payloads: [bytes('small')] }),
    ])
    expect(refused.status).toBe('rejected')
    expect(stored).toMatchObject({ status: 'fulfilled', value: { kind: 'appended' } })
  })
})

describe('an unknown outcome', () => {
  it('the line is cut after the server stored the entry and before it said so: it landed once, and the append knows it', async () => {
    await using proxy = await tcpProxy(server.port)
    const through = await connectNats({ url: `nats://127.0.0.1:${proxy.port}`, name: 'through a proxy' })
    const writer = await natsJournal(through, subjects)
    const log = freshLog()
    expect((await writer.append({ log, expectedRevision: 0, payloads: [bytes('first')] })).kind).toBe(
      'appended',
    )
    const { revision } = (await journal.last(log)) ?? { revision: 0 }
    proxy.muteServer()
    const unknown = writer.append({
      log,
      expectedRevision: revision,
      payloads: [bytes('second'), bytes('third')],
    })
    await until('the server has stored it', async () => (await journal.read(log)).length === 3, {
      everyMs: 10,
    })
    await until('its answer is lost', () => proxy.swallowedBytes > 0)
    proxy.cut()
    expect(await unknown).toEqual({ kind: 'appended', revision: (await journal.last(log))?.revision })
    expect(await textsOf(log)).toEqual(['first', 'second', 'third'])
    await through.close()
  })

  it('that another writer has overtaken is a fence, not a success', async () => {
    await using proxy = await tcpProxy(server.port)
    const through = await connectNats({ url: `nats://127.0.0.1:${proxy.port}`, name: 'through a proxy' })
    const writer = await natsJournal(through, subjects)
    const log = freshLog()
    const first = await journal.append({ log, expectedRevision: 0, payloads: [bytes('first')] })
    proxy.muteServer()
    proxy.cut()
    await journal.append({
      log,
      expectedRevision: first.kind === 'appended' ? first.revision : 0,
      payloads: [bytes('of the new owner')],
    })
    expect(
      await writer.append({
        log,
        expectedRevision: first.kind === 'appended' ? first.revision : 0,
        payloads: [bytes('late')],
      }),
    ).toEqual({
      kind: 'fenced',
    })
    expect(await textsOf(log)).toEqual(['first', 'of the new owner'])
    await through.close()
  })
})

describe('a server Beaver cannot work with', () => {
  const refusal = (url: string): Promise<BeaverError> =>
    connectNats({ url, name: 'refused', timeoutMs: 2_000 }).then(
      () => Promise.reject(new Error('connected')),
      (error: BeaverError) => error,
    )

  it('that is absent: unreachable, with what to do', async () => {
    const error = await refusal('nats://127.0.0.1:1')
    expect([error.code, error.message]).toEqual(['unreachable', expect.stringContaining('beaver up')])
  })

  it.each([
    ['2.10.27', true, 'server_too_old', '2.12.0'],
    ['2.9.10', true, 'server_too_old', 'Upgrade'],
    ['2.15.1', false, 'unreachable', 'without JetStream'],
  ])('that says it is %s, JetStream %j: %s', async (version, jetstream, code, words) => {
    const fake = await fakeServer({ version, jetstream })
    const error = await refusal(`nats://someone:secret@127.0.0.1:${(fake.address() as AddressInfo).port}`)
    expect([error.code, error.message]).toEqual([code, expect.stringContaining(words)])
    expect(error.message).not.toContain('secret')
    await new Promise((resolve) => fake.close(resolve))
  })

  it('that is no nats-server at all: unreachable within the time given', async () => {
    const silent = createServer(() => {})
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    expect((await refusal(`nats://127.0.0.1:${(silent.address() as AddressInfo).port}`)).code).toBe(
      'unreachable',
    )
    silent.close()
  })
})

/** Speaks just enough of the protocol to be connected to. */
async function fakeServer(info: { version: string; jetstream: boolean }): Promise<Server> {
  const fake = createServer((socket) => {
    socket.on('error', () => {})
    socket.write(
      `INFO ${JSON.stringify({ server_id: 'FAKE', proto: 1, headers: true, max_payload: 1024 * 1024, ...info })}\r\n`,
    )
    socket.on('data', (data) => {
      if (data.toString().includes('PING')) socket.write('PONG\r\n')
    })
  })
  await new Promise<void>((resolve) => fake.listen(0, '127.0.0.1', resolve))
  return fake
}
