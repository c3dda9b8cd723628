// The gateway: the HTTP app in front of a daemon, listening on a port, and the channels. It answers to the
// names of its own address and to those of the configuration. If the configuration names no port and another
// program has the usual one, the gateway takes a free one; the commands find it by gateway-file.ts. A stop
// takes no new connection, ends streams with a problem, and answers waiting requests with the ids of their
// tasks; a reader that reconnects with `Last-Event-ID` misses nothing. Then the channels stop.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import {
  type Channel,
  type ChannelHost,
  channelOfSession,
  isTaskOfChat,
  startChannels,
  WebhookChannel,
} from '@beaver/channels'
import type { ChatSdkChannel } from '@beaver/channels/chat-sdk'
import { type BeaverClient, clientOn } from '@beaver/client'
import { BeaverError, type Logger, silentLogger, systemClock } from '@beaver/core'
import {
  type ChannelIntake,
  createApp,
  type HttpApp,
  type NamedTask,
  tokenAccess,
  TokenStore,
} from '@beaver/http'
import {
  callerName,
  connectNats,
  lineOf,
  type NatsLogin,
  natsMessageBus,
  openInCluster,
  roleLogin,
  type Subjects,
  subjectsOf,
  watchConnection,
} from '@beaver/nats'
import {
  type ChannelConfig,
  type Config,
  homeKeys,
  optionalPackages,
  requirePackages,
} from '@beaver/platform'
import { getRequestListener } from '@hono/node-server'
import { boundConnections, openOperatorSocket, operatorSocket } from './bound-connections.ts'
import { firstPort, usualPort, writeGatewayFile } from './gateway-file.ts'

export interface Gateway {
  readonly info: { readonly url: string; readonly tokens: number }
  /** Rejects if the gateway cannot go on. */
  readonly failed: Promise<never>
  stop(): Promise<void>
}

/** The file of tokens of a home. */
export const tokensFile = (home: string): string => join(home, 'gateway', 'tokens.json')

const silentMsUsual = 60_000
const requestMsMax = 60_000
/** How often Node.js looks for connections whose headers or body take too long, in milliseconds. */
const lookMs = 1_000
/** How long requests may continue when the gateway stops, in milliseconds. */
const stopMsMax = 2_000

type GatewayConfig = Pick<
  Config,
  'home' | 'keysFolder' | 'namespace' | 'tenant' | 'gateway' | 'channelSecrets' | 'workspace' | 'status'
>

/**
 * @param options `silentMsMax`: how long a reader may take nothing before it is cut off, in milliseconds.
 * Default: 60,000. `consoleFolder`: the folder with the pages of the console. Default: the gateway serves no
 * console
 * @throws {BeaverError} `unreachable`, `start_failed` if the configured port is taken
 */
