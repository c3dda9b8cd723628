// Readers of the journal on a real nats-server: what they leave behind, and what they make of faults under a
// running read.
import { hash, randomBytes } from 'node:crypto'
import { clientOn } from '@beaver/client'
import { event, type LogId, type SessionId, type TaskId } from '@beaver/core'
import { draft, emptyHead, joinBatch, seal, type SealedRecord } from '@beaver/core/journal'
import {
  connectNats,
  type FeedBatch,
  followJournal,
  lineOf,
  natsBlobStore,
  natsJournal,
  natsMemoryStore,
  type Subjects,
  subjectsOf,
} from '@beaver/nats'
import { until } from '@beaver/testing'
import { jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/nats-core'
import { Objm } from '@nats-io/obj'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testServer, type TestServer } from '../support/nats.ts'
import { tcpProxy } from '../support/tcp-proxy.ts'

let server: TestServer
const closing: (() => Promise<unknown>)[] = []
beforeAll(async () => void (server = await testServer()))
afterAll(async () => {
  for (const close of closing.toReversed()) await close()
  await server[Symbol.asyncDispose]()
})

const bytes = (text: string): Uint8Array => Buffer.from(text)

async function opened() {
  const subjects = subjectsOf(server.newNamespace())
  const nc = await connectNats({ url: server.url, name: 'readers' })
  closing.push(() => nc.close())
  const journal = await natsJournal(nc, subjects)
  const blobs = await natsBlobStore(nc, subjects)
  return { subjects, nc, journal, blobs, jsm: await jetstreamManager(nc) }
}
type Opened = Awaited<ReturnType<typeof opened>>

async function consumersOf({ jsm, subjects }: Opened): Promise<Record<string, number>> {
  const found: Record<string, number> = {}
  for await (const { config, state } of jsm.streams.list())
    if (`${config.name}_`.includes(`${subjects.stream}_`)) found[config.name] = state.consumer_count
  return found
}

/** The client knows no other way to ask. */
const subscriptionsOf = (nc: NatsConnection): number =>
  (nc as unknown as { protocol: { subscriptions: { subs: Map<number, unknown> } } }).protocol.subscriptions
    .subs.size

const logOf = (task: string, session = 's'): LogId => ({
  tenant: 'local',
  session: session as SessionId,
  task: task as TaskId,
})

/** A log with these entries; returns its last revision. */
async function written(
  { journal }: Opened,
  log: LogId,
  entries: readonly (string | Uint8Array)[],
): Promise<number> {
  const [first = '', ...rest] = entries.map((entry) => (typeof entry === 'string' ? bytes(entry) : entry))
  const accepted = await journal.accept({
    log,
    payloads: [first as Uint8Array],
    tail: await journal.sessionTail(log.tenant, log.session),
  })
  if (accepted.kind !== 'accepted') throw new Error(accepted.kind)
  let { revision } = accepted
  for (const payload of rest) revision = await appended({ journal }, log, { revision, payload })
  return revision
}

async function appended(
  { journal }: Pick<Opened, 'journal'>,
  log: LogId,
  { revision, payload }: { revision: number; payload: Uint8Array },
): Promise<number> {
  const outcome = await journal.append({ log, expectedRevision: revision, payloads: [payload] })
  if (outcome.kind !== 'appended') throw new Error(outcome.kind)
  return outcome.revision
}

/** A whole log of a task that ended, as records. */
function endedTask(task: string): Uint8Array[] {
  const request = { text: 'x', workspace: '/', skill: null, source: 'test' }
  const usage = { input_tokens: 1, output_tokens: 1, calls: 1 }
  const log = logOf(task)
  const events = [
    event('task_submitted', {
      task_id: log.task,
      session_id: log.session,
      tenant: log.tenant,
      previous_task_id: null,
      request,
    }),
    event('task_completed', {
      final_output: 'done',
      outputs: [],
      usage,
      provider: null,
      model: null,
      simulated: true,
      failure: null,
    }),
  ]
  let head = emptyHead
  const records: SealedRecord[] = []
  for (const each of events) {
    const sealed = seal(head, draft(each), {
      epoch: 1,
      source: '/beaver/daemons/d',
      subject: task,
      time: '2026-01-01T00:00:00.000Z',
    })
    head = sealed.head
    records.push(sealed.record)
  }
  return records.map((record) => joinBatch([record]))
}

/** Follows in the background; `texts` grows. */
function following({ nc, subjects }: { nc: NatsConnection; subjects: Subjects }, log?: LogId) {
  const texts: string[] = []
  const stop = new AbortController()
  const over = (async () => {
    for await (const { messages } of followJournal(nc, subjects, {
      from: 1,
      signal: stop.signal,
      ...(log === undefined ? {} : { log }),
    }))
      texts.push(...messages.map((message) => Buffer.from(message.payload).toString()))
  })()
  over.catch(() => {})
  return { texts, stop, over }
}

