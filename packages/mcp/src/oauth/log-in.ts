// Logs a person in to an MCP server: OAuth 2.1 with PKCE (S256), as MCP's authorization of 2026 defines it.
// The CLI shows the URL, and the browser returns to a listener on loopback. A redirect counts once, with the
// state of this login and the server's issuer (RFC 9207). Before there is a token, only the client's
// registration is stored.
import { randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Clock } from '@beaver/core'
import {
  auth,
  computeScopeUnion,
  extractWWWAuthenticateParams,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
} from '@modelcontextprotocol/client'
import { addressOf, type McpHttpSpec } from '../client/server-spec.ts'
import { guardedFetch } from './guarded-fetch.ts'
import { type Login, LoginFile } from './login-file.ts'
import type { OAuthPlace } from './oauth-access.ts'
import { clientMetadata, staticClient } from './oauth-settings.ts'

export interface LogInOptions extends OAuthPlace {
  /** Scopes to add to those of the configuration, of the current login and of the server. */
  readonly scope?: string | undefined
  /** The configured headers. */
  readonly headers: Readonly<Record<string, string>>
  /** Shows the URL to the person. Called once. */
  show(url: URL): void
  readonly signal: AbortSignal
}

const loginMsMax = 10 * 60_000
const probeMsMax = 30_000

/** Returns the granted scopes, or `null` if the server named none. @throws a reason for people */
export async function logIn(options: LogInOptions): Promise<{ readonly scope: string | null }> {
  const { url, settings, environment, signal } = options
  const file = new LoginFile(options)
  const before = await file.read()
  const login: Login = before.kind === 'ok' ? (before.login ?? {}) : {}
  const configured = staticClient(settings, environment)
  const challenge = await challengeOf(options)
  const state = randomBytes(32).toString('base64url')
  await using listener = await listenForRedirect(settings.redirect_port ?? login.redirectPort, {
    fixed: settings.redirect_port !== undefined,
    state,
  })
  // A client is registered for one redirect.
  const isSamePort = listener.port === login.redirectPort
  let held: Login = { redirectPort: listener.port, client: isSamePort ? login.client : undefined }
  let verifier = ''
  let discovery: OAuthDiscoveryState | undefined
  const provider: OAuthClientProvider = {
    redirectUrl: listener.url,
    clientMetadata: clientMetadata(settings, listener.url),
    state: () => state,
    clientInformation: () => configured ?? held.client,
    ...(configured === null ? { saveClientInformation: (client) => void (held = { ...held, client }) } : {}),
    ...(settings.client_metadata_url === undefined
      ? {}
      : { clientMetadataUrl: settings.client_metadata_url }),
    tokens: () => held.tokens,
    saveTokens: (tokens) => void (held = { ...held, tokens }),
    discoveryState: () => discovery,
    saveDiscoveryState: (found) => void (discovery = found),
    redirectToAuthorization: (to) => {
      refuseWithoutPkce(discovery)
      options.show(safeUrl(to))
    },
    saveCodeVerifier: (saved) => void (verifier = saved),
    codeVerifier: () => verifier,
  }
  const scope = computeScopeUnion(login.tokens?.scope, settings.scope, challenge.scope, options.scope)
  const asking = {
    serverUrl: url,
    fetchFn: guardedFetch(url, options.clock),
    ...(challenge.resourceMetadataUrl === undefined
      ? {}
      : { resourceMetadataUrl: challenge.resourceMetadataUrl }),
    ...(scope === undefined || scope === '' ? {} : { scope }),
  }
  await auth(provider, { ...asking, forceReauthorization: true })
  using late = deadline(options.clock, loginMsMax)
  const { code, iss } = await listener.redirect(AbortSignal.any([signal, late.signal]))
  await auth(provider, { ...asking, authorizationCode: code, ...(iss === null ? {} : { iss }) })
  if (held.tokens === undefined) throw new Error('The authorization server gave no token.')
  await file.alone(() => file.write({ ...held, discovery }))
  return { scope: held.tokens.scope ?? null }
}

/** Asks the server without a token, because its refusal tells where to log in, if not at the handshake. */
async function challengeOf({
  url,
  headers,
  signal,
  clock,
}: LogInOptions): Promise<ReturnType<typeof extractWWWAuthenticateParams>> {
  using late = deadline(clock, probeMsMax)
  let session: string | null = null
  for (const [method, params] of probes) {
    const response: Response = await fetch(url, {
      method: 'POST',
      headers: {
        ...headers,
        ...(session === null ? {} : { 'mcp-session-id': session }),
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 0, method, params }),
      redirect: 'manual',
      signal: AbortSignal.any([signal, late.signal]),
    })
    await response.body?.cancel()
    if (response.status === 401 || response.status === 403) return extractWWWAuthenticateParams(response)
    session = response.headers.get('mcp-session-id')
  }
  return {}
}

