// `beaver backup` and `beaver restore` with the real parts: a backup that is taken while tasks run, restored
// as another home, and everything that may be wrong with a backup or with the place to which it goes.
import { hash } from 'node:crypto'
import {
  symlinkSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BeaverClient, connectBeaver } from '@beaver/client'
import { canonicalJson } from '@beaver/core'
import type { BackupManifest } from '@beaver/nats'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { commandHost, type CliProcess, noGateway, type Ran, startBeaver } from '../support/cli.ts'
import { type FakeProvider, fakeProvider, say, use } from '../support/fake-provider.ts'
import { natsServerBinary, ownServer, testServer } from '../support/nats.ts'
import { testSystem } from '../support/system.ts'

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 }) // several systems start

const host = commandHost()
afterAll(() => host[Symbol.asyncDispose]())

let folder: string
let provider: FakeProvider
/** Tasks that say "hold" get their answer when this resolves. */
const gate = Promise.withResolvers<void>()
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'beaver-backup-'))
  provider = await fakeProvider()
  provider.answerBy(async ({ text, results }) => {
    if (results.length === 0) return use(['read_file', { path: 'a.txt' }])
    if (text.includes('hold')) await gate.promise
    return say(`answer to ${text}`)
  })
  writeFileSync(join(folder, 'a.txt'), 'A line.\n')
  return async () => {
    gate.resolve()
    await provider[Symbol.asyncDispose]()
    await rm(folder, { recursive: true })
  }
})

const env = () => ({ BEAVER_NATS_SERVER: natsServerBinary(), BEAVER_WORKER_THREADS: '1', BEAVER_TRUST: '1' })
const beaver = (home: string, ...args: readonly string[]): Promise<Ran> =>
  host.run([...args, '--home', join(folder, home)], { cwd: folder, env: env() })

/** A system that runs: `beaver up`, and a client of it. It is stopped as a person stops it. */
async function begun(
  home: string,
): Promise<{ client: BeaverClient; [Symbol.asyncDispose](): Promise<void> }> {
  writeFileSync(
    join(folder, 'beaver.config.json'),
    JSON.stringify({
      model: { base_url: provider.url, name: 'fake' },
      daemon: { spare: false, drain_ms: 100 },
      ...noGateway,
      budgets: [{ of: 'tenant', per: 'month', usd: 1_000 }],
    }),
  )
  const up: CliProcess = startBeaver(['up', '--home', join(folder, home)], {
    cwd: folder,
    env: { ...env(), OPENAI_API_KEY: 'none' },
  })
  await until('the system is up', () => up.out.includes('Beaver is up'), { everyMs: 20, withinMs: 60_000 })
  const client = await connectBeaver({ home: join(folder, home) })
  return {
    client,
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]()
      up.kill('SIGINT')
      await up.ended
    },
  }
}
const submit = (client: BeaverClient, task: string): Promise<string> =>
  client.submit({ task, task_id: task.replaceAll(' ', '-') }).then(({ task_id }) => task_id)
const ended = async (client: BeaverClient, ids: readonly string[], status = 'completed'): Promise<void> => {
  const look = async (id: string) =>
    (await client.query('task', { task_id: id }).catch(() => null))?.task.status
  for (const id of ids)
    await until(`${id} is ${status}`, async () => (await look(id)) === status, {
      everyMs: 30,
      withinMs: 60_000,
    })
}
const names = (what: string, count: number): string[] =>
  Array.from({ length: count }, (_, i) => `${what} ${i}`)

