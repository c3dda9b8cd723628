// Beaver on a cluster of three nats-servers: how often its streams are held, what operators see of it, and
// that the loss of one server stops nothing.
import { mkdtempDisposableSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BeaverError } from '@beaver/core'
import { readSystemEntries } from '@beaver/core/journal'
import {
  connectNats,
  ensureJournalStream,
  natsBlobStore,
  natsSystemLog,
  placedStreams,
  subjectsOf,
} from '@beaver/nats'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { placeIn, type Ran } from '../support/cli.ts'
import type { DaemonProcess } from '../support/daemon.ts'
import { say } from '../support/fake-provider.ts'
import { keptCommands } from '../support/kept-system.ts'
import { natsCluster, type NatsCluster } from '../support/nats-cluster.ts'
import { projectorProcess, type ProjectorProcess } from '../support/projector.ts'
import { testSystem, type TestSystem } from '../support/system.ts'

let cluster: NatsCluster
let system: TestSystem
let daemon: DaemonProcess
let projector: ProjectorProcess
beforeAll(async () => {
  await keptCommands()
  cluster = await natsCluster()
  // A budget that tasks share has its accounts on the path of each call.
  system = await testSystem(cluster.server, { budgets: [{ of: 'tenant', per: 'month', usd: 1_000 }] })
  daemon = await system.daemon()
  projector = await projectorProcess({ url: cluster.server.url, namespace: system.subjects.namespace })
}, 120_000)
afterAll(async () => {
  await projector[Symbol.asyncDispose]()
  await system[Symbol.asyncDispose]()
  await cluster[Symbol.asyncDispose]()
})

const beaver = async (...args: readonly string[]): Promise<Ran> =>
  (await keptCommands()).run(args, placeIn(cluster.server, system))
const streamsNow = () => placedStreams(system.nc, system.subjects)
/**
 * Waits until every stream of the system has three servers that have everything. Returns the place of the
 * leader of the journal.
 */
const whole = (): Promise<number> =>
  until(
    'every stream is held three times',
    async () => {
      const streams = await streamsNow().catch(() => [])
      const [journal] = streams
      const isWhole =
        streams.length >= 5 &&
        streams.every(
          ({ leader, followers }) =>
            leader !== null && followers.filter(({ current }) => current).length === 2,
        )
      return isWhole && journal !== undefined && { leader: Number(journal.leader?.slice(1)) }
    },
    { withinMs: 60_000, everyMs: 100 },
  ).then(({ leader }) => leader)

it('every stream is held by three servers without a word of configuration, and it is said', async () => {
  await whole()
  expect((await streamsNow()).map(({ what, num_replicas: n }) => [what, n])).toEqual([
    ['journal', 3],
    ['wakes', 3],
    ['blobs', 3],
    ['memory', 3],
    ['budgets', 3],
  ])
  // The daemon writes on, so that a server may be behind for a moment.
  const out = await until('no server is behind', async () => {
    const told = await beaver('nats')
    return told.exit === 0 && told.out
  })
  expect(out).toContain('The loss of any one server stops nothing.')
  expect((await beaver('status')).out).toMatch(/^replicas {3}3, on n\d \(leader\), n\d, n\d$/m)
  expect(daemon.stderr).toContain('The journal is held by 3 servers: ')
})

describe.each([
  ['is killed', (index: number) => cluster.kill(index), (index: number) => cluster.start(index)],
  ['is frozen', (index: number) => cluster.freeze(index), (index: number) => cluster.thaw(index)],
  ['is cut off from the others', (index: number) => cluster.cutOff(index), () => cluster.join()],
] as const)('the server that leads the journal %s', (how, lose, back) => {
  it('loses no task, does none twice, keeps no submission and no start of a daemon for long, and is told', async () => {
    const leader = await whole()
    const gate = Promise.withResolvers<void>()
    system.provider.forget()
    system.provider.answerBy(async ({ text }) => {
      if (text.includes('before')) await gate.promise
      return say(`So: ${text}`)
    })
    const before = Array.from({ length: 10 }, (_, i) => `${how} before ${i}`)
    const running = await Promise.all(before.map((task) => system.client.submit({ task })))
    await until('they are all under way', () =>
      before.every((text) => system.provider.about(text).length > 0),
    )
    await lose(leader)
    await using _ = { [Symbol.asyncDispose]: async () => back(leader) }
    const submitted = Array.from({ length: 10 }, (_, i) =>
      system.client.submit({ task: `${how} during ${i}` }),
    )
    const starting = system.daemon()
    gate.resolve()
    const all = [...running, ...(await Promise.all(submitted))]
    for (const { task_id } of all)
      expect((await system.ended(task_id, 60_000)).at(-1)?.type).toBe('task_completed')
    expect(new Set(all.map(({ task_id }) => task_id)).size).toBe(20)
    expect((await starting).id).toMatch(/^daemon_/)
    await until('it is told of each stream', async () => {
      const { exit, out } = await beaver('nats')
      const fallen = out.match(new RegExp(`n${leader} (away|\\d+ behind|not current)`, 'g')) ?? []
      return (
        exit === 1 &&
        fallen.length === 5 &&
        out.includes('The loss of one server more can stop every stream.')
      )
    })
  }, 240_000)
})

