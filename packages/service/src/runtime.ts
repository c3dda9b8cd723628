// The parts under an AgentService, in this process: nats-server (a child process, or the user's server),
// daemon, projector and client. A home has at most one runtime. If a part fails to start, the parts that were
// started are stopped. The parts stop in this order: daemon (it hands over its tasks), projector, the
// program's hooks, client, nats-server. While the runtime runs, `beaver show` and the other commands find it
// by its home.
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type BeaverClient, clientOn } from '@beaver/client'
import { BeaverError, type Clock, type Logger, type LogId, systemClock } from '@beaver/core'
import { type RunningChild, Supervision, supervisors } from '@beaver/core/supervision'
import { startDaemon } from '@beaver/daemon'
import {
  callerName,
  connectNats,
  embeddedIdentities,
  embeddedLogin,
  type EmbeddedServer,
  findNatsServer,
  findTask,
  type Identity,
  type NatsLogin,
  type Role,
  roleLogin,
  startEmbeddedServer,
  subjectsOf,
} from '@beaver/nats'
import {
  homeChangeTexts,
  homeKeys,
  lockHome,
  makeHomePrivate,
  markHome,
  removeSystemFile,
  requireOwnHome,
  writeSystemFile,
} from '@beaver/platform'
import { startProjector } from '@beaver/projector'
import { writeDefinitions } from './definitions.ts'
import type { Settings } from './options.ts'

/** What the runtime of a service uses. */
export interface ServiceInfo {
  readonly home: string
  readonly nats_url: string
  /** The process id of the nats-server that the service started; `null` if the server is the user's. */
  readonly nats_server_pid: number | null
  readonly provider: string
  readonly model: string
}

export interface Runtime {
  readonly info: ServiceInfo
  readonly client: BeaverClient
  /** Rejects with the error of a part that cannot continue. Never resolves. */
  readonly failed: Promise<never>
  find(taskId: string): Promise<LogId | null>
  /** Stops the parts. `hooks` runs the shutdown hooks of the program. */
  close(hooks: () => Promise<void>): Promise<void>
}

const partStopMsMax = 20_000

/**
 * Starts the parts.
 *
 * @throws {BeaverError} `start_failed`, `server_missing`, `server_too_old`, `unreachable`,
 * `invalid_configuration`
 */
export async function startRuntime(settings: Settings): Promise<Runtime> {
  const { config, tell } = settings
  let hooks: () => Promise<void> = async () => {}
  await using undo = new AsyncDisposableStack()
  requireOwnHome(config)
  for (const text of homeChangeTexts(config.home, makeHomePrivate(config.home))) tell(text)
  markHome(config.home)
  undo.defer(lockHome(config.home))
  const own =
    config.nats_url === undefined
      ? await ownServer({ ...(await serverPlace(settings)), tell, logger: settings.logger })
      : null
  if (own !== null) undo.defer(() => own.stop())
  const url = own?.url ?? (config.nats_url as string)
  const loginOf = (role: Role): NatsLogin =>
    own === null ? roleLogin(config.natsLogin, role) : embeddedLogin(own.dataDir, role)
  // The program makes requests on behalf of its users, and only an operator may do this.
  const natsLogin = loginOf('operator')
  const nc = await connectNats({ url, login: natsLogin, name: 'beaver-service' })
  undo.defer(() => nc.close())
  undo.defer(() => hooks())

  const places = writeDefinitions(config.home, settings)
  const whole = {
    ...config,
    profiles: [...places.profiles, ...config.profiles],
    workflows: [...places.workflows, ...config.workflows],
  }
  const [daemon, projector] = await bothOrNone(
    // `stop` and `shutdown` have already waited for the tasks, so the daemon hands over at once what is still
    // open.
    startDaemon({ ...whole, daemon: { ...whole.daemon, drain_ms: 0 }, natsLogin: loginOf('daemon') }, url, {
      external: settings.tools,
      models: settings.models,
      logger: settings.logger,
    }),
    settings.projector
      ? startProjector({ ...whole, natsLogin: loginOf('projector') }, url, { logger: settings.logger })
      : Promise.resolve(null),
  )
  if (projector !== null) undo.defer(() => inTime('projector', projector.stop()))
  undo.defer(() => inTime('daemon', daemon.stop()))
  undo.defer(() => removeSystemFile(config.home))
  writeSystemFile(config.home, {
    nats_url: url,
    embedded: own !== null,
    namespace: config.namespace,
    tenant: config.tenant,
    started_at: new Date().toISOString(),
    children: own === null ? {} : { 'nats-server': own.pid },
  })

  const subjects = subjectsOf(config.namespace, { tenant: config.tenant, caller: callerName(url, natsLogin) })
  const failed = Promise.race([
    daemon.failed,
    ...(projector === null ? [] : [projector.failed]),
    ...(own === null ? [] : [own.failed]),
  ]) as Promise<never>
  failed.catch(() => {})
  const stack = undo.move()
  return {
    info: {
      home: config.home,
      nats_url: url,
      nats_server_pid: own?.pid ?? null,
      provider: daemon.info.provider,
      model: daemon.info.model,
    },
    client: clientOn(nc, subjects, { operator: () => homeKeys(config.keysFolder).pinned(subjects.stream) }),
    failed,
    find: (taskId) => findTask(nc, subjects, config.tenant, taskId),
    async close(closeHooks) {
      hooks = closeHooks
      await stack.disposeAsync()
    },
  }
}

