// Starts the whole system on this machine for `beaver up` and `beaver run --up`: nats-server, daemon,
// projector and gateway. Each is a supervised child process. A home has one system, which is up when all parts
// are ready. It waits for no gateway that the configuration does not ask for, and goes on if that one cannot
// start. A start that fails or is aborted leaves nothing behind. The parts stop in
// this order: gateway, daemon (it drains), projector, nats-server. Core's table `supervisors` limits how
// often a part is started again; a part beyond the limit fails the system. Each restart is a line of
// logs/up.log. A large log is emptied while its part runs. The embedded nats-server is also restarted if it
// refuses all writes although a full disk has room again. This file prints nothing.
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  BeaverError,
  type Clock,
  errorCodes,
  type Logger,
  messageOf,
  switchOff,
  systemClock,
} from '@beaver/core'
import { Supervision, type SupervisionStatus, supervisors } from '@beaver/core/supervision'
import {
  callerName,
  connectNats,
  embeddedIdentities,
  embeddedLogin,
  type EmbeddedServer,
  type EmbeddedServerOptions,
  findNatsServer,
  neededBy,
  permitted,
  presentDaemons,
  type Role,
  roleLogin,
  shownUrl,
  startEmbeddedServer,
  subjectsOf,
} from '@beaver/nats'
import {
  type Config,
  homeChangeTexts,
  HomeInUse,
  lockHome,
  makeHomePrivate,
  markHome,
  natsLoginEnvironment,
  removeSystemFile,
  requireOwnHome,
  stderrLogger,
  trustForChild,
  workspaceRootsEnvironment,
  writeSystemFile,
} from '@beaver/platform'
import { serverLogAt } from './find-system.ts'
import { healJournal, roomOf, startFault } from './heal-journal.ts'
import { rotateLog } from './log-file.ts'
import { type Service, type ServiceOptions, serviceProcess, type ServiceSpec } from './service-process.ts'

/**
 * What happens to the system and its parts, for a person. `pauseMs` is the pause before the restart, and
 * `deaths` counts the deaths within the period of the supervisor.
 */
export type SystemStatus =
  /** One sentence about the home, for a person. */
  | { readonly kind: 'home'; readonly text: string }
  | { readonly kind: 'starting' | 'stopping'; readonly name: string }
  | { readonly kind: 'ready'; readonly name: string; readonly pid: number; readonly restarted: boolean }
  /** A part that nobody asked for did not start. The others go on. */
  | { readonly kind: 'left_out'; readonly name: string; readonly reason: string }
  | {
      readonly kind: 'died'
      readonly name: string
      readonly reason: string
      readonly pauseMs: number
      readonly deaths: number
    }

/** A running system. The caller must stop it. */
export interface System {
  readonly natsUrl: string
  /** Whether this system started the nats-server. */
  readonly embedded: boolean
  /** What each part reported when it was ready. `pid` is null while the part is being restarted. */
  readonly parts: readonly {
    readonly name: string
    readonly pid: number | null
    readonly info: Readonly<Record<string, unknown>>
  }[]
  /** Rejects with a BeaverError when a part dies too often. Never resolves. */
  readonly failed: Promise<never>
  /** Stops all parts in their order. It may be called more than once. */
  stop(): Promise<void>
  /** Kills all parts at once. */
  kill(): void
}

const serviceStartMsMax = 60_000
const projectorStopMsMax = 5_000
const gatewayStopMsMax = 5_000
const presenceMs = 400
const rotateMs = 10_000
/** How long a daemon may take to end after it has drained, in milliseconds. */
const afterDrainMsMax = 10_000
/** A spare that started at once would slow down the start of the system, and a short run needs none. */
const spareAfterMsUsual = 10_000

export interface StartOptions {
  readonly onStatus?: (status: SystemStatus) => void
  readonly signal?: AbortSignal
  /** Measures the pauses before restarts. Default: the clock of the system. */
  readonly clock?: Clock
  /** How long the daemon runs before it gets a spare, in milliseconds. Default: 10,000. */
  readonly spareAfterMs?: number
  /** Whether a gateway starts, too, if the configuration neither asks for one nor switches it off. Default: no. */
  readonly usualGateway?: boolean
}

/**
 * Starts the system and resolves when all parts are ready.
 *
 * @throws {BeaverError} `start_failed`, `server_missing`, `server_too_old`, `unreachable`,
 * `invalid_configuration`
 */
