// What the tests of the providers share: an HTTP server that answers as the test says, and a provider that
// asks it.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type ChatProvider, type ChatRequest, ProviderError } from '@beaver/agent'
import { openAiChatProvider } from '../src/openai-chat.ts'

export const apiKey = 'sk-test-SECRET+with/odd="chars"'

export type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void

const servers: Server[] = []

/** Its base URL. */
export async function serve(handler: Handler): Promise<string> {
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => handler(request, response, body))
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
}

/** Ends the servers of a test; every connection to them with it. */
export async function closeServers(): Promise<void> {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
}

export const json =
  (value: unknown, status = 200, headers: Record<string, string> = {}): Handler =>
  (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(typeof value === 'string' ? value : JSON.stringify(value))
  }

/**
 * A stream of these events: text as it is, anything else as JSON; ended by `[DONE]` unless `open`, or unless
 * it just stops (`cut`).
 */
export const sse =
  (events: readonly unknown[], how: { open?: boolean; cut?: boolean; type?: string } = {}): Handler =>
  (_, response) => {
    response.writeHead(200, { 'content-type': how.type ?? 'text/event-stream; charset=utf-8' })
    response.flushHeaders()
    for (const event of events)
      response.write(typeof event === 'string' ? event : `data: ${JSON.stringify(event)}\n\n`)
    if (how.open !== true) response.end(how.cut === true ? '' : 'data: [DONE]\n\n')
  }

/** An event of a stream. */
export const chunk = (delta: unknown, finish: unknown = null, over: object = {}): object => ({
  id: 'r1',
  model: 'm-1',
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...over,
})
export const say = (content: unknown): object => chunk({ content })
export const end = (finish = 'stop'): object => chunk({}, finish)
export const call = (index: unknown, over: object): object => chunk({ tool_calls: [{ index, ...over }] })

export const ask = (over: Partial<ChatRequest> = {}): ChatRequest => ({
  messages: [{ role: 'user', content: 'x' }],
  tools: [],
  signal: new AbortController().signal,
  ...over,
})

export const provider = (
  baseURL: string,
  limits: { timeoutMs?: number; idleMs?: number; images?: boolean } = {},
): ChatProvider =>
  openAiChatProvider({ name: 'test', baseURL, apiKey, model: 'm', timeoutMs: 60_000, ...limits })

/** Asks a server for a stream. */
export async function stream(
  handler: Handler,
  over: Partial<ChatRequest> = {},
  limits: { timeoutMs?: number; idleMs?: number } = {},
) {
  const texts: string[] = []
  const answer = await provider(await serve(handler), limits).chat(
    ask({ onText: (text) => texts.push(text), ...over }),
  )
  return { texts, answer }
}

/** What a call was refused with. */
export async function failureOf(call: Promise<unknown>): Promise<ProviderError> {
  const error = await call.then(
    () => new Error('it did not fail'),
    (thrown: unknown) => thrown,
  )
  if (error instanceof ProviderError) return error
  throw error
}