describe('a backup of a system with tasks under way', () => {
  let before: string[]
  const modes = (path: string): string[] =>
    readdirSync(path, { recursive: true, withFileTypes: true })
      .filter((entry) => (statSync(join(entry.parentPath, entry.name)).mode & 0o077) !== 0)
      .map((entry) => join(entry.parentPath, entry.name))

  beforeAll(async () => {
    await using a = await begun('a')
    const done = await Promise.all(names('say', 6).map((text) => submit(a.client, text)))
    await ended(a.client, done)
    const held = await Promise.all(names('hold', 8).map((text) => submit(a.client, text)))
    await until(
      'the model was asked',
      () =>
        provider.requests.filter(({ text, results }) => text.includes('hold') && results.length > 0).length >=
        8,
    )
    before = [...done, ...held]
    // Others are submitted and work while the backup is taken.
    const meanwhile = Promise.all(names('meanwhile', 24).map((text) => submit(a.client, text)))
    const made = await beaver('a', 'backup', join(folder, 'backup'))
    expect(made).toMatchObject({ exit: 0, err: '' })
    expect(made.out).toMatch(/BEAVER_default +\d+ messages, up to message \d+/)
    expect(made.out).toContain('The backup holds private keys and tokens')
    await meanwhile
    expect((await a.client.query('status')).journal).toEqual([])
  })

  it('is for its owner alone', () => {
    expect(modes(join(folder, 'backup'))).toEqual([])
    expect(statSync(join(folder, 'backup')).mode & 0o077).toBe(0)
  })

  it('is restored as another home, whose journal verifies, and whose tasks go on to their ends', async () => {
    const restored = await beaver('b', 'restore', join(folder, 'backup'))
    expect(restored).toMatchObject({ exit: 0, err: '' })
    expect(restored.out).toContain('The journal fits 2 marks.')
    expect(modes(join(folder, 'b'))).toEqual([])
    expect(existsSync(join(folder, 'b.restoring'))).toBe(false)
    await using b = await begun('b')
    gate.resolve()
    await ended(b.client, before)
    expect((await b.client.query('status')).journal).toEqual([])
    for (const { task_id, chain_ok } of (await b.client.query('tasks', { limit: 200 })).tasks)
      expect([task_id, chain_ok]).toEqual([task_id, true])
    await ended(b.client, [await submit(b.client, 'new after the restoration')])
    expect(await beaver('b', 'check', '--no-projection')).toMatchObject({ exit: 0 })
    expect(await beaver('b', 'audit', 'verify')).toMatchObject({ exit: 0 })
  })

  it('is backed up again while nothing runs, as the stream that it was, and restored again', async () => {
    const first = JSON.parse(readFileSync(join(folder, 'backup/manifest.json'), 'utf8')) as BackupManifest
    expect(await beaver('b', 'backup', join(folder, 'again'))).toMatchObject({ exit: 0, err: '' })
    const second = JSON.parse(readFileSync(join(folder, 'again/manifest.json'), 'utf8')) as BackupManifest
    expect(second.streams[0]).toMatchObject({
      created: first.streams[0]!.created,
      config: { name: 'BEAVER_default' },
    })
    expect(await beaver('c', 'restore', join(folder, 'again'))).toMatchObject({ exit: 0, err: '' })
  })

  it('has the accounts of budgets from before the journal, so that they have no task that it lacks', () => {
    const { streams, files } = JSON.parse(
      readFileSync(join(folder, 'again/manifest.json'), 'utf8'),
    ) as BackupManifest
    const copied = files.flatMap(({ path }) => /^streams\/(.+)\.snapshot$/.exec(path)?.[1] ?? [])
    expect(copied.slice(0, 2)).toEqual(['KV_BEAVER_default_BUDGETS', 'BEAVER_default'])
    expect(streams.map(({ config }) => config.name)).toEqual([
      'BEAVER_default',
      'OBJ_BEAVER_default_BLOBS',
      'KV_BEAVER_default_MEMORY',
      'KV_BEAVER_default_BUDGETS',
      'BEAVER_default_WAKE',
    ])
  })

  it('is refused by a home that holds something, which stays as it was', async () => {
    mkdirSync(join(folder, 'full'))
    writeFileSync(join(folder, 'full', 'mine.txt'), 'mine')
    const refused = await beaver('full', 'restore', join(folder, 'backup'))
    expect(refused).toMatchObject({
      exit: 1,
      err: expect.stringMatching(
        /cannot be restored to .*full, which has mine\.txt\..*Nothing was changed\./,
      ),
    })
    expect(readdirSync(join(folder, 'full'))).toEqual(['mine.txt'])
  })

  it('takes an empty home', async () => {
    mkdirSync(join(folder, 'empty'))
    expect(await beaver('empty', 'restore', join(folder, 'backup'), '--json')).toMatchObject({
      exit: 0,
      err: '',
    })
  })

  it('goes to no folder that has something, and to none that cannot be made', async () => {
    expect(await beaver('b', 'backup', join(folder, 'full'))).toMatchObject({
      exit: 1,
      err: expect.stringContaining('It is not empty: choose a new folder.'),
    })
    const none = await beaver('b', 'backup', join(folder, 'a.txt', 'backup'))
    expect(none).toMatchObject({
      exit: 1,
      err: expect.stringMatching(/cannot be written to .*a\.txt.backup: .*directory/),
    })
  })

  it.each([
    [
      'a manifest that was changed',
      'was changed after the backup was made',
      (at: string) => edit(join(at, 'manifest.json'), '"made_at": "2', '"made_at": "3'),
    ],
    [
      'a manifest that is none',
      'is no manifest of a backup',
      (at: string) => writeFileSync(join(at, 'manifest.json'), '{"format":"beaver-backup/1"}'),
    ],
    [
      'a manifest of a later version',
      'This version of Beaver reads beaver-backup/1',
      (at: string) => edit(join(at, 'manifest.json'), 'backup/1', 'backup/2'),
    ],
    [
      'no manifest, because the backup was interrupted',
      'a backup that was interrupted has none',
      (at: string) => rmSync(join(at, 'manifest.json')),
    ],
    [
      'a file that is missing',
      'home/keys/daemon.key is missing',
      (at: string) => rmSync(join(at, 'home/keys/daemon.key')),
    ],
    [
      'a file that was changed',
      'has another content',
      (at: string) => edit(join(at, 'home/keys/daemon.key'), 'M', 'N'),
    ],
    [
      'a snapshot that was cut off',
      'streams/BEAVER_default.snapshot has another content',
      (at: string) => cut(join(at, 'streams/BEAVER_default.snapshot')),
    ],
  ])('with %s is refused in a sentence, and nothing is written', async (_, text, harm) => {
    const at = join(folder, 'harmed')
    cpSync(join(folder, 'backup'), at, { recursive: true })
    harm(at)
    const refused = await beaver('none', 'restore', at)
    expect(refused.exit).not.toBe(0)
    expect(refused.err).toContain(text)
    expect(readdirSync(folder).filter((name) => name.startsWith('none'))).toEqual([])
    rmSync(at, { recursive: true })
  })

  it('whose snapshot the server refuses leaves no home, also if its manifest fits', async () => {
    const at = join(folder, 'harmed')
    cpSync(join(folder, 'backup'), at, { recursive: true })
    cut(join(at, 'streams/BEAVER_default.snapshot'))
    forge(at, 'streams/BEAVER_default.snapshot')
    const refused = await beaver('none', 'restore', at)
    expect(refused.exit).not.toBe(0)
    expect(refused.err).toMatch(/stream BEAVER_default/)
    expect(readdirSync(folder).filter((name) => name.startsWith('none'))).toEqual([])
    rmSync(at, { recursive: true })
  })

  it('is not restored to a link, nor beside a folder that Beaver did not make', async () => {
    const elsewhere = join(folder, 'elsewhere')
    mkdirSync(elsewhere)
    symlinkSync(elsewhere, join(folder, 'linked'))
    const refused = await beaver('linked', 'restore', join(folder, 'backup'))
    expect(refused).toMatchObject({
      exit: 1,
      err: expect.stringMatching(/because it is a link\. .*Nothing was changed\./),
    })
    writeFileSync(join(elsewhere, 'mine.txt'), 'mine')
    for (const make of [
      () => symlinkSync(elsewhere, join(folder, 'none.restoring')),
      () => cpSync(elsewhere, join(folder, 'none.restoring'), { recursive: true }),
    ]) {
      make()
      expect(await beaver('none', 'restore', join(folder, 'backup'))).toMatchObject({
        exit: 1,
        err: expect.stringContaining('Beaver did not make it'),
      })
      expect(readdirSync(join(folder, 'none.restoring'))).toEqual(['mine.txt'])
      rmSync(join(folder, 'none.restoring'), { recursive: true })
    }
    expect(readdirSync(elsewhere)).toEqual(['mine.txt'])
    for (const name of ['linked', 'elsewhere']) rmSync(join(folder, name), { recursive: true })
  })

  it('of another namespace is refused with what to set', async () => {
    const ran = await host.run(['restore', join(folder, 'backup'), '--home', join(folder, 'none')], {
      cwd: folder,
      env: { ...env(), BEAVER_NAMESPACE: 'other' },
    })
    expect(ran).toMatchObject({ exit: 1, err: expect.stringContaining('Set BEAVER_NAMESPACE=default') })
  })

  it('that is newer than its journal is restored, and the command says why the daemons will write nothing', async () => {
    const at = join(folder, 'harmed')
    cpSync(join(folder, 'backup'), at, { recursive: true })
    const path = 'home/marks/BEAVER_default.daemon.json'
    const mark = JSON.parse(readFileSync(join(at, path), 'utf8')) as { sequence: number }
    writeFileSync(join(at, path), JSON.stringify({ ...mark, sequence: mark.sequence + 100_000 }))
    forge(at, path)
    const ran = await beaver('newer', 'restore', at)
    expect(ran).toMatchObject({
      exit: 1,
      out: expect.stringMatching(
        /The daemons will write nothing: The journal .* ends at message \d+, and it ended at message \d+ before/,
      ),
    })
    rmSync(at, { recursive: true })
  })

  it('whose restoration is killed leaves no home, and the next restoration goes on', async () => {
    const home = join(folder, 'killed')
    {
      await using command = startBeaver(['restore', join(folder, 'backup'), '--home', home], {
        cwd: folder,
        env: env(),
      })
      await until(
        'the restoration has begun',
        () => existsSync(join(`${home}.restoring`, 'nats', 'jetstream')),
        { everyMs: 1 },
      )
      command.kill('SIGKILL')
      await command.ended
    }
    expect(existsSync(home)).toBe(false)
    expect(await beaver('killed', 'restore', join(folder, 'backup'))).toMatchObject({ exit: 0, err: '' })
    expect(existsSync(`${home}.restoring`)).toBe(false)
  })
})

