// docs/how-to/restore.md and docs/how-to/upgrade.md: the commands of each page, typed in their order into a
// real system whose read model an older version built. `beaver up` is started, and the commands after it are
// typed into what runs.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { connectBeaver } from '@beaver/client'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { type CliProcess, commandHost, noGateway, startBeaver } from '../support/cli.ts'
import { commandsOf } from '../docs/markdown.ts'
import { type FakeProvider, fakeProvider, say } from '../support/fake-provider.ts'
import { natsServerBinary } from '../support/nats.ts'

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 }) // several systems start

const host = commandHost()
let folder: string
let provider: FakeProvider
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'beaver-operating-'))
  provider = await fakeProvider()
  provider.answerBy(({ text }) => say(`answer to ${text}`))
  writeFileSync(
    join(folder, 'beaver.config.json'),
    JSON.stringify({
      model: { base_url: provider.url, name: 'fake' },
      daemon: { spare: false, drain_ms: 100 },
      ...noGateway,
    }),
  )
  const running = await up(['up'])
  {
    await using client = await connectBeaver({ home: join(folder, '.beaver') })
    expect(await client.run({ task: 'before', task_id: 'before' })).toMatchObject({ status: 'completed' })
  }
  await stop(running)
  const made = await host.run(['backup', here('/backups/2026-11-27')], { cwd: folder, env: env() })
  expect(made).toMatchObject({ exit: 0, err: '' })
})
afterAll(async () => {
  await host[Symbol.asyncDispose]()
  await provider[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})

const env = () => ({
  BEAVER_NATS_SERVER: natsServerBinary(),
  BEAVER_WORKER_THREADS: '1',
  BEAVER_TRUST: '1',
  OPENAI_API_KEY: 'none',
})

async function up(args: readonly string[]): Promise<CliProcess> {
  const running = startBeaver(args, { cwd: folder, env: env() })
  await until('the system is up', () => running.out.includes('Beaver is up') || running.err !== '', {
    everyMs: 20,
    withinMs: 60_000,
  })
  expect(running.err).toBe('')
  return running
}

async function stop(running: CliProcess | null): Promise<void> {
  running?.kill('SIGINT')
  await running?.ended
}

/** The places of the pages are in the folder of the test. */
const here = (word: string): string => word.replace(/^\/(backups|srv)\//, `${folder}/$1-`)

/** What happens beside the commands of a page. */
interface Scene {
  /** What runs before the first command. */
  readonly running?: CliProcess
  /** The commands before which the page says to stop the system. */
  readonly stops: readonly string[]
  /** Called when the system was stopped for the first of them. */
  stopped?(): void
}

/**
 * Types the commands of the fenced blocks of a page, each of which must succeed.
 *
 * @returns what they printed
 */
async function typed(page: string, { running: first, stops, stopped }: Scene): Promise<string> {
  const text = readFileSync(new URL(`../../docs/how-to/${page}`, import.meta.url), 'utf8')
  const blocks = [...text.matchAll(/```sh\n[^]*?```/g)].map(([block]) => block).join('\n')
  let [printed, running, stoppedYet] = ['', first ?? null, false]
  try {
    for (const { text: line, args } of commandsOf(blocks, 'beaver')) {
      if (stops.includes(args[0] ?? '')) {
        await stop(running)
        running = null
        if (!stoppedYet) stopped?.()
        stoppedYet = true
      }
      if (args[0] === 'up') running = await up(args.map(here))
      else {
        const ran = await host.run(args.map(here), { cwd: folder, env: env() })
        expect([line, ran.exit, ran.err]).toEqual([line, 0, ran.err])
        printed += ran.out
      }
    }
  } finally {
    await stop(running)
  }
  return printed
}

const model = (): DatabaseSync => new DatabaseSync(join(folder, '.beaver', 'projection-default.db'))
const versionOf = (db: DatabaseSync): number =>
  Number(Object(db.prepare('pragma user_version').get())['user_version'])

it('an upgrade keeps every task, builds an older read model again, and can be taken back', async () => {
  const running = await up(['up'])
  let version = 0
  const printed = await typed('upgrade.md', {
    running,
    stops: ['backup', 'restore'],
    stopped() {
      using db = model()
      version = versionOf(db)
      db.exec('pragma user_version = 1')
    },
  })
  using db = model()
  expect(versionOf(db)).toBe(version)
  expect(db.prepare('select task_id from tasks').all()).toEqual([{ task_id: 'before' }])
  expect(printed).toContain('Verified: the journal is what it was')
  expect(existsSync(join(folder, 'srv-beaver-before', 'nats'))).toBe(true)
})

it('a restored system has the tasks of the backup', async () => {
  expect(await typed('restore.md', { stops: ['restore'] })).toMatch(/before .*completed/)
})
