// Serves the simulated model over HTTP, as OpenAI's chat completions, on the loopback interface only.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { answer } from './answer.ts'
import { simulatedModelName } from './simulated-model-name.ts'
import { completion, completionChunks, completionId, estimateUsage, readRequest } from './wire.ts'

export interface SimulatedModel {
  /** `http://127.0.0.1:<port>`. The base URL of a client is this with `/v1`. */
  readonly url: string
  close(): Promise<void>
}

const bodyBytesMax = 32 * 1024 * 1024

/** @param options `port`: default any free port. `latencyMs`: how long each answer takes, default 0. */
export async function startSimulatedModel(
  options: { port?: number; latencyMs?: number } = {},
): Promise<SimulatedModel> {
  const closing = new AbortController()
  const server = createServer((request, response) => {
    serve(request, response, { latencyMs: options.latencyMs ?? 0, signal: closing.signal }).catch(
      (error: unknown) => {
        if (response.headersSent) response.destroy()
        else
          fail(response, 500, {
            type: 'server_error',
            message: error instanceof Error ? error.message : String(error),
          })
      },
    )
  })
  // Longer than clients keep idle connections, so clients close first and no request meets a closed
  // connection.
  server.keepAliveTimeout = 60_000
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port ?? 0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        closing.abort()
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  how: { latencyMs: number; signal: AbortSignal },
): Promise<void> {
  const path = (request.url ?? '/').split('?')[0]
  if (request.method === 'GET' && path === '/v1/models') {
    return send(response, 200, {
      object: 'list',
      data: [{ id: simulatedModelName, object: 'model', created: 0, owned_by: 'beaver' }],
    })
  }
  if (path !== '/v1/chat/completions')
    return fail(response, 404, {
      message: `There is no ${path} here; there are /v1/chat/completions and /v1/models.`,
    })
  if (request.method !== 'POST') return fail(response, 405, { message: 'Use POST.' })
  const body = await readBody(request)
  if (body === null) return fail(response, 413, { message: `The body is larger than ${bodyBytesMax} bytes.` })
  const read = readRequest(body)
  if ('fault' in read) return fail(response, 400, { message: read.fault })
  if (read.model !== simulatedModelName) {
    return fail(response, 404, {
      code: 'model_not_found',
      message: `The simulated model answers to ${simulatedModelName} only, not to ${JSON.stringify(read.model.slice(0, 100))}.`,
    })
  }
  if (how.latencyMs > 0) await wait(how.latencyMs, undefined, { signal: how.signal })
  const reply = answer(read.request)
  const usage = estimateUsage(body, reply)
  const id = completionId(body)
  if (!read.stream) return send(response, 200, completion(id, reply, usage))
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  for (const chunk of completionChunks(id, reply, read.streamUsage ? usage : null))
    response.write(`data: ${JSON.stringify(chunk)}\n\n`)
  response.end('data: [DONE]\n\n')
}

async function readBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > bodyBytesMax) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

function send(response: ServerResponse, status: number, value: object): void {
  const body = JSON.stringify(value)
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  })
  response.end(body)
}

function fail(
  response: ServerResponse,
  status: number,
  error: { message: string; type?: string; code?: string },
): void {
  send(response, status, { error: { type: 'invalid_request_error', param: null, code: null, ...error } })
}
