// Serves MCP on stdin and stdout, or over streamable HTTP on 127.0.0.1, in both eras of the protocol. stdout
// carries only the protocol. HTTP answers only local hosts and origins, and only with a token, because other
// users of the machine reach it too. Closing aborts the open calls and ends within a bound.
import { hash, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Readable, Writable } from 'node:stream'
import { BeaverError } from '@beaver/core'
import {
  localhostHostValidation,
  localhostOriginValidation,
  type NodeIncomingMessageLike,
  toNodeHandler,
} from '@modelcontextprotocol/node'
import { createMcpHandler, type McpServer } from '@modelcontextprotocol/server'
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio'

export interface Serving {
  /** Resolves when no client is served any more. */
  readonly closed: Promise<void>
  close(): Promise<void>
}

/** Serves one client on a pair of streams until one of them ends. */
export function serveMcpStdio(
  servers: () => McpServer,
  { input, output }: { input: Readable; output: Writable },
): Serving {
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  const transport = new StdioServerTransport(input, output)
  const handle = serveStdio(servers, { transport })
  input.once('end', resolve)
  input.once('close', resolve)
  output.once('close', resolve)
  return {
    closed,
    async close() {
      await handle.close()
      resolve()
    },
  }
}

export interface HttpServing extends Serving {
  readonly url: string
}

const path = '/mcp'

/** Takes the same time for each token, so that the time reveals nothing. */
function isBearer(header: string | undefined, token: string): boolean {
  const [, sent = ''] = /^Bearer +(\S+)$/i.exec(header ?? '') ?? []
  return timingSafeEqual(hash('sha256', sent, 'buffer'), hash('sha256', token, 'buffer'))
}

/**
 * Keeps a request and each copy of it in `kept`. By the copy's signal the SDK learns that a client left, but
 * it holds neither request. In Node.js an unreferenced request passes no abort on to its signal, and after a
 * garbage collection `clone()` never does: the call would go on for nobody.
 */
function keep(request: Request, kept: Request[]): Request {
  kept.push(request)
  const copy = request.clone.bind(request)
  return Object.assign(request, { clone: () => keep(new Request(copy(), { signal: request.signal }), kept) })
}

/**
 * @param options.token what a request has in `Authorization: Bearer …`
 * @param options.port default: any free port
 * @throws {BeaverError} `start_failed` if the port cannot be used
 */
export async function serveMcpHttp(
  servers: () => McpServer,
  { token, port = 0 }: { token: string; port?: number },
): Promise<HttpServing> {
  const handler = createMcpHandler(servers)
  const hostAllowed = localhostHostValidation()
  const originAllowed = localhostOriginValidation()
  const sockets = new Set<Socket>()
  const server = createServer((request, response) => {
    if (!hostAllowed(request, response) || !originAllowed(request, response)) return
    if (new URL(request.url ?? '/', 'http://localhost').pathname !== path) {
      response.writeHead(404, { 'content-type': 'text/plain' }).end(`MCP is served at ${path}.\n`)
      return
    }
    if (!isBearer(request.headers.authorization, token)) {
      const head = { 'content-type': 'text/plain', 'www-authenticate': 'Bearer realm="beaver"' }
      response
        .writeHead(401, head)
        .end('Send the token of this server: Authorization: Bearer <token>. "beaver mcp --http" prints it.\n')
      return
    }
    const requests: Request[] = []
    response.once('close', () => requests.splice(0))
    const keeping = {
      fetch: (...[asked, options]: Parameters<typeof handler.fetch>) =>
        handler.fetch(keep(asked, requests), options),
    }
    void toNodeHandler({ ...handler, ...keeping })(
      request as typeof request & NodeIncomingMessageLike,
      response,
    )
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  server.once('close', resolve)
  await new Promise<void>((listening, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        new BeaverError(
          'start_failed',
          `The port ${port} of 127.0.0.1 cannot be used (${error.code ?? error.message}). Name another with --port.`,
          {
            cause: error,
          },
        ),
      ),
    )
    server.listen(port, '127.0.0.1', listening)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    closed,
    async close() {
      server.close()
      await handler.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}
