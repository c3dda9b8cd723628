// Answers how this process is, on a port of its own: `/healthz` (it lives), `/readyz` (it can work) and
// `/metrics` (Prometheus). There is no token, so it listens on loopback unless the configuration names another
// address, it takes GET alone, and it tells numbers and fixed words, never a text of a task. A page in a browser
// cannot read it by a name of its own that points at this machine. It never stops or delays the process: if a
// named port is taken, it tries again until it has it, because the process before this one may still have it.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Logger, messageOf } from '@beaver/core'
import type { Config } from '../config/config-file.ts'
import { isLoopback, statusAddress, type StatusAddress, type StatusProcess } from '../config/status.ts'
import { writeStatusFile } from '../home/status-file.ts'

/** What a process says of itself. */
export interface TellsStatus {
  /** Why it cannot work now, in fixed words; `null`: it can. */
  readonly notReady: () => string | null
  /** Its metrics in the text format of Prometheus. */
  readonly metrics: () => Promise<string>
  /** The type of that text. */
  readonly metricsType: string
}

export interface StatusListener {
  /** Where it listens. `null`: nowhere yet, because the named port is taken. */
  readonly url: string | null
  stop(): Promise<void>
}

/** Requests that are answered at a time. More are refused. */
const openMax = 10
const connectionsMaxUsual = 50
/** How long a request may take to come, and its reader to take the answer. */
const requestMsMaxUsual = 10_000
/** How often Node.js looks at these times; by default, every 30 s. */
const lookMs = 1_000
const againMs = 1_000

/** @returns `null` if the configuration says `off` */
export async function startStatusListener(
  process: StatusProcess,
  { home, status }: Pick<Config, 'home' | 'status'>,
  { logger, ...tells }: TellsStatus & { readonly logger: Logger },
  {
    requestMsMax = requestMsMaxUsual,
    connectionsMax = connectionsMaxUsual,
  }: { readonly requestMsMax?: number; readonly connectionsMax?: number } = {},
): Promise<StatusListener | null> {
  const address = statusAddress(status.listen, process)
  if (address === null) return null
  const server = createServer(
    {
      headersTimeout: requestMsMax,
      requestTimeout: requestMsMax,
      keepAliveTimeout: requestMsMax,
      connectionsCheckingInterval: Math.min(lookMs, requestMsMax),
    },
    answering(tells, address),
  )
  server.setTimeout(requestMsMax, (socket) => socket.destroy())
  server.maxConnections = connectionsMax
  const listener = new Listening(server, { process, home, address, logger })
  await listener.begin()
  return listener
}

class Listening implements StatusListener {
  url: string | null = null
  readonly #server: Server
  readonly #of: { process: StatusProcess; home: string; address: StatusAddress; logger: Logger }
  #timer: NodeJS.Timeout | null = null
  #forget: (() => void) | null = null

  constructor(
    server: Server,
    of: { process: StatusProcess; home: string; address: StatusAddress; logger: Logger },
  ) {
    this.#server = server
    this.#of = of
  }

  async begin(isAgain = false): Promise<void> {
    const { address, home, logger, process } = this.#of
    let refused = await refusal(this.#server, address)
    if (refused?.code === 'EADDRINUSE' && !address.named)
      refused = await refusal(this.#server, { ...address, port: 0 })
    if (refused !== null) {
      if (!isAgain)
        logger.warn(
          'status_not_listening',
          `Nobody can ask how this process is: it cannot listen on ${address.host}:${address.port} (${messageOf(refused)}). It tries again until it can. "status.listen" names the address.`,
        )
      this.#timer = setTimeout(() => void this.begin(true), againMs).unref()
      return
    }
    // A server that fails later, such as at a full table of files, must not end the process.
    this.#server.on('error', () => {})
    this.#server.unref()
    this.url = urlOf(this.#server.address() as AddressInfo)
    try {
      this.#forget = writeStatusFile(home, { process, url: this.url })
    } catch (error) {
      logger.warn('status_file_failed', `"beaver health" does not find this process: ${messageOf(error)}`)
    }
    logger.info('status_listening', `Metrics are at ${this.url}/metrics.`)
  }

  async stop(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer)
    try {
      this.#forget?.()
    } catch {
      // A file of a process that has ended counts for nothing.
    }
    this.#server.closeAllConnections()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }
}

/** Listens. @returns why it cannot; `null`: it listens */
function refusal(server: Server, { host, port }: StatusAddress): Promise<NodeJS.ErrnoException | null> {
  return new Promise((resolve) => {
    const listens = (): void => settle(null)
    const fails = (error: NodeJS.ErrnoException): void => settle(error)
    const settle = (error: NodeJS.ErrnoException | null): void => {
      server.off('listening', listens)
      server.off('error', fails)
      resolve(error)
    }
    server.once('listening', listens)
    server.once('error', fails)
    server.listen({ host, port })
  })
}

/** An address at which this machine itself reaches the listener. */
function urlOf({ address, family, port }: AddressInfo): string {
  const reached = address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '::1' : address
  return `http://${family === 'IPv6' ? `[${reached}]` : reached}:${port}`
}

function answering(
  { notReady, metrics, metricsType }: TellsStatus,
  { host }: StatusAddress,
): (request: IncomingMessage, response: ServerResponse) => void {
  let open = 0
  return (request, response) => {
    const say = (status: number, body: string, type = 'text/plain; charset=utf-8'): void => {
      const headers = {
        'content-type': type,
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        ...(status === 405 ? { allow: 'GET' } : {}),
        // The rest of a request that is refused may never end.
        ...(status >= 400 ? { connection: 'close' } : {}),
      }
      response.writeHead(status, headers).end(body)
    }
    request.resume()
    if (request.method !== 'GET') return say(405, 'Only GET is answered here.\n')
    if (isLoopback(host) && !isLocalName(request.headers.host ?? ''))
      return say(421, 'This is not answered under that name.\n')
    switch ((request.url ?? '').split('?')[0]) {
      case '/healthz':
        return say(200, 'ok\n')
      case '/readyz': {
        const why = notReady()
        return why === null ? say(200, 'ready\n') : say(503, `${why}\n`)
      }
      case '/metrics': {
        if (open >= openMax) return say(503, 'Too many requests are open.\n')
        open++
        void metrics()
          .then(
            (text) => say(200, text, metricsType),
            () => say(500, 'The metrics could not be read.\n'),
          )
          .finally(() => open--)
        return
      }
      default:
        return say(404, 'There are /healthz, /readyz and /metrics.\n')
    }
  }
}

/** Whether a `Host` names this machine, whatever its port. */
const isLocalName = (name: string): boolean =>
  isLoopback(
    name
      .toLowerCase()
      .replace(/:\d+$/, '')
      .replace(/^\[(.*)\]$/, '$1'),
  )