describe('what readers leave behind', () => {
  it('is no consumer and no subscription after 300 reads of blobs and 100 watches', async () => {
    const system = await opened()
    const content = randomBytes(200_000)
    const sha256 = hash('sha256', content)
    await system.blobs.put(sha256, content)
    for (let i = 0; i < 100; i++) await written(system, logOf(`t${i}`), endedTask(`t${i}`))
    const client = clientOn(system.nc, system.subjects)
    const before = subscriptionsOf(system.nc)
    for (let i = 0; i < 300; i++) expect((await system.blobs.get(sha256)).length).toBe(200_000)
    for (let i = 0; i < 100; i++) {
      const types: string[] = []
      for await (const { type } of client.watch(`t${i}`)) types.push(type)
      expect(types).toEqual(['task_submitted', 'task_completed'])
    }
    expect(Math.max(...Object.values(await consumersOf(system)))).toBeLessThanOrEqual(10)
    expect(subscriptionsOf(system.nc) - before).toBeLessThanOrEqual(1)
  })

  it('is nothing when the reader returns early, aborts, or the task never comes', async () => {
    const system = await opened()
    await written(system, logOf('early'), endedTask('early'))
    const client = clientOn(system.nc, system.subjects)
    const before = subscriptionsOf(system.nc)
    for (let i = 0; i < 20; i++) {
      for await (const { type } of client.watch('early')) if (type === 'task_submitted') break
      const stop = new AbortController()
      const waiting = client.watch('never', { signal: stop.signal }).next()
      setImmediate(() => stop.abort())
      expect((await waiting).done).toBe(true)
    }
    expect(Math.max(...Object.values(await consumersOf(system)))).toBeLessThanOrEqual(10)
    expect(subscriptionsOf(system.nc) - before).toBeLessThanOrEqual(1)
  })

  it('is nothing after memories were opened and closed', async () => {
    const system = await opened()
    for (let i = 0; i < 20; i++) {
      const memory = await natsMemoryStore(system.nc, system.subjects, { memory: 100, user: 100 })
      await memory.close()
    }
    expect(Math.max(...Object.values(await consumersOf(system)))).toBeLessThanOrEqual(10)
  })

  it('is no subscription after a log was read', async () => {
    const system = await opened()
    await written(system, logOf('read'), endedTask('read'))
    const before = subscriptionsOf(system.nc)
    for (let i = 0; i < 50; i++) expect(await system.journal.read(logOf('read'))).toHaveLength(2)
    expect(subscriptionsOf(system.nc)).toBe(before)
  })
})

describe('a read without an answer', () => {
  /**
   * A log, and a reader on a line of its own. The end of the first read of pages that it asks for does not
   * come.
   */
  async function unanswered() {
    const own = await opened()
    const log = logOf('t')
    await written(own, log, ['a', 'b'])
    const line = await tcpProxy(server.port)
    closing.push(async () => line[Symbol.asyncDispose]())
    const nc = await connectNats({ url: `nats://127.0.0.1:${line.port}`, name: 'unanswered' })
    closing.push(() => nc.close())
    const journal = await natsJournal(nc, own.subjects)
    return { nc, line, read: () => journal.read(log) }
  }

  it('ends when its connection is closed', async () => {
    const { nc, line, read } = await unanswered()
    const asked = new Promise<void>((resolve) => line.onceSent('$JS.API.DIRECT.GET', resolve))
    line.silence('down', { newToo: false })
    const reading = read()
    await asked
    await nc.close()
    await expect(reading).rejects.toMatchObject({ code: 'unreachable' })
  })

  it('is not begun while the line is down, because what it asks would be lost', async () => {
    const { nc, line, read } = await unanswered()
    await line[Symbol.asyncDispose]()
    await until('the line is down', () => lineOf(nc).downMs > 0)
    await expect(read()).rejects.toMatchObject({ code: 'unreachable' })
    await expect(lineOf(nc).request('anything', new Uint8Array(), { timeout: 60_000 })).rejects.toThrow(
      'the connection to the server is down',
    )
  })
})

