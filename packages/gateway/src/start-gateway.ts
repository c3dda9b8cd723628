// The gateway: the HTTP app in front of a daemon, listening on a port. It answers to the names of its own
// address and to those of the configuration. A reader that takes nothing for `silentMsMax` is cut off. The
// others do not notice. A reader that waits for its answer is not cut off. A stop takes no new connection,
// ends streams with a problem, and answers those who wait with the ids of their tasks. A reader that comes
// again with `Last-Event-ID` misses nothing. Then the channels stop.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import { getRequestListener } from '@hono/node-server'
import { clientOn } from '@beaver/client'
import { BeaverError, type Logger, silentLogger } from '@beaver/core'
import { createApp, type HttpApp, tokenAccess, TokenStore } from '@beaver/http'
import { type GatewayChannels, isOfChannel, startGatewayChannels } from './channels.ts'
import {
  callerName,
  connectNats,
  lineOf,
  type NatsLogin,
  roleLogin,
  subjectsOf,
  watchConnection,
} from '@beaver/nats'
import { type Config, homeKeys } from '@beaver/platform'

export interface Gateway {
  readonly info: { readonly url: string; readonly tokens: number }
  /** Rejects if the gateway cannot go on. */
  readonly failed: Promise<never>
  stop(): Promise<void>
}

/** The file of tokens of a home. */
export const tokensFile = (home: string): string => join(home, 'gateway', 'tokens.json')

const silentMsUsual = 60_000
const headersMsMax = 10_000
const requestMsMax = 60_000
/** How long requests may go on when the gateway stops, in milliseconds. */
const stopMsMax = 2_000

type GatewayConfig = Pick<
  Config,
  'home' | 'keysFolder' | 'namespace' | 'tenant' | 'gateway' | 'channelSecrets' | 'workspace'
>

/**
 * @param options `silentMsMax`: how long a reader may take nothing, in milliseconds. Default: 60,000
 * @throws {BeaverError} `unreachable`, `start_failed` if the port is taken
 */
export async function startGateway(
  config: GatewayConfig,
  { url, login: given }: { readonly url: string; readonly login: NatsLogin },
  {
    logger = silentLogger,
    silentMsMax = silentMsUsual,
  }: { readonly logger?: Logger; readonly silentMsMax?: number } = {},
): Promise<Gateway> {
  const { home, keysFolder, namespace, tenant, gateway, workspace } = config
  const login = roleLogin(given, 'gateway')
  const subjects = subjectsOf(namespace, { tenant, caller: callerName(url, login) })
  const nc = await connectNats({ url, login, name: 'beaver-gateway' })
  watchConnection(nc, logger, subjects.stream)
  const tokens = new TokenStore(tokensFile(home))
  let own: readonly string[] = []
  const client = clientOn(nc, subjects, { operator: () => homeKeys(keysFolder).pinned(subjects.stream) })
  const channels = await orClosed(nc, () => startGatewayChannels(config, { nc, subjects, client, logger }))
  const app = createApp({
    client,
    connected: () => lineOf(nc).downMs === 0,
    access: tokenAccess(() => tokens.list()),
    hosts: () => own,
    origins: gateway.origins,
    imageOrigins: gateway.image_origins,
    workspaceRoot: gateway.workspace_root ?? workspace,
    bodyBytesMax: gateway.body_bytes_max,
    ...(gateway.wait_ms_max === undefined ? {} : { runMsMax: gateway.wait_ms_max }),
    requestsPerSecond: gateway.requests_per_second_max,
    ...(channels === null ? {} : { channels: channels.intake }),
    isOfChannel: (named) => isOfChannel(named, gateway),
    onDefect: (error) =>
      logger.error('request_failed', 'A request failed because of a defect.', { error: String(error) }),
  })
  const server = createServer(
    { headersTimeout: headersMsMax, requestTimeout: requestMsMax },
    getRequestListener((request, env) => app.fetch(request, addressOf(env)), {
      overrideGlobalObjects: false,
    }),
  )
  cutOffSilent(server, silentMsMax)
  server.maxConnections = gateway.connections_max
  try {
    const address = await listening(server, gateway)
    own = [...gateway.hosts.map((host) => host.toLowerCase()), ...namesOf(address)]
    const { promise: failed, reject } = Promise.withResolvers<never>()
    failed.catch(() => {})
    server.on('error', reject)
    return {
      info: { url: `http://${hostAndPort(address)}`, tokens: tokens.list().length },
      failed,
      stop: () => stop(server, { app, channels, close: () => nc.close() }),
    }
  } catch (error) {
    await channels?.stop()
    await nc.close()
    throw error
  }
}

const addressOf = (env: object): string | undefined =>
  (env as { incoming?: IncomingMessage }).incoming?.socket.remoteAddress

/** Closes the connection if a part does not start. */
async function orClosed<Part>(nc: { close(): Promise<void> }, start: () => Promise<Part>): Promise<Part> {
  try {
    return await start()
  } catch (error) {
    await nc.close()
    throw error
  }
}

/**
 * A connection is silent if no byte goes either way. Node.js uses the same event for a connection that waits
 * for its next request.
 */
function cutOffSilent(server: Server, silentMsMax: number): void {
  const answers = new Set<ServerResponse>()
  const used = new WeakSet<Socket>()
  server.on('request', ({ socket }, answer) => {
    used.add(socket)
    answers.add(answer)
    answer.once('close', () => answers.delete(answer))
  })
  server.setTimeout(silentMsMax, (socket) => {
    const waits = socket.writableLength === 0 && [...answers].some((each) => each.socket === socket)
    // One without a request so far has the time of `headersTimeout`.
    if (waits || !used.has(socket)) socket.setTimeout(silentMsMax)
    else socket.destroy()
  })
}

function listening(
  server: Server,
  { host, port }: Pick<Config['gateway'], 'host' | 'port'>,
): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        new BeaverError(
          'start_failed',
          error.code === 'EADDRINUSE'
            ? `The port ${port} of ${host} is taken. Set "gateway": {"port": …} to another one, or 0 for any free port.`
            : `The gateway cannot listen on ${host}:${port}: ${error.message}.`,
        ),
      ),
    )
    server.listen({ host, port }, () => resolve(server.address() as AddressInfo))
  })
}

const hostAndPort = ({ address, family, port }: AddressInfo): string =>
  `${family === 'IPv6' ? `[${address}]` : address}:${port}`

/** What a client may write in `Host`. */
function namesOf(at: AddressInfo): string[] {
  const loopback = at.address === '127.0.0.1' || at.address === '::1'
  return [
    hostAndPort(at),
    ...(loopback ? [`localhost:${at.port}`, `127.0.0.1:${at.port}`, `[::1]:${at.port}`] : []),
  ]
}

interface Stopped {
  readonly app: HttpApp
  readonly channels: GatewayChannels | null
  readonly close: () => Promise<void>
}

async function stop(server: Server, { app, channels, close }: Stopped): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  const late = setTimeout(() => server.closeAllConnections(), stopMsMax)
  server.closeIdleConnections()
  await app.close()
  await closed
  clearTimeout(late)
  await channels?.stop()
  await close()
}
