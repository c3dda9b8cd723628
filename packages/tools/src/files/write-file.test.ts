import { existsSync } from 'node:fs'
import {
  chmod,
  link,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { permissionOf, type Tool, type ToolContext, ToolFailure } from '@beaver/agent/tool-kit'
import { toolContext } from '@beaver/testing'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest'
import { defaultBuiltinToolOptions } from '../options.ts'
import { writeFile as writeFileWith, type WrittenFile } from './write-file.ts'

const tool = writeFileWith(defaultBuiltinToolOptions.protected)

let base: string
let workspace: string
beforeEach(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), 'beaver-write-')))
  workspace = join(base, 'workspace')
  await mkdir(workspace)
})
afterEach(() => rm(base, { recursive: true }))

const toolHere = (): Tool =>
  writeFileWith({ always: [join(workspace, 'data')], unlessAllowed: [join(workspace, 'flows')] })
const write = async (
  path: string,
  content: string,
  mode?: string,
  context: Partial<ToolContext> = {},
): Promise<WrittenFile> =>
  JSON.parse(
    await toolHere().invoke(
      { path, content, ...(mode === undefined ? {} : { mode }) },
      toolContext({ workspace, ...context }),
    ),
  ) as WrittenFile
const read = (path: string): Promise<string> => readFile(join(workspace, path), 'utf8')
const refusal = async (path: string, content = 'x', mode?: string): Promise<string> => {
  const thrown: unknown = await write(path, content, mode).then(
    () => null,
    (error: unknown) => error,
  )
  expect(thrown).toBeInstanceOf(ToolFailure)
  return (thrown as ToolFailure).code
}

describe('create', () => {
  it('makes the file and the folders on the way', async () => {
    expect(await write('./a//b/报告.md', 'héllo\n')).toEqual({
      path: 'a/b/报告.md',
      bytes: 7,
      outcome: 'created',
    })
    expect(await read('a/b/报告.md')).toBe('héllo\n')
  })

  it('leaves a file with other content as it is, and says so', async () => {
    await write('a', 'old')
    expect(await refusal('a', 'new')).toBe('exists')
    expect(await read('a')).toBe('old')
  })

  it('once more with the same content changes nothing', async () => {
    await write('a', 'same')
    expect((await write('a', 'same')).outcome).toBe('unchanged')
  })

  it('by several at once is done by one', async () => {
    const results = await Promise.allSettled(Array.from({ length: 20 }, (_, i) => write('a', `content ${i}`)))
    const [created, ...more] = results.filter(({ status }) => status === 'fulfilled')
    expect([created?.status, more]).toEqual(['fulfilled', []])
    expect(await readdir(workspace)).toEqual(['a'])
  })
})

describe('overwrite and append', () => {
  it('replace and add, keeping the rights of the file', async () => {
    await write('a.sh', 'one')
    await chmod(join(workspace, 'a.sh'), 0o750)
    expect(await write('a.sh', 'two\n', 'overwrite')).toEqual({
      path: 'a.sh',
      bytes: 4,
      outcome: 'overwritten',
    })
    expect(await write('a.sh', 'three', 'append')).toEqual({ path: 'a.sh', bytes: 9, outcome: 'appended' })
    expect([await read('a.sh'), (await stat(join(workspace, 'a.sh'))).mode & 0o777]).toEqual([
      'two\nthree',
      0o750,
    ])
  })

  it('make a file that is not there', async () => {
    expect((await write('a', 'x', 'overwrite')).outcome).toBe('created')
    expect((await write('b', 'x', 'append')).outcome).toBe('created')
  })

  it('by several at once lose nothing that was added', async () => {
    await Promise.all(Array.from({ length: 50 }, (_, i) => write('log', `line ${i}\n`, 'append')))
    const lines = (await read('log')).trimEnd().split('\n')
    expect(lines.toSorted()).toEqual(Array.from({ length: 50 }, (_, i) => `line ${i}`).toSorted())
  })

  it('go to the file a symlink inside the workspace stands for', async () => {
    await write('real', 'old')
    await symlink('real', join(workspace, 'link'))
    await write('link', 'new', 'overwrite')
    expect(await read('real')).toBe('new')
  })
})