describe('a blob', () => {
  it.each([0, 1, 131_072, 131_073, 700_000])(
    'of %i bytes is readable by the object store client, and what that wrote by us',
    async (size) => {
      const { nc, subjects, blobs } = await opened()
      const store = await new Objm(nc).open(subjects.blobBucket)
      const [ours, theirs] = [randomBytes(size), randomBytes(size)]
      await blobs.put(hash('sha256', ours), ours)
      await store.putBlob({ name: hash('sha256', theirs) }, theirs)
      expect(ours.equals((await store.getBlob(hash('sha256', ours))) ?? bytes('none'))).toBe(true)
      expect(theirs.equals(await blobs.get(hash('sha256', theirs)))).toBe(true)
    },
  )

  it('that holds other content than its name says is refused by its name', async () => {
    const { nc, subjects, blobs } = await opened()
    const store = await new Objm(nc).open(subjects.blobBucket)
    const name = hash('sha256', 'what was meant')
    await store.putBlob({ name }, bytes('something else'))
    await expect(blobs.get(name)).rejects.toMatchObject({
      code: 'blob_corrupt',
      message: expect.stringContaining(name) as string,
    })
  })

  it('that lost its chunks is refused by its name, and one that was deleted is missing', async () => {
    const { nc, subjects, blobs, jsm } = await opened()
    const content = randomBytes(300_000)
    const name = hash('sha256', content)
    await blobs.put(name, content)
    await jsm.streams.purge(`OBJ_${subjects.blobBucket}`, { filter: `$O.${subjects.blobBucket}.C.>` })
    await expect(blobs.get(name)).rejects.toMatchObject({
      code: 'blob_corrupt',
      message: expect.stringContaining(name) as string,
    })
    await (await new Objm(nc).open(subjects.blobBucket)).delete(name)
    await expect(blobs.get(name)).rejects.toMatchObject({
      code: 'blob_missing',
      message: expect.stringContaining(name) as string,
    })
  })
})

describe('a blob that is stored', () => {
  it('is there when the answer of its last message was lost', async () => {
    const { subjects, blobs } = await opened()
    await using line = await tcpProxy(server.port)
    const nc = await connectNats({ url: `nats://127.0.0.1:${line.port}`, name: 'cut' })
    closing.push(() => nc.close())
    const writing = await natsBlobStore(nc, subjects)
    const content = randomBytes(300_000)
    const name = hash('sha256', content)
    line.onceSent('Nats-Rollup', () => line.silence('down', { newToo: false }))
    const put = writing.put(name, content)
    await until('the entry is stored', () =>
      blobs.get(name).then(
        () => true,
        () => false,
      ),
    )
    line.reset()
    await put
    expect(content.equals(await blobs.get(name))).toBe(true)
  })

  it('is written again when what stands there cannot be read', async () => {
    const { nc, subjects, blobs, jsm } = await opened()
    const content = randomBytes(300_000)
    const name = hash('sha256', content)
    await blobs.put(name, content)
    await jsm.streams.purge(`OBJ_${subjects.blobBucket}`, { filter: `$O.${subjects.blobBucket}.C.>` })
    await (await natsBlobStore(nc, subjects)).put(name, content)
    expect(content.equals(await blobs.get(name))).toBe(true)
  })
})