async function serverPlace({
  config,
  path,
}: Settings): Promise<Pick<OwnServerOptions, 'binary' | 'dataDir' | 'identities'>> {
  const { binary } = await findNatsServer(config.natsServerBinary, path)
  const dataDir = join(config.home, 'nats')
  return { binary, dataDir, identities: embeddedIdentities(dataDir, config) }
}

/** Waits for both parts. If one does not start, the other is stopped and the error is thrown. */
async function bothOrNone<A extends { stop(): Promise<void> }, B extends { stop(): Promise<void> } | null>(
  a: Promise<A>,
  b: Promise<B>,
): Promise<[A, B]> {
  const [first, second] = await Promise.allSettled([a, b])
  if (first.status === 'fulfilled' && second.status === 'fulfilled') return [first.value, second.value]
  await Promise.all(
    [first, second].map(async (each) => (each.status === 'fulfilled' ? each.value?.stop() : undefined)),
  )
  throw (first.status === 'rejected' ? first.reason : (second as PromiseRejectedResult).reason) as Error
}

async function inTime(name: string, stopping: Promise<void>): Promise<void> {
  const timer = new AbortController()
  const late = sleep(partStopMsMax, undefined, { signal: timer.signal }).then(
    () =>
      Promise.reject(
        new BeaverError('internal', `The ${name} did not stop within ${partStopMsMax / 1000} s.`),
      ),
    () => {},
  )
  await Promise.race([stopping, late]).finally(() => timer.abort())
}

// The nats-server of an embedded service. If it dies, it is started again on the same port, so that all
// clients reconnect. The row `service_nats` of core's supervisors limits the restarts; beyond the limit,
// `failed` rejects. The server ends with this process, however the process ends.

interface OwnServer {
  readonly url: string
  readonly dataDir: string
  /** The process id of the current server. During a restart, the id of the last one. */
  readonly pid: number
  /** Rejects with a BeaverError if the server died too often. Never resolves. */
  readonly failed: Promise<never>
  stop(): Promise<void>
}

interface OwnServerOptions {
  readonly binary: string
  readonly dataDir: string
  /** Who may log in. */
  readonly identities: readonly Identity[]
  readonly tell: (message: string) => void
  readonly logger: Logger
  /** Measures the pauses before restarts. Default: the clock of the system. */
  readonly clock?: Clock
}

/**
 * Starts the server.
 *
 * @throws {BeaverError} `server_missing`, `server_too_old`, `start_failed`
 */
export async function ownServer({
  binary,
  dataDir,
  identities,
  tell,
  logger,
  clock = systemClock,
}: OwnServerOptions): Promise<OwnServer> {
  const { periodMs } = supervisors.service_nats.intensity
  const supervision = new Supervision<EmbeddedServer & RunningChild>({
    spec: supervisors.service_nats,
    logger,
    clock,
    fieldsOf: ({ pid }) => ({ pid }),
    onStatus(status) {
      if (status.kind === 'died') tell(`The nats-server died (${status.reason}) and starts again.`)
    },
    failure: ({ deaths, reason }) =>
      new BeaverError(
        'start_failed',
        `The nats-server died ${deaths} times within ${periodMs / 1000} s (last: ${reason}). Its log is in ${dataDir}.`,
      ),
  })
  let newest: EmbeddedServer | null = null
  const { url, pid } = await supervision.add('nats-server', async () => {
    const server = await startEmbeddedServer({
      binary,
      dataDir,
      identities,
      ...(newest === null ? {} : { port: newest.port }),
    })
    newest = server
    const gone = server.closed.then(({ code }) => ({
      reason: code === null ? 'killed' : `exit code ${code}`,
    }))
    return { ...server, gone }
  })
  return {
    url,
    dataDir,
    get pid() {
      return newest?.pid ?? pid
    },
    failed: supervision.failed,
    stop: () => supervision.stop(),
  }
}
