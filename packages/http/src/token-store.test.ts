import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { callerOf, tokenAccess, tokenHash, userOf } from './access.ts'
import { TokenStore } from './token-store.ts'

let folder = ''
let file = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'beaver-tokens-'))
  file = join(folder, 'gateway', 'tokens.json')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const now = new Date('2026-11-23T00:00:00Z')

it('keeps the hash of a token and never the token, in a file of its owner', async () => {
  const store = new TokenStore(file)
  const token = await store.create('ci', { roles: ['submit'], userId: 'ann', now })
  expect(token).toMatch(/^beaver_[\w-]{32}$/)
  expect(readFileSync(file, 'utf8')).not.toContain(token.slice(8))
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(tokenAccess(() => store.list()).caller(token)).toEqual({
    name: 'ci',
    roles: ['submit'],
    userId: 'ann',
    created_at: now.toISOString(),
  })
  expect(tokenAccess(() => store.list()).caller(`${token}x`)).toBeNull()
})

it('sees what another process changed: a token that was revoked ends at once', async () => {
  const [gateway, command] = [new TokenStore(file), new TokenStore(file)]
  const access = tokenAccess(() => gateway.list())
  const token = await command.create('ci', { roles: ['read'], now })
  expect(access.caller(token)?.name).toBe('ci')
  await command.revoke('ci')
  expect(access.caller(token)).toBeNull()
})

it('refuses a second token of a name, an unknown one, and a file that cannot be read', async () => {
  const store = new TokenStore(file)
  await store.create('ci', { roles: ['read'], now })
  await expect(store.create('ci', { roles: ['read'], now })).rejects.toMatchObject({ code: 'conflict' })
  await expect(store.revoke('no')).rejects.toMatchObject({ code: 'not_found' })
  writeFileSync(file, '[{"name":')
  expect(() => store.list()).toThrow('cannot be read')
})

it('a caller has the roles of its token, and admin has every role', () => {
  const access = {
    caller: (token: string) =>
      token === 'a'
        ? { name: 'a', roles: ['admin'] as const }
        : token === 'r'
          ? { name: 'r', roles: ['read'] as const }
          : null,
  }
  expect(callerOf(access, 'Bearer a', 'approve', 0).name).toBe('a')
  expect(() => callerOf(access, 'Bearer r', 'submit', 0)).toThrow('does not have the role submit')
  for (const header of [undefined, '', 'Basic a', 'Bearer', 'Bearer a b'])
    expect(() => callerOf(access, header, 'read', 0)).toThrow('Send a token')
})

it('a token with a user speaks for that user alone', () => {
  const ann = { name: 't', roles: ['submit'], userId: 'ann' } as const
  expect([
    userOf(ann, undefined),
    userOf(ann, 'ann'),
    userOf({ name: 't', roles: ['submit'] }, 'bob'),
  ]).toEqual(['ann', 'ann', 'bob'])
  expect(() => userOf(ann, 'bob')).toThrow('speaks for the user "ann" only')
})

it('keeps every token that was shown, also of commands that run at the same time, and outlives a process that died', async () => {
  const path = join(folder, 'tokens.json')
  writeFileSync(`${path}.lock`, '')
  utimesSync(`${path}.lock`, 0, 0)
  const names = Array.from({ length: 20 }, (_, i) => `t${i}`)
  const made = await Promise.all(
    names.map((name) => new TokenStore(path).create(name, { roles: ['read'], now: new Date(0) })),
  )
  const kept = new TokenStore(path).list()
  expect(kept.map(({ name }) => name).toSorted()).toEqual(names.toSorted())
  expect(made.every((token) => kept.some(({ sha256 }) => sha256 === tokenHash(token)))).toBe(true)
  expect(readdirSync(folder)).toEqual(['tokens.json'])
})

it('leaves nothing behind if it refuses', async () => {
  await expect(new TokenStore(file).revoke('none')).rejects.toMatchObject({ code: 'not_found' })
  expect(existsSync(join(folder, 'gateway'))).toBe(false)
})
