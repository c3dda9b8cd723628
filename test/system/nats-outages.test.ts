// A nats-server that dies and comes back: what was acknowledged is there, what waits goes on, and each change
// is told with its reason.
import { hash, randomBytes } from 'node:crypto'
import { connectBeaver } from '@beaver/client'
import { type LogId, type LogLine, loggerOver } from '@beaver/core'
import { type AccountKey, newAccount, noAmounts } from '@beaver/core/budget'
import {
  connectNats,
  ensureJournalStream,
  followJournal,
  natsBlobStore,
  natsBudgetAccounts,
  natsJournal,
  natsMemoryStore,
  type NatsMemoryStore,
  serve,
  streamPulse,
  type Subjects,
  subjectsOf,
  watchConnection,
} from '@beaver/nats'
import { held, until } from '@beaver/testing'
import { jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/nats-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freeze } from '../support/freeze.ts'
import { ownServer, type OwnServer } from '../support/nats.ts'

let server: OwnServer
beforeAll(async () => {
  server = await ownServer()
})
afterAll(() => server[Symbol.asyncDispose]())

const subjects = subjectsOf('told')
const { stream } = subjects

it('a connection that leaves a server goes to another one at once, each time, and back when that one is away', async () => {
  await using other = await ownServer()
  const nc = await connectNats({ url: `${server.url},${other.url}`, name: 'leaving' })
  const at: string[] = [nc.getServer()]
  const leave = async (how: () => Promise<void>): Promise<void> => {
    const back = (async () => {
      for await (const { type } of nc.status()) if (type === 'reconnect') return
    })()
    await how()
    await back
    at.push(nc.getServer())
  }
  const ofOther = `127.0.0.1:${other.port}`
  // The client begins at any of them.
  for (let times = 0; times < 3 || nc.getServer() !== ofOther; times++) await leave(() => nc.reconnect())
  await leave(async () => void process.kill(other.pid, 'SIGKILL'))
  await nc.close()
  expect(at.slice(1).filter((now, i) => now === at[i])).toEqual([])
  expect(at.at(-1)).toBe(`127.0.0.1:${server.port}`)
})

it('tells a connection that goes down and comes back, with how long it was away, and a stream that is deleted and made anew', async () => {
  const lines: LogLine[] = []
  const events = (): string[] => lines.map(({ event }) => event)
  const nc = await connectNats({ url: server.url, name: 'watched' })
  try {
    await ensureJournalStream(nc, subjects)
    watchConnection(
      nc,
      loggerOver((line) => lines.push(line)),
      stream,
    )
    await server.crash()
    await until('the connection is back', () => events().includes('nats_reconnected'))
    expect(events()).toEqual(['nats_disconnected', 'nats_reconnected'])
    expect(lines[1]?.fields['down_ms']).toBeGreaterThan(0)
    expect(lines[1]?.fields['server']).toBe(`127.0.0.1:${server.port}`)

    const jsm = await jetstreamManager(nc)
    await jsm.streams.delete(stream)
    await until('the deletion is told', () => events().includes('stream_deleted'))
    await ensureJournalStream(nc, subjects)
    await until('the new stream is told', () => events().includes('stream_recreated'))
    expect(events().slice(2)).toEqual(['stream_deleted', 'stream_recreated'])
  } finally {
    await nc.close()
  }
})

it('does not tell of a first stream that it exists again', async () => {
  const events: string[] = []
  const nc = await connectNats({ url: server.url, name: 'first' })
  const first = subjectsOf('first')
  try {
    watchConnection(
      nc,
      loggerOver(({ event }) => events.push(event)),
      first.stream,
    )
    expect((await streamPulse(nc, first.stream).look()).kind).toBe('missing')
    await ensureJournalStream(nc, first)
    await until(
      'the stream is seen',
      async () => (await streamPulse(nc, first.stream).look()).kind === 'there',
    )
    await (await jetstreamManager(nc)).streams.delete(first.stream)
    await until('the deletion is told', () => events.includes('stream_deleted'))
    expect(events).toEqual(['stream_deleted'])
  } finally {
    await nc.close()
  }
})

