// The HTTP interface as a function from requests to answers. It never listens: a process, a test or another framework gives it requests.
// A1. Every answer that is no success is a problem (problem.ts), also of paths and methods that do not exist.
// A2. A request is answered only if its Host is one of the app's, and if its Origin, if it has one, is allowed: a page in a browser cannot use the
//     app by the name of this machine, or by a name that it makes point here.
// A3. A body is read after the token was accepted, and at most up to its bound. A caller that sends too many requests is told when to come again.
// A4. A stream ends when the token of its reader is revoked.
// A5. When the app closes, each request that waits for its task gets the id of the task, and each stream ends with a problem.
import { Hono } from 'hono'
import { cors } from 'hono/cors'
import { secureHeaders } from 'hono/secure-headers'
import { AgentService } from '@beaver/service'
import type { BeaverClient } from '@beaver/client'
import { type Access, type Caller, callerOf } from './access.ts'
import { chatRoutes } from './chat-routes.ts'
import { daemonHost, serviceHost, type TaskHost } from './host.ts'
import { isOpenAi, openAiFailure } from './openai/openai-error.ts'
import { completionRoutes } from './openai/chat-completions.ts'
import { modelRoutes } from './openai/models.ts'
import { responseRoutes } from './openai/responses.ts'
import { openApi } from './openapi.ts'
import { HttpProblem, problemOf } from './problem.ts'
import { rateLimit } from './rate-limit.ts'
import { readRoutes } from './read-routes.ts'
import { json, queryFields, readPart, type Route, type RouteOptions } from './route.ts'
import type { StreamOptions } from './sse.ts'
import { taskRoutes } from './task-routes.ts'

const openAiRoutes = [...completionRoutes, ...responseRoutes, ...modelRoutes]

/** What runs the tasks. Default: an AgentService that the app makes, starts and shuts down. */
export type Behind =
  | { readonly service?: AgentService; readonly takeOver?: boolean }
  /** `connected`: whether NATS answers now. */
  | { readonly client: BeaverClient; readonly connected: () => boolean }

export type AppOptions = Behind & {
  readonly access: Access
  /** The values of `Host` that the app answers to, with the port if there is one. */
  readonly hosts: () => readonly string[]
  /** The values of `Origin` that may use the app from a browser. Default: none. */
  readonly origins?: readonly string[]
  /** The absolute path to which a relative `workspace_dir` is relative. Default: relative paths are refused. */
  readonly workspaceRoot?: string
  /** Default: 2,000,000. */
  readonly bodyBytesMax?: number
  /** How long a request waits for its task, in milliseconds. Default: 600,000. */
  readonly runMsMax?: number
  /** Requests of one token per second. Default: 100, in bursts of 400. */
  readonly requestsPerSecond?: number
  /** How long a stream of events may be silent, in milliseconds. Default: 15,000. */
  readonly heartbeatMs?: number
  /** Is told of every failure that is a defect. */
  readonly onDefect?: (error: unknown) => void
  /** The current time in milliseconds. */
  readonly now?: () => number
}

export interface HttpApp {
  /** Answers a request. Never rejects. */
  fetch(request: Request): Promise<Response>
  /** Starts the service that the app made or took over. A start that fails closes it. */
  start(): Promise<void>
  /** Shuts down the service that the app made or took over, with 5 s for its tasks. Then no request waits any more. */
  close(): Promise<void>
}

/**
 * The HTTP interface of Beaver.
 *
 * @example
 * const app = createApp({ client: beaver, connected: () => true, access: tokenAccess(() => []), hosts: () => ['localhost'] })
 * const answer = await app.fetch(new Request('http://localhost/api/ping'))
 * await answer.json() // => { status: 'ok', running: true, mode: 'daemon' }
 */
