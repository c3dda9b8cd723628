// Given a login at a server, when a person logs out, then what the authorization server and this machine
// keep.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '@beaver/core'
import { type OAuthFixture, oauthFixture } from '@beaver/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { bench } from '../../test/kit.ts'
import type { McpHttpSpec } from '../client/server-spec.ts'
import { logIn, loginPlace } from './log-in.ts'
import { logOut } from './log-out.ts'

async function loggedIn(says: OAuthFixture['says'], settings: McpHttpSpec['oauth'] = {}) {
  const server = await oauthFixture()
  onTestFinished(() => server[Symbol.asyncDispose]())
  Object.assign(server.says, says)
  const folder = join(bench({ onTestFinished }).folder, 'mcp-logins')
  const oauth =
    settings === false
      ? {}
      : { ...settings, ...(settings.client_secret === undefined ? {} : { issuer: server.issuer }) }
  const spec: McpHttpSpec = {
    url: server.mcp.url,
    headers: {},
    permission: 'allow',
    timeout_ms: 10_000,
    restarts_max: 0,
    oauth,
  }
  const place = loginPlace(spec, {
    server: 'web',
    environment: { SECRET: 'client-secret' },
    folder,
    clock: systemClock,
  })
  await logIn({ ...place, show: (page) => void server.logIn(page), signal: new AbortController().signal })
  const file = join(folder, 'web.json')
  const { tokens } = JSON.parse(readFileSync(file, 'utf8')) as {
    tokens: { access_token: string; refresh_token: string }
  }
  return { server, place, file, tokens }
}

const sent = ({ revocations }: OAuthFixture) => revocations.map((form) => [form.get('token_type_hint'), form.get('token'), form.get('client_id'), form.get('client_secret')]) // prettier-ignore

describe('logging out', () => {
  it('revokes the refresh token and the access token, and removes the file', async () => {
    const { server, place, file, tokens } = await loggedIn({ revocationStatus: 200 })
    expect(await logOut(place)).toEqual({ kind: 'revoked' })
    expect(existsSync(file)).toBe(false)
    expect(sent(server)).toEqual([
      ['refresh_token', tokens.refresh_token, 'client-1', null],
      ['access_token', tokens.access_token, 'client-1', null],
    ])
    expect(await logOut(place)).toBeNull()
  })

  it('identifies a configured client by its secret', async () => {
    const { server, place } = await loggedIn(
      { revocationStatus: 200 },
      { client_id: 'robot', client_secret: '$SECRET' },
    )
    expect(await logOut(place)).toEqual({ kind: 'revoked' })
    expect(sent(server)[0]?.slice(2)).toEqual(['robot', 'client-secret'])
  })

  it('does not send the secret of a client to an issuer that it does not belong to', async () => {
    const { server, place } = await loggedIn(
      { revocationStatus: 200 },
      { client_id: 'robot', client_secret: '$SECRET' },
    )
    const other = { ...place, settings: { ...place.settings, issuer: 'https://login.example' } }
    expect(await logOut(other)).toMatchObject({
      kind: 'not_asked',
      why: expect.stringContaining('another server') as string,
    })
    expect(server.revocations).toEqual([])
  })

  it.each([
    [
      'has no place for it',
      {},
      { kind: 'not_asked', why: 'The authorization server names no place where a token can be revoked.' },
    ],
    [
      'fails',
      { revocationStatus: 503 },
      { kind: 'refused', why: 'The authorization server answered with HTTP 503.' },
    ],
    ['names a place in another network', { revocationStatus: 200, revocationEndpoint: 'http://192.0.2.1/revoke' }, { kind: 'refused', why: expect.stringContaining('not https') as string }], // prettier-ignore
    [
      'does not revoke such tokens',
      { revocationStatus: 400 },
      { kind: 'refused', why: 'The authorization server does not revoke tokens of this kind.' },
    ],
  ])('removes the file if the server %s', async (_, says, outcome) => {
    const { place, file } = await loggedIn(says)
    expect(await logOut(place)).toEqual(outcome)
    expect(existsSync(file)).toBe(false)
  })

  it('removes a file that cannot be read', async () => {
    const { server, place, file } = await loggedIn({ revocationStatus: 200 })
    writeFileSync(file, '{')
    expect(await logOut(place)).toEqual({ kind: 'not_asked', why: 'The login had no token.' })
    expect([existsSync(file), server.revocations]).toEqual([false, []])
  })
})
