// Given a server that wants a token, when a daemon connects and a person logs in, then who gets what. The
// authorization server is real.
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Clock, systemClock } from '@beaver/core'
import { protectedSecrets } from '@beaver/core/secrets'
import { type OAuthFixture, oauthFixture } from '@beaver/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Bench, bench, call, until } from '../../test/kit.ts'
import type { McpHttpSpec } from '../client/server-spec.ts'
import { guardedFetch, isPublicAddress } from './guarded-fetch.ts'
import { logIn, loginPlace } from './log-in.ts'

const spec = (url: string, changes: Partial<McpHttpSpec> = {}): McpHttpSpec => ({
  url,
  headers: {},
  permission: 'allow',
  timeout_ms: 10_000,
  restarts_max: 5,
  ...changes,
})
/**
 * A look whether somebody has logged in, and the next attempt to connect, come twenty times as soon. What
 * limits a request is as it is.
 */
const clock: Clock = {
  now: systemClock.now,
  after: (delayMs, act) => systemClock.after(delayMs <= 5_000 ? delayMs / 20 : delayMs, act),
}

const logins = ({ folder }: Bench): string => join(folder, 'home', 'mcp-logins')
const fileOf = (test: Bench): string => join(logins(test), 'web.json')

async function connected(
  server: OAuthFixture,
  changes: Partial<McpHttpSpec> = {},
  test: Bench = bench({ onTestFinished }),
) {
  const options = { loginsFolder: logins(test), environment: { SECRET: 'machine-secret' }, clock }
  const connections = await test.start({ web: spec(server.mcp.url, changes) }, options)
  await connections.settled
  return { test, connections }
}

function loggedIn(
  server: OAuthFixture,
  test: Bench,
  { change, scope }: { change?: (redirect: URL) => void; scope?: string } = {},
) {
  const place = loginPlace(spec(server.mcp.url), {
    server: 'web',
    environment: {},
    folder: logins(test),
    clock: systemClock,
  })
  const pages: Response[] = []
  const show = (url: URL): void => void server.logIn(url, change).then((page) => pages.push(page))
  return logIn({ ...place, scope, show, signal: new AbortController().signal })
}

const state = (connections: { readonly status: readonly { readonly state: string }[] }) =>
  connections.status[0]?.state

