// The whole system on this machine: nats-server, supervisor daemon, projector, each a supervised child process.
// Used by `beaver up` and by `beaver run --up`; it prints nothing.
// U1. One system a home. U2. It is up when all parts are ready; a start that fails or is aborted leaves nothing behind.
// U3. Stop order: supervisor (it drains), projector, nats-server. U4. A part that cannot be kept alive fails the system.
import { join } from 'node:path'
import { type Config, lockHome, removeSystemFile, writeSystemFile } from '@beaver/config'
import { BeaverError } from '@beaver/core'
import { connectNats, findNatsServer } from '@beaver/nats'
import { rotateLog } from './log-file.ts'
import { natsProcess } from './nats-process.ts'
import { serviceProcess } from './service-process.ts'
import { type ChildSpec, type ChildStatus, type SupervisedChild, supervise } from './supervise.ts'

export type SystemStatus = ChildStatus | { readonly kind: 'starting'; readonly name: string } | { readonly kind: 'stopping'; readonly name: string }

export interface System {
  readonly natsUrl: string
  /** The nats-server is ours. */
  readonly embedded: boolean
  /** What each part said when it was ready; `pid` null while it is being restarted. */
  readonly parts: readonly { readonly name: string; readonly pid: number | null; readonly info: Readonly<Record<string, unknown>> }[]
  /** Rejects with a BeaverError when a part cannot be kept alive. */
  readonly failed: Promise<never>
  /** Ends everything in order; safe to call more than once. */
  stop(): Promise<void>
  /** Ends everything at once. */
  kill(): void
}

const serviceStartMsMax = 60_000
const projectorStopMsMax = 5_000
/** What a supervisor needs after its tasks were handed over. */
const afterDrainMsMax = 10_000

/** @throws {BeaverError} `start_failed`, `server_missing`, `server_too_old`, `unreachable`, `invalid_configuration` */
export async function startSystem(config: Config, options: { onStatus?: (status: SystemStatus) => void; signal?: AbortSignal } = {}): Promise<System> {
  const signal = options.signal ?? new AbortController().signal
  const tell = options.onStatus ?? ((): void => {})
  const unlock = lockHome(config.home)
  const children: SupervisedChild[] = []
  const startedAt = new Date().toISOString()
  let stopped: Promise<void> | null = null
  let natsUrl = config.nats_url ?? ''
  let written = false

  const describe = (): void => {
    const pids = Object.fromEntries(children.map((child) => [child.name, child.pid]))
    writeSystemFile(config.home, { nats_url: natsUrl, namespace: config.namespace, tenant: config.tenant, started_at: startedAt, children: pids })
  }
  const onStatus = (status: ChildStatus): void => {
    if (stopped !== null) return
    if (written) describe()
    tell(status)
  }
  const start = async (spec: ChildSpec): Promise<void> => {
    rotateLog(spec.logFile)
    tell({ kind: 'starting', name: spec.name })
    children.push(await supervise(spec, { onStatus, signal }))
  }
  const stop = (): Promise<void> => (stopped ??= end())

  async function end(): Promise<void> {
    for (const name of ['supervisor', 'projector', 'nats-server']) {
      const child = children.find((each) => each.name === name)
      if (child === undefined) continue
      tell({ kind: 'stopping', name })
      await child.stop()
    }
    removeSystemFile(config.home)
    unlock()
  }

  try {
    if (config.nats_url === undefined) {
      const { binary, version } = await findNatsServer(config.natsServerBinary, process.env['PATH'])
      const dataDir = join(config.home, 'nats')
      const logFile = join(dataDir, 'nats-server.log')
      await start(natsProcess({ binary, version, dataDir, logFile }))
      natsUrl = String(children[0]?.info['url'])
    } else {
      await (await connectNats({ url: config.nats_url, name: 'beaver-up' })).close() // it must answer, and be new enough
    }
    const env = serviceEnvironment(config, natsUrl)
    const service = (name: string, stopMsMax: number): ChildSpec =>
      serviceProcess({ name, packageName: `@beaver/${name}`, env, logFile: join(config.home, 'logs', `${name}.log`), startMsMax: serviceStartMsMax, stopMsMax })
    if (!signal.aborted) {
      const started = await Promise.allSettled([
        start(service('supervisor', config.daemon.drain_ms + afterDrainMsMax)),
        start(service('projector', projectorStopMsMax)),
      ])
      const [refused] = started.flatMap((each) => (each.status === 'rejected' ? [each.reason as Error] : []))
      if (refused !== undefined) throw refused
    }
    if (signal.aborted) throw new BeaverError('start_failed', 'The start was interrupted.')
    describe()
    written = true
  } catch (error) {
    await stop()
    throw error
  }

  const failed = Promise.race(children.map((child) => child.failed))
  failed.catch(() => {}) // whoever waits for it is told
  return {
    natsUrl,
    embedded: config.nats_url === undefined,
    get parts() {
      return children.map(({ name, pid, info }) => ({ name, pid, info }))
    },
    failed,
    stop,
    kill: () => {
      for (const child of children) child.kill()
    },
  }
}

/** What the services read the same configuration from. */
function serviceEnvironment(config: Config, natsUrl: string): Record<string, string> {
  return {
    NATS_URL: natsUrl,
    BEAVER_HOME: config.home,
    BEAVER_NAMESPACE: config.namespace,
    BEAVER_TENANT: config.tenant,
    ...(config.file === null ? {} : { BEAVER_CONFIG: config.file }),
  }
}
