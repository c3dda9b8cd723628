// An authorization server and an MCP server (mcp-raw-server.ts) that trusts it, for tests: real, over HTTP on
// loopback, and able to attack. A token counts only for its resource.
import { createHash, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json, type RawHttp, rawHttpServer, textOf } from './mcp-raw-server.ts'

export interface OAuthFixture extends AsyncDisposable {
  readonly mcp: RawHttp
  readonly issuer: string
  /** The form of each token request. */
  readonly tokenRequests: URLSearchParams[]
  readonly registrations: Record<string, unknown>[]
  /** The form of each revocation request. */
  readonly revocations: URLSearchParams[]
  /** The scope that a call needs. `null`: none in particular. */
  scopeNeeded: string | null
  /** Ends all access tokens. */
  expire(): void
  /** Ends the refresh tokens. */
  revoke(): void
  /** Changes the servers' metadata. */
  readonly says: {
    resource?: string
    issuer?: string
    authorizationServer?: string
    pkce?: boolean
    tokenEndpoint?: string
    revocationStatus?: number
    revocationEndpoint?: string
  }
  /**
   * Acts as a browser at the login page, and goes to the redirect.
   * @param change attacks the redirect
   */
  logIn(page: URL, change?: (redirect: URL) => void): Promise<Response>
}

interface Grant {
  readonly scope: string
  readonly resource: string | null
}

export async function oauthFixture(
  tools: readonly object[] = [{ name: 'look', inputSchema: { type: 'object' } }],
): Promise<OAuthFixture> {
  const mcp = await rawHttpServer({ tools })
  const access = new Map<string, Grant>()
  const refresh = new Map<string, Grant>()
  const codes = new Map<string, Grant & { readonly challenge: string; readonly redirect: string }>()
  const server = createServer((request, response) => void handle(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const made: OAuthFixture = {
    mcp,
    issuer,
    tokenRequests: [],
    registrations: [],
    revocations: [],
    scopeNeeded: null,
    expire: () => access.clear(),
    revoke: () => refresh.clear(),
    says: {},
    async logIn(page, change = () => {}) {
      const at = await fetch(page, { redirect: 'manual' })
      const redirect = new URL(at.headers.get('location') ?? 'http://127.0.0.1/none')
      change(redirect)
      return fetch(redirect)
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await Promise.all([
        new Promise<void>((resolve) => server.close(() => resolve())),
        mcp[Symbol.asyncDispose](),
      ])
    },
  }
  mcp.gate = (request, response) => {
    if (request.url?.startsWith('/.well-known/oauth-protected-resource') === true) {
      json(response, {
        resource: made.says.resource ?? mcp.url,
        authorization_servers: [made.says.authorizationServer ?? issuer],
        scopes_supported: ['read'],
      })
      return true
    }
    const grant = access.get((request.headers.authorization ?? '').replace('Bearer ', ''))
    const where = `resource_metadata="${mcp.origin}/.well-known/oauth-protected-resource/mcp"`
    if (grant === undefined || (grant.resource !== null && grant.resource !== mcp.url)) {
      json(response, {}, 401, { 'www-authenticate': `Bearer ${where}, scope="read"` })
      return true
    }
    if (made.scopeNeeded === null || grant.scope.split(' ').includes(made.scopeNeeded)) return false
    json(response, {}, 403, {
      'www-authenticate': `Bearer error="insufficient_scope", scope="${made.scopeNeeded}", ${where}`,
    })
    return true
  }
  return made

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', issuer)
    const body = await textOf(request)
    if (url.pathname === '/.well-known/oauth-authorization-server')
      return json(response, {
        issuer: made.says.issuer ?? issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: made.says.tokenEndpoint ?? `${issuer}/token`,
        registration_endpoint: `${issuer}/register`,
        response_types_supported: ['code'],
        token_endpoint_auth_methods_supported: ['none', 'client_secret_post'],
        authorization_response_iss_parameter_supported: true,
        ...(made.says.revocationStatus === undefined
          ? {}
          : { revocation_endpoint: made.says.revocationEndpoint ?? `${issuer}/revoke` }),
        ...(made.says.pkce === false ? {} : { code_challenge_methods_supported: ['S256'] }),
      })
    if (url.pathname === '/register') {
      const asked = JSON.parse(body) as Record<string, unknown>
      made.registrations.push(asked)
      return json(response, { ...asked, client_id: `client-${made.registrations.length}` }, 201)
    }
    if (url.pathname === '/authorize') {
      const asked = url.searchParams
      const code = randomUUID()
      const redirect = new URL(asked.get('redirect_uri') ?? '')
      codes.set(code, {
        scope: asked.get('scope') ?? '',
        resource: asked.get('resource'),
        challenge: asked.get('code_challenge') ?? '',
        redirect: redirect.href,
      })
      redirect.searchParams.set('code', code)
      redirect.searchParams.set('state', asked.get('state') ?? '')
      redirect.searchParams.set('iss', issuer)
      return void response.writeHead(302, { location: redirect.href }).end()
    }
    const form = new URLSearchParams(body)
    if (url.pathname === '/revoke') {
      made.revocations.push(form)
      const known = access.delete(form.get('token') ?? '') || refresh.delete(form.get('token') ?? '')
      const status = made.says.revocationStatus ?? 200
      return json(
        response,
        status === 200 && known ? {} : { error: status === 400 ? 'unsupported_token_type' : 'server_error' },
        status,
      )
    }
    made.tokenRequests.push(form)
    const grant = grantOf(form)
    if (grant === null) return json(response, { error: 'invalid_grant' }, 400)
    const tokens = { access_token: `access-${randomUUID()}`, refresh_token: `refresh-${randomUUID()}` }
    access.set(tokens.access_token, grant)
    refresh.set(tokens.refresh_token, grant)
    json(response, { ...tokens, token_type: 'Bearer', expires_in: 3600, scope: grant.scope })
  }

  function grantOf(form: URLSearchParams): Grant | null {
    if (form.get('grant_type') === 'client_credentials')
      return form.get('client_secret') === 'machine-secret'
        ? { scope: form.get('scope') ?? '', resource: form.get('resource') }
        : null
    if (form.get('grant_type') === 'refresh_token') {
      const token = form.get('refresh_token') ?? ''
      const grant = refresh.get(token) ?? null
      // A refresh token counts once, so that two simultaneous renewals are noticed.
      refresh.delete(token)
      return grant
    }
    const code = codes.get(form.get('code') ?? '')
    codes.delete(form.get('code') ?? '')
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    return code === undefined ||
      code.challenge !== challenge ||
      code.redirect !== form.get('redirect_uri') ||
      code.resource !== form.get('resource')
      ? null
      : code
  }
}
