// An MCP server over HTTP for tests: real, on a port of its own, and able to misbehave.
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type NodeIncomingMessageLike, toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { z } from 'zod'

export interface HttpFixture {
  readonly url: string
  readonly port: number
  readonly headers: IncomingHttpHeaders[]
  /** What every request gets from now on, instead of MCP; `null`: MCP again. */
  answer: { readonly status: number; readonly type: string; readonly body: string } | null
  stop(): Promise<void>
}

export async function httpFixture({
  port = 0,
  legacy = 'stateless',
}: { port?: number; legacy?: 'stateless' | 'reject' } = {}): Promise<HttpFixture> {
  const handler = createMcpHandler(
    () => {
      const server = new McpServer(
        { name: 'http fixture', version: '2' },
        { capabilities: { tools: { listChanged: true } } },
      )
      server.registerTool(
        'add',
        { description: 'Adds.', inputSchema: z.strictObject({ a: z.number(), b: z.number() }) },
        ({ a, b }) => ({
          content: [{ type: 'text', text: String(a + b) }],
        }),
      )
      server.registerTool(
        'hang',
        { description: 'Never answers.', inputSchema: z.strictObject({}) },
        () => new Promise(() => {}),
      )
      return server
    },
    { legacy },
  )
  const handle = toNodeHandler(handler)
  const sockets = new Set<Socket>()
  const headers: IncomingHttpHeaders[] = []
  const server: Server = createServer((request, response) => {
    headers.push(request.headers)
    const { answer } = made
    if (answer === null) void handle(request as typeof request & NodeIncomingMessageLike, response)
    else response.writeHead(answer.status, { 'content-type': answer.type }).end(answer.body)
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const bound = (server.address() as AddressInfo).port
  const made: HttpFixture = {
    url: `http://127.0.0.1:${bound}/mcp`,
    port: bound,
    headers,
    answer: null,
    async stop() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      await handler.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
  return made
}