describe('streams that one server holds', () => {
  const names = subjectsOf('alone', { tenant: 'local', caller: 'ada' })
  const run = async (...args: readonly string[]): Promise<Ran> => {
    const place = placeIn(cluster.server, system)
    return (await keptCommands()).run(args, { ...place, env: { ...place.env, BEAVER_NAMESPACE: 'alone' } })
  }
  beforeAll(async () => {
    await whole()
    await ensureJournalStream(system.nc, names, { replicas: 1 })
    await natsBlobStore(system.nc, names)
  })

  it('are told, with what to do', async () => {
    const { exit, out } = await run('nats')
    expect([exit, out]).toEqual([
      1,
      expect.stringContaining('The loss of one server more can stop every stream.'),
    ])
  })

  it('are not changed by somebody who cannot be asked', async () => {
    const { exit, out, err } = await run('nats', 'apply')
    expect([exit, out, err]).toEqual([
      2,
      expect.stringContaining('BEAVER_alone: 1 replica → 3 replicas'),
      expect.stringContaining('Agree with --yes.'),
    ])
    expect((await placedStreams(system.nc, names)).map(({ num_replicas: n }) => n)).toEqual([1, 1])
  })

  it('are held by three after "beaver nats apply", which is part of the record', async () => {
    const { exit, out, err } = await run('nats', 'apply', '--yes')
    expect([exit, out, err]).toEqual([
      0,
      expect.stringMatching(/BEAVER_alone: 3 replicas, on n\d \(leader\), n\d, n\d/),
      '',
    ])
    expect(
      (await placedStreams(system.nc, names)).map(({ num_replicas: n, followers }) => [
        n,
        followers.filter(({ current }) => current).length,
      ]),
    ).toEqual([
      [3, 2],
      [3, 2],
    ])
    const log = await natsSystemLog(system.nc, names)
    const { events } = readSystemEntries('redactions', await log.read('redactions'))
    expect(events.map(({ type, data }) => [type, data])).toEqual([
      [
        'streams_placed',
        {
          by: expect.any(String),
          streams: [
            expect.objectContaining({
              stream: 'BEAVER_alone',
              from: { replicas: 1, cluster: '', tags: [] },
              to: { replicas: 3, cluster: '', tags: [] },
            }),
            expect.objectContaining({ stream: expect.stringContaining('OBJ_') }),
          ],
        },
      ],
    ])
    expect(await run('nats', 'apply')).toMatchObject({
      exit: 0,
      out: 'The streams are as the configuration says.\n',
    })
  })

  it('are held by another number of servers, and at another place, after one command', async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), 'beaver-placed-'))
    const config = join(folder.path, 'beaver.config.json')
    const apply = (nats: object): Promise<Ran> => {
      writeFileSync(config, JSON.stringify({ nats }))
      return run('nats', 'apply', '--yes', '--config', config, '--trust')
    }
    expect(await apply({ replicas: 1, placement: { cluster: 'beaver' } })).toMatchObject({
      exit: 0,
      out: expect.stringMatching(
        /BEAVER_alone: 3 replicas → 1 replica in beaver\n[^]*✔ BEAVER_alone: 1 replica in beaver, on n\d \(leader\)\n/,
      ) as string,
    })
    expect(await apply({ replicas: 3, placement: { tags: ['ssd'] } })).toMatchObject({
      exit: 3,
      err: expect.stringContaining(
        'Give enough servers these tags ("server_tags" in the configuration of a nats-server)',
      ) as string,
    })
  }, 120_000)

  it('cannot be had more often than there are servers', async () => {
    const nc = await connectNats({ url: cluster.urls[0] ?? '', name: 'five' })
    const refused = await ensureJournalStream(nc, subjectsOf('five'), { replicas: 5 }).catch(
      (error: unknown) => error,
    )
    await nc.close()
    expect(refused).toBeInstanceOf(BeaverError)
    expect(refused).toMatchObject({
      code: 'start_failed',
      message: expect.stringMatching(/no suitable peers|insufficient/),
    })
  })
})
