// Starts the whole system on this machine: nats-server, supervisor daemon and projector, each as a supervised child process.
// `beaver up` and `beaver run --up` use it. It prints nothing.
// U1. A home has one system.
// U2. The system is up when all parts are ready. A start that fails or is aborted leaves nothing behind.
// U3. The parts stop in this order: supervisor (it drains), projector, nats-server.
// U4. A part that cannot be kept alive fails the system. Core's table `supervisors` defines how often a part is started again, and each restart
// is a line of logs/up.log.
import { appendFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { BeaverError, type Clock, type Logger, startSupervision, type Supervision, supervisors, systemClock } from '@beaver/core'
import { connectNats, findNatsServer } from '@beaver/nats'
import { type Config, lockHome, removeSystemFile, stderrLogger, writeSystemFile } from '@beaver/platform'
import { rotateLog } from './log-file.ts'
import { natsProcess } from './nats-process.ts'
import { serviceProcess } from './service-process.ts'
import type { Service, ServiceSpec } from './service.ts'

export type SystemStatus =
  | { readonly kind: 'starting' | 'stopping'; readonly name: string }
  | { readonly kind: 'ready'; readonly name: string; readonly pid: number; readonly restarted: boolean }
  | { readonly kind: 'died'; readonly name: string; readonly reason: string; readonly pauseMs: number; readonly deaths: number }

export interface System {
  readonly natsUrl: string
  /** Whether the nats-server belongs to this system. */
  readonly embedded: boolean
  /** What each part reported when it was ready. `pid` is null while the part is being restarted. */
  readonly parts: readonly { readonly name: string; readonly pid: number | null; readonly info: Readonly<Record<string, unknown>> }[]
  /** Rejects with a BeaverError when a part cannot be kept alive. */
  readonly failed: Promise<never>
  /** Ends everything in order. It may be called more than once. */
  stop(): Promise<void>
  /** Ends everything at once. */
  kill(): void
}

const serviceStartMsMax = 60_000
const projectorStopMsMax = 5_000
/** The time that a supervisor needs after its tasks were handed over. */
const afterDrainMsMax = 10_000

/** @throws {BeaverError} `start_failed`, `server_missing`, `server_too_old`, `unreachable`, `invalid_configuration` */
export async function startSystem(
  config: Config,
  options: { onStatus?: (status: SystemStatus) => void; signal?: AbortSignal; /** For the pauses before restarts. */ clock?: Clock } = {},
): Promise<System> {
  const signal = options.signal ?? new AbortController().signal
  const tell = options.onStatus ?? ((): void => {})
  const unlock = lockHome(config.home)
  const started = new Map<string, Service>()
  const logFiles = new Map<string, string>()
  const startedAt = new Date().toISOString()
  let stopped: Promise<void> | null = null
  let natsUrl = config.nats_url ?? ''
  let written = false

  const services: Supervision<Service> = startSupervision<Service>({
    spec: supervisors.services,
    logger: logOf(config),
    clock: options.clock ?? systemClock,
    fieldsOf: ({ pid }) => ({ pid }),
    onStatus(status) {
      if (status.kind === 'ready') started.set(status.id, status.child)
      if (stopped !== null || status.kind === 'escalated') return
      if (written) describe()
      if (status.kind === 'ready') tell({ kind: 'ready', name: status.id, pid: status.child.pid, restarted: status.restarted })
      else tell({ kind: 'died', name: status.id, reason: status.reason, pauseMs: status.pauseMs, deaths: status.deaths })
    },
    failure: ({ id, reason, deaths }) =>
      new BeaverError(
        'start_failed',
        `The ${id} died ${deaths} times within ${supervisors.services.intensity.periodMs / 1000} s (last: ${reason}), so Beaver stops. Its log: ${logFiles.get(id)}`,
      ),
  })
  const pidOf = (name: string): number | null => services.get(name)?.pid ?? null
  const describe = (): void => {
    const children = Object.fromEntries([...started.keys()].map((name) => [name, pidOf(name)]))
    writeSystemFile(config.home, { nats_url: natsUrl, namespace: config.namespace, tenant: config.tenant, started_at: startedAt, children })
  }
  const start = async ({ name, logFile, start: begin }: ServiceSpec): Promise<Service> => {
    rotateLog(logFile)
    logFiles.set(name, logFile)
    tell({ kind: 'starting', name })
    return services.add({ id: name, restart: 'permanent' }, async (life) => {
      const service = await begin(AbortSignal.any([signal, life]))
      return { ...service, stop: () => (tell({ kind: 'stopping', name }), service.stop()) }
    })
  }
  const stop = (): Promise<void> => (stopped ??= end())

  async function end(): Promise<void> {
    await services.stop()
    removeSystemFile(config.home)
    unlock()
  }

  try {
    if (config.nats_url === undefined) {
      const { binary, version } = await findNatsServer(config.natsServerBinary, process.env['PATH'])
      const dataDir = join(config.home, 'nats')
      const logFile = join(dataDir, 'nats-server.log')
      natsUrl = String((await start(natsProcess({ binary, version, dataDir, logFile }))).info['url'])
    } else {
      await (await connectNats({ url: config.nats_url, name: 'beaver-up' })).close() // it must answer, and be new enough
    }
    const env = serviceEnvironment(config, natsUrl)
    const service = (name: string, stopMsMax: number): ServiceSpec =>
      serviceProcess({ name, env, logFile: join(config.home, 'logs', `${name}.log`), startMsMax: serviceStartMsMax, stopMsMax })
    if (!signal.aborted) {
      // The parts start together. Their order in the table decides the reverse order in which they stop.
      const ready = await Promise.allSettled([
        start(service('projector', projectorStopMsMax)),
        start(service('supervisor', config.daemon.drain_ms + afterDrainMsMax)),
      ])
      const [refused] = ready.flatMap((each) => (each.status === 'rejected' ? [each.reason as Error] : []))
      if (refused !== undefined) throw refused
    }
    if (signal.aborted) throw new BeaverError('start_failed', 'The start was interrupted.')
    describe()
    written = true
  } catch (error) {
    await stop()
    throw error
  }

  return {
    natsUrl,
    embedded: config.nats_url === undefined,
    get parts() {
      return [...started].map(([name, { info }]) => ({ name, pid: pidOf(name), info }))
    },
    failed: services.failed,
    stop,
    kill: () => services.kill(),
  }
}

/** The log of the parts' supervisor, beside the parts' own logs, because `beaver up` uses the screen. */
function logOf(config: Config): Logger {
  const folder = join(config.home, 'logs')
  const file = join(folder, 'up.log')
  mkdirSync(folder, { recursive: true })
  rotateLog(file)
  return stderrLogger({ pretty: false, level: config.log.level, write: (line) => appendFileSync(file, line, { mode: 0o600 }) })
}

/** The environment from which the services read the same configuration. */
function serviceEnvironment(config: Config, natsUrl: string): Record<string, string> {
  return {
    NATS_URL: natsUrl,
    BEAVER_HOME: config.home,
    BEAVER_NAMESPACE: config.namespace,
    BEAVER_TENANT: config.tenant,
    ...(config.file === null ? {} : { BEAVER_CONFIG: config.file }),
  }
}
