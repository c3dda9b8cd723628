// The HTTP interface as a function from requests to answers. It never listens: a process, a test or another framework gives it requests.
// A1. Every answer that is no success is a problem (problem.ts), also of paths and methods that do not exist.
// A2. A request is answered only if its Host is one of the app's, and if its Origin, if it has one, is allowed: a page in a browser cannot use the
//     app by the name of this machine, or by a name that it makes point here.
// A3. A body is bounded before it is read. A caller that sends too many requests is told when to come again.
import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
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
  /** Shuts down the service that the app made or took over, with 5 s for its tasks. */
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
  let closing = false
  const settings: RouteOptions = {
    workspaceRoot: options.workspaceRoot ?? null,
    runMsMax: options.runMsMax ?? 600_000,
    heartbeatMs: options.heartbeatMs ?? 15_000,
    closing: () => closing,
  }
  const take = rateLimit({ perSecond: options.requestsPerSecond ?? 100, now: options.now ?? Date.now })
  app.onError((error, { req }) => {
    if (isOpenAi(req.path)) return openAiAnswer(error, options)
    const { details, headers } = problemOf(error)
    if (details.status === 500) options.onDefect?.(error)
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
  app.use(
    bodyLimit({
      maxSize: options.bodyBytesMax ?? 2_000_000,
      onError() {
        // The rest of the body is not read, so nobody can ask for anything else on this connection.
        throw new HttpProblem('too_large', `The body is larger than ${options.bodyBytesMax ?? 2_000_000} bytes.`, { headers: { connection: 'close' } })
      },
    }),
  )
  app.get('/api/ping', () => json({ status: 'ok', running: host.running(), mode: host.mode }))
  const routes = [...chatRoutes, ...taskRoutes, ...readRoutes, ...openAiRoutes]
  // Made once: nobody needs a token to ask for it.
  let document: object | null = null
  app.get('/api/openapi.json', () => json((document ??= openApi(routes))))
  for (const each of routes)
    app.on(each.method.toUpperCase(), each.at.replaceAll(/\{(\w+)\}/g, ':$1'), async ({ req }) => {
      const caller: Caller = each.role === null ? { name: 'anybody', roles: [] } : callerOf(options.access, req.header('authorization'), each.role)
      take(caller.name)
      return each.handle({ ...(await partsOf(each, req.raw, req.param())), caller, host, options: settings })
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
    closing = true
    await host.stop()
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

function mustBeOurs(host: string, origin: string | undefined, { hosts, origins = [] }: Pick<AppOptions, 'hosts' | 'origins'>): void {
  if (!hosts().includes(host.toLowerCase())) throw new HttpProblem('not_allowed', `This app does not answer to the host ${JSON.stringify(host)}.`)
  if (origin !== undefined && !origins.includes(origin)) throw new HttpProblem('not_allowed', `Pages of ${JSON.stringify(origin)} may not use this app.`)
}

async function partsOf(each: Route, request: Request, params: Record<string, string>) {
  return {
    path: each.path === undefined ? {} : readPart(each.path, 'path', params),
    query: each.query === undefined ? {} : readPart(each.query, 'query', queryFields(each.query, new URL(request.url).searchParams)),
    headers: each.headers === undefined ? {} : readPart(each.headers, 'headers', Object.fromEntries(request.headers)),
    body: each.body === undefined ? {} : readPart(each.body, 'body', await bodyOf(request)),
    signal: request.signal,
    streamed: /\btext\/event-stream\b/.test(request.headers.get('accept') ?? ''),
  }
}

/** @throws {HttpProblem} `unsupported_media_type`, `invalid_arguments` */
async function bodyOf(request: Request): Promise<unknown> {
  const type = (request.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
  const text = await utf8Of(request)
  if (text === '') return {}
  if (type !== 'application/json' && !type.endsWith('+json'))
    throw new HttpProblem('unsupported_media_type', `The body has the type ${JSON.stringify(type)}. Send JSON with "Content-Type: application/json".`)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new HttpProblem('invalid_arguments', `The body is not JSON: ${(error as Error).message}.`, { problems: [{ path: 'body', message: 'is not JSON' }] })
  }
}

/** @throws {HttpProblem} `invalid_arguments` for bytes that are no UTF-8: nobody could say which text was meant */
async function utf8Of(request: Request): Promise<string> {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await request.arrayBuffer())
  } catch (error) {
    if (!(error instanceof TypeError && (error as NodeJS.ErrnoException).code === 'ERR_ENCODING_INVALID_ENCODED_DATA')) throw error
    throw new HttpProblem('invalid_arguments', 'The body is not UTF-8.', { problems: [{ path: 'body', message: 'is not UTF-8' }] })
  }
}
