// The memory store on a real nats-server.
import { memoryStoreContract, until } from '@beaver/testing'
import { connectNats, encodeToken, natsMemoryStore, type NatsMemoryStore, type Subjects, subjectsOf } from '@beaver/nats'
import { headers, type NatsConnection } from '@nats-io/nats-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testServer, type TestServer } from './support/nats.ts'

const limits = { memory: 1_000, user: 1_000 }
const add = (content: string) => ({ action: 'add', target: 'memory', content }) as const
let server: TestServer
const closing: (() => Promise<unknown>)[] = []
beforeAll(async () => void (server = await testServer()))
afterAll(async () => {
  for (const close of closing.toReversed()) await close()
  await server[Symbol.asyncDispose]()
})

async function connected(): Promise<NatsConnection> {
  const nc = await connectNats({ url: server.url, name: 'memory' })
  closing.push(() => nc.close())
  return nc
}

async function opened(nc: NatsConnection, subjects: Subjects, of = limits): Promise<NatsMemoryStore> {
  const store = await natsMemoryStore(nc, subjects, of)
  closing.push(() => store.close())
  return store
}

/** A key of the bucket as any program sees it: a message of a stream. */
function keyOf(nc: NatsConnection, { memoryBucket }: Subjects, key: string) {
  const subject = `$KV.${memoryBucket}.${key}`
  const write = async (value: string, operation?: string): Promise<void> => {
    const marks = headers()
    if (operation !== undefined) marks.set('KV-Operation', operation)
    await nc.request(subject, value, { timeout: 5_000, headers: marks })
  }
  return {
    put: (value: string) => write(value),
    remove: () => write('', 'DEL'),
    /** Its value, and where that stands. */
    stored: async () => (await nc.request(`$JS.API.STREAM.MSG.GET.KV_${memoryBucket}`, JSON.stringify({ last_by_subj: subject }), { timeout: 5_000 })).string(),
  }
}

memoryStoreContract('natsMemoryStore', async (of) => {
  const subjects = subjectsOf('contract')
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
    const subjects = subjectsOf('again')
    const nc = await connected()
    const first = await opened(nc, subjects)
    for (let i = 0; i < 50; i++) await first.change({ tenant: `tenant ${i}`, user: null }, add(`fact ${i}`))
    await first.close()
    const second = await opened(nc, subjects)
    for (let i = 0; i < 50; i++) expect((await second.read({ tenant: `tenant ${i}`, user: null })).memory).toEqual([`fact ${i}`])
  })

  it('outlives the death of the server; changes made meanwhile wait for it, and the watch goes on', async () => {
    const subjects = subjectsOf('crash')
    const [one, other] = [await opened(await connected(), subjects), await opened(await connected(), subjects)]
    await one.change({ tenant: 'local', user: null }, add('before'))
    const down = server.crash()
    const during = one.change({ tenant: 'local', user: null }, add('during'))
    await down
    expect(await during).toMatchObject({ ok: true, changed: true, entries: ['before', 'during'] })
    expect(await other.change({ tenant: 'local', user: null }, add('after'))).toMatchObject({ ok: true, entries: ['before', 'during', 'after'] })
    await until('the watch brings what the other wrote', async () => (await one.read({ tenant: 'local', user: null })).memory.length === 3, {
      withinMs: 40_000,
      everyMs: 20,
    })
    expect((await one.read({ tenant: 'local', user: null })).memory).toEqual(['before', 'during', 'after'])
  })

  it.each(['', 'null', '[]', '{"version":2,"memory":[],"user":[]}', '{"version":1,"memory":[1],"user":[]}', '{"version":1,"memory":[]}', '\u00ff{'])(
    'that was replaced by %j is reported with its bucket and key, when opened too',
    async (value) => {
      const subjects = subjectsOf('corrupt')
      const nc = await connected()
      const before = await opened(nc, subjects)
      const key = keyOf(nc, subjects, 'a=2Eb')
      await key.put(value)
      const written = await key.stored()
      const store = await opened(nc, subjects)
      await expect(store.read({ tenant: 'a.b', user: null })).rejects.toMatchObject({
        code: 'memory_corrupt',
        message: expect.stringMatching(/a=2Eb.*BEAVER_corrupt_MEMORY/) as string,
      })
      for (const each of [before, store])
        expect(await each.change({ tenant: 'a.b', user: null }, add('x'))).toMatchObject({ ok: false, code: 'memory_corrupt' })
      expect(await key.stored()).toBe(written)
    },
  )

  it('whose key somebody deleted begins anew', async () => {
    const subjects = subjectsOf('deleted')
    const nc = await connected()
    const store = await opened(nc, subjects)
    await store.change({ tenant: 'local', user: null }, add('old'))
    await keyOf(nc, subjects, 'local').remove()
    await until('the watch tells it', async () => (await store.read({ tenant: 'local', user: null })).memory.length === 0)
    expect(await store.change({ tenant: 'local', user: null }, add('new'))).toMatchObject({ ok: true, entries: ['new'] })
  })

  it('says that it is not to be changed when the server is gone, and keeps being read', async () => {
    const subjects = subjectsOf('gone')
    const nc = await connected()
    const store = await opened(nc, subjects)
    await store.change({ tenant: 'local', user: null }, add('kept'))
    await nc.close()
    await store.close()
    expect(await store.change({ tenant: 'local', user: null }, add('lost'))).toMatchObject({ ok: false, code: 'memory_unavailable' })
    expect((await store.read({ tenant: 'local', user: null })).memory).toEqual(['kept'])
  })
})
