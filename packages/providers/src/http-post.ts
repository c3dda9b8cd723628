// Sends one POST to a model's endpoint, on undici, without retry or decompression. The `openai` client's own
// way costs seven times as much (docs/decisions/0110). The only time limit here is for connecting;
// call-watch.ts has the others. `NODE_USE_ENV_PROXY=1` works as for Node.js itself. A redirect is returned as
// it is: a chat endpoint must not redirect a request that carries a key.
import type { Dispatcher } from 'undici'

export interface HttpAnswer {
  readonly status: number
  /** The value of a header, or `null` if there is none. Several values of one name are joined as in HTTP. */
  header(name: string): string | null
  headers(): Headers
  /** The body as one text. Use it only for a known, small length. */
  text(): Promise<string>
  /** The body as it comes in. The connection is closed if the loop ends early. */
  readonly bytes: AsyncIterable<Uint8Array>
  /** Gives up the body and its connection. */
  discard(): void
}

/** @param onSent called when there is a connection and the request goes out */
export type HttpPost = (
  url: URL,
  headers: Readonly<Record<string, string>>,
  body: string,
  signal: AbortSignal,
  onSent?: () => void,
) => Promise<HttpAnswer>

const connectionsMax = 1_024
const connectMsMax = 30_000

/** Makes an HttpPost with its own pool. The first post loads undici, so that a daemon is ready sooner. */
export function httpPost(): HttpPost {
  let made: Promise<Dispatcher> | null = null
  return async ({ origin, pathname, search }, headers, body, signal, onSent) => {
    const agent = await (made ??= dispatcher())
    const request: Posted = { origin, path: pathname + search, method: 'POST', headers, body, signal }
    return answerOf(await agent.request(onSent === undefined ? request : { ...request, onSent }))
  }
}

interface Posted extends Dispatcher.RequestOptions {
  readonly onSent?: () => void
}

/** A request waits for a connection first, so only its handler knows when it goes out. */
const tellsSent: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) => {
  const { onSent } = options as Partial<Posted>
  const start = handler.onRequestStart?.bind(handler)
  if (onSent !== undefined)
    handler.onRequestStart = (...args) => {
      onSent()
      start?.(...args)
    }
  return dispatch(options, handler)
}

async function dispatcher(): Promise<Dispatcher> {
  const { Agent, EnvHttpProxyAgent } = await import('undici')
  const options = {
    connections: connectionsMax,
    pipelining: 1,
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: connectMsMax },
  }
  const agent =
    process.env['NODE_USE_ENV_PROXY'] === '1' ? new EnvHttpProxyAgent(options) : new Agent(options)
  return agent.compose(tellsSent)
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
