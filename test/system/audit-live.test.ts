// Attacks on a journal on a running server, by somebody who has its files or its administrator's rights: what
// the projector, the doctor and an audit say. The check without checkpoints sees none of them.
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type NatsJournal, call, connectNats, natsJournal, natsSystemLog, subjectsOf } from '@beaver/nats'
import { homeKeys } from '@beaver/platform'
import type { QueryOutput } from '@beaver/contracts'
import { event, type LogId } from '@beaver/core'
import {
  ArchivedMessages,
  draft,
  emptyHead,
  joinBatch,
  joinJournal,
  seal,
  signTree,
} from '@beaver/core/journal'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ownServer, type OwnServer } from '../support/nats.ts'
import { keptCommands } from '../support/kept-system.ts'
import { projectorProcess } from '../support/projector.ts'

let folder: string
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'beaver-audit-'))))
afterAll(() => rm(folder, { recursive: true, force: true }))

const namespace = 'live'
const subjects = subjectsOf(namespace)

/** The operator announces itself, trusts the daemon, and trusts the projector. */
const keyMessages = 3

/**
 * What one life of the server has: a connection, the journal, a projector with a home that stays, and the
 * command line.
 */
async function life(dataDir: string, home: string) {
  const stack = new AsyncDisposableStack()
  const server: OwnServer = stack.use(await ownServer({ dataDir, sync: 'default' }))
  const nc = stack.adopt(await connectNats({ url: server.url, name: 'test' }), (it) => it.close())
  const ports = {
    log: await natsSystemLog(nc, subjects),
    keys: homeKeys(join(home, 'keys')),
    namespace: subjects.stream,
    now: () => Date.now(),
    name: 'test',
  }
  const { key, ring } = await joinJournal('daemon', ports)
  await joinJournal('projector', ports)
  const signatures = {
    trust: {
      faultOf: async () => null,
      removals: async () => ({
        version: 0,
        archived: new ArchivedMessages('local', []),
        redactions: new Map(),
      }),
    },
    sign: (leaves: readonly string[]) => signTree(key, ring.journal, leaves),
  }
  const journal: NatsJournal = stack.adopt(await natsJournal(nc, subjects, signatures), (it) => it.close())
  const projector = async () =>
    stack.use(
      await projectorProcess({
        url: server.url,
        namespace,
        home,
        config: { checkpoints: { every_ms: 1_000 } },
      }),
    )
  const status = async () =>
    (await call(
      nc,
      subjects.query('status'),
      {},
      { timeoutMs: 5_000, whom: 'projector' },
    )) as QueryOutput<'status'>
  return {
    nc,
    projector,
    status,
    beaver: async (...args: string[]) =>
      (await keptCommands()).run(args, {
        cwd: home,
        env: { NATS_URL: server.url, BEAVER_NAMESPACE: namespace, BEAVER_HOME: home },
      }),
    async submit(...tasks: string[]) {
      for (const task of tasks) {
        const log = { tenant: 'local', session: task, task } as LogId
        const request = { text: task, workspace: '/', skill: null, source: 'test' }
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
        await journal.accept({ log, payloads: [joinBatch([record])], tail: { task: null, revision: 0 } })
      }
    },
    async signed(tasks: number) {
      const size = keyMessages + tasks
      await until(
        `a checkpoint counts ${size} messages`,
        async () => ((await status()).checkpoints.last?.size ?? 0) >= size,
      )
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

/** The attacker removes what the projector knows of the journal, so that it starts. */
async function withoutReadModel(home: string): Promise<void> {
  for (const name of await readdir(home)) if (name.startsWith('projection-')) await rm(join(home, name))
}

const places = async (): Promise<{ dataDir: string; home: string }> => ({
  dataDir: await mkdtemp(join(folder, 'data-')),
  home: await mkdtemp(join(folder, 'home-')),
})

describe('a journal', () => {
  it('that was rolled back to an older copy and continued is found', async () => {
    const { dataDir, home } = await places()
    const copy = join(folder, 'copy')
    {
      await using first = await life(dataDir, home)
      await first.submit('a')
    }
    await cp(dataDir, copy, { recursive: true })
    {
      await using second = await life(dataDir, home)
      await second.projector()
      await second.submit('b', 'c')
      await second.signed(3)
      expect((await second.beaver('audit', 'verify')).exit).toBe(0)
    }
    await rm(dataDir, { recursive: true })
    await cp(copy, dataDir, { recursive: true })
    await withoutReadModel(home)
    await using third = await life(dataDir, home)
    await third.submit('d', 'e', 'f', 'g')
    await third.projector()
    // The projector remembers the last message that it saw. It neither reads on nor signs.
    await until('the projector says it', async () => (await third.status()).journal.length > 0)
    expect((await third.status()).journal.map(({ kind }) => kind)).toEqual(['replaced'])
    expect((await third.beaver('check', '--no-projection')).exit).toBe(0)
    const { exit, out } = await third.beaver('audit', 'verify', '--json')
    expect([exit, JSON.parse(out)]).toEqual([
      1,
      expect.objectContaining({ ok: false, broken: { checkpoint: expect.any(Number) as number } }),
    ])
    expect((await third.beaver('doctor')).out).toMatch(/has another content than before/)
  }, 120_000)

  it('whose stream was deleted and written anew is found', async () => {
    const { dataDir, home } = await places()
    await using one = await life(dataDir, home)
    {
      await using _projector = await one.projector()
      await one.submit('a', 'b')
      await one.signed(2)
      await one.nc.request(`$JS.API.STREAM.DELETE.${subjects.stream}`)
    }
    await withoutReadModel(home)
    await natsJournal(one.nc, subjects)
    await one.submit('a', 'forged') // The attacker has stolen the key of a daemon, and not that of the operator.
    await one.projector()
    await until('the projector says it', async () => (await one.status()).journal.length > 0)
    expect((await one.status()).journal.map(({ kind }) => kind)).toEqual(['recreated'])
    expect((await one.beaver('check', '--no-projection')).out).toMatch(
      /the operator of the journal is nobody/,
    )
    const { exit, out } = await one.beaver('audit', 'verify')
    expect(exit).toBe(1)
    expect(out).toMatch(/belongs to another\s+journal/)
  }, 120_000)
})