describe('a follow', () => {
  it('gives all that is stored and then what comes, each entry once and in order', async () => {
    const system = await opened()
    const log = logOf('grows')
    let revision = await written(system, log, ['0', '1', '2'])
    const [one, all] = [following(system, log), following(system)]
    for (let i = 3; i < 200; i++)
      revision = await appended(system, log, { revision, payload: bytes(String(i)) })
    const expected = Array.from({ length: 200 }, (_, i) => String(i))
    await until('both have read all', () => one.texts.length >= 200 && all.texts.length >= 200)
    expect(one.texts).toEqual(expected)
    expect(all.texts).toEqual(expected)
    for (const { stop, over } of [one, all]) {
      stop.abort()
      await over
    }
  })

  it('tells of each entry when it is there, also after one that was refused', async () => {
    const system = await opened()
    const log = logOf('soon')
    let revision = await written(system, log, ['0'])
    const follow = following(system, log)
    await until('it has caught up', () => follow.texts.length === 1)
    for (let i = 1; i <= 30; i++) {
      expect(
        (await system.journal.append({ log, expectedRevision: 1_000_000, payloads: [bytes('refused')] }))
          .kind,
      ).toBe('fenced')
      revision = await appended(system, log, { revision, payload: bytes(String(i)) })
      await until('it has come', () => follow.texts.length === i + 1, { everyMs: 1 })
    }
    follow.stop.abort()
    await follow.over
  })

  it('is told of an entry, and does not read the journal while nothing is written', async () => {
    const system = await opened()
    const log = logOf('prompt')
    const { stream } = system.subjects
    let [looks, reads] = [0, 0]
    system.nc.subscribe(`$JS.API.STREAM.INFO.${stream}`, { callback: () => void looks++ })
    system.nc.subscribe(`$JS.API.DIRECT.GET.${stream}`, { callback: () => void reads++ })
    let revision = await written(system, log, ['0'])
    const follow = following(system, log)
    await until('it has caught up', () => follow.texts.length === 1)

    // A reader that only looked at the stream would need a look for each entry.
    let withoutALook = 0
    for (let i = 1; i <= 40; i++) {
      const before = looks
      revision = await appended(system, log, { revision, payload: bytes(String(i)) })
      await until('it has come', () => follow.texts.length === i + 1, { everyMs: 1 })
      if (looks === before) withoutALook++
    }
    expect(withoutALook).toBeGreaterThan(20)

    // It may still look for an entry of which it was told late: for a second at most.
    const atTheEnd = looks
    await until('it knows that it has everything', () => looks >= atTheEnd + 3)
    const before = { looks, reads }
    await until('it has looked at the stream again', () => looks > before.looks)
    expect(before.reads).toBeGreaterThan(20)
    expect(reads).toBe(before.reads)
    follow.stop.abort()
    await follow.over
  })

  it('of all logs gives entries only, not what claims the id of a task in a session of another name', async () => {
    const system = await opened()
    await written(system, logOf('named', 'other'), ['0', '1'])
    await written(system, logOf('own', 'own'), ['2'])
    const follow = following(system)
    await until('it has caught up', () => follow.texts.length >= 3)
    expect(follow.texts).toEqual(['0', '1', '2'])
    follow.stop.abort()
    await follow.over
  })

  it('goes on when somebody deletes all consumers of the stream', async () => {
    const system = await opened()
    const log = logOf('goes-on')
    const revision = await written(system, log, ['0'])
    const follow = following(system, log)
    await until('it has caught up', () => follow.texts.length === 1)
    for await (const { name } of system.jsm.consumers.list(system.subjects.stream))
      await system.jsm.consumers.delete(system.subjects.stream, name)
    await appended(system, log, { revision, payload: bytes('1') })
    await until('it goes on', () => follow.texts.length === 2)
    follow.stop.abort()
    await follow.over
  })

  it('ends with what happened when the stream is deleted, or made anew', async () => {
    for (const [again, code] of [
      [false, 'stream_missing'],
      [true, 'stream_recreated'],
    ] as const) {
      const system = await opened()
      await written(system, logOf('gone'), ['0'])
      const follow = following(system, logOf('gone'))
      await until('it has caught up', () => follow.texts.length === 1)
      const { config } = await system.jsm.streams.info(system.subjects.stream)
      await system.jsm.streams.delete(system.subjects.stream)
      if (again) await system.jsm.streams.add(config)
      await expect(follow.over).rejects.toMatchObject({ code })
    }
  })

  it('of a stream that is not there ends with that', async () => {
    const nc = await connectNats({ url: server.url, name: 'readers' })
    closing.push(() => nc.close())
    const nowhere = subjectsOf(server.newNamespace())
    const batches: AsyncGenerator<FeedBatch> = followJournal(nc, nowhere, {
      from: 1,
      signal: new AbortController().signal,
    })
    await expect(batches.next()).rejects.toMatchObject({ code: 'stream_missing' })
    await expect(clientOn(nc, nowhere).watch('t').next()).rejects.toMatchObject({ code: 'stream_missing' })
  })

  it('finds a task that is submitted later', async () => {
    const system = await opened()
    const client = clientOn(system.nc, system.subjects)
    const types: string[] = []
    const watched = (async () => {
      for await (const { type } of client.watch('later')) types.push(type)
    })()
    await written(system, logOf('other'), endedTask('other'))
    await written(system, logOf('later'), endedTask('later'))
    await watched
    expect(types).toEqual(['task_submitted', 'task_completed'])
  })
})

describe('the memory of a daemon', () => {
  it('still learns what others change after somebody deleted all consumers of its bucket', async () => {
    const system = await opened()
    const stores = [await natsMemoryStore(system.nc, system.subjects, { memory: 100, user: 100 })]
    stores.push(await natsMemoryStore(system.nc, system.subjects, { memory: 100, user: 100 }))
    const [one, other] = stores as [(typeof stores)[number], (typeof stores)[number]]
    const stream = `KV_${system.subjects.memoryBucket}`
    for await (const { name } of system.jsm.consumers.list(stream))
      await system.jsm.consumers.delete(stream, name)
    await other.change({ tenant: 'local', user: null }, { action: 'add', target: 'memory', content: 'new' })
    await until(
      'the watch has begun again',
      async () => (await one.read({ tenant: 'local', user: null })).memory.length === 1,
    )
    await Promise.all(stores.map((store) => store.close()))
    expect(await consumersOf(system)).toMatchObject({ [stream]: 0 })
  })
})
