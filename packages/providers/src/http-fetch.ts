// `fetch` on node:http(s), for chat calls: one POST, its whole answer. Node.js's own fetch spends more on its web streams
// than a chat client spends on everything else (docs/decisions/0006).
// H1. Connections are kept and shared. H2. Aborting ends the request and its socket. H3. What it does not do (redirects,
//     cookies, streamed request bodies) it refuses or leaves to the caller's own `fetch`.
import { Agent as HttpAgent, type IncomingMessage, request as httpRequest } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'

const socketsMax = 1_024
/** Above this an answer is not read to its end. */
export const bodyBytesMax = 8 * 1024 * 1024

/** A `fetch` with its own connection pool. Redirects come back as they are: a chat endpoint has no business redirecting. */
export function httpFetch(): typeof fetch {
  const options = {
    keepAlive: true,
    maxSockets: socketsMax,
    keepAliveMsecs: 30_000,
    scheduling: 'lifo' as const,
    ...(process.env['NODE_USE_ENV_PROXY'] === '1' ? { proxyEnv: process.env } : {}),
  }
  const http = new HttpAgent(options)
  const https = new HttpsAgent(options)

  return (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input)
    const secure = url.protocol === 'https:'
    const body = init.body ?? null
    if (body !== null && typeof body !== 'string' && !(body instanceof Uint8Array)) return Promise.reject(new TypeError('httpFetch sends text or bytes only'))
    if (init.signal?.aborted === true) return Promise.reject(init.signal.reason as Error)
    return new Promise<Response>((resolve, reject) => {
      const failed = (error: Error): void =>
        reject(init.signal?.aborted === true ? (init.signal.reason as Error) : new TypeError('fetch failed', { cause: error }))
      const request = (secure ? httpsRequest : httpRequest)(
        url,
        { method: init.method ?? 'GET', agent: secure ? https : http, headers: headersOf(init.headers, body) },
        (incoming) => receive(incoming, resolve, failed),
      )
      const stop = (): void => void request.destroy()
      init.signal?.addEventListener('abort', stop, { once: true })
      request.once('close', () => init.signal?.removeEventListener('abort', stop))
      request.once('error', failed)
      request.end(body ?? undefined)
    })
  }
}

function headersOf(given: RequestInit['headers'], body: string | Uint8Array | null): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of given instanceof Headers ? given : new Headers(given)) headers[name] = value
  if (body !== null) headers['content-length'] = String(Buffer.byteLength(body))
  return headers
}

/** A stream of events is handed on as it comes; anything else is read whole first, which spares a web stream. */
function receive(incoming: IncomingMessage, resolve: (response: Response) => void, reject: (error: Error) => void): void {
  const headers = new Headers()
  for (let i = 0; i < incoming.rawHeaders.length; i += 2) headers.append(incoming.rawHeaders[i] as string, incoming.rawHeaders[i + 1] as string)
  const status = incoming.statusCode ?? 0
  const init = { status, statusText: incoming.statusMessage ?? '', headers }
  if (incoming.headers['content-type']?.startsWith('text/event-stream') === true) return resolve(new Response(Readable.toWeb(incoming) as ReadableStream, init))
  const chunks: Buffer[] = []
  let bytes = 0
  incoming.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    chunks.push(chunk)
    if (bytes > bodyBytesMax) incoming.destroy(new Error(`the answer has more than ${bodyBytesMax} bytes`))
  })
  incoming.once('end', () => resolve(new Response(status === 204 || status === 304 ? null : Buffer.concat(chunks), init)))
  incoming.once('error', reject)
  // The server went away in the middle of its answer.
  incoming.once('close', () => incoming.complete || reject(new Error('the connection was closed before the answer was complete')))
}