export async function startGateway(
  config: GatewayConfig,
  { url, login: configuredLogin }: { readonly url: string; readonly login: NatsLogin },
  {
    logger = silentLogger,
    silentMsMax = silentMsUsual,
    consoleFolder,
  }: { readonly logger?: Logger; readonly silentMsMax?: number; readonly consoleFolder?: string } = {},
): Promise<Gateway> {
  const { home, keysFolder, namespace, tenant, gateway, workspace } = config
  const login = roleLogin(configuredLogin, 'gateway')
  const subjects = subjectsOf(namespace, { tenant, caller: callerName(url, login) })
  const nc = await connectNats({ url, login, name: 'beaver-gateway' })
  watchConnection(nc, logger, subjects.stream)
  const tokens = new TokenStore(tokensFile(home))
  let own: readonly string[] = []
  const client = clientOn(nc, subjects, { operator: () => homeKeys(keysFolder).pinned(subjects.stream) })
  const channels = await orClosed(nc, () => startGatewayChannels(config, { nc, subjects, client, logger }))
  const status = config.status.listen === 'off' ? null : await import('./gateway-status.ts')
  const counted = status?.gatewayMetrics(config, nc) ?? null
  const app = createApp({
    client,
    ...(counted === null ? {} : { onAnswered: (answered) => counted.answered(answered) }),
    connected: () => lineOf(nc).downMs === 0,
    access: tokenAccess(() => tokens.list()),
    logins: tokens,
    hosts: () => own,
    origins: gateway.origins,
    imageOrigins: gateway.image_origins,
    workspaceRoot: gateway.workspace_root ?? workspace,
    bodyBytesMax: gateway.body_bytes_max,
    ...(gateway.wait_ms_max === undefined ? {} : { runMsMax: gateway.wait_ms_max }),
    requestsPerSecond: gateway.requests_per_second_max,
    openRequestsMax: gateway.open_requests_max,
    ...(consoleFolder === undefined ? {} : { consoleFolder }),
    ...(channels === null ? {} : { channels: channels.intake }),
    isOfChannel: (named) => isOfChannel(named, gateway),
    onDefect: (error) =>
      logger.error('request_failed', 'A request failed because of a defect.', { error: String(error) }),
  })
  const sockets = {
    refused: new WeakSet<Socket>(),
    operators: new WeakSet<Socket>(),
    onRefused: counted?.connectionRefused,
  }
  const answer = getRequestListener((request, env) => app.fetch(request, addressOf(env)), {
    overrideGlobalObjects: false,
  })
  const server = createServer(
    {
      headersTimeout: gateway.headers_ms_max,
      requestTimeout: requestMsMax,
      connectionsCheckingInterval: Math.min(lookMs, gateway.headers_ms_max),
    },
    (request, response) => void (sockets.refused.has(request.socket) || answer(request, response)),
  )
  boundConnections(
    server,
    { connectionsMax: gateway.connections_max, ofAddressMax: gateway.connections_of_address_max },
    sockets,
  )
  cutOffSilent(server, silentMsMax)
  try {
    const address = await listening(server, gateway, firstPort(home))
    own = [...gateway.hosts.map((host) => host.toLowerCase()), ...namesOf(address)]
    const path = operatorSocket(home, address.port)
    const closeSocket = await openOperatorSocket(server, path, sockets.operators)
    if (closeSocket === null)
      logger.warn('no_operator_socket', `The path ${path} is too long for the socket of the operator.`)
    const { promise: failed, reject } = Promise.withResolvers<never>()
    failed.catch(() => {})
    server.on('error', reject)
    const forget = writeGatewayFile(home, {
      url: `http://${hostAndPort({ ...address, address: reachable(address.address) })}`,
      port: address.port,
      port_found: gateway.port === undefined,
      started_at: new Date().toISOString(),
    })
    const listener = (await counted?.listen({ server, loads: channels?.loads ?? null, logger })) ?? null
    return {
      info: {
        url: `http://${hostAndPort(address)}`,
        tokens: tokens.list().filter(({ login: isLogin }) => isLogin !== true).length,
      },
      failed,
      stop: () => {
        try {
          forget()
        } catch (error) {
          // A dead process in the file names no gateway either.
          logger.warn('gateway_file_left', `The file of the gateway could not be changed: ${String(error)}`)
        }
        closeSocket?.()
        const close = async (): Promise<void> => {
          await listener?.stop()
          await nc.close()
        }
        return stop(server, { app, channels, close })
      },
    }
  } catch (error) {
    server.close()
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
 * Cuts off silent connections, on which no byte goes either way. A reader that waits for its answer is not
 * cut off. Node.js uses the same event for a connection that waits for its next request.
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
    // A connection without a request so far has `headersTimeout`.
    if (waits || !used.has(socket)) socket.setTimeout(silentMsMax)
    else socket.destroy()
  })
}

/** @throws {BeaverError} `start_failed` */
async function listening(
  server: Server,
  { host, port }: Pick<Config['gateway'], 'host' | 'port'>,
  portFirst: number,
): Promise<AddressInfo> {
  const ports = port === undefined ? new Set([portFirst, usualPort, 0]) : [port]
  let refused: NodeJS.ErrnoException | null = null
  for (const each of ports) {
    refused = await refusal(server, { host, port: each })
    if (refused === null) return server.address() as AddressInfo
    if (refused.code !== 'EADDRINUSE') break
  }
  throw new BeaverError(
    'start_failed',
    refused?.code === 'EADDRINUSE'
      ? `The port ${port} of ${host} is taken. Set "gateway": {"port": …} to another one, or 0 for any free port.`
      : `The gateway cannot listen on ${host}:${port ?? portFirst}: ${refused?.message}.`,
  )
}

/** Listens. @returns why it cannot; `null`: it listens */
function refusal(
  server: Server,
  at: { readonly host: string; readonly port: number },
): Promise<NodeJS.ErrnoException | null> {
  return new Promise((resolve) => {
    server.once('error', resolve)
    server.listen(at, () => {
      server.off('error', resolve)
      resolve(null)
    })
  })
}

const hostAndPort = ({ address, family, port }: AddressInfo): string =>
  `${family === 'IPv6' ? `[${address}]` : address}:${port}`

/** An address at which this machine itself reaches a server that listens at every address. */
const reachable = (address: string): string =>
  address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '::1' : address

