// What may happen to a journal behind Beaver's back, on a real server with its files: the projector tells
// each of it, and verifies nothing that is not as it was. One server and one projector see all of it: after
// each test the files are put back and the journal is accepted.
import type { QueryOutput } from '@beaver/contracts'
import { acceptableState, call, connectNats, type NatsJournal, natsJournal, subjectsOf } from '@beaver/nats'
import { acceptancesFile, writeSystemFile } from '@beaver/platform'
import { until } from '@beaver/testing'
import { DiscardPolicy, jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/nats-core'
import { randomUUID } from 'node:crypto'
import { appendFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { backUp, flipByte, removeBlock, replaceMessages, truncateStore } from '../support/broken-store.ts'
import { keptCommands } from '../support/kept-system.ts'
import { ownServer, type OwnServer } from '../support/nats.ts'
import { projectorProcess, type ProjectorProcess } from '../support/projector.ts'
import { writeTask } from '../support/small-task.ts'

const tasks = 20
const namespace = 'd'
const subjects = subjectsOf(namespace)
let server: OwnServer
let nc: NatsConnection
let journal: NatsJournal
let projector: ProjectorProcess
/** Puts the files of the server back as they were before the first test. The server must be down. */
let putBack: () => Promise<void>
beforeAll(async () => {
  server = await ownServer({ sync: 'default' })
  nc = await connectNats({ url: server.url, name: 'test' })
  journal = await natsJournal(nc, subjects)
  for (let n = 1; n <= tasks; n++) await writeTask(journal, `t${n}`)
  // Of a killed server: one that is stopped writes its index, and a damage is told in other words then.
  await server.down(async () => void (putBack = await backUp(server.dataDir)), 'killed')
  projector = await projectorProcess({ url: server.url, namespace })
  await upToDate()
})
afterAll(async () => {
  await projector[Symbol.asyncDispose]()
  journal.close()
  await nc.close()
  await server[Symbol.asyncDispose]()
})

const asked = <T>(name: string, input: object = {}): Promise<T> =>
  call(nc, subjects.query(name), input, { timeoutMs: 5_000, whom: 'projector' }) as Promise<T>
const status = (): Promise<QueryOutput<'status'>> => asked('status')
const audit = (task?: string): Promise<QueryOutput<'audit'>> =>
  asked('audit', { verify: true, ...(task === undefined ? {} : { task_id: task }) })
/** The kinds of what is wrong, as it is told now. */
const kinds = async (): Promise<string[]> => [...new Set((await status()).journal.map(({ kind }) => kind))]
const upToDate = (): Promise<unknown> =>
  until('the projector has applied everything', async () => (await status()).behind === 0, { everyMs: 20 })

/** Accepts the journal as it is now. It has no operator, so that nobody has to sign this. */
async function accept(): Promise<void> {
  const acceptance = {
    id: randomUUID(),
    at: new Date().toISOString(),
    by: 'test',
    reason: 'x',
    findings: [],
    ...(await acceptableState(nc, subjects)),
  }
  const file = acceptancesFile(projector.home, subjects.stream)
  await file.write(`${file.read() ?? ''}${JSON.stringify(acceptance)}\n`)
}

/**
 * What was told stays until somebody accepts the journal. Then the read model is built again, and the next
 * test has a sound system.
 */
async function sound(): Promise<void> {
  await back()
  if ((await kinds()).length > 0) {
    const begun = new Date().toISOString()
    await accept()
    await until('the read model is built again', async () => ((await status()).moved_at ?? '') > begun, {
      everyMs: 20,
    })
  }
  await upToDate()
  expect(await audit()).toMatchObject({
    intact: true,
    journal: [],
    verified: { tasks, tasks_left: 0, differs: [] },
  })
}

/** Whether the record of a task is verified now, in the words of the comparison if not. */
async function verified(task: string): Promise<true | string> {
  const { verified: found } = await audit(task)
  return found?.differs[0]?.messages[0] ?? (found?.head ? true : 'not compared')
}

/** Resolves when the server is back and the projector answers again. */
const back = (): Promise<unknown> =>
  until('the projector answers', () => kinds().catch(() => false as const), { everyMs: 20 })

/** Resolves with the kinds of what is wrong. */
const toldWithin = async (kind: string): Promise<string[]> => {
  await back()
  return until(`it tells ${kind}`, async () => ((told) => told.includes(kind) && told)(await kinds()), {
    everyMs: 20,
  })
}

describe('a journal', () => {
  afterEach(async () => {
    await server.down(putBack)
    await sound()
  })

  it('that is as it was is verified, also when the server was killed', async () => {
    await server.crash()
    await back()
    expect(await verified('t3')).toBe(true)
    expect(await audit()).toMatchObject({
      intact: true,
      journal: [],
      verified: { tasks: 20, tasks_left: 0, differs: [] },
    })
    expect((await status()).journal).toEqual([])
  })

  it('whose last block was truncated has lost its end, and the task that lost it is not verified', async () => {
    await server.down(() => truncateStore(server.dataDir, subjects.stream, 100), 'killed')
    await toldWithin('rolled_back')
    expect(await verified('t20')).toMatch(
      /^The journal has the events of the task up to 2, and it had them up to 3/,
    )
    expect(await verified('t3')).toBe(true)
  })

  it('whose last block was truncated while the server was stopped misses messages', async () => {
    await server.down(() => truncateStore(server.dataDir, subjects.stream, 100))
    await toldWithin('messages_missing')
    expect(await verified('t20')).toMatch(/The end of the log is lost/)
  })

  it('that the server dropped after a flipped byte is short of acknowledged tasks', async () => {
    await server.down(
      () => flipByte(server.dataDir, subjects.stream, (size) => Math.floor(size / 3)),
      'killed',
    )
    await toldWithin('rolled_back')
    expect(await verified('t19')).toBe('The journal has no entry of the task t19 any more.')
  })

  it('with a flipped byte that the server passes over in silence is not verified', async () => {
    await server.down(() => flipByte(server.dataDir, subjects.stream, (size) => Math.floor(size / 2)))
    await back()
    const { verified: found } = await audit()
    expect(found?.differs).toHaveLength(1)
    const [broken] = found?.differs ?? []
    expect(broken?.messages[0]).toMatch(/^The journal (changed|has)/)
    expect(await toldWithin('rows_differ')).toEqual(['rows_differ'])

    await server.down(putBack)
    await back()
    await upToDate()
    expect(await verified(broken?.task_id ?? '')).toBe(true)
    expect(await kinds()).toEqual([])
  })

  it('without a block file misses messages', async () => {
    await server.down(() => removeBlock(server.dataDir, subjects.stream))
    await toldWithin('messages_missing')
    expect(await verified('t2')).toBe('The journal has no entry of the task t2 any more.')
  })

  it('put back from a backup is told, also when new tasks have made it longer', async () => {
    let restore = async (): Promise<void> => {}
    await server.down(async () => void (restore = await backUp(server.dataDir)))
    await back()
    for (const task of ['late1', 'late2']) await writeTask(journal, task)
    await upToDate()
    await server.down(restore)
    await toldWithin('rolled_back')
    await nc.flush()
    for (let n = 0; n < 4; n++) await writeTask(journal, `newer${n}`)
    await toldWithin('replaced')
    expect((await status()).fault).toMatchObject({ code: 'journal_changed' })
  })

  it.each([
    ['max_msgs', { max_msgs: 1, discard: DiscardPolicy.Old }],
    ['max_age', { max_age: 100_000_000, duplicate_window: 100_000_000 }],
  ])('emptied by %s and set back is told', async (_, settings) => {
    const jsm = await jetstreamManager(nc)
    const { config } = await jsm.streams.info(subjects.stream)
    await jsm.streams.update(subjects.stream, { ...config, ...settings })
    const emptied = async (): Promise<boolean> =>
      (await jsm.streams.info(subjects.stream)).state.messages < 3 * tasks
    await until('it is emptied', emptied)
    expect(await toldWithin('configuration')).toContain('messages_missing')
    await jsm.streams.update(subjects.stream, config)
    expect(await toldWithin('messages_missing')).not.toContain('configuration')
  })

  it('with messages that somebody wrote anew is told for each task', async () => {
    await using other = await ownServer({ sync: 'default' })
    const there = await connectNats({ url: other.url, name: 'other' })
    const rewritten = await natsJournal(there, subjects)
    for (let n = 1; n <= tasks; n++) await writeTask(rewritten, `t${n}`, n === 1 ? 'edited' : 'x')
    rewritten.close()
    await there.close()
    await other.down(() => server.down(() => replaceMessages(server.dataDir, other.dataDir, subjects.stream)))
    await back()
    expect(await verified('t1')).toMatch(
      /^The last event of the task has another hash in the journal than before/,
    )
    expect(await verified('t2')).toBe(true)
    expect(await toldWithin('rows_differ')).toEqual(['rows_differ'])
  })
})

describe('the log of the embedded server', () => {
  it('that tells of lost data is a finding, and one of a server that was killed is none', async () => {
    const { home } = projector
    const file = join(home, 'nats', 'nats-server.log')
    const line = (text: string): string =>
      `[7] 2026/11/23 13:52:10.622680 [WRN] Filestore [${subjects.stream}] ${text}\n`
    writeSystemFile(home, {
      nats_url: server.url,
      embedded: true,
      namespace,
      tenant: 'local',
      started_at: '2026-01-01T00:00:00Z',
      children: {},
    })
    writeFileSync(file, line('Stream state outdated, last block has additional entries, will rebuild'))
    expect(await kinds()).toEqual([])
    appendFileSync(file, line('bad checksum, rebuilding state: 15 message(s) lost'))
    expect(await kinds()).toEqual(['server_log'])
    expect((await audit()).intact).toBe(false)
    rmSync(file)
    await sound()
  })
})

describe('a read model', () => {
  afterEach(() => sound())

  it.each([
    [
      'tasks',
      `update tasks set status = 'failed' where task_id = 't2'`,
      /in the table tasks, status is "failed" and should be "completed"/,
    ],
    [
      'events',
      `update events set data = '{}' where task_key = 2 and taskseq = 1`,
      /in the table events, data is/,
    ],
    [
      'findings',
      `insert into audit_findings (task_key, kind, message, sequence) values (2, 'chain', 'x', 1)`,
      /the table audit_findings has a row too many/,
    ],
  ])('with an edited row of %s is not verified', async (_, edit, says) => {
    const db = new DatabaseSync(projector.file, { timeout: 5_000 })
    db.exec(edit)
    db.close()
    expect(await toldWithin('read_model_changed')).toEqual(['read_model_changed'])
    expect(await verified('t2')).toMatch(says)
    expect(await verified('t1')).toBe(true)
    expect(await audit()).toMatchObject({ intact: false, verified: { differs: [{ task_id: 't2' }] } })
  })

  it('that another program changed is not verified on any screen that shows its rows, and is not called so before', async () => {
    const commands = await keptCommands()
    const place = {
      cwd: projector.home,
      env: {
        BEAVER_HOME: projector.home,
        BEAVER_NAMESPACE: namespace,
        NATS_URL: server.url,
        BEAVER_CALLER: 'ada',
      },
    }
    const session = (await asked<QueryOutput<'tasks'>>('tasks')).tasks[0]?.session_id ?? ''
    const screens = [
      ['tasks'],
      ['sessions'],
      ['session', session],
      ['usage'],
      ['search', 'nothing'],
      ['timeline', 't2'],
      ['events', 't2'],
    ]
    const more = [['approve'], ['answer'], ['quarantine'], ['tasks', '--json']]
    const warned = async (): Promise<object> => {
      const found: Record<string, string> = {}
      for (const args of [...screens, ...more]) {
        const { exit, err } = await commands.run(args, place)
        found[args.join(' ')] =
          `${exit} ${/NOT VERIFIED: .*\n {2}Another program changed the read model/.exec(err) === null ? err : 'told'}`
      }
      return found
    }
    const everywhere = (what: string): object =>
      Object.fromEntries([...screens, ...more].map((args) => [args.join(' '), what]))
    expect(await warned()).toEqual(everywhere('0 '))
    const db = new DatabaseSync(projector.file, { timeout: 5_000 })
    db.exec(`update tasks set status = 'failed' where task_id = 't2'`)
    db.close()
    expect(await warned()).toEqual(everywhere('0 told'))
  })

  it('from which a task was deleted says that one is missing', async () => {
    const db = new DatabaseSync(projector.file, { timeout: 5_000 })
    db.exec('delete from events where task_key = 2; delete from tasks where task_key = 2')
    db.close()
    await audit()
    expect((await status()).journal.map(({ message }) => message)).toContain(
      'The read model has the rows of 19 tasks, and it had those of 20.',
    )
  })
})

describe('a read model that is built again', () => {
  it('from a journal with an unreadable message says which', async () => {
    await server.down(() => flipByte(server.dataDir, subjects.stream, () => 100))
    await projector[Symbol.asyncDispose]()
    projector = await projectorProcess({ url: server.url, namespace })
    await until('it has applied the rest', async () => (await status()).sequence === 3 * tasks)
    await until('it says so', async () => (await kinds()).includes('unreadable'))
    expect((await status()).journal[0]?.message).toMatch(
      /^Message 1 of the journal \S+ cannot be read\. The nats-server has lost it/,
    )
  })
})