export async function startSystem(config: Config, options: StartOptions = {}): Promise<System> {
  let system: LocalSystem | null = null
  try {
    system = new LocalSystem(config, options)
    await system.start()
    return system
  } catch (error) {
    await system?.stop()
    if (error instanceof HomeInUse || (error instanceof BeaverError && errorCodes[error.code].exit === 2))
      throw error
    throw startFault(error, config.home, await roomOf(config.home).catch(() => Infinity))
  }
}

class LocalSystem implements System {
  readonly embedded: boolean
  natsUrl: string
  readonly #config: Config
  readonly #signal: AbortSignal
  readonly #tell: (status: SystemStatus) => void
  readonly #unlock: () => void
  readonly #rotating: NodeJS.Timeout
  readonly #startedAt = new Date().toISOString()
  readonly #services: Supervision<Service>
  /** Each part, as it was when it was last ready. */
  readonly #started = new Map<string, Service>()
  readonly #logFiles = new Map<string, string>()
  readonly #specs: ServiceSpec[] = []
  readonly #spareAfterMs: number
  /** `usual`: nobody asked for it, so the others do without it if it cannot start. */
  #gateway: 'none' | 'usual' | 'wanted'
  /** Whether all parts were ready once. From then on, each restart writes the file of the system again. */
  #up = false
  #stopped: Promise<void> | null = null
  /** Stops watching the journal of the embedded server. */
  #unwatch: () => Promise<void> = async () => {}