describe('a backup of a server of your own', () => {
  it('is restored to another server, which must hold nothing else, and goes on where it was interrupted', async () => {
    await using server = await testServer()
    await using other = await ownServer()
    const namespace = server.newNamespace()
    await using system = await testSystem(server, {}, { namespace })
    await system.daemon()
    await system.client.submit({ task: 'say it', task_id: 'one' })
    await system.ended('one')
    const at = join(folder, 'own')
    const keys = join(system.workspace, '.beaver')
    const run = (url: string, ...args: readonly string[]) =>
      host.run(args, { cwd: folder, env: { ...env(), NATS_URL: url, BEAVER_NAMESPACE: namespace } })
    expect(await run(server.url, 'backup', at, '--home', keys)).toMatchObject({ exit: 0, err: '' })
    // The server from which it is still has all of it, and a home is made beside it.
    expect(await run(server.url, 'restore', at, '--home', join(folder, 'own-1'))).toMatchObject({
      exit: 0,
      err: '',
    })
    await system.client.submit({ task: 'say more', task_id: 'two' })
    await system.ended('two')
    const refused = await run(server.url, 'restore', at, '--home', join(folder, 'own-2'))
    expect(refused).toMatchObject({
      exit: 1,
      err: expect.stringContaining(
        `The server has a stream BEAVER_${namespace} with other messages than the backup`,
      ),
    })
    expect(await run(other.url, 'restore', at, '--home', join(folder, 'own-3'))).toMatchObject({
      exit: 0,
      err: '',
    })
    expect(await run(other.url, 'check', '--no-projection', '--home', join(folder, 'own-3'))).toMatchObject({
      exit: 0,
    })
  })
})

function edit(file: string, from: string, to: string): void {
  const text = readFileSync(file, 'utf8')
  expect(text).toContain(from)
  writeFileSync(file, text.replace(from, to))
}

function cut(file: string): void {
  const content = readFileSync(file)
  writeFileSync(file, content.subarray(0, Math.floor(content.length / 2)))
}

/** Writes a manifest that fits itself, and a file of the backup as it is now. */
function forge(at: string, path: string): void {
  const file = join(at, 'manifest.json')
  const { sha256: _, files, ...of } = JSON.parse(readFileSync(file, 'utf8')) as BackupManifest
  const content = readFileSync(join(at, path))
  const fresh = { bytes: content.length, sha256: hash('sha256', content) }
  const forged = { ...of, files: files.map((each) => (each.path === path ? { ...each, ...fresh } : each)) }
  writeFileSync(file, JSON.stringify({ ...forged, sha256: hash('sha256', canonicalJson(forged)) }))
}