const probes = [
  [
    'initialize',
    { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'beaver', version: '0' } },
  ],
  ['tools/list', {}],
] as const

function deadline(clock: Clock, ms: number): Disposable & { readonly signal: AbortSignal } {
  const over = new AbortController()
  const timer = clock.after(ms, () => over.abort())
  return { signal: over.signal, [Symbol.dispose]: () => timer.cancel() }
}

function refuseWithoutPkce(discovery: OAuthDiscoveryState | undefined): void {
  const metadata = discovery?.authorizationServerMetadata
  if (metadata?.code_challenge_methods_supported?.includes('S256') === true) return
  throw new Error(
    `The authorization server ${discovery?.authorizationServerUrl ?? ''} does not say that it supports PKCE with S256. Beaver does not log in there, because somebody else could use the code.`,
  )
}

/** A server chooses this URL, and a browser may open it. */
function safeUrl(url: URL): URL {
  const isLocal =
    url.protocol === 'http:' &&
    (url.hostname === '127.0.0.1' || url.hostname === 'localhost' || url.hostname === '[::1]')
  if (url.protocol !== 'https:' && !isLocal)
    throw new Error(`The server names a login page at ${url.protocol}//${url.host}, which is not https.`)
  return url
}

interface Redirect {
  readonly code: string
  readonly iss: string | null
}

interface Listener extends AsyncDisposable {
  readonly port: number
  readonly url: string
  redirect(signal: AbortSignal): Promise<Redirect>
}

async function listenForRedirect(
  wanted: number | undefined,
  { fixed, state }: { fixed: boolean; state: string },
): Promise<Listener> {
  const { promise: came, resolve, reject } = Promise.withResolvers<Redirect>()
  came.catch(() => {})
  const server = createServer((request, response) => {
    const asked = new URL(request.url ?? '/', 'http://127.0.0.1')
    if (request.method !== 'GET' || asked.pathname !== '/callback')
      return page(response, 404, 'Nothing is here.')
    const query = asked.searchParams
    // Another page of the browser may come here. It does not end the login.
    if (!isSame(query.get('state') ?? '', state))
      return page(response, 400, 'This is not the login that Beaver began. You can close this page.')
    const code = query.get('code')
    if (code === null) {
      page(response, 200, 'The login was refused. You can close this page.')
      const error = (query.get('error') ?? 'no code').replace(/[^\x20-\x7e]/g, '').slice(0, 100)
      return reject(new Error(`The authorization server refused the login: ${error}.`))
    }
    page(response, 200, 'Beaver has what it needs. You can close this page.')
    resolve({ code, iss: query.get('iss') })
  })
  const listen = (port: number): Promise<void> =>
    new Promise((done, failed) => {
      server.once('error', failed)
      server.listen(port, '127.0.0.1', () => (server.off('error', failed), done()))
    })
  await listen(wanted ?? 0).catch((error: unknown) => {
    if (fixed || wanted === undefined) throw error
    return listen(0)
  })
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://127.0.0.1:${port}/callback`,
    async redirect(signal) {
      const { promise: aborted, reject: abort } = Promise.withResolvers<never>()
      const onAbort = (): void =>
        abort(new Error('Nobody logged in. Try again: the login page is open for ten minutes.'))
      if (signal.aborted) onAbort()
      signal.addEventListener('abort', onAbort, { once: true })
      try {
        return await Promise.race([came, aborted])
      } finally {
        signal.removeEventListener('abort', onAbort)
      }
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise<void>((done) => server.close(() => done()))
    },
  }
}

function page(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    'content-type': 'text/plain; charset=utf-8',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    connection: 'close',
  })
  response.end(text)
}

const isSame = (received: string, state: string): boolean =>
  received.length === state.length &&
  timingSafeEqual(Buffer.from(received.padEnd(state.length)), Buffer.from(state))

export function loginPlace(
  spec: McpHttpSpec,
  place: Omit<OAuthPlace, 'url' | 'settings'>,
): OAuthPlace & Pick<LogInOptions, 'headers'> {
  const address = addressOf(spec, place.environment)
  return {
    ...place,
    url: spec.url,
    settings: spec.oauth === false ? {} : (spec.oauth ?? {}),
    headers: address.kind === 'http' ? address.headers : {},
  }
}