/** What a client may write in `Host`. A browser of this machine gets in by the names of this machine. */
function namesOf(at: AddressInfo): string[] {
  const loopback = ['127.0.0.1', '::1'].includes(reachable(at.address))
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

// The channels come from the configuration and are reached by signed requests. The parts of a network are
// loaded only if a channel uses it.

type Loads = Awaited<ReturnType<typeof natsMessageBus>>['loads']

interface GatewayChannels extends ChannelHost {
  /** The messages that wait. */
  readonly loads: Loads
  readonly intake: ChannelIntake
}

interface ChannelsBehind {
  readonly nc: Parameters<typeof natsMessageBus>[0]
  readonly subjects: Subjects
  readonly client: BeaverClient
  readonly logger: Logger
}

/**
 * @returns `null` if the configuration has no channel @throws {BeaverError} `invalid_configuration`,
 * `start_failed`
 */
async function startGatewayChannels(
  { gateway, channelSecrets }: Pick<Config, 'gateway' | 'channelSecrets'>,
  { nc, subjects, client, logger }: ChannelsBehind,
): Promise<GatewayChannels | null> {
  const made = Object.entries(gateway.channels).map(async ([name, settings]) => {
    return { settings, channel: await channelOf(name, settings, { secrets: channelSecrets, logger }) }
  })
  if (made.length === 0) return null
  const channels = await Promise.all(made)
  const bus = await openInCluster(
    nc,
    () => natsMessageBus(nc, subjects, { leaseMs: gateway.channels_lease_ms }),
    { logger },
  )
  const host = await startChannels({ bus, client, channels, onStop: gateway.channels_on_stop, logger })
  const webhooks = new Map(
    channels.flatMap(({ channel }) =>
      channel instanceof WebhookChannel ? [[channel.name, channel] as const] : [],
    ),
  )
  const networks = new Map(
    channels.flatMap(({ channel }) =>
      'takeEvent' in channel ? [[channel.name, channel as ChatSdkChannel] as const] : [],
    ),
  )
  return {
    stop: host.stop,
    loads: () => bus.loads(),
    intake: {
      take: async (name, request) => (await webhooks.get(name)?.take(request)) ?? null,
      takeEvent: async (name, request) => (await networks.get(name)?.takeEvent(request)) ?? null,
    },
  }
}

/**
 * Whether an id belongs to a chat: a session's id to a chat of this configuration or a terminal, a task's id
 * to a message of any chat.
 */
function isOfChannel(
  { session_id, task_id }: NamedTask,
  { channels }: Pick<Config['gateway'], 'channels'>,
): boolean {
  const name = session_id === undefined ? null : channelOfSession(session_id)
  const isChat = name !== null && (Object.hasOwn(channels, name) || name.startsWith('console-'))
  return isChat || (task_id !== undefined && isTaskOfChat(task_id))
}

interface With {
  readonly secrets: Config['channelSecrets']
  readonly logger: Logger
}

async function channelOf(name: string, config: ChannelConfig, { secrets, logger }: With): Promise<Channel> {
  const clock = systemClock
  switch (config.type) {
    case 'webhook': {
      const { url, secret_env: secretName, timeout_ms: timeoutMs } = config
      return new WebhookChannel({
        name,
        url,
        secretName,
        secret: secrets[secretName] ?? null,
        timeoutMs,
        clock,
      })
    }
    case 'email': {
      requirePackages(`The channel ${name}`, optionalPackages.email)
      const { EmailChannel } = await import('@beaver/channels/email')
      const { address, mailbox, since, sender_check: senderCheck, users, unknown_users, approvers } = config
      const times = {
        pollMs: config.poll_ms,
        timeoutMs: config.timeout_ms,
        perHourMax: config.sender_per_hour_max,
      }
      const server = ({ password_env: variable, ...rest }: typeof config.imap) => ({
        ...rest,
        password: variable === undefined ? null : secretOf(name, variable, secrets),
      })
      const [imap, smtp] = [server(config.imap), server(config.smtp)]
      const knows = (sender: string): boolean => unknown_users === 'as_named' || Object.hasOwn(users, sender)
      return new EmailChannel({
        name,
        address,
        imap,
        smtp,
        mailbox,
        since,
        senderCheck,
        knows,
        approvers,
        ...times,
        clock,
        logger,
      })
    }
    case 'chat_sdk': {
      requirePackages(`The channel ${name}`, [`@chat-adapter/${config.adapter}`])
      const { ChatSdkChannel: Network } = await import('@beaver/channels/chat-sdk')
      const { adapter, chars_max: charsMax, timeout_ms: timeoutMs } = config
      const adapterSecrets = Object.entries(config.secrets_env).map(
        ([option, variable]) => [option, secretOf(name, variable, secrets)] as const,
      )
      return Network.open({
        name,
        adapter,
        options: { ...config.options, ...Object.fromEntries(adapterSecrets) },
        charsMax,
        timeoutMs,
        clock,
        logger,
      })
    }
    default:
      return config satisfies never
  }
}

/** @throws {BeaverError} `invalid_configuration` */
function secretOf(channel: string, variable: string, secrets: Config['channelSecrets']): string {
  const secret = secrets[variable] ?? null
  if (secret === null)
    throw new BeaverError(
      'invalid_configuration',
      `The variable $${variable} of the channel ${channel} is not set. It has a secret of the channel.`,
    )
  return secret
}
