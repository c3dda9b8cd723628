// The ports that packages/nats implements, at a real nats-server: the contracts of journal, system log,
// memory, accounts of budgets and message bus, and how daemons see each other. What a server that dies does to the others than the
// message bus is in nats-outages.test.ts.
import type { Handled } from '@beaver/contracts'
import { silentLogger } from '@beaver/core'
import { type Account, type AccountKey, accountText, newAccount, noAmounts } from '@beaver/core/budget'
import {
  budgetAccountsContract,
  foreignMessageContract,
  inboundOf,
  journalContract,
  memoryStoreContract,
  messageBusContract,
  systemLogContract,
  until,
} from '@beaver/testing'
import {
  connectNats,
  encodeToken,
  natsBlobStore,
  natsBudgetAccounts,
  natsJournal,
  natsMemoryStore,
  natsMessageBus,
  type NatsMemoryStore,
  natsPeers,
  natsSystemLog,
  natsTaskQueue,
  presentDaemons,
  type Subjects,
  subjectsOf,
} from '@beaver/nats'
import { jetstreamManager } from '@nats-io/jetstream'
import { headers, type NatsConnection } from '@nats-io/nats-core'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { ownServer, type OwnServer } from '../support/nats.ts'

let server: OwnServer
const closing: (() => Promise<unknown>)[] = []
beforeAll(async () => void (server = await ownServer({ sync: 'default' })))
afterAll(async () => {
  for (const close of closing.toReversed()) await close()
  await server[Symbol.asyncDispose]()
})

const ownNames = (): Subjects => subjectsOf(server.newNamespace())
async function connected(): Promise<NatsConnection> {
  const nc = await connectNats({ url: server.url, name: 'stores' })
  closing.push(() => nc.close())
  return nc
}

async function open(): ReturnType<Parameters<typeof journalContract>[1]> {
  const [nc, subjects] = [await connected(), ownNames()]
  const journal = await natsJournal(nc, subjects)
  const blobs = await natsBlobStore(nc, subjects)
  return {
    journal,
    blobs,
    queue: (leaseMs) => natsTaskQueue(nc, subjects, { leaseMs, now: () => journal.now() }),
    intrude: async (log, place, payload) => void (await nc.request(subjects[place](log), payload)),
  }
}

journalContract('natsJournal', () => open())
foreignMessageContract('natsJournal', () => open())
systemLogContract('natsSystemLog', async () => natsSystemLog(await connected(), ownNames()))

test('an older journal stream captures the system logs as soon as a process starts', async () => {
  const [nc, subjects] = [await connected(), ownNames()]
  await natsJournal(nc, subjects).then((journal) => journal.close())
  const jsm = await jetstreamManager(nc)
  await jsm.streams.update(subjects.stream, { subjects: [subjects.logs] })
  const log = await natsSystemLog(nc, subjects)
  expect((await log.append({ name: 'keys', expectedRevision: 0, payload: Buffer.from('[]') })).kind).toBe(
    'appended',
  )
})

const limits = { memory: 1_000, user: 1_000 }
const add = (content: string) => ({ action: 'add', target: 'memory', content }) as const

async function opened(nc: NatsConnection, subjects: Subjects, of = limits): Promise<NatsMemoryStore> {
  const store = await natsMemoryStore(nc, subjects, of)
  closing.push(() => store.close())
  return store
}

/** A key of a bucket as any program sees it: a message of a stream. */
function keyIn(nc: NatsConnection, bucket: string, key: string) {
  const subject = `$KV.${bucket}.${key}`
  const write = async (value: string, operation?: string): Promise<void> => {
    const marks = headers()
    if (operation !== undefined) marks.set('KV-Operation', operation)
    await nc.request(subject, value, { timeout: 5_000, headers: marks })
  }
  return {
    put: (value: string) => write(value),
    remove: () => write('', 'DEL'),
    /** Its value, and where that stands. */
    stored: async () =>
      (
        await nc.request(`$JS.API.STREAM.MSG.GET.KV_${bucket}`, JSON.stringify({ last_by_subj: subject }), {
          timeout: 5_000,
        })
      ).string(),
  }
}

