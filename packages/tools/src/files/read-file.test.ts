import { link, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { permissionOnSubject, type PermissionRule, ToolFailure } from '@beaver/agent/tool-kit'
import { imageLimits, type ImagePart } from '@beaver/core/images'
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
  const context = toolContext({
    workspace,
    permission: (subject) => permissionOnSubject(readFile, subject, rules),
  })
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

  test.each([
    '.env.example',
    '.env.sample',
    'id_rsa.pub',
    'src/credentials.ts',
    'environment.ts',
    'keys.md',
    'id_card.png',
    'src/secret.ts',
    'package.json',
  ])('%s is none', async (path) => {
    await put(path)
    expect(await read(path)).toBe('read')
  })

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
  const rule = (decision: 'deny' | 'ask' | 'allow', pattern: string): PermissionRule => ({
    tool: 'read_file',
    pattern,
    decision,
  })
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

describe('an image', () => {
  const png = Buffer.from('\u0089PNG\r\n\u001a\n\0\0\0\rIHDR\0\0\0\u0004\0\0\0\u0002', 'latin1')
  /** What the model reads of a file, and how many bytes it is shown. */
  async function seen(
    content: Buffer,
    { offset = 0, shows = true } = {},
  ): Promise<readonly [text: string | null, shown: readonly number[]]> {
    await writeFile(join(workspace, 'chart'), content)
    const shown: number[] = []
    const showImage = async (image: Uint8Array, name?: string): Promise<ImagePart> => {
      shown.push(image.length)
      return {
        media_type: 'image/png',
        sha256: 'a'.repeat(64),
        bytes: image.length,
        width: 4,
        height: 2,
        ...(name === undefined ? {} : { name }),
      }
    }
    const context = toolContext({
      workspace,
      ...(shows ? { showImage } : {}),
      permission: (subject) => permissionOnSubject(readFile, subject, []),
    })
    const { text } = JSON.parse(await readFile.invoke({ path: 'chart', offset }, context)) as {
      text: string | null
    }
    return [text, shown]
  }

  it('is shown by its bytes, and the result says so', async () =>
    expect(await seen(png)).toEqual(['You are shown the image chart 4×2 png 24 B.', [24]]))

  it('that is too large is not shown, and the result says why', async () => {
    const [text, shown] = await seen(Buffer.concat([png, Buffer.alloc(imageLimits.bytesMax)]))
    expect([text, shown]).toEqual([expect.stringMatching(/an image may have at most 5000000/), []])
  })

  it.each([
    ['another binary file', Buffer.from('ELF\0\0'), {}],
    ['a later part of an image', png, { offset: 4 }],
    ['an image where none can be shown', png, { shows: false }],
  ])('is not %s', async (_, content, how) => expect(await seen(content, how)).toEqual([null, []]))
})
