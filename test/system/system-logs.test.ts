// The logs of the system in a running system: every reader of the journal knows that they are no tasks.
import { event, type LogId, type SystemEvent } from '@beaver/core'
import { appendSystemEvent, draft, emptyHead, joinBatch, seal } from '@beaver/core/journal'
import { checkJournal, natsSource } from '@beaver/check'
import {
  call,
  connectNats,
  followJournal,
  natsJournal,
  natsSystemLog,
  natsTaskQueue,
  subjectsOf,
} from '@beaver/nats'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testServer, type TestServer } from '../support/nats.ts'
import { projectorProcess } from '../support/projector.ts'

let server: TestServer
beforeAll(async () => void (server = await testServer()))
afterAll(() => server[Symbol.asyncDispose]())

const writer = { source: '/beaver/operator', now: () => 0 }
const redacted = (reason: string): SystemEvent => ({
  type: 'blob_redacted',
  data: { sha256: '0'.repeat(64), reason },
})

describe('a journal with system logs', () => {
  it('is followed, projected and checked, and no daemon gets a task from a system log', async () => {
    const subjects = subjectsOf(server.newNamespace())
    await using nc = closing(await connectNats({ url: server.url, name: 'test' }))
    const journal = await natsJournal(nc.it, subjects)
    const systemLog = await natsSystemLog(nc.it, subjects)
    await using _projector = await projectorProcess({ url: server.url, namespace: subjects.namespace })
    const log = { tenant: 'local', session: 'one', task: 'one' } as LogId
    const request = { text: 'x', workspace: '/', skill: null, source: 'test' }
    const first = event('task_submitted', {
      task_id: log.task,
      session_id: log.session,
      tenant: log.tenant,
      previous_task_id: null,
      request,
    })
    const { record } = seal(emptyHead, draft(first), {
      epoch: 0,
      source: '/d',
      subject: log.task,
      time: '2026-01-01T00:00:00.000Z',
    })
    await journal.accept({ log, payloads: [joinBatch([record])], tail: { task: null, revision: 0 } })
    for (const reason of ['one', 'two'])
      await appendSystemEvent(systemLog, 'redactions', () => redacted(reason), writer)

    const stop = new AbortController()
    const seen: unknown[] = []
    for await (const { messages, system, to } of followJournal(nc.it, subjects, {
      from: 1,
      signal: stop.signal,
    })) {
      seen.push(...messages.map(({ log: { task } }) => task), ...system.map(({ name }) => name))
      if (to === 3) stop.abort()
    }
    expect(seen).toEqual(['one', 'redactions', 'redactions'])

    const queue = await natsTaskQueue(nc.it, subjects, { leaseMs: 10_000, now: () => journal.now() })
    const tasks: string[] = []
    for await (const { log: of } of queue.pull({
      of: 'accepted',
      deliveriesMax: 5,
      waitMs: 1_000,
      signal: new AbortController().signal,
    }))
      tasks.push(of.task)
    expect(tasks).toEqual(['one'])

    const status = async () =>
      (await call(nc.it, subjects.query('status'), {}, { timeoutMs: 5_000, whom: 'projector' })) as Record<
        string,
        unknown
      >
    await until('the projector has read all', async () => (await status())['sequence'] === 3)
    expect(await status()).toMatchObject({ behind: 0, findings: 0 })

    const { stream, blobBucket, namespace } = subjects
    const checked = await checkJournal(await natsSource(nc.it, { namespace, stream, blobBucket }), {
      now: Date.now(),
    })
    expect(checked.findings).toEqual([])
    expect(checked.summary).toMatchObject({ messages: 3, tasks: 1 })
    journal.close()
  })

  it('shows a system record that was changed or put in by somebody else to the independent check', async () => {
    const subjects = subjectsOf(server.newNamespace())
    await using nc = closing(await connectNats({ url: server.url, name: 'test' }))
    const systemLog = await natsSystemLog(nc.it, subjects)
    await appendSystemEvent(systemLog, 'redactions', () => redacted('one'), writer)
    const [entry] = await systemLog.read('redactions')
    const changed = Buffer.from(entry!.payload).toString().replace('"one"', '"two"')
    await systemLog.append({
      name: 'redactions',
      expectedRevision: entry!.revision,
      payload: Buffer.from(changed),
    })
    const { stream, blobBucket, namespace } = subjects
    const { broken } = await checkJournal(await natsSource(nc.it, { namespace, stream, blobBucket }), {
      now: Date.now(),
    })
    expect(broken).toEqual({ taskseq: 1, hash: 1 })
  })
})

const closing = <T extends { close(): Promise<void> }>(it: T) => ({
  it,
  [Symbol.asyncDispose]: () => it.close(),
})