const keyOf = (nc: NatsConnection, { memoryBucket }: Subjects, key: string) => keyIn(nc, memoryBucket, key)

memoryStoreContract('natsMemoryStore', async (of) => {
  const subjects = ownNames()
  const [one, other] = [await connected(), await connected()]
  const stores = [await opened(one, subjects, of), await opened(other, subjects, of)] as const
  return {
    stores,
    corrupt: (tenant) => keyOf(one, subjects, encodeToken(tenant)).put('{"version":1,"memory":"oops"'),
    stored: (tenant) => keyOf(one, subjects, encodeToken(tenant)).stored(),
  }
})

describe('the memory of a daemon', () => {
  it('is there when the store is opened again, whole, before the first read', async () => {
    const subjects = ownNames()
    const nc = await connected()
    const first = await opened(nc, subjects)
    for (let i = 0; i < 50; i++) await first.change({ tenant: `tenant ${i}`, user: null }, add(`fact ${i}`))
    await first.close()
    const second = await opened(nc, subjects)
    for (let i = 0; i < 50; i++)
      expect((await second.read({ tenant: `tenant ${i}`, user: null })).memory).toEqual([`fact ${i}`])
  })

  it.each([
    '',
    'null',
    '[]',
    '{"version":2,"memory":[],"user":[]}',
    '{"version":1,"memory":[1],"user":[]}',
    '{"version":1,"memory":[]}',
    '\u00ff{',
  ])('that was replaced by %j is reported with its bucket and key, when opened too', async (value) => {
    const subjects = ownNames()
    const nc = await connected()
    const before = await opened(nc, subjects)
    const key = keyOf(nc, subjects, 'a=2Eb')
    await key.put(value)
    const written = await key.stored()
    const store = await opened(nc, subjects)
    await expect(store.read({ tenant: 'a.b', user: null })).rejects.toMatchObject({
      code: 'memory_corrupt',
      message: expect.stringMatching(new RegExp(`a=2Eb.*${subjects.memoryBucket}`)) as string,
    })
    for (const each of [before, store])
      expect(await each.change({ tenant: 'a.b', user: null }, add('x'))).toMatchObject({
        ok: false,
        code: 'memory_corrupt',
      })
    expect(await key.stored()).toBe(written)
  })

  it('whose key somebody deleted begins anew', async () => {
    const subjects = ownNames()
    const nc = await connected()
    const store = await opened(nc, subjects)
    await store.change({ tenant: 'local', user: null }, add('old'))
    await keyOf(nc, subjects, 'local').remove()
    await until(
      'the watch tells it',
      async () => (await store.read({ tenant: 'local', user: null })).memory.length === 0,
    )
    expect(await store.change({ tenant: 'local', user: null }, add('new'))).toMatchObject({
      ok: true,
      entries: ['new'],
    })
  })

  it('says that it is not to be changed when the server is gone, and keeps being read', async () => {
    const subjects = ownNames()
    const nc = await connected()
    const store = await opened(nc, subjects)
    await store.change({ tenant: 'local', user: null }, add('kept'))
    await nc.close()
    await store.close()
    expect(await store.change({ tenant: 'local', user: null }, add('lost'))).toMatchObject({
      ok: false,
      code: 'memory_unavailable',
    })
    expect((await store.read({ tenant: 'local', user: null })).memory).toEqual(['kept'])
  })
})

/** The key of an account in its bucket. */
const accountKey = ({ tenant, of, period, name }: AccountKey): string =>
  [tenant, of, period, ...(name === '' ? [] : [name])].map(encodeToken).join('.')

budgetAccountsContract('natsBudgetAccounts', async () => {
  const subjects = ownNames()
  const [one, other] = [await connected(), await connected()]
  return {
    accounts: [await natsBudgetAccounts(one, subjects), await natsBudgetAccounts(other, subjects)],
    corrupt: (key) => keyIn(one, subjects.budgetBucket, accountKey(key)).put('{"v":1,"ended":"oops"'),
  }
})

