// Connects to a nats-server, and says what to do if it is missing, too old or without JetStream.
import { BeaverError, messageOf, systemClock } from '@beaver/core'
import type { NatsLogin } from '@beaver/platform/nats-login'
import { AuthorizationError, type ReconnectToServerHandler, TimeoutError } from '@nats-io/nats-core'
import { type NatsConnection, type NodeConnectionOptions, connect } from '@nats-io/transport-node'
import { inboxPrefix } from './inbox.ts'
import { loginName, loginOptions, splitUrl } from './login.ts'
import { knowWays, type Ways } from './other-server.ts'

export const serverVersionMin = '2.12.0'
/** The version on which the tests run. */
export const serverVersionTested = '2.15.1'

/** Negative if version `a` (`major.minor.patch…`) is older than `b`, 0 if they are equal, else positive. */
export function compareVersions(a: string, b: string): number {
  const parts = (version: string): number[] =>
    version
      .split(/[.-]/)
      .slice(0, 3)
      .map((part) => Number.parseInt(part, 10) || 0)
  const [x, y] = [parts(a), parts(b)]
  for (let i = 0; i < 3; i++) {
    const difference = (x[i] ?? 0) - (y[i] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

/** The URL without the user, password or token of any server, so that it can be shown. */
export function shownUrl(url: string): string {
  return url
    .split(',')
    .map((server) => server.trim().replace(/^([a-z]+:\/\/)?[^@/]*@/i, '$1…@'))
    .join(',')
}

const pingMsInCluster = 1_000
const pingMsAlone = 20_000
const trialMsMax = 2_000

export interface ConnectOptions {
  /** Servers, separated by commas: `nats://user:password@host:4222`, `nats://token@host`, `tls://host`. */
  readonly url: string
  /** The name of the connection, for the operators of the server. */
  readonly name: string
  /** Default: the login in the URL. */
  readonly login?: NatsLogin
  readonly timeoutMs?: number
  /** How long to begin new tries if a connection or its login is not answered in time. Default: 0 */
  readonly patienceMs?: number
  readonly pingMs?: number
}

/**
 * Connects and checks the server. A lost connection is made again without limit; `timeoutMs` bounds only one
 * try of the first connection. A ping is sent every `pingMs`, by default every second if the URL names
 * several servers, and every 20 s if it names one. The server counts as away if two pings are unanswered when
 * the third is due.
 * @throws {BeaverError} `unreachable` (also if the login is refused), `server_too_old`,
 * `invalid_configuration`
 */
export async function connectNats(options: ConnectOptions): Promise<NatsConnection> {
  const login = loginOptions(options.url, options.login)
  const elsewhere = toAnotherServer(login.reconnectToServer)
  const connectionOptions: NodeConnectionOptions = {
    ...login,
    reconnectToServer: elsewhere.choose,
    ignoreAuthErrorAbort: true, // credentials may be replaced while the process runs
    name: options.name,
    inboxPrefix: inboxPrefix(loginName(options.url, options.login)),
    timeout: options.timeoutMs ?? 5_000,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 100,
    pingInterval: options.pingMs ?? (options.url.includes(',') ? pingMsInCluster : pingMsAlone),
    // Without this option each request captures two stacks, which takes 3 % of a daemon's main thread.
    noAsyncTraces: true,
  }
  const nc = await patiently(() => connect(connectionOptions), options.patienceMs ?? 0).catch(
    (cause: unknown) => {
      throw notConnected(cause, shownUrl(options.url), login.authenticator !== undefined)
    },
  )
  elsewhere.follow(nc)
  knowWays(nc, waysOf(nc, options, elsewhere))
  const info = nc.info
  const fault =
    info === undefined
      ? null
      : compareVersions(info.version, serverVersionMin) < 0
        ? new BeaverError(
            'server_too_old',
            `The nats-server at ${shownUrl(options.url)} is version ${info.version}; Beaver needs ${serverVersionMin} or newer (atomic batches, always-sync). Upgrade it, or unset NATS_URL to use the embedded one.`,
          )
        : info.jetstream !== true
          ? new BeaverError(
              'unreachable',
              `The nats-server at ${shownUrl(options.url)} runs without JetStream. Start it with "-js".`,
            )
          : null
  if (fault !== null) {
    await nc.close()
    throw fault
  }
  return nc
}

interface OtherServer {
  readonly choose: ReconnectToServerHandler
  /** @param server `host:port`, for the next connection */
  prefer(server: string): void
  follow(nc: NatsConnection): void
}

function waysOf(nc: NatsConnection, options: ConnectOptions, { prefer }: OtherServer): Ways {
  const urls = new Map(options.url.split(',').map((url) => [splitUrl(url.trim()).address, url]))
  const servers = new Map(
    nc.getServers().flatMap(({ listen, src }) => (urls.has(src) ? [[listen, urls.get(src) ?? '']] : [])),
  )
  return {
    servers: [...servers.keys()],
    connectTo: (server) =>
      connectNats({ ...options, url: servers.get(server) ?? '', timeoutMs: trialMsMax, patienceMs: 0 }),
    prefer,
  }
}

/** A busy server or process answers a connection or a login late. This is no refusal. */
const isLate = (error: unknown): boolean =>
  error instanceof TimeoutError ||
  (error instanceof AuthorizationError && /authentication timeout/i.test(error.message))

async function patiently(
  connecting: () => Promise<NatsConnection>,
  patienceMs: number,
): Promise<NatsConnection> {
  const end = systemClock.now() + patienceMs
  for (;;) {
    try {
      return await connecting()
    } catch (error) {
      if (!isLate(error) || systemClock.now() >= end) throw error
    }
  }
}

function notConnected(cause: unknown, url: string, hasLogin: boolean): BeaverError {
  if (isLate(cause))
    return new BeaverError(
      'unreachable',
      `The NATS server at ${url} did not answer in time (${messageOf(cause)}). It or this machine may be busy: try again. Or set NATS_URL to a server that runs.`,
      { cause },
    )
  if (cause instanceof AuthorizationError) {
    const how = hasLogin ? 'this login' : 'a connection without a login'
    const vars =
      'a user and password in NATS_URL, or NATS_CREDS, NATS_NKEY, NATS_USER and NATS_PASSWORD, or NATS_TOKEN'
    return new BeaverError('unreachable', `The NATS server at ${url} refuses ${how}. Give it ${vars}.`, {
      cause,
    })
  }
  return new BeaverError(
    'unreachable',
    `No NATS server answers at ${url} (${messageOf(cause)}). Start one with "beaver up", or set NATS_URL to a server that runs.`,
    { cause },
  )
}

/**
 * Reconnects to another server first, if one is known: the library would try the same one again, which may be
 * frozen or cut off from the others.
 *
 * @param handler hears of the choice, and makes none
 */
function toAnotherServer(handler?: ReconnectToServerHandler): OtherServer {
  let preferred: string | null = null
  let connectedTo: string | null = null
  let tries = 0
  return {
    choose(servers, info) {
      const [next, other] = servers
      const better = servers.find(({ listen }) => listen === preferred)
      const chosen =
        tries++ > 0 ? null : (better ?? (other !== undefined && next?.listen === connectedTo ? other : null))
      handler?.(chosen === null ? servers : [chosen], info)
      return chosen
    },
    prefer: (server) => void (preferred = server),
    follow(nc) {
      const begin = (): void => {
        connectedTo = nc.getServer()
        preferred = null
        tries = 0
      }
      begin()
      void (async () => {
        for await (const { type } of nc.status()) if (type === 'reconnect') begin()
      })()
    },
  }
}
