// One POST to a model's endpoint, on undici: connections kept and shared, no retry, no redirect, no decompression.
// The `openai` client's own way of sending costs eight times as much (docs/decisions/0006).
// H1. Aborting ends the request and its connection. H2. No limit of time but that of connecting: the call's watch has the others.
// H3. `NODE_USE_ENV_PROXY=1` works as for Node.js itself. H4. A redirect comes back as it is: a chat endpoint has no business
//     redirecting a request that carries a key.
import type { Dispatcher } from 'undici'

export interface HttpAnswer {
  readonly status: number
  /** The value of a header, several of one name joined as they are in HTTP; `null` without one. */
  header(name: string): string | null
  headers(): Headers
  /** The body as one text; for one of known length, when it is not too long to be read. */
  text(): Promise<string>
  /** The body as it comes in. Leaving the loop closes the connection. */
  readonly bytes: AsyncIterable<Uint8Array>
  /** Gives up the body, and the connection with it. */
  discard(): void
}

export type HttpPost = (url: URL, headers: Readonly<Record<string, string>>, body: string, signal: AbortSignal) => Promise<HttpAnswer>

const connectionsMax = 1_024
const connectMsMax = 30_000

/** With a connection pool of its own. undici is loaded with the first post, so that a daemon is ready without it. */
export function httpPost(): HttpPost {
  let made: Promise<Dispatcher> | null = null
  return async ({ origin, pathname, search }, headers, body, signal) => {
    const agent = await (made ??= dispatcher())
    return answerOf(await agent.request({ origin, path: pathname + search, method: 'POST', headers, body, signal }))
  }
}

async function dispatcher(): Promise<Dispatcher> {
  const { Agent, EnvHttpProxyAgent } = await import('undici')
  const options = { connections: connectionsMax, pipelining: 1, allowH2: false, headersTimeout: 0, bodyTimeout: 0, connect: { timeout: connectMsMax } }
  return process.env['NODE_USE_ENV_PROXY'] === '1' ? new EnvHttpProxyAgent(options) : new Agent(options)
}

function answerOf({ statusCode, headers, body }: Dispatcher.ResponseData): HttpAnswer {
  const header = (name: string): string | null => {
    const value = headers[name]
    return value === undefined ? null : typeof value === 'string' ? value : value.join(', ')
  }
  return {
    status: statusCode,
    header,
    headers() {
      return new Headers(Object.keys(headers).map((name): [string, string] => [name, header(name) ?? '']))
    },
    text: () => body.text(),
    bytes: body,
    discard: () => void body.on('error', () => undefined).destroy(),
  }
}