describe('an account of a budget', () => {
  const key: AccountKey = { tenant: 'local', of: 'user', name: 'Zoë', period: '2026-11' }
  const ended = (tokens: number): Account => ({ ...newAccount(), ended: { ...noAmounts, tokens } })

  it.each(['', 'null', '[]', '{"v":2}', '\u00ff{'])(
    'that was replaced by %j is reported with its bucket and key',
    async (value) => {
      const [nc, subjects] = [await connected(), ownNames()]
      const accounts = await natsBudgetAccounts(nc, subjects)
      await keyIn(nc, subjects.budgetBucket, 'local.user.2026-11.Zo=C3=AB').put(value)
      await expect(accounts.read(key)).rejects.toMatchObject({
        code: 'budget_corrupt',
        message: expect.stringContaining(
          `"nats kv get ${subjects.budgetBucket} local.user.2026-11.Zo=C3=AB"`,
        ) as string,
      })
    },
  )

  it('whose key somebody deleted begins anew, and a first write does not come between', async () => {
    const [nc, subjects] = [await connected(), ownNames()]
    const accounts = await natsBudgetAccounts(nc, subjects)
    const before = (await accounts.write(key, ended(5), 0)) ?? 0
    await keyIn(nc, subjects.budgetBucket, accountKey(key)).remove()
    expect(await accounts.write(key, ended(6), before)).toBeNull()
    const { account, revision } = await accounts.read(key)
    expect(account).toEqual(newAccount())
    expect(await accounts.write(key, ended(1), 0)).toBeNull()
    expect(await accounts.write(key, ended(1), revision)).toBeGreaterThan(revision)
    expect((await accounts.read(key)).account).toEqual(ended(1))
  })

  it('begins anew after somebody deleted the bucket', async () => {
    const [nc, subjects] = [await connected(), ownNames()]
    const accounts = await natsBudgetAccounts(nc, subjects)
    await accounts.write(key, ended(5), 0)
    await (await jetstreamManager(nc)).streams.delete(`KV_${subjects.budgetBucket}`)
    await expect(accounts.read(key)).rejects.toMatchObject({ code: 'unreachable' })
    expect((await accounts.read(key)).account).toEqual(newAccount())
    expect(await accounts.write(key, ended(1), 0)).toBe(1)
  })

  it('is found among 50,000 others, and all of them are listed whole', async () => {
    const [nc, subjects] = [await connected(), ownNames()]
    const accounts = await natsBudgetAccounts(nc, subjects)
    const of = { of: 'session', period: 'run' } as const
    const stored = Array.from({ length: 50_000 }, (_, i) => ({ ...of, tenant: 'local', name: `web:${i}` }))
    for (const each of stored)
      nc.publish(`$KV.${subjects.budgetBucket}.${accountKey(each)}`, accountText(ended(1)))
    await accounts.write(key, ended(5), 0)
    expect(await accounts.list('local', { of: 'user', period: '2026-11' })).toEqual([key])
    expect(await accounts.list('local', { ...of, name: 'web:49999' })).toEqual([stored.at(-1)])
    const listed = await accounts.list('local', of)
    expect(new Set(listed.map(({ name }) => name)).size).toBe(stored.length)
  })

  it('is too large for a message of the server: it says which one, and what helps', async () => {
    const accounts = await natsBudgetAccounts(await connected(), ownNames())
    const entry = { session: 's'.repeat(128), epoch: 1, used: noAmounts, reserved: noAmounts, waits: true }
    const tasks = new Map(Array.from({ length: 8_000 }, (_, i) => [`task_${i}`, entry]))
    await expect(accounts.write(key, { ...newAccount(), tasks }, 0)).rejects.toMatchObject({
      code: 'too_large',
      message: expect.stringMatching(/user "Zoë", period 2026-11.*8000 open tasks.*max_payload/) as string,
    })
    expect(await accounts.read(key)).toEqual({ account: newAccount(), revision: 0 })
  })

  it('nearly as large as a message of the server is kept', async () => {
    const nc = await connected()
    const accounts = await natsBudgetAccounts(nc, ownNames())
    const large = { ...newAccount(), told: new Map([['x'.repeat((nc.info?.max_payload ?? 0) - 1_000), 80]]) }
    const revision = await accounts.write(key, large, 0)
    expect(await accounts.read(key)).toEqual({ account: large, revision })
  })

  it('is not listed if another program made its key', async () => {
    const [nc, subjects] = [await connected(), ownNames()]
    const accounts = await natsBudgetAccounts(nc, subjects)
    await accounts.write(key, ended(1), 0)
    for (const strange of ['local.other.run', 'local.user', 'local.user.run.a.b', 'local.user.run.=61'])
      await keyIn(nc, subjects.budgetBucket, strange).put('{}')
    expect(await accounts.list('local')).toEqual([key])
  })

  it('is not to be reached when the server is gone', async () => {
    const nc = await connected()
    const accounts = await natsBudgetAccounts(nc, ownNames())
    await nc.close()
    for (const act of [
      () => accounts.read(key),
      () => accounts.write(key, ended(1), 0),
      () => accounts.list('local'),
    ])
      await expect(act()).rejects.toMatchObject({ code: 'unreachable' })
  })

  it('is kept for 400 days, in its last state only, and is read from the leader of its stream', async () => {
    const [nc, subjects] = [await connected(), ownNames()]
    await natsBudgetAccounts(nc, subjects)
    const jsm = await jetstreamManager(nc)
    expect((await jsm.streams.info(`KV_${subjects.budgetBucket}`)).config).toMatchObject({
      storage: 'file',
      max_msgs_per_subject: 1,
      max_age: 400 * 86_400 * 1e9,
      allow_direct: false,
    })
  })
})

