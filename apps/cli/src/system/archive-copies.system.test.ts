// The steps of `beaver archive` on real parts: all sessions get into files of a bounded size, and each file
// is complete.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openExport } from '@beaver/check'
import type { LogId } from '@beaver/core'
import { operatorSigner } from '@beaver/core/journal'
import { journalReader } from '@beaver/nats'
import { type Config, loadConfig } from '@beaver/platform'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { keyPortsOf } from '../commands/keys.ts'
import { type Connection, connect } from '../connection.ts'
import {
  archiveCopies,
  type ArchivedFile,
  type ArchiveWork,
  type Refused,
  type StepBounds,
} from './archive-copies.ts'
import { removeArchived } from '../commands/archive.ts'
import { findSystem } from './find-system.ts'
import { startSystem, type System } from './start-system.ts'

const tools = JSON.parse(
  readFileSync(new URL('../../../../.beaver/tools/paths.json', import.meta.url), 'utf8'),
) as { natsServer: string }

let home: string
let config: Config
let system: System
let connection: Connection
let work: ArchiveWork
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'beaver-archive-'))
  writeFileSync(join(home, 'beaver.config.json'), JSON.stringify({ daemon: { spare: false } }), {
    mode: 0o600,
  })
  config = loadConfig(
    { home },
    { BEAVER_NATS_SERVER: tools.natsServer, BEAVER_WORKER_THREADS: '1', BEAVER_TRUST: '1' },
    home,
  )
  system = await startSystem(config)
  connection = await connect(findSystem(config, 'operator'))
  const ports = await keyPortsOf(connection, config)
  work = {
    connection,
    ports,
    by: 'ada',
    writer: { source: '/beaver/operator', now: () => Date.now(), ...(await operatorSigner(ports)) },
  }
})
afterAll(async () => {
  await connection[Symbol.asyncDispose]()
  await system.stop()
  rmSync(home, { recursive: true })
})

const folder = (): string => join(home, 'archive')
const projected = (): Promise<unknown> =>
  until(
    'the projector has all',
    async () => (await connection.client.query('status').catch(() => ({ behind: null }))).behind === 0,
    { everyMs: 30 },
  )

async function ended(...tasks: readonly (readonly [task: string, session: string])[]): Promise<void> {
  for (const [task_id, session_id] of tasks)
    await connection.client.run({ task: 'Say hello', task_id, session_id })
  await projected()
}

/**
 * Writes the files of all sessions that have ended, in steps with these bounds. It fails after `filesMax`
 * files.
 */
async function copied(bounds: Partial<StepBounds>, filesMax = Infinity): Promise<readonly ArchivedFile[]> {
  const files: ArchivedFile[] = []
  const refused: Refused[] = []
  const onFile = (file: ArchivedFile): void => {
    files.push(file)
    if (files.length === filesMax) throw new Error('stopped')
  }
  const of = {
    before: new Date().toISOString(),
    folder: folder(),
    refused,
    bounds: { sessionsMax: 1_000, eventsMax: 200_000, ...bounds },
    onFile,
  }
  await archiveCopies(work, of).catch((error: Error) => expect(error.message).toBe('stopped'))
  expect(refused).toEqual([])
  return files
}

it('all sessions are taken in files of at most so many sessions, each in one file', async () => {
  await ended(['a1', 'a'], ['a2', 'a'], ['b1', 'b'], ['c1', 'c'], ['d1', 'd'], ['e1', 'e'])
  const files = await copied({ sessionsMax: 2 }, 2)
  expect(files.map(({ tasks }) => tasks)).toEqual([
    ['a1', 'a2', 'b1'],
    ['c1', 'd1'],
  ])
  expect(new Set(files.map(({ file }) => file)).size).toBe(2)
})

it('the next run goes on where the last one was interrupted, and takes nothing twice', async () => {
  expect((await copied({ sessionsMax: 2 })).map(({ tasks }) => tasks)).toEqual([['e1']])
  expect(await copied({ sessionsMax: 2 })).toEqual([])
  const messages = async (name: string): Promise<number> => {
    let count = 0
    for await (const page of (await openExport(join(folder(), name))).pages()) count += page.length
    return count
  }
  for (const name of readdirSync(folder())) expect(await messages(name)).toBeGreaterThan(0)
  expect(readdirSync(folder())).toHaveLength(3)
})

it('what is in several files is removed in portions, and nothing else', async () => {
  const reader = await journalReader(connection.nc, connection.subjects)
  const places = async (task: string, session: string): Promise<number[]> => {
    const found: number[] = []
    for await (const { revision } of reader.entries({ tenant: 'local', session, task } as LogId))
      found.push(revision)
    return found
  }
  const logs: readonly (readonly [task: string, session: string])[] = [
    ['a1', 'a'],
    ['a2', 'a'],
    ['e1', 'e'],
  ]
  const before = await Promise.all(logs.map((log) => places(...log)))
  const removed = await removeArchived(work, { isSigned: true, copy: false, refused: [], messagesMax: 1 })
  expect(removed).toMatchObject({ left: 0, kept: null, absent: [] })
  expect(removed.removed).toBeGreaterThan(0)
  for (const [i, log] of logs.entries())
    expect(await places(...log)).toEqual([before[i]![0], before[i]!.at(-1)])
  await projected()
  expect(await connection.client.query('audit', { verify: true })).toMatchObject({
    intact: true,
    journal: [],
  })
})

it('a file ends with the session that reaches the number of events', async () => {
  await ended(['f1', 'f'], ['g1', 'g'])
  expect((await copied({ eventsMax: 1 })).map(({ tasks }) => tasks)).toEqual([['f1'], ['g1']])
})