export function createApp(options: AppOptions): HttpApp {
  const host = hostOf(options)
  const app = new Hono()
  let isClosing = false
  const settings: RouteOptions = {
    workspaceRoot: options.workspaceRoot ?? null,
    runMsMax: options.runMsMax ?? 600_000,
    heartbeatMs: options.heartbeatMs ?? 15_000,
    closing: () => isClosing,
  }
  const { bodyBytesMax = 2_000_000 } = options
  const closing = new AbortController()
  const take = rateLimit({ perSecond: options.requestsPerSecond ?? 100, now: options.now ?? Date.now })
  const failed = (error: unknown): ReturnType<typeof problemOf> => {
    const problem = problemOf(error)
    if (problem.details.status === 500) options.onDefect?.(error)
    return problem
  }
  app.onError((error, { req }) => {
    if (isOpenAi(req.path)) return openAiAnswer(error, options)
    const { details, headers } = failed(error)
    return json(details, { status: details.status, headers: { ...headers, 'content-type': 'application/problem+json' } })
  })
  app.notFound(({ req }) => {
    throw new HttpProblem('not_found', `There is nothing at ${req.path}. GET /api/openapi.json lists what there is.`)
  })
  app.use(secureHeaders({ contentSecurityPolicy: { defaultSrc: ["'none'"], styleSrc: ["'unsafe-inline'"], frameAncestors: ["'none'"] } }))
  app.use(async ({ req }, next) => {
    mustBeOurs(req.header('host') ?? '', req.header('origin'), options)
    await next()
  })
  app.use(cors(forPages(options.origins ?? [])))
  app.get('/api/ping', () => json({ status: 'ok', running: host.running(), mode: host.mode }))
  const routes = [...chatRoutes, ...taskRoutes, ...readRoutes, ...openAiRoutes]
  // Made once: nobody needs a token to ask for it.
  let document: object | null = null
  app.get('/api/openapi.json', () => json((document ??= openApi(routes))))
  for (const each of routes)
    app.on(each.method.toUpperCase(), each.at.replaceAll(/\{(\w+)\}/g, ':$1'), async ({ req }) => {
      const callerNow = (): Caller => (each.role === null ? { name: 'anybody', roles: [] } : callerOf(options.access, req.header('authorization'), each.role))
      const caller = callerNow()
      take(caller.name)
      const parts = await partsOf(each, req.raw, { params: req.param(), bodyBytesMax })
      const over = new AbortController()
      const mayRead = (): void => {
        callerNow()
        mustBeOpen(closing.signal)
      }
      const stream: StreamOptions = { mayRead, failed: (error) => failed(error).details, ended: () => over.abort() }
      return each.handle({ ...parts, signal: AbortSignal.any([parts.signal, over.signal, closing.signal]), caller, host, options: { ...settings, ...stream } })
    })
  for (const at of new Set(routes.map((each) => each.at))) {
    const allowed = routes.filter((each) => each.at === at).map((each) => each.method.toUpperCase())
    app.all(at.replaceAll(/\{(\w+)\}/g, ':$1'), ({ req }) => {
      throw new HttpProblem('method_not_allowed', `${req.path} has no ${req.method}. It has ${allowed.join(' and ')}.`, {
        headers: { allow: allowed.join(', ') },
      })
    })
  }
  const close = async (): Promise<void> => {
    isClosing = true
    await host.stop().finally(() => closing.abort())
  }
  return { fetch: async (request) => app.fetch(request), start: host.start, close }
}

function openAiAnswer(thrown: unknown, { onDefect }: Pick<AppOptions, 'onDefect'>): Response {
  const { status, error, headers } = openAiFailure(thrown)
  if (error.code === 'internal') onDefect?.(thrown)
  return json({ error }, { status, headers })
}

function hostOf(options: Behind): TaskHost {
  if ('client' in options) return daemonHost(options.client, options.connected)
  const { service, takeOver = false } = options
  return serviceHost(service ?? new AgentService(), { owned: service === undefined || takeOver })
}

/** @throws {HttpProblem} `wrong_state` */
function mustBeOpen(closing: AbortSignal): void {
  if (closing.aborted) throw new HttpProblem('wrong_state', 'The interface is closing. Come again, and go on behind the last event that you have.')
}