describe('a daemon that is asked by another', () => {
  it('and dies with a ping in its hands is gone, not silent', async () => {
    const subjects = ownNames()
    const nc = await connectNats({ url: server.url, name: 'asking' })
    const dying = await connectNats({ url: server.url, name: 'dying' })
    dying.subscribe(subjects.daemon('daemon_b'), { callback: () => void dying.close() })
    await dying.flush()
    expect(await natsPeers(nc, subjects, silentLogger).state('daemon_b')).toBe('gone')
    await nc.close()
  })

  it('and lives and does not answer is silent', async () => {
    const subjects = ownNames()
    const nc = await connectNats({ url: server.url, name: 'asking' })
    const busy = await connectNats({ url: server.url, name: 'busy' })
    busy.subscribe(subjects.daemon('daemon_b'), { callback: () => {} })
    await busy.flush()
    expect(await natsPeers(nc, subjects, silentLogger).state('daemon_b')).toBe('silent')
    await busy.close()
    await nc.close()
  })

  it('over a connection that is closed is not asked again', async () => {
    const nc = await connectNats({ url: server.url, name: 'asking' })
    const peers = natsPeers(nc, ownNames(), silentLogger)
    await nc.close()
    // A second question would come after 200 ms.
    const later = new Promise((resolve) => setTimeout(resolve, 100, 'asked again'))
    expect(await Promise.race([peers.state('daemon_b'), later])).toBe('silent')
  })

  it('and is slow to say that it is there is found, if nobody else says so', async () => {
    const subjects = ownNames()
    const nc = await connectNats({ url: server.url, name: 'asking' })
    const slow = await connectNats({ url: server.url, name: 'slow' })
    slow.subscribe(subjects.presenceQuestion, {
      callback: (_, message) => void setTimeout(() => message.respond('{"daemon":"daemon_b"}'), 150),
    })
    await slow.flush()
    expect(await presentDaemons(nc, subjects, { waitMs: 50 })).toEqual([])
    expect(await presentDaemons(nc, subjects, { waitMs: 50, emptyMs: 20_000 })).toEqual([
      { daemon: 'daemon_b' },
    ])
    await slow.close()
    await nc.close()
  })
})

