// What may happen to a journal behind Beaver's back, on a real server with its files: the projector tells each of it, and verifies nothing
// that is not as it was.
import type { QueryOutput } from '@beaver/contracts'
import { call, connectNats, type NatsJournal, natsJournal, type Subjects, subjectsOf } from '@beaver/nats'
import { writeSystemFile } from '@beaver/platform'
import { until } from '@beaver/testing'
import { DiscardPolicy, jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/nats-core'
import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, describe, expect, it } from 'vitest'
import { backUp, flipByte, removeBlock, replaceMessages, truncateStore } from '../support/broken-store.ts'
import { ownServer, type OwnServer } from '../support/nats.ts'
import { projectorProcess, type ProjectorProcess } from '../support/projector.ts'
import { writeTask } from '../support/small-task.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

interface Running {
  readonly server: OwnServer
  readonly subjects: Subjects
  readonly nc: NatsConnection
  readonly journal: NatsJournal
  readonly projector: ProjectorProcess
  status(): Promise<QueryOutput<'status'>>
  audit(task?: string): Promise<QueryOutput<'audit'>>
  /** The kinds of what is wrong, as it is told now. */
  kinds(): Promise<string[]>
}

async function running({ tasks = 20 } = {}): Promise<Running> {
  const server = await ownServer({ sync: 'default' })
  closing.push(async () => server[Symbol.asyncDispose]())
  const subjects = subjectsOf('d')
  const nc = await connectNats({ url: server.url, name: 'test' })
  closing.push(() => nc.close())
  const journal = await natsJournal(nc, subjects)
  closing.push(async () => journal.close())
  for (let n = 1; n <= tasks; n++) await writeTask(journal, `t${n}`)
  const projector = await projectorProcess({ url: server.url, namespace: 'd' })
  closing.push(async () => projector[Symbol.asyncDispose]())
  const asked = <T>(name: string, input: object = {}): Promise<T> =>
    call(nc, subjects.query(name), input, { timeoutMs: 5_000, whom: 'projector' }) as Promise<T>
  const system: Running = {
    server,
    subjects,
    nc,
    journal,
    projector,
    status: () => asked('status'),
    audit: (task) => asked('audit', { verify: true, ...(task === undefined ? {} : { task_id: task }) }),
    kinds: async () => [...new Set((await system.status()).journal.map(({ kind }) => kind))],
  }
  await until('the projector has applied everything', async () => (await system.status()).behind === 0)
  return system
}

/** Whether the record of a task is verified now, in the words of the comparison if not. */
async function verified(system: Running, task: string): Promise<true | string> {
  const { verified: found } = await system.audit(task)
  return found?.differs[0]?.messages[0] ?? (found?.head ? true : 'not compared')
}

/** Resolves when the server is back and the projector answers again. */
const back = (system: Running): Promise<unknown> => until('the projector answers', () => system.kinds().catch(() => false as const), { everyMs: 20 })

/** Resolves with the kinds of what is wrong. */
const toldWithin = async (system: Running, kind: string): Promise<string[]> => {
  await back(system)
  return until(`it tells ${kind}`, async () => ((kinds) => kinds.includes(kind) && kinds)(await system.kinds()), { everyMs: 20 })
}

describe('a journal', () => {
  it('that is as it was is verified, also when the server was killed', async () => {
    const system = await running()
    await system.server.crash()
    await back(system)
    expect(await verified(system, 't3')).toBe(true)
    expect(await system.audit()).toMatchObject({ intact: true, journal: [], verified: { tasks: 20, tasks_left: 0, differs: [] } })
    expect((await system.status()).journal).toEqual([])
  })

  it('whose last block was truncated has lost its end, and the task that lost it is not verified', async () => {
    const system = await running()
    await system.server.down(() => truncateStore(system.server.dataDir, system.subjects.stream, 100), 'killed')
    await toldWithin(system, 'rolled_back')
    expect(await verified(system, 't20')).toMatch(/^The journal has the events of the task up to 2, and it had them up to 3/)
    expect(await verified(system, 't3')).toBe(true)
  })

  it('whose last block was truncated while the server was stopped misses messages', async () => {
    const system = await running()
    await system.server.down(() => truncateStore(system.server.dataDir, system.subjects.stream, 100))
    await toldWithin(system, 'messages_missing')
    expect(await verified(system, 't20')).toMatch(/The end of the log is lost/)
  })

  it('that the server dropped after a flipped byte is short of acknowledged tasks', async () => {
    const system = await running()
    await system.server.down(() => flipByte(system.server.dataDir, system.subjects.stream, (size) => Math.floor(size / 3)), 'killed')
    await toldWithin(system, 'rolled_back')
    expect(await verified(system, 't19')).toBe('The journal has no entry of the task t19 any more.')
  })

  it('with a flipped byte that the server passes over in silence is not verified', async () => {
    const system = await running()
    await system.server.down(() => flipByte(system.server.dataDir, system.subjects.stream, (size) => Math.floor(size / 2)))
    await back(system)
    const { verified: found } = await system.audit()
    expect(found?.differs).toHaveLength(1)
    const [broken] = found?.differs ?? []
    expect(broken?.messages[0]).toMatch(/^The journal (changed|has)/)
    expect(await toldWithin(system, 'rows_differ')).toEqual(['rows_differ'])
  })

  it('without a block file misses messages', async () => {
    const system = await running()
    await system.server.down(() => removeBlock(system.server.dataDir, system.subjects.stream))
    await toldWithin(system, 'messages_missing')
    expect(await verified(system, 't2')).toBe('The journal has no entry of the task t2 any more.')
  })

  it('put back from a backup is told, also when new tasks have made it longer', async () => {
    const system = await running({ tasks: 5 })
    const { server, journal, nc } = system
    let restore = async (): Promise<void> => {}
    await server.down(async () => void (restore = await backUp(server.dataDir)))
    await back(system)
    for (const task of ['late1', 'late2']) await writeTask(journal, task)
    await until('the projector has applied everything', async () => (await system.status()).behind === 0)
    await server.down(restore)
    await toldWithin(system, 'rolled_back')
    await nc.flush()
    for (let n = 0; n < 4; n++) await writeTask(journal, `newer${n}`)
    await toldWithin(system, 'replaced')
    expect((await system.status()).fault).toMatchObject({ code: 'journal_changed' })
  })

  it.each([
    ['max_msgs', { max_msgs: 1, discard: DiscardPolicy.Old }],
    ['max_age', { max_age: 100_000_000, duplicate_window: 100_000_000 }],
  ])('emptied by %s and set back is told', async (_, settings) => {
    const system = await running({ tasks: 5 })
    const jsm = await jetstreamManager(system.nc)
    const { config } = await jsm.streams.info(system.subjects.stream)
    await jsm.streams.update(system.subjects.stream, { ...config, ...settings })
    const emptied = async (): Promise<boolean> => (await jsm.streams.info(system.subjects.stream)).state.messages < 15
    await until('it is emptied', emptied)
    expect(await toldWithin(system, 'configuration')).toContain('messages_missing')
    await jsm.streams.update(system.subjects.stream, config)
    expect(await toldWithin(system, 'messages_missing')).not.toContain('configuration')
  })

  it('with messages that somebody wrote anew is told for each task', async () => {
    const system = await running({ tasks: 3 })
    const other = await ownServer({ sync: 'default' })
    closing.push(async () => other[Symbol.asyncDispose]())
    const nc = await connectNats({ url: other.url, name: 'other' })
    const journal = await natsJournal(nc, system.subjects)
    for (const [task, text] of [
      ['t1', 'edited'],
      ['t2', 'x'],
      ['t3', 'x'],
    ] as const)
      await writeTask(journal, task, text)
    journal.close()
    await nc.close()
    await other.down(async () => {})
    await system.server.down(() => replaceMessages(system.server.dataDir, other.dataDir, system.subjects.stream), 'stopped')
    await back(system)
    expect(await verified(system, 't1')).toMatch(/^The last event of the task has another hash in the journal than before/)
    expect(await verified(system, 't2')).toBe(true)
    expect(await toldWithin(system, 'rows_differ')).toEqual(['rows_differ'])
  })
})