function mustBeOurs(host: string, origin: string | undefined, { hosts, origins = [] }: Pick<AppOptions, 'hosts' | 'origins'>): void {
  if (!hosts().includes(host.toLowerCase())) throw new HttpProblem('not_allowed', `This app does not answer to the host ${JSON.stringify(host)}.`)
  if (origin !== undefined && !origins.includes(origin)) throw new HttpProblem('not_allowed', `Pages of ${JSON.stringify(origin)} may not use this app.`)
}

/** What a browser is told about requests of pages. `mustBeOurs` has refused all other pages before. */
const forPages = (origins: readonly string[]) => ({
  origin: [...origins],
  allowMethods: ['GET', 'POST', 'DELETE'],
  allowHeaders: ['authorization', 'content-type', 'idempotency-key', 'last-event-id'],
  exposeHeaders: ['location', 'retry-after'],
  maxAge: 600,
})

interface Bounds {
  readonly params: Record<string, string>
  readonly bodyBytesMax: number
}

async function partsOf(each: Route, request: Request, { params, bodyBytesMax }: Bounds) {
  return {
    path: each.path === undefined ? {} : readPart(each.path, 'path', params),
    query: each.query === undefined ? {} : readPart(each.query, 'query', queryFields(each.query, new URL(request.url).searchParams)),
    headers: each.headers === undefined ? {} : readPart(each.headers, 'headers', Object.fromEntries(request.headers)),
    body: each.body === undefined ? {} : readPart(each.body, 'body', await bodyOf(request, bodyBytesMax)),
    signal: request.signal,
    streamed: request.method !== 'HEAD' && /\btext\/event-stream\b/.test(request.headers.get('accept') ?? ''),
  }
}

/** @throws {HttpProblem} `unsupported_media_type`, `invalid_arguments`, `too_large` */
async function bodyOf(request: Request, bytesMax: number): Promise<unknown> {
  const type = (request.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
  const bytes = await bytesOf(request, bytesMax)
  if (bytes.length === 0) return {}
  if (type !== 'application/json' && !type.endsWith('+json'))
    throw new HttpProblem('unsupported_media_type', `The body has the type ${JSON.stringify(type)}. Send JSON with "Content-Type: application/json".`)
  const text = utf8Of(bytes)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new HttpProblem('invalid_arguments', `The body is not JSON: ${(error as Error).message}.`, { problems: [{ path: 'body', message: 'is not JSON' }] })
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** @throws {HttpProblem} `invalid_arguments` for bytes that are no UTF-8: nobody could say which text was meant */
function utf8Of(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw new HttpProblem('invalid_arguments', 'The body is not UTF-8.', { problems: [{ path: 'body', message: 'is not UTF-8' }] })
  }
}

/** The body, whether it says its length or comes in chunks. @throws {HttpProblem} `too_large`, `invalid_arguments` if the caller goes away meanwhile */
async function bytesOf({ headers, body, signal }: Request, bytesMax: number): Promise<Buffer> {
  // The rest of the body is not read, so nobody can ask for anything else on this connection.
  const tooLarge = (): HttpProblem => new HttpProblem('too_large', `The body is larger than ${bytesMax} bytes.`, { headers: { connection: 'close' } })
  if (Number(headers.get('content-length') ?? 0) > bytesMax) throw tooLarge()
  const chunks: Uint8Array[] = []
  let bytes = 0
  if (body === null) return Buffer.alloc(0)
  try {
    for await (const chunk of body as ReadableStream<Uint8Array>) {
      bytes += chunk.length
      if (bytes > bytesMax) throw tooLarge()
      chunks.push(chunk)
    }
  } catch (error) {
    if (!signal.aborted) throw error
    throw new HttpProblem('invalid_arguments', 'The body did not arrive as a whole.')
  }
  return Buffer.concat(chunks)
}