describe('a server that wants a token', () => {
  it('waits for a login, and says what to type; when the person has logged in, its tools come without a restart', async () => {
    await using server = await oauthFixture()
    const { test, connections } = await connected(server)
    expect(connections.status[0]).toMatchObject({
      state: 'needs_login',
      lastError: 'it wants a login. Log in: beaver mcp login web',
    })
    expect(server.registrations).toEqual([])
    expect(await loggedIn(server, test)).toEqual({ scope: 'read' })
    await until('it is connected', () => state(connections) === 'connected')
    expect(await call(connections, 'web_look')).toMatchObject({ success: true, content: 'called' })
    expect(connections.status[0]?.restarts).toBe(0)
    expect(server.registrations).toMatchObject([
      { client_name: 'Beaver', token_endpoint_auth_method: 'none', application_type: 'native' },
    ])
    expect(server.tokenRequests.map((form) => [form.get('grant_type'), form.get('resource')])).toEqual([
      ['authorization_code', server.mcp.url],
    ])
  })

  it('keeps the tokens where only the user can read them, and in no log and no status', async () => {
    await using server = await oauthFixture()
    const { test, connections } = await connected(server)
    await loggedIn(server, test)
    await until('it is connected', () => state(connections) === 'connected')
    expect([statSync(logins(test)).mode & 0o777, statSync(fileOf(test)).mode & 0o777]).toEqual([0o700, 0o600])
    expect(readdirSync(logins(test))).toEqual(['web.json'])
    const { tokens } = JSON.parse(readFileSync(fileOf(test), 'utf8')) as {
      tokens: { access_token: string; refresh_token: string }
    }
    const told = JSON.stringify([test.logged, connections.status, connections.tools])
    expect([told.includes(tokens.access_token), told.includes(tokens.refresh_token)]).toEqual([false, false])
    expect(protectedSecrets().some(({ value }) => value === tokens.access_token)).toBe(true)
  })

  it('gets one renewal when many calls find the token refused at the same time', async () => {
    await using server = await oauthFixture()
    const { test, connections } = await connected(server)
    await loggedIn(server, test)
    await until('it is connected', () => state(connections) === 'connected')
    server.expire()
    const second = await test.start(
      { web: spec(server.mcp.url) },
      { loginsFolder: logins(test), pinsFile: join(test.folder, 'other', 'pins.json'), clock },
    )
    const results = await Promise.all([
      ...Array.from({ length: 10 }, () => call(connections, 'web_look')),
      second.settled.then(() => call(second, 'web_look')),
    ])
    expect(results.map(({ success }) => success)).toEqual(results.map(() => true))
    expect(server.tokenRequests.filter((form) => form.get('grant_type') === 'refresh_token')).toHaveLength(1)
  })

  it('whose login ended wants a new one', async () => {
    await using server = await oauthFixture()
    const { test, connections } = await connected(server)
    await loggedIn(server, test)
    await until('it is connected', () => state(connections) === 'connected')
    server.expire()
    server.revoke()
    expect(await call(connections, 'web_look')).toMatchObject({
      error: 'mcp_login_needed',
      content: expect.stringContaining('beaver mcp login web') as string,
    })
    await until('it waits', () => state(connections) === 'needs_login')
    await loggedIn(server, test)
    await until('it is connected', () => state(connections) === 'connected')
  })

  it('that wants more scope for a call says so, and a login with it helps', async () => {
    await using server = await oauthFixture()
    const { test, connections } = await connected(server)
    await loggedIn(server, test)
    await until('it is connected', () => state(connections) === 'connected')
    server.scopeNeeded = 'write'
    expect(await call(connections, 'web_look')).toMatchObject({
      error: 'mcp_login_needed',
      content: expect.stringContaining('beaver mcp login web --scope "write"') as string,
    })
    expect((await loggedIn(server, test, { scope: 'write' })).scope?.split(' ').toSorted()).toEqual([
      'read',
      'write',
    ])
    expect(await call(connections, 'web_look')).toMatchObject({ success: true })
  })

  it('that wants more scope for its list waits for a login with it', async () => {
    await using server = await oauthFixture()
    server.scopeNeeded = 'write'
    const { test, connections } = await connected(server)
    await loggedIn(server, test)
    await until(
      'it says what it wants',
      () => connections.status[0]?.lastError?.includes('beaver mcp login web --scope "write"') === true,
    )
    expect(state(connections)).toBe('needs_login')
    await loggedIn(server, test, { scope: 'write' })
    await until('it is connected', () => state(connections) === 'connected')
  })

  it('lets a machine in by its own secret', async () => {
    await using server = await oauthFixture()
    const oauth = {
      client_id: 'robot',
      client_secret: '$SECRET',
      issuer: server.issuer,
      grant: 'client_credentials',
    } as const
    const { connections } = await connected(server, { oauth })
    expect(connections.status[0]).toMatchObject({ state: 'connected' })
    expect(server.tokenRequests.map((form) => [form.get('grant_type'), form.get('resource')])).toEqual([
      ['client_credentials', server.mcp.url],
    ])
  })

  it('does not get the secret of a client that belongs to another issuer', async () => {
    await using server = await oauthFixture()
    const oauth = {
      client_id: 'robot',
      client_secret: '$SECRET',
      issuer: 'https://login.example',
      grant: 'client_credentials',
    } as const
    const { connections } = await connected(server, { oauth })
    expect(state(connections)).not.toBe('connected')
    expect(server.tokenRequests).toEqual([])
  })

  it('gets no token that was issued for another URL', async () => {
    await using server = await oauthFixture()
    await using other = await oauthFixture()
    const test = bench({ onTestFinished })
    await loggedIn(server, test)
    const { connections } = await connected(other, {}, test)
    expect(state(connections)).toBe('needs_login')
    expect(other.mcp.requests).toEqual([])
  })
})

