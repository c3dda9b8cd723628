// The HTTP interface as a function from requests to answers. It never listens: a process, a test or another
// framework passes requests to it.
//
// - Every answer that is not a success is a problem (problem.ts), also for a path or a method that does not
//   exist. Paths of OpenAI's interfaces answer with OpenAI's shape instead.
// - The app answers a request only if its `Host` is one of `hosts`, and its `Origin`, if it has one, is that
//   host or one of `origins`. So a page of another origin cannot reach the app by the name of this machine,
//   nor by a domain that the page's owner points at this machine. A `Request` that a program made has no `Host`, so the host
//   of its URL counts.
// - The app reads a body only after it has accepted the token, and only up to a bound.
// - The number of requests is limited for each token. For routes without a token it is limited for each
//   address.
// - The number of requests that are open at a time is limited in the same way. A stream is open until it
//   ends.
// - A stream ends when the token of its reader is revoked.
// - When the app closes, each request that waits for its task gets an answer with the id of the task, and
//   each stream ends with a problem.
import type { BeaverClient } from '@beaver/client'
import { steadyClock } from '@beaver/core'
import { imageLimits } from '@beaver/core/images'
import { Hono, type MiddlewareHandler } from 'hono'
import { cors } from 'hono/cors'
import { secureHeaders } from 'hono/secure-headers'
import { a2aRoutes } from './a2a/routes.ts'
import { type Access, type Caller, callerOf } from './access.ts'
import { agUiRoutes } from './ag-ui/routes.ts'
import { apiPage } from './api-page.ts'
import { budgetRoutes } from './budget-routes.ts'
import { bulkRoutes } from './bulk-routes.ts'
import { ChangeFeed } from './change-feed.ts'
import { type ChannelIntake, channelRoutes } from './channel-routes.ts'
import { chatRoutes } from './chat-routes.ts'
import {
  confinedHost,
  daemonHost,
  hostFor,
  hostInTrace,
  type HostedService,
  type NamedTask,
  serviceHost,
  type TaskHost,
} from './host.ts'
import { consolePages, consolePath } from './console-pages.ts'
import { completionRoutes } from './openai/chat-completions.ts'
import { ImageFetches } from './openai/fetch-images.ts'
import { LeftTasks } from './openai/left-tasks.ts'
import { modelRoutes } from './openai/models.ts'
import { isOpenAi, openAiFailure } from './openai/openai-error.ts'
import { responseRoutes } from './openai/responses.ts'
import { openApi } from './openapi.ts'
import { isRefusal, openLimit, rateLimit } from './limits.ts'
import { type Logins, loginRoutes } from './login-routes.ts'
import { HttpProblem, problemOf } from './problem.ts'
import { readRoutes } from './read-routes.ts'
import { json, mustBeJson, queryFields, readPart, type Route, type RouteOptions } from './route.ts'
import type { StreamOptions } from './sse.ts'
import { TaskFeeds } from './task-feeds.ts'
import { taskRoutes } from './task-routes.ts'

const openAiRoutes = [...completionRoutes, ...responseRoutes, ...modelRoutes]

/** What runs the tasks. */
export type Behind =
  /** A service in this process. `takeOver`: the app starts it and shuts it down. Default: it does neither. */
  | { readonly host: HostedService; readonly takeOver?: boolean }
  /** A daemon over NATS. `connected`: whether the connection to NATS works now. */
  | { readonly client: BeaverClient; readonly connected: () => boolean }