it('a server killed and started again in the middle of 200 appends: what was acknowledged is there, once, and all land', async () => {
  const connection = await connectNats({ url: server.url, name: 'crash' })
  const writer = await natsJournal(connection, subjectsOf('appends'))
  const acknowledged: { log: LogId; revision: number; text: string }[] = []
  const halfway = held<void>()
  // Twenty logs, ten appends each, every one after the one before it, as tasks write.
  const writing = Array.from({ length: 20 }, async (_, i) => {
    const log = { tenant: 'local', session: 's', task: `task ${i}` } as LogId
    let revision = 0
    for (let n = 0; n < 10; n++) {
      const text = `${i}.${n}`
      const outcome = await writer.append({ log, expectedRevision: revision, payloads: [Buffer.from(text)] })
      if (outcome.kind !== 'appended') throw new Error(`${text} was ${outcome.kind}`)
      revision = outcome.revision
      acknowledged.push({ log, revision, text })
      if (acknowledged.length === 80) halfway.settle()
    }
    return log
  })
  await halfway.promise
  await server.crash()
  const written = await Promise.all(writing)
  expect(acknowledged).toHaveLength(200)
  for (const [i, log] of written.entries())
    expect((await writer.read(log)).map(({ payload }) => Buffer.from(payload).toString())).toEqual(
      Array.from({ length: 10 }, (_, n) => `${i}.${n}`),
    )
  for (const { log, revision, text } of acknowledged) {
    const entry = (await writer.read(log)).find((each) => each.revision === revision)
    expect(entry === undefined ? 'missing' : Buffer.from(entry.payload).toString()).toBe(text)
  }
  await connection.close()
})

it('the memory of a daemon outlives the death of the server; changes made meanwhile wait for it, and the watch goes on', async () => {
  const subjects = subjectsOf('memory')
  const connections = await Promise.all(
    ['one', 'other'].map((name) => connectNats({ url: server.url, name })),
  )
  const stores = await Promise.all(
    connections.map((nc) => natsMemoryStore(nc, subjects, { memory: 1_000, user: 1_000 })),
  )
  const [one, other] = stores as [NatsMemoryStore, NatsMemoryStore]
  const add = (content: string) => ({ action: 'add', target: 'memory', content }) as const
  await one.change({ tenant: 'local', user: null }, add('before'))
  const down = server.crash()
  const during = one.change({ tenant: 'local', user: null }, add('during'))
  await down
  expect(await during).toMatchObject({ ok: true, changed: true, entries: ['before', 'during'] })
  expect(await other.change({ tenant: 'local', user: null }, add('after'))).toMatchObject({
    ok: true,
    entries: ['before', 'during', 'after'],
  })
  await until(
    'the watch brings what the other wrote',
    async () => (await one.read({ tenant: 'local', user: null })).memory.length === 3,
    {
      withinMs: 40_000,
      everyMs: 20,
    },
  )
  expect((await one.read({ tenant: 'local', user: null })).memory).toEqual(['before', 'during', 'after'])
  for (const store of stores) await store.close()
  for (const nc of connections) await nc.close()
})

it('an account of a budget is not to be reached while the server is silent or dead, and keeps what was written', async () => {
  const subjects = subjectsOf('accounts')
  const nc = await connectNats({ url: server.url, name: 'accounts' })
  const accounts = await natsBudgetAccounts(nc, subjects)
  const key: AccountKey = { tenant: 'local', of: 'tenant', name: '', period: '2026-11' }
  const account = { ...newAccount(), ended: { ...noAmounts, tokens: 7 } }
  const revision = (await accounts.write(key, account, 0)) ?? 0
  const asked = () =>
    Promise.allSettled([accounts.read(key), accounts.list('local'), accounts.write(key, account, revision)])
  await freeze(server.pid)
  const silent = await asked()
  process.kill(server.pid, 'SIGCONT')
  await server.down(async () => {
    for (const answers of [silent, await asked()])
      expect(answers.map((answer) => answer.status === 'rejected' && (answer.reason as unknown))).toEqual(
        Array.from({ length: 3 }, () => expect.objectContaining({ code: 'unreachable' }) as unknown),
      )
  }, 'killed')
  const read = await until('it is there again', () => accounts.read(key).catch(() => null), { everyMs: 50 })
  expect(read.account).toEqual(account)
  await nc.close()
})