describe('a login', () => {
  const attack = async (prepare: (server: OAuthFixture) => void, change?: (redirect: URL) => void) => {
    const server = await oauthFixture()
    onTestFinished(() => server[Symbol.asyncDispose]())
    prepare(server)
    const test = bench({ onTestFinished })
    const end = await loggedIn(server, test, change === undefined ? {} : { change }).then(
      () => 'logged in',
      (error: unknown) => (error instanceof Error ? `${error.name}: ${error.message}` : ''),
    )
    return { end, tokens: server.tokenRequests.length, stored: readdirOr(logins(test)) }
  }
  const readdirOr = (folder: string): string[] => {
    try {
      return readdirSync(folder)
    } catch {
      return []
    }
  }

  it.each([
    [
      'comes back from another issuer',
      () => {},
      (to: URL): void => to.searchParams.set('iss', 'https://evil.example'),
      /IssuerMismatch|issuer/,
    ],
    [
      'comes back without an issuer',
      () => {},
      (to: URL): void => to.searchParams.delete('iss'),
      /issuer|iss/i,
    ],
    [
      'was refused',
      () => {},
      (to: URL): void => (to.searchParams.delete('code'), to.searchParams.set('error', 'access_denied')),
      /access_denied/,
    ],
    [
      'is at a server that says another issuer',
      (of: OAuthFixture): void => void (of.says.issuer = 'https://evil.example'),
      undefined,
      /issuer/i,
    ],
    [
      'is for another resource',
      (of: OAuthFixture): void => void (of.says.resource = 'https://bank.example/mcp'),
      undefined,
      /does not match/,
    ],
    [
      'is at a server without PKCE',
      (of: OAuthFixture): void => void (of.says.pkce = false),
      undefined,
      /PKCE/,
    ],
  ] as const)('that %s ends without a token, and nothing is stored', async (_, prepare, change, why) => {
    const { end, tokens, stored } = await attack(prepare, change)
    expect(end).toMatch(why)
    expect([tokens, stored]).toEqual([0, []])
  })

  it('that somebody else began is answered with a refusal, and the own one goes on', async () => {
    await using server = await oauthFixture()
    const test = bench({ onTestFinished })
    const place = loginPlace(spec(server.mcp.url), {
      server: 'web',
      environment: {},
      folder: logins(test),
      clock: systemClock,
    })
    const seen: number[] = []
    const show = async (url: URL): Promise<void> => {
      seen.push((await server.logIn(url, (to) => to.searchParams.set('state', 'x'.repeat(43)))).status)
      seen.push((await server.logIn(url)).status)
    }
    await logIn({ ...place, show: (url) => void show(url), signal: new AbortController().signal })
    expect(seen).toEqual([400, 200])
  })

  it('sends nothing to the private network that a public server names', async () => {
    const asked = guardedFetch('https://mcp.example/mcp', systemClock)
    await expect(asked('https://192.0.2.1/.well-known/oauth-authorization-server')).rejects.toThrow(
      'not in the public network',
    )
    await expect(asked('https://[::1]/token')).rejects.toThrow('not in the public network')
    await expect(asked('https://localhost/token')).rejects.toThrow('not in the public network')
    await expect(asked('http://mcp.example/token')).rejects.toThrow('not https')
    await expect(asked('https://a:b@mcp.example/token')).rejects.toThrow('password')
    expect(
      [
        '169.254.169.254',
        '127.0.0.1',
        '::ffff:192.0.2.1',
        'fe80::1',
        'fd00::1',
        '64:ff9b::a00:1',
        '2002:a00:1::',
        '100.64.0.1',
      ].filter(isPublicAddress),
    ).toEqual([])
    expect(['1.1.1.1', '2606:4700:4700::1111'].filter(isPublicAddress)).toHaveLength(2)
  })

  it('in a file that others can read is refused', async () => {
    await using server = await oauthFixture()
    const test = bench({ onTestFinished })
    await loggedIn(server, test)
    chmodSync(fileOf(test), 0o644)
    const { connections } = await connected(server, {}, test)
    expect(connections.status[0]).toMatchObject({
      state: 'needs_login',
      lastError: expect.stringContaining('other users can read it') as string,
    })
  })

  it('in a file that is broken is told without its text', async () => {
    await using server = await oauthFixture()
    const test = bench({ onTestFinished })
    await loggedIn(server, test)
    writeFileSync(fileOf(test), '{"tokens": "access-secret')
    const { connections } = await connected(server, {}, test)
    expect(connections.status[0]?.lastError).toContain('it is no JSON')
    expect(connections.status[0]?.lastError).not.toContain('access-secret')
  })
})