export type AppOptions = Behind & {
  readonly access: Access
  /**
   * The values of `Host` that the app accepts, in lower case, with the port if there is one. For a request
   * without this header, the host of its URL counts.
   */
  readonly hosts: () => readonly string[]
  /** The values of `Origin` that may use the app from a browser. Default: none. */
  readonly origins?: readonly string[]
  /**
   * The absolute path of the folder to which a relative `workspace_dir` is relative. Default: the folder of
   * the service; with a client, the app refuses relative paths.
   */
  readonly workspaceRoot?: string
  /**
   * The origins, such as `https://images.example`, from which the app fetches images that a request names by
   * URL. Default: none.
   */
  readonly imageOrigins?: readonly string[]
  /**
   * The largest body of a request, in bytes. Default: 2,000,000. A request of OpenAI's interfaces may have
   * 6,666,668 more, which is the largest image in base64.
   */
  readonly bodyBytesMax?: number
  /**
   * How long a request waits for its task, in milliseconds. Default: 600,000 for a request that reads a
   * stream, and 280,000 for a request that waits for a single answer.
   */
  readonly runMsMax?: number
  /**
   * After an OpenAI request stopped waiting for its task: how long the app waits for the same request to come
   * again, in milliseconds. Then it cancels the task. Default: 60,000.
   */
  readonly againMsMax?: number
  /**
   * The requests per second of one token, or of one address if the route needs no token. Default: 100, in
   * bursts of 400.
   */
  readonly requestsPerSecond?: number
  /**
   * The requests of one token, or of one address if the route needs no token, that are open at a time. A
   * stream is open until it ends. Default: 200.
   */
  readonly openRequestsMax?: number
  /**
   * The longest silence of a stream of events, in milliseconds. Then the app sends a comment. Default:
   * 15,000.
   */
  readonly heartbeatMs?: number
  /**
   * The absolute path of the folder with the built pages of the console, which the app serves under
   * `/console/`. Default: none, and then there is no console.
   */
  readonly consoleFolder?: string
  /**
   * The channels whose signed messages and events the app accepts. Default: none, and then there are no
   * routes for channels.
   */
  readonly channels?: ChannelIntake
  /**
   * Exchanges the codes of links for tokens. Default: nobody can log in with a link, and then there are no
   * routes for it.
   */
  readonly logins?: Logins
  /**
   * Whether an id of a session or of a task belongs to a chat of a channel. A token with a user cannot submit
   * tasks under such an id. Default: no id belongs to a chat.
   */
  readonly isOfChannel?: (named: NamedTask) => boolean
  /** Called with every failure that is a defect of Beaver, which the caller sees as an internal error. */
  readonly onDefect?: (error: unknown) => void
  /** Called when the head of an answer is ready. Default: nobody counts answers. */
  readonly onAnswered?: (answered: AnsweredRequest) => void
  /** The current time in milliseconds. */
  readonly now?: () => number
}

/** A request that has its answer. */
export interface AnsweredRequest {
  /** The name of the route; `null`: a page, or nothing that the app has. */
  readonly route: string | null
  readonly status: number
  /** The time until the head of the answer, in milliseconds. */
  readonly ms: number
  /** Whether a bound of the app refused it: too many requests, or too many open ones. */
  readonly refused: boolean
}