messageBusContract('natsMessageBus', async () => {
  const subjects = ownNames()
  return [
    await natsMessageBus(await connected(), subjects),
    await natsMessageBus(await connected(), subjects),
  ]
})

const done: Handled = { kind: 'done' }

describe('the message bus', () => {
  it('sets strange content aside, and takes what follows it in the same chat', async () => {
    const subjects = ownNames()
    const nc = await connected()
    const bus = await natsMessageBus(nc, subjects)
    const lane = subjects.channelLane('inbound', 'web', 'a', 'message')
    const strange = [
      '',
      '{',
      '\u0000'.repeat(900_000),
      '{"channel":"web"}',
      JSON.stringify(inboundOf('web', 'another chat', 'm')),
      Buffer.from([0xff, 0xfe]),
    ]
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
    const subjects = ownNames()
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
    const taking = next.take('inbound', {
      channels: ['web'],
      signal: stop.signal,
      handle: async ({ message_id }) => (seen.push(message_id), done),
    })
    await nc.close()
    await until('the second taker has all', () => seen.length === 3)
    stop.abort()
    await taking
    expect(seen).toEqual(['dying m1', 'm1', 'm2'])
  })

  it('keeps a message that takes longer than its lease', async () => {
    const subjects = ownNames()
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
    const bus = await natsMessageBus(await connected(), ownNames())
    const seen: string[] = []
    const stop = new AbortController()
    for (const id of ['poison', 'good']) await bus.publish('inbound', inboundOf('web', 'a', id))
    const handle = async ({ message_id }: { message_id: string }): Promise<Handled> => (
      seen.push(message_id),
      message_id === 'good' ? done : { kind: 'back' }
    )
    const taking = bus.take('inbound', { channels: ['web'], signal: stop.signal, handle })
    await until('the good one is taken', () => seen.includes('good'))
    stop.abort()
    await taking
    expect(seen).toHaveLength(1_001)
    expect(await bus.deadLetters(10)).toMatchObject([
      { reason: 'It was taken 1000 times, and nobody settled it.' },
    ])
  })

  it('serves more chats at once than a stream usually has consumers', async () => {
    const bus = await natsMessageBus(await connected(), ownNames())
    const chats = Array.from({ length: 1_500 }, (_, i) => `chat ${i}`)
    await Promise.all(chats.map((chat) => bus.publish('inbound', inboundOf('web', chat, 'm'))))
    const seen = new Set<string>()
    const stop = new AbortController()
    const taking = bus.take('inbound', {
      channels: ['web'],
      signal: stop.signal,
      handle: async ({ chat_id }) => (seen.add(chat_id), done),
    })
    await until('all are taken', () => seen.size === chats.length, { withinMs: 60_000, everyMs: 10 })
    stop.abort()
    await taking
  })

  it('takes no more messages of a chat than a number, and those of others meanwhile', async () => {
    const bus = await natsMessageBus(await connected(), ownNames())
    const publish = (chat: string, id: string): Promise<unknown> =>
      bus.publish('inbound', inboundOf('web', chat, id))
    for (let i = 0; i < 10_000; i += 500)
      await Promise.all(Array.from({ length: 500 }, (_, j) => publish('flood', `m${i + j}`)))
    await expect(publish('flood', 'one more')).rejects.toMatchObject({
      code: 'wrong_state',
      message: expect.stringContaining('Send it again later') as string,
    })
    await publish('other', 'm')
    expect((await bus.loads()).map(({ messages }) => messages)).toEqual(expect.arrayContaining([10_000, 1]))
  })

  it('goes on after the server was killed', async () => {
    const subjects = ownNames()
    const bus = await natsMessageBus(await connected(), subjects, { leaseMs: 500 })
    const seen = new Set<string>()
    const stop = new AbortController()
    const taking = bus.take('inbound', {
      channels: ['web'],
      signal: stop.signal,
      handle: async ({ message_id }) => (seen.add(message_id), done),
    })
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