describe('the log of the embedded server', () => {
  it('that tells of lost data is a finding, and one of a server that was killed is none', async () => {
    const system = await running({ tasks: 1 })
    const { home } = system.projector
    const file = join(home, 'nats', 'nats-server.log')
    const line = (text: string): string => `[7] 2026/11/23 13:52:10.622680 [WRN] Filestore [${system.subjects.stream}] ${text}\n`
    writeSystemFile(home, { nats_url: system.server.url, embedded: true, namespace: 'd', tenant: 'local', started_at: '2026-01-01T00:00:00Z', children: {} })
    writeFileSync(file, line('Stream state outdated, last block has additional entries, will rebuild'))
    expect(await system.kinds()).toEqual([])
    appendFileSync(file, line('bad checksum, rebuilding state: 15 message(s) lost'))
    expect(await system.kinds()).toEqual(['server_log'])
    expect((await system.audit()).intact).toBe(false)
  })
})

describe('a read model', () => {
  it.each([
    ['tasks', `update tasks set status = 'failed' where task_id = 't2'`, /in the table tasks, status is "failed" and should be "completed"/],
    ['events', `update events set data = '{}' where task_key = 2 and taskseq = 1`, /in the table events, data is/],
    ['findings', `insert into audit_findings (task_key, kind, message, sequence) values (2, 'chain', 'x', 1)`, /the table audit_findings has a row too many/],
  ])('with an edited row of %s is not verified', async (_, edit, says) => {
    const system = await running({ tasks: 3 })
    const db = new DatabaseSync(system.projector.file, { timeout: 5_000 })
    db.exec(edit)
    db.close()
    expect(await toldWithin(system, 'read_model_changed')).toEqual(['read_model_changed'])
    expect(await verified(system, 't2')).toMatch(says)
    expect(await verified(system, 't1')).toBe(true)
    expect(await system.audit()).toMatchObject({ intact: false, verified: { differs: [{ task_id: 't2' }] } })
  })

  it('from which a task was deleted says that one is missing', async () => {
    const system = await running({ tasks: 3 })
    const db = new DatabaseSync(system.projector.file, { timeout: 5_000 })
    db.exec('delete from events where task_key = 2; delete from tasks where task_key = 2')
    db.close()
    await system.audit()
    expect((await system.status()).journal.map(({ message }) => message)).toContain('The read model has the rows of 2 tasks, and it had those of 3.')
  })

  it('that is built again from a journal with an unreadable message says which', async () => {
    const { server, subjects, projector, nc } = await running({ tasks: 5 })
    await server.down(() => flipByte(server.dataDir, subjects.stream, () => 100))
    await projector[Symbol.asyncDispose]()
    const again = await projectorProcess({ url: server.url, namespace: 'd' })
    closing.push(async () => again[Symbol.asyncDispose]())
    const status = async (): Promise<QueryOutput<'status'>> =>
      (await call(nc, subjects.query('status'), {}, { timeoutMs: 5_000, whom: 'projector' })) as QueryOutput<'status'>
    await until('it has applied the rest', async () => (await status()).sequence === 15)
    await until('it says so', async () => (await status()).journal.some(({ kind }) => kind === 'unreadable'))
    expect((await status()).journal[0]?.message).toMatch(/^Message 1 of the journal \S+ cannot be read\. The nats-server has lost it/)
  })
})