/** The app. Its owner starts it, passes requests to it and closes it. */
export interface HttpApp {
  /**
   * Answers a request. Never rejects.
   *
   * @param address where the request comes from, for the limit on requests without a token
   */
  fetch(request: Request, address?: string): Promise<Response>
  /**
   * Starts the service if the app takes it over. A service whose start fails is closed, and the error is
   * thrown.
   */
  start(): Promise<void>
  /**
   * Closes the app. If the app took the service over, it first shuts the service down: tasks get 5 s to end,
   * and are cancelled then. Afterwards all waiting requests and all streams end.
   */
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
  const host = confinedHost(hostOf(options))
  const app = new Hono<Env>()
  let isClosing = false
  const feeds = new TaskFeeds(() => host.client())
  const settings: RouteOptions = {
    feeds,
    changes: new ChangeFeed((following) => host.client().changes(following)),
    workspaceRoot: options.workspaceRoot ?? host.workspace,
    imageOrigins: options.imageOrigins ?? [],
    imageFetches: new ImageFetches(),
    runMsMax: { stream: options.runMsMax ?? 600_000, answer: options.runMsMax ?? 280_000 },
    left: new LeftTasks(options.againMsMax === undefined ? {} : { againMsMax: options.againMsMax }),
    heartbeatMs: options.heartbeatMs ?? 15_000,
    startedAt: new Date((options.now ?? Date.now)()).toISOString(),
    closing: () => isClosing,
  }
  const { bodyBytesMax = 2_000_000, isOfChannel = () => false } = options
  const closing = new AbortController()
  const now = options.now ?? Date.now
  const rate = { perSecond: options.requestsPerSecond ?? 100, now }
  const [take, takeFrom] = [rateLimit(rate), rateLimit(rate)]
  const enter = openLimit(options.openRequestsMax ?? 200)
  const failed = (error: unknown): ReturnType<typeof problemOf> => {
    const problem = problemOf(error)
    if (problem.details.status === 500) options.onDefect?.(error)
    return problem
  }
  app.onError((error, { req, env }) => {
    if (isRefusal(error)) env.refused = true
    if (isOpenAi(req.path)) return openAiAnswer(error, options)
    const { details, headers } = failed(error)
    return json(details, {
      status: details.status,
      headers: { ...headers, 'content-type': 'application/problem+json' },
    })
  })
  app.notFound(({ req }) => {
    throw new HttpProblem(
      'not_found',
      `There is nothing at ${req.path}. GET /api/openapi.json lists what there is, and /api/docs shows it to people.`,
    )
  })
  app.use(securedUnless(consolePath))
  app.use(async ({ req }, next) => {
    mustBeOurs(req.header('host') ?? new URL(req.url).host, req.header('origin'), options)
    await next()
  })
  app.use(cors(forPages(options.origins ?? [])))
  app.get('/api/ping', () => json({ status: 'ok', running: host.running(), mode: host.mode }))
  const routes = routesOf(options, now)
  describeRoutes(app, routes)
  if (options.consoleFolder !== undefined) serveConsole(app, options.consoleFolder)
  for (const each of routes)
    app.on(each.method.toUpperCase(), patternOf(each), async ({ req, env }) => {
      env.route = each.name
      const callerNow = (): Caller =>
        each.role === null
          ? { name: 'anybody', roles: [] }
          : callerOf(options.access, req.header('authorization'), each.role, now())
      const caller = callerNow()
      if (each.role === null) takeFrom(env.address)
      else take(caller.name)
      const leave = enter(each.role === null ? `address ${env.address}` : `token ${caller.name}`)
      const over = new AbortController()
      req.raw.signal.addEventListener('abort', leave)
      return whileOpen(leave, req.raw.method, async () => {
        const parts = await partsOf(each, req.raw, { params: req.param(), bodyBytesMax })
        const stream = streamOf({ mustBeOpen: () => mustBeOpen(closing.signal), callerNow, failed }, () => {
          leave()
          over.abort()
        })
        const signal = AbortSignal.any([parts.signal, over.signal, closing.signal])
        return each.handle({
          ...parts,
          signal,
          caller,
          address: env.address,
          host: hostInTrace(hostFor(caller, host, isOfChannel), req.raw.headers),
          options: { ...settings, ...stream },
        })
      })
    })
  refuseOtherMethods(app, routes)
  const close = async (): Promise<void> => {
    isClosing = true
    settings.left.close()
    await host.stop().finally(() => {
      closing.abort()
      feeds.close()
      settings.changes.close()
    })
  }
  return {
    fetch: counted(options, async (request, env) => app.fetch(request, env)),
    start: host.start,
    close,
  }
}

const routesOf = (
  { channels, logins }: Pick<AppOptions, 'channels' | 'logins'>,
  now: () => number,
): readonly Route[] => [
  ...chatRoutes,
  ...taskRoutes,
  ...readRoutes,
  ...budgetRoutes,
  ...bulkRoutes,
  ...openAiRoutes,
  ...a2aRoutes,
  ...agUiRoutes,
  ...channelRoutes(channels),
  ...loginRoutes(logins, now),
]

/**
 * Adds the document of the interface and its page for people. Each is made once, because anybody may request
 * them without a token.
 */
function describeRoutes(app: Hono<Env>, routes: readonly Route[]): void {
  let made: ReturnType<typeof openApi> | null = null
  const document = (): ReturnType<typeof openApi> => (made ??= openApi(routes))
  let page: string | null = null
  app.get('/api/openapi.json', () => json(document()))
  app.get('/api/docs', (context) => context.html((page ??= apiPage(document()))))
}

/** The headers of every answer, except of the pages under `path`, which bring their own. */
function securedUnless(path: string): MiddlewareHandler<Env> {
  const secured = secureHeaders({
    contentSecurityPolicy: {
      defaultSrc: ["'none'"],
      styleSrc: ["'unsafe-inline'"],
      frameAncestors: ["'none'"],
    },
  })
  return async (context, next) => {
    const isPage = context.req.path === path || context.req.path.startsWith(`${path}/`)
    if (!isPage) return secured(context, next)
    await next()
    // A refusal is no page.
    if (!context.res.headers.has('content-security-policy')) await secured(context, async () => {})
  }
}

