// A whole system for one test: a namespace of its own on the run's nats-server, a fake provider, any number
// of daemons. Every process a test starts is gone when the test is over, however it ended.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BeaverClient, clientOn } from '@beaver/client'
import { type EventType, isTerminalTaskEvent, type LogId } from '@beaver/core'
import { type RecordedEvent, readKeyRing, RemovalLog } from '@beaver/core/journal'
import {
  connectNats,
  findTask,
  natsJournal,
  natsSystemLog,
  natsTexts,
  type Subjects,
  subjectsOf,
} from '@beaver/nats'
import { loadTask } from '@beaver/runtime'
import { until } from '@beaver/testing'
import { type NatsConnection, RequestError } from '@nats-io/nats-core'
import { type DaemonProcess, daemonProcess } from './daemon.ts'
import { type FakeProvider, fakeProvider } from './fake-provider.ts'
import type { TestServer } from './nats.ts'

export const apiKey = 'sk-test-0123456789abcdef-SECRET'
export const leaseMs = 1_000

export interface TestSystem extends AsyncDisposable {
  readonly provider: FakeProvider
  readonly client: BeaverClient
  readonly nc: NatsConnection
  readonly subjects: Subjects
  /** The folder daemons work in. */
  readonly workspace: string
  daemon(env?: Record<string, string>, nodeArgs?: readonly string[]): Promise<DaemonProcess>
  /** kill -9; resolves when the server has noticed, so that no request of the test goes to the dead one. */
  kill(daemon: DaemonProcess): Promise<void>
  /** The task's events so far, verified and in order. */
  events(taskId: string): Promise<readonly RecordedEvent[]>
  /** Waits until the journal of a task has come to something. */
  reached(
    taskId: string,
    what: string,
    look: (events: readonly RecordedEvent[]) => boolean,
    withinMs?: number,
  ): Promise<readonly RecordedEvent[]>
  ended(taskId: string, withinMs?: number): Promise<readonly RecordedEvent[]>
}

/** @param of by default a namespace of its own, and the default tenant */
export async function testSystem(
  server: TestServer,
  config: Record<string, unknown> = {},
  { namespace = server.newNamespace(), tenant = 'local' }: { namespace?: string; tenant?: string } = {},
): Promise<TestSystem> {
  const subjects = subjectsOf(namespace, { tenant, caller: 'ada' })
  const workspace = await mkdtemp(join(tmpdir(), 'beaver-daemon-'))
  await writeFile(join(workspace, 'beaver.config.json'), JSON.stringify(config))
  const provider = await fakeProvider()
  const nc = await connectNats({ url: server.url, name: 'test' })
  const journal = await natsJournal(nc, subjects)
  const log = await natsSystemLog(nc, subjects)
  const removals = new RemovalLog(tenant, log, () => readKeyRing({ log, namespace: subjects.stream }))
  const blobs = natsTexts(nc, subjects, () => removals.now())
  const client = clientOn(nc, subjects)
  const daemons: DaemonProcess[] = []

  async function events(taskId: string): Promise<readonly RecordedEvent[]> {
    const log: LogId | null = await findTask(nc, subjects, tenant, taskId)
    return log === null ? [] : (await loadTask(log, { journal, blobs })).events
  }

  const reached: TestSystem['reached'] = async (taskId, what, look, withinMs = 40_000) => {
    let seen: readonly RecordedEvent[] = []
    let log: LogId | null = null
    let revision = 0
    // A log is read again only when it has grown.
    const grown = async (): Promise<boolean> => {
      log ??= await findTask(nc, subjects, tenant, taskId)
      const before = revision
      revision = log === null ? 0 : ((await journal.last(log))?.revision ?? 0)
      return revision !== before
    }
    try {
      return await until(
        `${what} (task ${taskId})`,
        async () => {
          if (await grown()) seen = await events(taskId)
          return look(seen) && seen
        },
        { withinMs, everyMs: 15 },
      )
    } catch (error) {
      throw new Error(
        `${(error as Error).message}\nIts journal: ${told(seen).join(' ')}\n${daemons.map((daemon) => `${daemon.id}: ${daemon.stderr.slice(-2_000)}`).join('\n')}`,
        { cause: error },
      )
    }
  }

  return {
    provider,
    client,
    nc,
    subjects,
    workspace,
    events,
    reached,
    ended: (taskId, withinMs) =>
      reached(
        taskId,
        'the task has ended',
        (all) => all.some((event) => isTerminalTaskEvent(event.type)),
        withinMs,
      ),
    async daemon(env = {}, nodeArgs = []) {
      const daemon = await daemonProcess({
        cwd: workspace,
        nodeArgs,
        env: {
          NATS_URL: server.url,
          BEAVER_NAMESPACE: namespace,
          BEAVER_TENANT: tenant,
          BEAVER_HOME: join(workspace, '.beaver'),
          OPENAI_BASE_URL: provider.url,
          OPENAI_API_KEY: apiKey,
          BEAVER_LEASE_MS: String(leaseMs),
          BEAVER_WORKER_THREADS: '1',
          BEAVER_DRAIN_MS: '0',
          ...env,
        },
      })
      daemons.push(daemon)
      return daemon
    },
    async kill(daemon) {
      daemon.kill('SIGKILL')
      await daemon.exited
      await until(
        'the server has noticed',
        () =>
          nc.request(subjects.daemon(daemon.id), '', { timeout: 1_000 }).then(
            () => false,
            (error: Error) => error instanceof RequestError,
          ),
        { everyMs: 5 },
      )
    },
    async [Symbol.asyncDispose]() {
      for (const daemon of daemons) {
        daemon.kill('SIGKILL')
        daemon.kill('SIGCONT')
      }
      await Promise.all(daemons.map((daemon) => daemon.exited))
      await provider[Symbol.asyncDispose]()
      await nc.close()
      await rm(workspace, { recursive: true, force: true })
    },
  }
}

/** The types of a log, for a person. */
export const told = (events: readonly RecordedEvent[]): EventType[] => events.map((event) => event.type)

export const only = <T extends EventType>(
  events: readonly RecordedEvent[],
  type: T,
): Extract<RecordedEvent, { type: T }>[] =>
  events.filter((event): event is Extract<RecordedEvent, { type: T }> => event.type === type)
