// Logins over HTTP, with the store of a home and a time of the test's own.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BeaverClient } from '@beaver/client'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { tokenAccess, type TokenRole } from './access.ts'
import { createApp, type HttpApp } from './app.ts'
import { TokenStore } from './token-store.ts'

const startMs = Date.parse('2026-11-29T08:00:00Z')
const [minuteMs, hourMs] = [60_000, 3_600_000]
let folder = ''
let file = ''
let nowMs = startMs
let store: TokenStore
let app: HttpApp
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'beaver-logins-'))
  file = join(folder, 'gateway', 'tokens.json')
  nowMs = startMs
  store = new TokenStore(file)
  app = gatewayApp()
})
afterEach(() => rmSync(folder, { recursive: true }))

/** The app as a gateway makes it that has just started. */
function gatewayApp(): HttpApp {
  const tokens = new TokenStore(file)
  return createApp({
    client: {} as BeaverClient,
    connected: () => true,
    access: tokenAccess(() => tokens.list()),
    logins: tokens,
    hosts: () => ['app.test'],
    now: () => nowMs,
  })
}

interface Answer {
  readonly status: number
  readonly body: Readonly<Record<'token' | 'name', string>>
}

async function ask(
  method: string,
  path: string,
  { token, body, address }: { token?: string; body?: object; address?: string } = {},
): Promise<Answer> {
  const headers = {
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  }
  const answer = await app.fetch(
    new Request(`http://app.test/api/v1/${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }),
    address,
  )
  return { status: answer.status, body: (await answer.json()) as Answer['body'] }
}
const login = (code: string, address?: string): Promise<Answer> =>
  ask('POST', 'login', { body: { code }, ...(address === undefined ? {} : { address }) })
const me = (token: string): Promise<Answer> => ask('GET', 'me', { token })
async function codeOf(roles: readonly TokenRole[] = ['admin'], userId?: string): Promise<string> {
  const of = { roles, now: new Date(nowMs), ...(userId === undefined ? {} : { userId }) }
  return (await store.createCode(of)).code
}

it('a code gives a token with the roles and the user of the link, for twelve hours, and the token logs out', async () => {
  const { status, body } = await login(await codeOf(['read', 'approve'], 'ann'))
  const who = {
    name: expect.stringMatching(/^login-[0-9a-f]{8}$/) as string,
    roles: ['read', 'approve'],
    user_id: 'ann',
    expires_at: new Date(startMs + 12 * hourMs).toISOString(),
  }
  expect({ status, body }).toEqual({
    status: 200,
    body: { token: expect.stringMatching(/^beaver_[\w-]{32}$/) as string, ...who },
  })
  expect(await me(body.token)).toEqual({ status: 200, body: who })
  expect(await ask('POST', 'logout', { token: body.token })).toEqual({ status: 200, body: who })
  expect(await me(body.token)).toMatchObject({ status: 401, body: { code: 'unauthorized' } })
})

it('a code works once, also if it comes twice at the same time', async () => {
  const code = await codeOf()
  const statuses = (await Promise.all([login(code), login(code), login(code)])).map(({ status }) => status)
  expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 401, 401])
  expect(await login(code)).toMatchObject({ status: 401, body: { detail: expect.stringContaining('once') } })
  expect(store.list()).toHaveLength(1)
})

it('a code works for ten minutes', async () => {
  const [first, second] = [await codeOf(), await codeOf()]
  nowMs = startMs + 10 * minuteMs - 1
  expect((await login(first)).status).toBe(200)
  nowMs = startMs + 10 * minuteMs
  expect((await login(second)).status).toBe(401)
})

it('the token of a login ends after twelve hours, says so for a day, and then is forgotten', async () => {
  const { token, name } = (await login(await codeOf())).body
  nowMs = startMs + 12 * hourMs - 1
  expect((await me(token)).status).toBe(200)
  nowMs = startMs + 12 * hourMs
  const ended = `The login "${name}" ended at 2026-11-29T20:00:00.000Z. "beaver console" prints a link for a new one.`
  expect(await me(token)).toMatchObject({ status: 401, body: { detail: ended } })
  await login(await codeOf())
  expect((await me(token)).body).toMatchObject({ detail: ended })
  nowMs = startMs + 36 * hourMs
  await login(await codeOf())
  expect((await me(token)).body).toMatchObject({ detail: expect.stringContaining('Send a token') as string })
  expect(store.list().map((each) => each.name)).not.toContain(name)
})

it('a gateway that starts again knows the codes and the logins of before, and each can be revoked', async () => {
  const { token, name } = (await login(await codeOf())).body
  const code = await codeOf()
  app = gatewayApp()
  expect((await me(token)).status).toBe(200)
  expect((await login(code)).status).toBe(200)
  await new TokenStore(file).revoke(name)
  expect((await me(token)).status).toBe(401)
})

it('ten wrong codes of an address are answered within a minute, and a right one always works', async () => {
  for (let i = 0; i < 20; i++) expect((await login(await codeOf(), 'a')).status).toBe(200)
  const wrong = await Promise.all(Array.from({ length: 12 }, (_, i) => login(`wrong${i}`, 'a')))
  expect(wrong.map(({ status }) => status)).toEqual([...Array<number>(10).fill(401), 429, 429])
  const code = await codeOf()
  expect((await login(code, 'a')).status).toBe(200)
  expect(await login('wrong', 'a')).toMatchObject({
    status: 429,
    body: { detail: 'You have sent 10 wrong codes within a minute. Come again in 6 s.' },
  })
  expect((await login('wrong', 'b')).status).toBe(401)
  nowMs += 6_000
  expect((await login('wrong', 'a')).status).toBe(401)
})

it('a token that somebody made does not log out, and says that it never ends', async () => {
  const token = await store.create('ci', { roles: ['read'], now: new Date(nowMs) })
  expect(await ask('POST', 'logout', { token })).toMatchObject({
    status: 403,
    body: { detail: expect.stringContaining('"beaver token revoke" ends it') as string },
  })
  expect(await me(token)).toEqual({
    status: 200,
    body: { name: 'ci', roles: ['read'], user_id: null, expires_at: null },
  })
})

it('keeps the hashes of codes and tokens, and neither of them', async () => {
  const code = await codeOf()
  const logins = (): string => readFileSync(join(folder, 'gateway', 'logins.json'), 'utf8')
  expect(logins()).toContain('sha256')
  expect(logins()).not.toContain(code)
  const { token } = (await login(code)).body
  expect(JSON.parse(logins())).toEqual([])
  expect(readFileSync(file, 'utf8')).not.toContain(token.slice(8))
})

it('refuses a request without a code, and asks a caller without a token for one', async () => {
  for (const body of [{}, { code: '' }, { code: 'x'.repeat(101) }, { code: 'x', more: 1 }])
    expect((await ask('POST', 'login', { body })).status).toBe(400)
  expect((await ask('GET', 'me')).status).toBe(401)
  expect((await ask('POST', 'logout')).status).toBe(401)
})