/** Anybody may load the pages without a token: they hold nothing, and ask for everything with one. */
function serveConsole(app: Hono<Env>, folder: string): void {
  const pages = consolePages(folder)
  app.get('/', (context) => context.redirect(`${consolePath}/`))
  app.get(consolePath, (context) => context.redirect(`${consolePath}/`))
  app.get(`${consolePath}/*`, ({ req }) => pages.answer(req.path, req.header('accept-encoding')))
}

/** What `fetch` passes to the handlers besides the request. A route writes its name there. */
interface Env {
  Bindings: { readonly address: string; route?: string; refused?: true }
}

/** Answers requests, and tells of each answer. */
function counted(
  { onAnswered }: Pick<AppOptions, 'onAnswered'>,
  answer: (request: Request, env: Env['Bindings']) => Promise<Response>,
): HttpApp['fetch'] {
  return async (request, address = 'anywhere') => {
    const env: Env['Bindings'] = { address }
    if (onAnswered === undefined) return answer(request, env)
    const startMs = steadyClock.now()
    const response = await answer(request, env)
    const { route = null, refused = false } = env
    onAnswered({ route, status: response.status, ms: steadyClock.now() - startMs, refused })
    return response
  }
}

/** The path in the notation of Hono. */
const patternOf = ({ at }: Pick<Route, 'at'>): string => at.replaceAll(/\{(\w+)\}/g, ':$1')

function refuseOtherMethods(app: Hono<Env>, routes: readonly Route[]): void {
  for (const [pattern, routesOfPattern] of Map.groupBy(routes, patternOf)) {
    const allowed = routesOfPattern.map(({ method }) => method.toUpperCase())
    app.all(pattern, ({ req }) => {
      throw new HttpProblem(
        'method_not_allowed',
        `${req.path} has no ${req.method}. It has ${allowed.join(' and ')}.`,
        {
          headers: { allow: allowed.join(', ') },
        },
      )
    })
  }
}

function openAiAnswer(thrown: unknown, { onDefect }: Pick<AppOptions, 'onDefect'>): Response {
  const { status, error, headers } = openAiFailure(thrown)
  if (error.code === 'internal') onDefect?.(thrown)
  return json({ error }, { status, headers })
}

function hostOf(options: Behind): TaskHost {
  if ('client' in options) return daemonHost(options.client, options.connected)
  return serviceHost(options.host, { owned: options.takeOver ?? false })
}

/** @throws {HttpProblem} `wrong_state` if the app is closing */
function mustBeOpen(closing: AbortSignal): void {
  if (closing.aborted)
    throw new HttpProblem(
      'wrong_state',
      'The interface is closing. Come again, and go on behind the last event that you have.',
    )
}

function mustBeOurs(
  host: string,
  origin: string | undefined,
  { hosts, origins = [] }: Pick<AppOptions, 'hosts' | 'origins'>,
): void {
  if (!hosts().includes(host.toLowerCase()))
    throw new HttpProblem('not_allowed', `This app does not answer to the host ${JSON.stringify(host)}.`)
  if (origin !== undefined && !origins.includes(origin) && !isOwnPage(origin, host))
    throw new HttpProblem('not_allowed', `Pages of ${JSON.stringify(origin)} may not use this app.`)
}

/**
 * Whether a page comes from the host that the request names, so that the app itself has served it. The scheme
 * may differ, because a proxy in front may have TLS.
 */
function isOwnPage(origin: string, host: string): boolean {
  const url = URL.parse(origin)
  const isPage = url?.protocol === 'http:' || url?.protocol === 'https:'
  return isPage && url.origin === origin && url.host === host.toLowerCase()
}

/**
 * The options of CORS, which tell a browser what a page may request. `mustBeOurs` has already refused pages
 * of other origins.
 */
const forPages = (origins: readonly string[]) => ({
  origin: [...origins],
  allowMethods: ['GET', 'POST', 'DELETE'],
  allowHeaders: [
    'traceparent',
    'tracestate',
    'authorization',
    'content-type',
    'idempotency-key',
    'last-event-id',
    'a2a-version',
    'a2a-extensions',
  ],
  exposeHeaders: ['location', 'retry-after'],
  maxAge: 600,
})

/** How many characters the largest image has in base64. */
const imageBytesMax = Math.ceil(imageLimits.bytesMax / 3) * 4

