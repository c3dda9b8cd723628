// A projector whose following breaks: what it says, what its queries say, and that it goes on by itself where
// it can.
import { event, type LogId, type SessionId, type TaskId } from '@beaver/core'
import { draft, emptyHead, joinBatch, seal } from '@beaver/core/journal'
import {
  call,
  connectNats,
  ensureJournalStream,
  type NatsJournal,
  natsJournal,
  type Subjects,
  subjectsOf,
} from '@beaver/nats'
import { until } from '@beaver/testing'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testServer, type TestServer } from '../support/nats.ts'
import { projectorProcess } from '../support/projector.ts'

let server: TestServer
const closing: (() => Promise<unknown>)[] = []
beforeAll(async () => void (server = await testServer()))
afterAll(async () => {
  for (const close of closing.toReversed()) await close()
  await server[Symbol.asyncDispose]()
})

interface Status {
  readonly sequence: number
  readonly stream_sequence: number | null
  readonly behind: number | null
  readonly moved_at: string | null
  readonly behind_since: string | null
  readonly findings: number
  readonly fault: { readonly code: string; readonly message: string; readonly since: string } | null
}

let spaces = 0
async function running() {
  const namespace = `projector${++spaces}`
  const subjects = subjectsOf(namespace)
  const nc = await connectNats({ url: server.url, name: 'test' })
  closing.push(() => nc.close())
  const journal = await natsJournal(nc, subjects)
  closing.push(async () => journal.close())
  const projector = await projectorProcess({ url: server.url, namespace })
  closing.push(async () => projector[Symbol.asyncDispose]())
  /** What its lines say of the following, in order. */
  const told = (): string[] =>
    projector.stderr
      .split('\n')
      .flatMap((line) => (line.startsWith('{') ? [(JSON.parse(line) as { event: string }).event] : []))
      .filter((event) => event.startsWith('projector_'))
  const status = async (): Promise<Status> =>
    (await call(nc, subjects.query('status'), {}, { timeoutMs: 5_000, whom: 'projector' })) as Status
  const jsm = await ensureJournalStream(nc, subjects)
  return { subjects, nc, journal, told, status, jsm, file: projector.file }
}

/** Submits a task as a daemon does. */
async function submitted(
  { journal }: { journal: NatsJournal; subjects: Subjects },
  task: string,
): Promise<void> {
  const log: LogId = { tenant: 'local', session: task as SessionId, task: task as TaskId }
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
    subject: task,
    time: '2026-01-01T00:00:00.000Z',
  })
  const outcome = await journal.accept({
    log,
    payloads: [joinBatch([record])],
    tail: { task: null, revision: 0 },
  })
  if (outcome.kind !== 'accepted') throw new Error(outcome.kind)
}

describe('a projector', () => {
  let system: Awaited<ReturnType<typeof running>>
  beforeAll(async () => void (system = await running()))

  it('says how far it is, and that it goes on', async () => {
    await submitted(system, 't1')
    await until('it has applied the task', async () => (await system.status()).behind === 0)
    const status = await system.status()
    expect(status).toMatchObject({
      sequence: status.stream_sequence,
      behind: 0,
      behind_since: null,
      findings: 0,
      fault: null,
    })
    expect(Date.parse(status.moved_at ?? '')).toBeGreaterThan(Date.now() - 60_000)
    expect(system.told()).toEqual([])
  })

  it('whose database cannot be written says so once, and goes on by itself when it can', async () => {
    const db = new DatabaseSync(system.file, { timeout: 5_000 })
    db.exec("create trigger full before insert on events begin select raise(abort, 'disk full'); end")
    await submitted(system, 't2')
    await until('it says so', async () => (await system.status()).fault !== null)
    const status = await system.status()
    expect(status).toMatchObject({
      behind: 1,
      fault: { code: 'internal', message: expect.stringContaining('disk full') as string },
    })
    expect(status.behind_since).not.toBeNull()
    await until('it has tried again', async () => (await system.status()).behind === 1)
    db.exec('drop trigger full')
    db.close()
    await until('it goes on', async () => (await system.status()).behind === 0)
    expect(await system.status()).toMatchObject({ fault: null, behind_since: null })
    expect(system.told()).toEqual(['projector_stalled', 'projector_resumed'])
  })

  it.each([
    [false, 'stream_missing'],
    [true, 'stream_recreated'],
  ])('whose stream is deleted (made anew: %s) says so once and keeps answering', async (again, code) => {
    const other = again ? await running() : system
    await submitted(other, 'last')
    await until('it has applied the task', async () => (await other.status()).behind === 0)
    const [{ sequence }, told] = [await other.status(), other.told()]
    const { config } = await other.jsm.streams.info(other.subjects.stream)
    await other.jsm.streams.delete(other.subjects.stream)
    if (again) await other.jsm.streams.add(config)
    await until('it says so', () => other.told().length > told.length)
    expect(await other.status()).toMatchObject({ sequence, fault: { code } })
    await until('it has tried again', async () => (await other.status()).fault?.code === code)
    expect(other.told()).toEqual([...told, 'projector_stalled'])
    expect(
      await call(other.nc, other.subjects.query('tasks'), {}, { timeoutMs: 5_000, whom: 'projector' }),
    ).toMatchObject({
      tasks: expect.arrayContaining([expect.objectContaining({ task_id: 'last' })]) as unknown,
    })
  })
})