/** Follows a log, or all logs, in the background; `texts` grows. */
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

it('follows and reads of blobs go on without a gap', async () => {
  const nc = await connectNats({ url: server.url, name: 'readers' })
  const subjects = subjectsOf('readers')
  const journal = await natsJournal(nc, subjects)
  const blobs = await natsBlobStore(nc, subjects)
  const jsm = await jetstreamManager(nc)
  const content = randomBytes(100_000)
  await blobs.put(hash('sha256', content), content)
  const log = { tenant: 'local', session: 's', task: 'through' } as LogId
  let outcome: { kind: string; revision?: number } = await journal.accept({
    log,
    payloads: [Buffer.from('0')],
    tail: { task: null, revision: 0 },
  })
  const [one, all] = [following({ nc, subjects }, log), following({ nc, subjects })]
  await until('both have caught up', () => one.texts.length === 1 && all.texts.length === 1)
  for (let i = 1; i <= 3; i++) {
    const back = server.crash()
    const reading = blobs.get(hash('sha256', content))
    await back
    expect(content.equals(await reading)).toBe(true)
    outcome = await journal.append({
      log,
      expectedRevision: outcome.revision ?? -1,
      payloads: [Buffer.from(String(i))],
    })
    expect(outcome.kind).toBe('appended')
    await until('both go on', () => one.texts.length === i + 1 && all.texts.length === i + 1)
  }
  expect(one.texts).toEqual(['0', '1', '2', '3'])
  expect(all.texts).toEqual(one.texts)
  for (const name of [subjects.stream, `OBJ_${subjects.blobBucket}`])
    expect((await jsm.streams.info(name)).state.consumer_count).toBeLessThanOrEqual(1)
  for (const { stop, over } of [one, all]) {
    stop.abort()
    await over
  }
  await nc.close()
})

describe('a submit', () => {
  const task = { task: 'Anything' }

  it('over a connection that is down fails at once, with the reason, once NATS has been away for as long as a client waits', async () => {
    await using client = await connectBeaver({
      url: server.url,
      namespace: 'told',
      tenant: 'local',
      daemonMs: 3_000,
    })
    const whileAway = async (): Promise<void> => {
      const begun = performance.now()
      await expect(client.submit(task)).rejects.toMatchObject({
        code: 'unreachable',
        message: expect.stringMatching(/^The connection to NATS at 127\.0\.0\.1:\d+ has been down/) as string,
      })
      const waited = performance.now() - begun
      // The next one does not wait as long.
      await expect(client.submit(task)).rejects.toMatchObject({ code: 'unreachable' })
      expect(performance.now() - begun - waited).toBeLessThan(waited)
    }
    await server.down(whileAway, 'killed')
  })

  it('over a connection that comes back in time gets its answer', async () => {
    await using client = await connectBeaver({
      url: server.url,
      namespace: 'told',
      tenant: 'local',
      daemonMs: 10_000,
    })
    const nc = await connectNats({ url: server.url, name: 'daemon' })
    serve(nc, subjects.service('task.submit'), async () => ({ task_id: 't', session_id: 's' }))
    await nc.flush()
    const crashed = server.crash()
    await expect(client.submit(task)).resolves.toMatchObject({ task_id: 't' })
    await crashed
    await nc.close()
  })

  it('that is refused because the journal was deleted is not asked for again', async () => {
    const nc = await connectNats({ url: server.url, name: 'daemon' })
    let asked = 0
    serve(nc, subjects.service('task.submit'), async () => {
      asked++
      const journal = await natsJournal(nc, subjects)
      await (await jetstreamManager(nc)).streams.delete(stream)
      try {
        return await journal.append({
          log: { tenant: 'local', session: 's', task: 't' } as never,
          expectedRevision: 0,
          payloads: [Buffer.from('{}')],
        })
      } finally {
        journal.close()
      }
    })
    await nc.flush()
    await using client = await connectBeaver({ url: server.url, namespace: 'told', tenant: 'local' })
    await expect(client.submit(task)).rejects.toMatchObject({
      code: 'stream_missing',
      message: `The journal stream ${stream} does not exist, because somebody deleted it.`,
    })
    expect(asked).toBe(1)
    await nc.close()
  })
})
