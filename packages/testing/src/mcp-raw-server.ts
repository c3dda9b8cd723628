// An MCP server over HTTP for tests that speaks the protocol of 2026 by hand, so that it can misbehave.
// `answers` has the result of each method; a function gets the parameters and the headers. `gate` comes
// before MCP.
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

export interface RawRequest {
  readonly method: string
  readonly params: Readonly<Record<string, unknown>>
  readonly headers: IncomingHttpHeaders
}

type AnswerOf = (request: RawRequest) => object | Promise<object>
export type RawAnswer = object | AnswerOf

export interface RawHttp extends AsyncDisposable {
  readonly origin: string
  readonly url: string
  /** Every answered MCP request. */
  readonly requests: RawRequest[]
  readonly answers: Record<string, RawAnswer>
  /** Returns whether it has answered the request itself. */
  gate: (request: IncomingMessage, response: ServerResponse, body: string) => boolean | Promise<boolean>
}

const cacheable = { ttlMs: 0, cacheScope: 'private' }

export async function rawHttpServer({
  capabilities = { tools: {} },
  tools = [],
}: { capabilities?: object; tools?: readonly object[] } = {}): Promise<RawHttp> {
  const sockets = new Set<Socket>()
  const server = createServer((request, response) => void handle(request, response))
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const made: RawHttp = {
    origin,
    url: `${origin}/mcp`,
    requests: [],
    answers: {
      'server/discover': {
        supportedVersions: ['2026-07-28'],
        capabilities,
        serverInfo: { name: 'raw', version: '0' },
        ...cacheable,
      },
      'tools/list': { tools, ...cacheable },
      'tools/call': { content: [{ type: 'text', text: 'called' }] },
    },
    gate: () => false,
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
  return made

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await textOf(request)
    if (await made.gate(request, response, body)) return
    if (request.method !== 'POST') return void response.writeHead(405).end()
    const {
      id,
      method,
      params = {},
    } = JSON.parse(body) as { id?: number; method: string; params?: Record<string, unknown> }
    if (id === undefined) return void response.writeHead(202).end()
    const asked: RawRequest = { method, params, headers: request.headers }
    made.requests.push(asked)
    const answer = made.answers[method]
    if (answer === undefined)
      return json(response, { jsonrpc: '2.0', id, error: { code: -32_601, message: `no method ${method}` } })
    const result = typeof answer === 'function' ? await (answer as AnswerOf)(asked) : answer
    json(response, { jsonrpc: '2.0', id, result: { resultType: 'complete', ...result } })
  }
}

export async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) text += String(chunk)
  return text
}

export function json(
  response: ServerResponse,
  value: object,
  status = 200,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value))
}
