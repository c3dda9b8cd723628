import { link, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { permissionOnSubject, type PermissionRule, ToolFailure } from '@beaver/agent/tool-kit'
import { toolContext } from '@beaver/testing'
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest'
import { readFile } from './read-file.ts'

let workspace: string
beforeEach(async () => {
  workspace = await realpath(await mkdtemp(join(tmpdir(), 'beaver-read-')))
})
afterEach(() => rm(workspace, { recursive: true }))

/** `read`, or the code of the refusal. */
async function read(path: string, ...rules: PermissionRule[]): Promise<string> {
  const context = toolContext({ workspace, permission: (subject) => permissionOnSubject(readFile, subject, rules) })
  try {
    await readFile.invoke({ path }, context)
    return 'read'
  } catch (error) {
    if (error instanceof ToolFailure) return error.code
    throw error
  }
}

async function put(path: string): Promise<void> {
  await mkdir(join(workspace, path, '..'), { recursive: true })
  await writeFile(join(workspace, path), 'text')
}

describe('a file that usually holds secrets', () => {
  test.each([
    '.env',
    '.ENV',
    '.env.production',
    'deploy/.env.local',
    'prod.env',
    '.ｅnv',
    '.envrc',
    'tls/server.pem',
    'server.KEY',
    '.ssh/config',
    'id_rsa',
    'id_ed25519',
    '.netrc',
    '.npmrc',
    '.pypirc',
    '.aws/credentials',
    'credentials.json',
    'secrets.yaml',
    'user.creds',
    'seed.nk',
    '.beaver/nats/keys/client.nk',
    '.beaver/system.json',
    'service-account-prod.json',
  ])('%s is not read, unless a rule with a pattern allows it', async (path) => {
    await put(path)
    expect(await read(path)).toBe('secret_file')
    expect(await read(path, { tool: '*', decision: 'allow' })).toBe('secret_file')
    expect(await read(path, { tool: 'read_file', pattern: '*', decision: 'allow' })).toBe('secret_file')
    expect(await read(path, { tool: 'read_file', pattern: path, decision: 'allow' })).toBe('read')
    expect(await read(path, { tool: 'read_file', pattern: path, decision: 'ask' })).toBe('read')
  })

  test.each(['.env.example', '.env.sample', 'id_rsa.pub', 'src/credentials.ts', 'environment.ts', 'keys.md', 'id_card.png', 'src/secret.ts', 'package.json'])(
    '%s is none',
    async (path) => {
      await put(path)
      expect(await read(path)).toBe('read')
    },
  )

  it('is not read by another name either', async () => {
    await put('.env')
    await put('.ssh/config')
    await symlink('.env', join(workspace, 'notes.txt'))
    await symlink('.ssh', join(workspace, 'folder'))
    for (const path of ['notes.txt', 'folder/config', './/.env']) expect(await read(path)).toBe('secret_file')
    await link(join(workspace, '.env'), join(workspace, 'hard.txt'))
    expect(await read('hard.txt')).toBe('hard_link')
  })
})

it('judges what a link leads to by the same rules as its path', async () => {
  await put('private/key.txt')
  await symlink('private', join(workspace, 'public'))
  const rule = (decision: 'deny' | 'ask' | 'allow', pattern: string): PermissionRule => ({ tool: 'read_file', pattern, decision })
  expect(await read('public/key.txt')).toBe('read')
  expect(await read('public/key.txt', rule('deny', 'private/*'))).toBe('permission_denied')
  expect(await read('public/key.txt', rule('ask', 'private/*'))).toBe('permission_denied')
  expect(await read('public/key.txt', rule('ask', '*'))).toBe('read')
})

it('reads a file with a second name only if a rule with a pattern allows its path', async () => {
  await put('one.txt')
  await link(join(workspace, 'one.txt'), join(workspace, 'two.txt'))
  expect(await read('two.txt')).toBe('hard_link')
  expect(await read('two.txt', { tool: 'read_file', pattern: 'two*', decision: 'allow' })).toBe('read')
})