/** What a stream asks while it runs. It ends when nobody may read it any more. */
const streamOf = (
  {
    mustBeOpen,
    callerNow,
    failed,
  }: {
    readonly mustBeOpen: () => void
    readonly callerNow: () => Caller
    readonly failed: (error: unknown) => ReturnType<typeof problemOf>
  },
  ended: () => void,
): StreamOptions => ({
  mayRead() {
    mustBeOpen()
    callerNow()
  },
  failed: (error) => failed(error).details,
  ended,
})

/** Ends a request when its answer is there. A stream ends later, by itself. */
async function whileOpen(
  leave: () => void,
  method: string,
  answer: () => Promise<Response>,
): Promise<Response> {
  try {
    const answered = await answer()
    // Nobody reads the body of an answer to HEAD.
    const isStream =
      method !== 'HEAD' && answered.headers.get('content-type')?.startsWith('text/event-stream') === true
    if (!isStream) leave()
    return answered
  } catch (error) {
    leave()
    throw error
  }
}

interface Bounds {
  readonly params: Record<string, string>
  readonly bodyBytesMax: number
}

async function partsOf(each: Route, request: Request, { params, bodyBytesMax }: Bounds) {
  const bytesMax = bodyBytesMax + (each.takesImages === true ? imageBytesMax : 0)
  const text = each.body === undefined ? '' : await textOf(request, bytesMax)
  return {
    request: { headers: request.headers, body: text },
    path: each.path === undefined ? {} : readPart(each.path, 'path', params),
    query:
      each.query === undefined
        ? {}
        : readPart(each.query, 'query', queryFields(each.query, new URL(request.url).searchParams)),
    headers:
      each.headers === undefined
        ? {}
        : readPart(each.headers, 'headers', Object.fromEntries(request.headers)),
    body:
      each.body === undefined || each.readsBody === true
        ? {}
        : readPart(each.body, 'body', bodyOf(request, text)),
    signal: request.signal,
    streamed: request.method !== 'HEAD' && /\btext\/event-stream\b/.test(request.headers.get('accept') ?? ''),
  }
}

/** @throws {HttpProblem} `unsupported_media_type`, `invalid_arguments` */
function bodyOf(request: Request, text: string): unknown {
  if (text === '') return {}
  mustBeJson(request.headers)
  if (depthOf(text) > depthMax) {
    const message = `is nested more than ${depthMax} levels deep`
    throw new HttpProblem('invalid_arguments', `The body ${message}.`, {
      problems: [{ path: 'body', message }],
    })
  }
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new HttpProblem('invalid_arguments', `The body is not JSON: ${(error as Error).message}.`, {
      problems: [{ path: 'body', message: 'is not JSON' }],
    })
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** @throws {HttpProblem} as `bytesOf`; `invalid_arguments` for bytes that are not valid UTF-8 */
async function textOf(request: Request, bytesMax: number): Promise<string> {
  const bytes = await bytesOf(request, bytesMax)
  try {
    return utf8.decode(bytes)
  } catch {
    throw new HttpProblem('invalid_arguments', 'The body is not UTF-8.', {
      problems: [{ path: 'body', message: 'is not UTF-8' }],
    })
  }
}

/**
 * The deepest nesting of a body. The code that validates a body is recursive, so a deeper body could exhaust
 * the stack.
 */
const depthMax = 500

/** How deep objects and arrays are nested in a JSON text. Text that is not JSON gives some number. */
function depthOf(json: string): number {
  let [depth, deepest, isText] = [0, 0, false]
  for (let at = 0; at < json.length; at++) {
    const letter = json[at]
    if (letter === '"') isText = !isText
    else if (isText) at += letter === '\\' ? 1 : 0
    else if (letter === '{' || letter === '[') deepest = Math.max(deepest, ++depth)
    else if (letter === '}' || letter === ']') depth--
  }
  return deepest
}

/**
 * Reads the body, whether it has a length or comes in chunks.
 *
 * @throws {HttpProblem} `too_large`; `invalid_arguments` if the caller disconnects before the end
 */
async function bytesOf({ headers, body, signal }: Request, bytesMax: number): Promise<Buffer> {
  // The rest of the body stays unread, so this connection cannot carry another request.
  const tooLarge = (): HttpProblem =>
    new HttpProblem(
      'too_large',
      `The body is larger than ${bytesMax} bytes, which is the limit here (see "gateway.body_bytes_max"). Send less.`,
      {
        headers: { connection: 'close' },
      },
    )
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
