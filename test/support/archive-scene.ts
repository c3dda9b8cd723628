// A system whose ended tasks are archived: a daemon, a projector with a home that stays, and the command line
// with the operator's key.
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { LogId } from '@beaver/core'
import {
  appendSystemEvents,
  archiveEvents,
  newestRecord,
  operatorSigner,
  readKeyRing,
  RemovalLog,
} from '@beaver/core/journal'
import { archivableOf, journalReader, natsSystemLog } from '@beaver/nats'
import type { QueryOutput } from '@beaver/contracts'
import { homeKeys } from '@beaver/platform'
import { until } from '@beaver/testing'
import { jetstreamManager } from '@nats-io/jetstream'
import { expect } from 'vitest'
import { type commandHost, placeIn, type Ran } from './cli.ts'
import { say, use } from './fake-provider.ts'
import type { TestServer } from './nats.ts'
import { projectorProcess } from './projector.ts'
import { type TestSystem, testSystem } from './system.ts'

type CommandHost = ReturnType<typeof commandHost>

/**
 * A system with a daemon and a projector. A task that says "read" has two calls of tools, and one that says
 * "wait" never ends.
 */
export async function archiveScene(
  server: TestServer,
  host: CommandHost,
  work?: { readonly config: object; record(system: TestSystem): Promise<void> },
) {
  const stack = new AsyncDisposableStack()
  const system: TestSystem = stack.use(
    await testSystem(server, work?.config as Record<string, unknown> | undefined),
  )
  const { namespace, stream } = system.subjects
  const home = join(system.workspace, 'home-of-projector')
  const keys = join(system.workspace, '.beaver', 'keys')
  const start = () =>
    projectorProcess({
      url: server.url,
      namespace,
      home,
      env: { BEAVER_KEYS: keys },
      config: { checkpoints: { every_ms: 1_000 } },
    })
  await mkdir(home, { recursive: true })
  await writeFile(join(system.workspace, 'a.txt'), 'A line.\n')
  if (work === undefined) await system.daemon()
  else await work.record(system)
  system.provider.answerBy(({ text, messages }) => {
    if (text === 'wait') return null
    const results = messages.filter(({ role }) => role === 'tool').length
    return text.includes('read') && results < 2
      ? use(['read_file', { path: 'a.txt' }])
      : say(`answer to ${text.slice(0, 20)}`)
  })
  let projector = await start()
  stack.defer(() => projector[Symbol.asyncDispose]())
  const jsm = await jetstreamManager(system.nc)
  const reader = await journalReader(system.nc, system.subjects)
  const ports = {
    log: await natsSystemLog(system.nc, system.subjects),
    keys: homeKeys(keys),
    namespace: stream,
    now: () => Date.now(),
    name: 'test',
  }
  const logOf = (task: string, session: string) => ({ tenant: 'local', session, task }) as LogId
  const status = async (): Promise<QueryOutput<'status'>> => system.client.query('status')
  return {
    system,
    jsm,
    ports,
    reader,
    keys,
    home,
    logOf,
    folder: join(system.workspace, 'archive'),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
    beaver: (...args: readonly string[]): Promise<Ran> =>
      host.run(args, placeIn(server, system, { BEAVER_HOME: home, BEAVER_KEYS: keys })),
    async tasks(...names: readonly (readonly [task: string, session: string, text: string])[]) {
      for (const [task_id, session_id, task] of names) {
        await system.client.submit({ task, task_id, session_id })
        await system.ended(task_id)
      }
      await this.projected()
    },
    /** Waits until the projector has read the journal. */
    projected: () =>
      until(
        'the projector has all',
        async () => {
          const { behind } = await status().catch(() => ({ behind: null }))
          return behind === 0
        },
        { everyMs: 30, withinMs: 40_000 },
      ),
    stopProjector: () => projector[Symbol.asyncDispose](),
    async restartProjector({ anew = false } = {}) {
      await projector[Symbol.asyncDispose]()
      if (anew)
        for (const file of await readdir(home)) if (file.startsWith('projection-')) await rm(join(home, file))
      projector = await start()
    },
    messagesOf: async (log: LogId) => {
      const found: number[] = []
      for await (const { revision } of reader.entries(log)) found.push(revision)
      return found
    },
    archived: async () => (await new RemovalLog('local', ports.log, () => readKeyRing(ports)).now()).archived,
    /** What the projector says of the journal. */
    journal: async () => (await system.client.query('audit', { verify: true })).journal,
  }
}
export type ArchiveScene = Awaited<ReturnType<typeof archiveScene>>

export interface Archived {
  readonly file: string
  readonly sha256: string
  readonly tasks: string[]
  readonly files: readonly {
    readonly file: string
    readonly sha256: string
    readonly sessions: number
    readonly tasks: number
  }[]
  readonly removed: number
  readonly left: number
  readonly kept: string | null
  readonly rests_on: readonly string[]
}
export async function archive(
  at: ArchiveScene,
  ...more: readonly string[]
): Promise<Archived & { readonly exit: number | null }> {
  const ran = await at.beaver('archive', '--before', '0s', '--out', at.folder, '--json', ...more)
  expect(ran.err).toBe('')
  return { ...(JSON.parse(ran.out) as Archived), exit: ran.exit }
}
export const checked = async (at: ArchiveScene) =>
  JSON.parse((await at.beaver('check', '--json')).out) as {
    ok: boolean
    broken: object
    notes: { message: string }[]
    projection: { compared: boolean }
  }
export const audited = async (at: ArchiveScene, ...args: readonly string[]) =>
  JSON.parse((await at.beaver('audit', 'verify', ...args, '--json')).out) as {
    ok: boolean
    broken: object
    checked: string[]
  }

/**
 * Whether the daemon takes no task, because the journal is not as it was. The tasks are of one session that
 * never ends, so that no archive takes them.
 */
export const isRefused = (at: ArchiveScene): Promise<boolean> =>
  at.system.client.submit({ task: 'wait', session_id: 'probes' }).then(
    () => false,
    (error: { code?: string }) => error.code === 'journal_changed',
  )

/** The data of the events that would name the middle of these tasks, as `beaver archive` makes them. */
export async function eventsFor(
  at: ArchiveScene,
  of: { file: string; sha256: string },
  logs: readonly LogId[],
) {
  const { nc, subjects } = at.system
  const parts = await Promise.all(
    logs.map(async (log) =>
      archivableOf(
        nc,
        subjects,
        { log, hash: newestRecord((await at.reader.last(log))!)!.hash },
        await at.archived(),
      ),
    ),
  )
  return archiveEvents({ file: of.file, file_sha256: of.sha256, by: 'ada' }, parts.flat()).map((data) => ({
    type: 'messages_archived' as const,
    data,
  }))
}

/** Writes events about what may be deleted, signed by the operator unless another signature is given. */
export async function writeRedactions(
  at: ArchiveScene,
  events: Parameters<typeof appendSystemEvents>[2],
  sign: object | null = null,
): Promise<void> {
  const writer = {
    source: '/beaver/operator',
    now: () => Date.now(),
    ...(sign ?? (await operatorSigner(at.ports))),
  }
  await appendSystemEvents(at.ports.log, 'redactions', events, writer)
}
