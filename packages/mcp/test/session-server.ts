// An MCP server over HTTP of the protocol of 2025, which has sessions and may forget them.
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface SessionServer extends AsyncDisposable {
  readonly url: string
  /** What it was asked, in order: the method, and with a session whether it knew it. */
  readonly asked: string[]
  /** The tools that it lists. */
  tools: string[]
  /** How many of the next new sessions it forgets at once. */
  forgetful: number
  /** Keeps the next call, until it is answered or its line is cut. */
  hold(): { readonly reached: Promise<void>; answer(): void; cut(): void }
  /** Forgets all sessions. */
  forget(): void
}

export async function sessionServer(): Promise<SessionServer> {
  const sessions = new Set<string>()
  let made = 0
  let next: ((call: { answer(): void; cut(): void }) => void) | null = null
  const say = (response: ServerResponse, message: object, headers = {}): void =>
    void response
      .writeHead(200, { 'content-type': 'application/json', ...headers })
      .end(JSON.stringify({ jsonrpc: '2.0', ...message }))
  const server: Server = createServer((request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end()
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      const { id, method, params } = JSON.parse(body) as {
        id?: number
        method: string
        params?: { name?: string }
      }
      const session = request.headers['mcp-session-id']
      if (method === 'initialize') {
        const begun = `session ${++made}`
        if (kit.forgetful > 0) kit.forgetful--
        else sessions.add(begun)
        kit.asked.push(method)
        const result = {
          protocolVersion: '2025-06-18',
          capabilities: { tools: {} },
          serverInfo: { name: 'sessions', version: '0' },
        }
        return say(response, { id, result }, { 'mcp-session-id': begun })
      }
      const isKnown = typeof session === 'string' && sessions.has(session)
      if (session === undefined) return void response.writeHead(400).end('no session')
      if (id !== undefined) kit.asked.push(`${method}${isKnown ? '' : ' forgotten'}`)
      if (!isKnown) return void response.writeHead(404).end()
      if (id === undefined) return void response.writeHead(202).end()
      if (method === 'tools/list')
        return say(response, {
          id,
          result: { tools: kit.tools.map((name) => ({ name, inputSchema: { type: 'object' } })) },
        })
      const answer = (): void =>
        say(response, {
          id,
          result: { content: [{ type: 'text', text: `called ${params?.name} in ${session}` }] },
        })
      const held = next
      next = null
      if (held === null) return answer()
      held({ answer, cut: () => void response.destroy() })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const kit: SessionServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    asked: [],
    tools: ['look'],
    forgetful: 0,
    hold() {
      let held: { answer(): void; cut(): void } | null = null
      const { promise: reached, resolve } = Promise.withResolvers<void>()
      next = (call) => {
        held = call
        resolve()
      }
      return { reached, answer: () => held?.answer(), cut: () => held?.cut() }
    },
    forget: () => sessions.clear(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return kit
}