describe('a place that is not written to', () => {
  beforeEach(async () => {
    await mkdir(join(base, 'outside'))
    await writeFile(join(base, 'outside/secret'), 'old')
    await symlink(join(base, 'outside'), join(workspace, 'out'))
    await symlink(join(base, 'outside/secret'), join(workspace, 'secret'))
    await symlink(join(base, 'outside/new'), join(workspace, 'dangling'))
    await symlink('absent', join(workspace, 'nowhere'))
    await symlink('loop', join(workspace, 'loop'))
    await mkdir(join(workspace, '.git'))
    await symlink('.git', join(workspace, 'git'))
    await mkdir(join(workspace, 'folder'))
    await writeFile(join(workspace, 'file'), '')
  })

  test.each([
    ['../x', 'outside_workspace'],
    ['/tmp/x', 'outside_workspace'],
    ['a/../../x', 'outside_workspace'],
    ['C:\\x', 'outside_workspace'],
    ['a\0b', 'outside_workspace'],
    ['out/x', 'outside_workspace'],
    ['out/deep/x', 'outside_workspace'],
    ['secret', 'outside_workspace'],
    ['dangling', 'outside_workspace'],
    ['nowhere', 'outside_workspace'],
    ['nowhere/x', 'outside_workspace'],
    ['loop', 'outside_workspace'],
    ['a/'.repeat(65) + 'x', 'outside_workspace'],
    ['.git/hooks/pre-commit', 'protected_path'],
    ['.GIT/config', 'protected_path'],
    ['git/config', 'protected_path'],
    ['sub/.git/config', 'protected_path'],
    ['.beaver/x', 'protected_path'],
    ['beaver.config.json', 'protected_path'],
    ['sub/Beaver.Config.json', 'protected_path'],
    ['.g\u200cit/hooks/x', 'protected_path'],
    ['.ｇｉｔ/hooks/x', 'protected_path'],
    ['.git./hooks/x', 'protected_path'],
    ['skills/new/SKILL.md', 'protected_path'],
    ['Skills/x', 'protected_path'],
    ['sub/SKILL.md', 'protected_path'],
    ['sub/agent_profile.json', 'protected_path'],
    ['data/nats/keys/client.nk', 'protected_path'],
    ['flows/deploy.json', 'protected_path'],
    ['.', 'not_a_file'],
    ['new/', 'not_a_file'],
    ['folder', 'not_a_file'],
    ['file/x', 'not_a_folder'],
  ])('%j: %s', async (path, code) => {
    for (const mode of ['create', 'overwrite', 'append']) expect(await refusal(path, 'x', mode)).toBe(code)
    expect(await readdir(join(base, 'outside'))).toEqual(['secret'])
    expect(await readFile(join(base, 'outside/secret'), 'utf8')).toBe('old')
    expect(existsSync(join(workspace, 'sub'))).toBe(false)
  })

  it('is nothing outside, whatever the path', async () => {
    const part = fc.constantFrom(
      '..',
      '.',
      'out',
      'secret',
      'dangling',
      'nowhere',
      'a',
      'folder',
      '',
      '~',
      'loop',
      '\\',
      'out/..',
    )
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 5 }), async (parts) => {
        await write(parts.join('/'), 'x', 'overwrite').catch((error: unknown) =>
          expect(error).toHaveProperty('name'),
        )
        expect(await readdir(base)).toEqual(['outside', 'workspace'])
        expect([
          await readdir(join(base, 'outside')),
          await readFile(join(base, 'outside/secret'), 'utf8'),
        ]).toEqual([['secret'], 'old'])
      }),
      { numRuns: 150 },
    )
  })
})

it('writes skills, profiles and definitions only if a rule with a pattern allows the path, and the rest of Beaver never', async () => {
  const permission = (): { decision: 'allow'; explicit: true } => ({ decision: 'allow', explicit: true })
  for (const path of ['skills/new/SKILL.md', 'flows/deploy.json', 'sub/agent_profile.json'])
    expect((await write(path, 'x', 'create', { permission })).outcome).toBe('created')
  for (const path of ['data/x', '.git/config', '.beaver/x', 'beaver.config.json'])
    await expect(write(path, 'x', 'create', { permission })).rejects.toMatchObject({ code: 'protected_path' })
})

it('never writes to a file with a second name: "append" refuses, "overwrite" makes a file of its own', async () => {
  await writeFile(join(base, 'outside-file'), 'old')
  await link(join(base, 'outside-file'), join(workspace, 'hard'))
  expect(await refusal('hard', 'new', 'append')).toBe('hard_link')
  expect((await write('hard', 'new', 'overwrite')).outcome).toBe('overwritten')
  expect([await read('hard'), await readFile(join(base, 'outside-file'), 'utf8')]).toEqual(['new', 'old'])
})

describe('bounds', () => {
  it('refuse content that is too large, in bytes', async () => {
    expect(await refusal('a', '€'.repeat(400_000))).toBe('too_large')
    expect(await readdir(workspace)).toEqual([])
  })

  it('of the file system leave nothing behind', async () => {
    expect(await refusal('x'.repeat(300))).toBe('unreadable')
    expect(await refusal(`${'x'.repeat(250)}/${'y'.repeat(300)}`)).toBe('not_written')
    expect(await readdir(workspace, { recursive: true })).toEqual(['x'.repeat(250)])
  })

  it('make half a character a whole one', async () => {
    await write('a', 'x\uD83D')
    expect(await read('a')).toBe('x\uFFFD')
  })
})

it('asks, for one spelling of each path', () => {
  const rules = [{ tool: 'write_file', pattern: 'out/*', decision: 'allow' }] as const
  expect(permissionOf(tool, { path: 'a', content: '' }, rules)).toEqual({
    decision: 'ask',
    subject: 'a',
    rule: null,
  })
  expect(permissionOf(tool, { path: './/out/./a', content: '' }, rules)).toMatchObject({
    decision: 'allow',
    subject: 'out/a',
  })
  expect(tool.idempotent).toBe(false)
})