  constructor(
    config: Config,
    {
      onStatus = () => {},
      signal = new AbortController().signal,
      clock = systemClock,
      spareAfterMs = spareAfterMsUsual,
      usualGateway = false,
    }: StartOptions,
  ) {
    this.#spareAfterMs = spareAfterMs
    this.#gateway = gatewayOf(config, usualGateway)
    this.embedded = config.nats_url === undefined
    this.natsUrl = config.nats_url ?? ''
    this.#config = config
    this.#signal = signal
    this.#tell = onStatus
    requireOwnHome(config)
    for (const text of homeChangeTexts(config.home, makeHomePrivate(config.home)))
      onStatus({ kind: 'home', text })
    markHome(config.home)
    this.#unlock = lockHome(config.home)
    this.#rotating = setInterval(() => this.#rotateLogs(), rotateMs).unref()
    this.#services = new Supervision<Service>({
      spec: supervisors.services,
      logger: logOf(config),
      clock,
      fieldsOf: ({ pid }) => ({ pid }),
      onStatus: (status) => this.#onStatus(status),
      failure: (part) => this.#failure(part),
    })
  }

  get failed(): Promise<never> {
    return this.#services.failed
  }

  get parts(): System['parts'] {
    return [...this.#started].map(([name, { info }]) => ({ name, pid: this.#pidOf(name), info }))
  }

  /** Starts the parts. If one fails, the caller must call `stop` to end the others. */
  async start(): Promise<void> {
    if (this.embedded) await this.#startNats()
    else await this.#checkServer()
    if (!this.#signal.aborted) await this.#startServices()
    if (this.#signal.aborted) throw new BeaverError('start_failed', 'The start was interrupted.')
    this.#writeFile()
    this.#up = true
    if (this.embedded) await this.#watchJournal()
  }

  /** Checks that the server answers, is new enough, and lets each part do its work. */
  async #checkServer(): Promise<void> {
    await this.#checkLogin('daemon')
    await this.#checkLogin('projector')
    if (this.#gateway === 'none') return
    try {
      await this.#checkLogin('gateway')
    } catch (error) {
      if (this.#gateway === 'wanted') throw error
      this.#gateway = 'none'
      this.#leaveOut('gateway', error)
    }
  }

  async #checkLogin(role: 'daemon' | 'projector' | 'gateway'): Promise<void> {
    const { namespace, tenant, natsLogin } = this.#config
    const login = roleLogin(natsLogin, role)
    await using stack = new AsyncDisposableStack()
    const nc = stack.adopt(await connectNats({ url: this.natsUrl, login, name: 'beaver-up' }), (it) =>
      it.close(),
    )
    const needed = neededBy(role, subjectsOf(namespace, { tenant, caller: callerName(this.natsUrl, login) }))
    const may = await permitted(nc, needed)
    const [lacking] = needed.filter((attempt) => !may.includes(attempt))
    if (lacking === undefined) return
    throw new BeaverError(
      'not_allowed',
      `The login of the ${role} may not ${lacking.what} at ${shownUrl(this.natsUrl)}. Each part needs the login of its role: ` +
        'set BEAVER_NATS_KEYS to a folder that "beaver nats-config --keys <folder>" made.',
    )
  }

  /** Says why the system is without a part, unless it is without all of them because it stops. */
  #leaveOut(name: string, reason: unknown): void {
    if (this.#stopped !== null || this.#signal.aborted) return
    this.#tell({ kind: 'left_out', name, reason: messageOf(reason) })
  }

  stop(): Promise<void> {
    return (this.#stopped ??= this.#end())
  }

  kill(): void {
    for (const spec of this.#specs) spec.release?.()
    this.#services.kill()
  }

  async #end(): Promise<void> {
    clearInterval(this.#rotating)
    for (const spec of this.#specs) spec.release?.()
    await this.#unwatch()
    await this.#services.stop()
    removeSystemFile(this.#config.home)
    this.#unlock()
  }

  #rotateLogs(): void {
    for (const file of [upLog(this.#config), ...this.#logFiles.values()]) {
      try {
        rotateLog(file)
      } catch {
        // The disk is full. The next attempt may succeed.
      }
    }
  }

  async #startNats(): Promise<void> {
    const { home, natsServerBinary } = this.#config
    const { binary, version } = await findNatsServer(natsServerBinary, process.env['PATH'])
    const dataDir = join(home, 'nats')
    const { info } = await this.#startPart(
      natsProcess({
        binary,
        version,
        dataDir,
        identities: embeddedIdentities(dataDir, this.#config),
        logFile: serverLogAt(home),
      }),
    )
    this.natsUrl = String(info['url'])
  }

  /** Asks the system's own daemon regularly whether the journal answers. */
  async #watchJournal(): Promise<void> {
    const { home, namespace, tenant } = this.#config
    const dataDir = join(home, 'nats')
    const login = embeddedLogin(dataDir, 'client')
    const nc = await connectNats({ url: this.natsUrl, login, name: 'beaver-up' })
    const subjects = subjectsOf(namespace, { tenant, caller: callerName(this.natsUrl, login) })
    const healing = healJournal({
      dataDir,
      logFile: serverLogAt(home),
      silentMs: async () => {
        const own = this.#started.get('daemon')?.info['daemon']
        const daemons = await presentDaemons(nc, subjects, { waitMs: presenceMs })
        return daemons.find(({ daemon }) => daemon === own)?.journal_silent_ms ?? 0
      },
      restart: async () => this.#services.get('nats-server')?.stop(),
      tell: (text) => this.#tell({ kind: 'home', text }),
    })
    this.#unwatch = async () => {
      healing.stop()
      await nc.close()
    }
  }

  /** Starts the parts together. They stop in the reverse order of the list below. */
  async #startServices(): Promise<void> {
    const { home, daemon } = this.#config
    const service = (name: ServiceOptions['name'], role: Role, stopMsMax: number): ServiceSpec =>
      serviceProcess({
        name,
        env: serviceEnvironment(this.#config, this.natsUrl, role),
        logFile: join(home, 'logs', `${name}.log`),
        startMsMax: serviceStartMsMax,
        stopMsMax,
        ...(name === 'daemon' && daemon.spare ? { spareAfterMs: this.#spareAfterMs } : {}),
      })
    const parts = [
      this.#startPart(service('projector', 'projector', projectorStopMsMax)),
      this.#startPart(service('daemon', 'daemon', daemon.drain_ms + afterDrainMsMax)),
    ]
    if (this.#gateway !== 'none') {
      const gateway = this.#startPart(service('gateway', 'gateway', gatewayStopMsMax))
      if (this.#gateway === 'wanted') parts.push(gateway)
      else gateway.catch((error: unknown) => this.#leaveOut('gateway', error))
    }
    const ready = await Promise.allSettled(parts)
    const [refused] = ready.flatMap((each) => (each.status === 'rejected' ? [each.reason as Error] : []))
    if (refused !== undefined) throw refused
  }

  async #startPart(spec: ServiceSpec): Promise<Service> {
    const { name, logFile, start: begin } = spec
    this.#specs.push(spec)
    this.#logFiles.set(name, logFile)
    this.#tell({ kind: 'starting', name })
    return this.#services.add(name, async (life) => {
      const service = await begin(AbortSignal.any([this.#signal, life]))
      return { ...service, stop: () => (this.#tell({ kind: 'stopping', name }), service.stop()) }
    })
  }

  #onStatus(status: SupervisionStatus<Service>): void {
    if (status.kind === 'ready') this.#started.set(status.id, status.child)
    if (this.#stopped !== null || status.kind === 'escalated') return
    if (this.#up) this.#writeFile()
    if (status.kind === 'ready')
      this.#tell({ kind: 'ready', name: status.id, pid: status.child.pid, restarted: status.restarted })
    else
      this.#tell({
        kind: 'died',
        name: status.id,
        reason: status.reason,
        pauseMs: status.pauseMs,
        deaths: status.deaths,
      })
  }

  #failure({
    id,
    reason,
    deaths,
  }: {
    readonly id: string
    readonly reason: string
    readonly deaths: number
  }): BeaverError {
    const periodS = supervisors.services.intensity.periodMs / 1000
    return new BeaverError(
      'start_failed',
      `The ${id} died ${deaths} times within ${periodS} s (last: ${reason}), so Beaver stops. Its log: ${this.#logFiles.get(id)}`,
    )
  }

  /** Writes the file by which other commands find this system. */
  #writeFile(): void {
    const { home, namespace, tenant } = this.#config
    const children = Object.fromEntries([...this.#started.keys()].map((name) => [name, this.#pidOf(name)]))
    writeSystemFile(home, {
      nats_url: this.natsUrl,
      embedded: this.embedded,
      namespace,
      tenant,
      started_at: this.#startedAt,
      children,
    })
  }

  #pidOf(name: string): number | null {
    return this.#services.get(name)?.pid ?? null
  }
}

/** A configuration that names a port needs the gateway at this port. */
function gatewayOf({ gateway: { enabled, port } }: Config, usual: boolean): 'none' | 'usual' | 'wanted' {
  if (enabled !== undefined) return enabled ? 'wanted' : 'none'
  if (!usual) return 'none'
  return port === undefined ? 'usual' : 'wanted'
}

const upLog = ({ home }: Config): string => join(home, 'logs', 'up.log')

/**
 * The log of the supervision. It is a file beside the logs of the parts, because `beaver up` uses the screen.
 */
function logOf(config: Config): Logger {
  const file = upLog(config)
  return stderrLogger({
    pretty: false,
    level: config.log.level,
    secrets: config.secrets,
    write: (line) => appendFileSync(file, line, { mode: 0o600 }),
  })
}

/**
 * The environment from which a part reads the same configuration. For the embedded server it contains only
 * the login of the part's own role.
 */
function serviceEnvironment(config: Config, natsUrl: string, role: Role): Record<string, string> {
  return {
    NATS_URL: natsUrl,
    BEAVER_HOME: config.home,
    BEAVER_NAMESPACE: config.namespace,
    BEAVER_TENANT: config.tenant,
    ...workspaceRootsEnvironment(config),
    ...(config.file === null ? {} : { BEAVER_CONFIG: config.file }),
    BEAVER_TRUST: trustForChild(config.trust),
    ...(config.nats_url === undefined
      ? natsLoginEnvironment(embeddedLogin(join(config.home, 'nats'), role))
      : {}),
  }
}

// Runs the embedded nats-server as a supervised child. A restart uses the port of the first start, so that
// all clients reconnect by themselves.

/** A benchmark may switch off optimisations, of which the scheduling of the server is one. */
function natsProcess(options: EmbeddedServerOptions & { version: string; logFile: string }): ServiceSpec {
  switchOff(process.env['BEAVER_SWITCH_OFF'])
  let port: number | null = null
  return {
    name: 'nats-server',
    logFile: options.logFile,
    async start() {
      const server = await startEmbeddedServer({ ...options, ...(port === null ? {} : { port }) })
      port = server.port
      return running(server, options.version)
    },
  }
}

function running(server: EmbeddedServer, version: string): Service {
  return {
    pid: server.pid,
    info: { url: server.url, version },
    gone: server.closed.then(({ code }) => ({
      reason: code === null ? 'killed' : code > 128 ? `killed by signal ${code - 128}` : `exit code ${code}`,
    })),
    stop: () => server.stop(),
    kill: () => {
      try {
        process.kill(server.pid, 'SIGKILL')
      } catch {
        // The server has already ended.
      }
    },
  }
}
