// What goes wrong with NATS is told: one line for each change, and a submit that fails at once with the reason.
import { connectBeaver } from '@beaver/client'
import { type LogLine, loggerOver } from '@beaver/core'
import { connectNats, ensureJournalStream, natsJournal, serve, streamPulse, subjectsOf, watchConnection } from '@beaver/nats'
import { until } from '@beaver/testing'
import { jetstreamManager } from '@nats-io/jetstream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testServer, type TestServer } from './support/nats.ts'

let server: TestServer
beforeAll(async () => {
  server = await testServer()
})
afterAll(() => server[Symbol.asyncDispose]())

const subjects = subjectsOf('told')
const { stream } = subjects

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
    await until('the stream is seen', async () => (await streamPulse(nc, first.stream).look()).kind === 'there')
    await (await jetstreamManager(nc)).streams.delete(first.stream)
    await until('the deletion is told', () => events.includes('stream_deleted'))
    expect(events).toEqual(['stream_deleted'])
  } finally {
    await nc.close()
  }
})

describe('a submit', () => {
  const task = { task: 'Anything' }

  it('over a connection that is down fails at once, with the reason, once NATS has been away for as long as a client waits', async () => {
    await using away = await testServer()
    await using client = await connectBeaver({ url: away.url, namespace: 'told', tenant: 'local', daemonMs: 3_000 })
    process.kill(away.pid, 'SIGKILL')
    const since = performance.now()
    await expect(client.submit(task)).rejects.toMatchObject({
      code: 'unreachable',
      message: expect.stringMatching(/^The connection to NATS at 127\.0\.0\.1:\d+ has been down/) as string,
    })
    expect(performance.now() - since).toBeLessThan(30_000)
    const again = performance.now()
    await expect(client.submit(task)).rejects.toMatchObject({ code: 'unreachable' })
    expect(performance.now() - again).toBeLessThan(2_000)
  })

  it('over a connection that comes back in time gets its answer', async () => {
    await using away = await testServer()
    await using client = await connectBeaver({ url: away.url, namespace: 'told', tenant: 'local', daemonMs: 10_000 })
    const nc = await connectNats({ url: away.url, name: 'daemon' })
    serve(nc, subjects.service('task.submit'), async () => ({ task_id: 't', session_id: 's' }))
    await nc.flush()
    const crashed = away.crash()
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
        return await journal.append({ log: { tenant: 'local', session: 's', task: 't' } as never, expectedRevision: 0, payloads: [Buffer.from('{}')] })
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
