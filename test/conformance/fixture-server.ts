// The server that the conformance suite of MCP asks: its tools, served by `serveMcpHttp` of @beaver/mcp. The
// suite sends no token, and ours is not optional: a forwarder in front adds it, and changes nothing else.
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serveMcpHttp } from '@beaver/mcp'
import { McpServer } from '@modelcontextprotocol/server'
import { addAskingTools, stateCodec } from './asking-tools.ts'
import { addPlainTools, addPrompts, addResources } from './plain-tools.ts'
import { addTaskTools } from './task-tools.ts'

const token = 'the-token-of-the-conformance-fixture'

function fixture(): McpServer {
  const capabilities = {
    tools: {},
    resources: { subscribe: true },
    prompts: {},
    logging: {},
    completions: {},
  }
  const server = new McpServer(
    { name: 'beaver-conformance-fixture', version: '1.0.0' },
    { capabilities, requestState: { verify: stateCodec.verify } },
  )
  addPlainTools(server)
  addResources(server)
  addPrompts(server)
  addAskingTools(server)
  addTaskTools(server)
  return server
}

export interface FixtureServer extends AsyncDisposable {
  readonly url: string
}

export async function startFixture(): Promise<FixtureServer> {
  const serving = await serveMcpHttp(fixture, { token })
  const forwarder = createServer((from, to) => forward(from, to, new URL(serving.url)))
  await new Promise<void>((resolve) => forwarder.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(forwarder.address() as AddressInfo).port}/mcp`,
    async [Symbol.asyncDispose]() {
      forwarder.closeAllConnections()
      await new Promise((resolve) => forwarder.close(resolve))
      await serving.close()
    },
  }
}

function forward(from: IncomingMessage, to: ServerResponse, { hostname, port }: URL): void {
  const headers = { ...from.headers, authorization: `Bearer ${token}` }
  const asked = request({ hostname, port, path: from.url, method: from.method, headers }, (answer) => {
    to.writeHead(answer.statusCode ?? 500, answer.headers)
    answer.pipe(to)
  })
  asked.on('error', () => to.destroy())
  to.on('close', () => asked.destroy())
  from.pipe(asked)
}
