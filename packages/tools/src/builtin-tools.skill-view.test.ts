import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Skill } from '@beaver/agent'
import { ToolFailure, ToolInputError } from '@beaver/agent/tool-kit'
import { toolContext } from '@beaver/testing'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { skillView } from './builtin-tools.ts'

let base: string
const made: string[] = []
let skills: readonly Skill[]

const skill = (name: string, description: string, over: Partial<Skill> = {}): Skill => ({
  name,
  description,
  body: name,
  sha256: 'x',
  folder: `/skills/${name}`,
  guidance: null,
  modelInvocable: true,
  allowedTools: null,
  license: null,
  compatibility: null,
  ...over,
})
async function temporary(files: Record<string, string | Uint8Array>): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'beaver-skills-')))
  made.push(folder)
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), content)
  }
  return folder
}
afterAll(() => Promise.all(made.map((folder) => rm(folder, { recursive: true, force: true }))))

beforeAll(async () => {
  base = await temporary({
    secret: 'SECRET',
    'real/SKILL.md': '---\ndescription: d\n---\nbody',
    'real/references/guide.md': '# Guide\nZürich\n',
    'real/references/deep/er.md': 'deep',
    'real/日本語 ガイド.md': 'ja',
    'real/image.png': Uint8Array.from([0x89, 0x50, 0, 0]),
    'real/.git/config': 'x',
    'neighbour/SKILL.md': 'SECRET',
  })
  await symlink(join(base, 'real'), join(base, 'linked'))
  await symlink('../secret', join(base, 'real/out'))
  await symlink(base, join(base, 'real/up'))
  await symlink('references', join(base, 'real/in'))
  await symlink('../absent', join(base, 'real/dangling'))
  execFileSync('mkfifo', [join(base, 'real/pipe')])
  skills = [
    skill('guide', 'Guides.', {
      body: 'The body.',
      folder: join(base, 'linked'),
      compatibility: 'Needs git',
    }),
    skill('hidden', 'Is named only.', { modelInvocable: false, folder: join(base, 'nowhere') }),
  ]
})

const view = async (args: object, over: readonly Skill[] = skills): Promise<Record<string, unknown>> =>
  JSON.parse(await skillView.invoke(args, toolContext({ skills: over }))) as Record<string, unknown>
const refused = async (args: object): Promise<ToolFailure> => {
  const error = await view(args).then(
    (result) => expect.fail(`It gave ${JSON.stringify(result)}.`),
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(ToolFailure)
  return error as ToolFailure
}

describe('skill_view', () => {
  it('may be called again after a crash', () => expect(skillView.idempotent).toBe(true))

  it('without a name lists the skills a model may choose', async () => {
    expect(await view({})).toEqual({
      skills: [{ name: 'guide', description: 'Guides.' }],
      skills_left_out: 0,
    })
    expect(await view({}, [])).toEqual({ skills: [], skills_left_out: 0 })
  })

  it('lists no more than fit a result', async () => {
    const many = Array.from({ length: 300 }, (_, i) => skill(`skill-${i}`, 'x'.repeat(5_000)))
    const text = await skillView.invoke({}, toolContext({ skills: many }))
    expect(JSON.parse(text)).toMatchObject({ skills_left_out: 100 })
    expect(text.length).toBeLessThan(300_000)
  })

  it('with a name gives the body and the files, not those that links lead to', async () => {
    expect(await view({ name: 'guide' })).toEqual({
      name: 'guide',
      description: 'Guides.',
      compatibility: 'Needs git',
      body: 'The body.',
      body_chars_left_out: 0,
      files: ['image.png', '日本語 ガイド.md', 'references/guide.md', 'references/deep/er.md'],
      more_files: false,
    })
  })

  it('shows a hidden skill that is named, also when its folder went away', async () => {
    expect(await view({ name: 'hidden' })).toMatchObject({
      name: 'hidden',
      body: 'hidden',
      files: [],
      more_files: false,
    })
    expect((await refused({ name: 'hidden', path: 'a.md' })).message).toContain('cannot be read any more')
  })

  it('cuts a long body and a long list, and says so', async () => {
    const folder = await temporary(
      Object.fromEntries(Array.from({ length: 210 }, (_, i) => [`f${i}.md`, ''])),
    )
    const found = await view({ name: 'long' }, [skill('long', 'd', { body: 'x'.repeat(100_007), folder })])
    expect(found).toMatchObject({ body_chars_left_out: 7, more_files: true })
    expect(found['files']).toHaveLength(200)
  })

  it('with a path gives the text of that file, in parts', async () => {
    expect(await view({ name: 'guide', path: 'references/guide.md' })).toEqual({
      skill: 'guide',
      path: 'references/guide.md',
      bytes: 16,
      encoding: 'utf-8',
      offset: 0,
      bytes_read: 16,
      next_offset: null,
      text: '# Guide\nZürich\n',
    })
    // "ü" is two bytes: the part ends before it.
    expect(await view({ name: 'guide', path: 'in/guide.md', bytes_max: 10 })).toMatchObject({
      text: '# Guide\nZ',
      next_offset: 9,
    })
    expect(await view({ name: 'guide', path: './日本語 ガイド.md' })).toMatchObject({ text: 'ja' })
    expect(await view({ name: 'guide', path: 'SKILL.md' })).toMatchObject({
      text: '---\ndescription: d\n---\nbody',
    })
  })

  test.each([
    ['..', 'outside_skill'],
    ['../secret', 'outside_skill'],
    ['../neighbour/SKILL.md', 'outside_skill'],
    ['references/../../secret', 'outside_skill'],
    ['references/../SKILL.md', 'outside_skill'],
    ['..\\secret', 'outside_skill'],
    ['references\\..\\..\\secret', 'outside_skill'],
    ['/etc/passwd', 'outside_skill'],
    ['\\\\host\\share', 'outside_skill'],
    ['C:\\secret', 'outside_skill'],
    ['SKILL.md\0.png', 'outside_skill'],
    ['out', 'outside_skill'],
    ['up/secret', 'outside_skill'],
    ['up/absent', 'outside_skill'],
    ['dangling', 'outside_skill'],
    ['x'.repeat(5_000), 'outside_skill'],
    ['%2e%2e/secret', 'not_found'],
    ['\uFF0E\uFF0E/secret', 'not_found'],
    ['\u2025/secret', 'not_found'],
    ['.\u200B./secret', 'not_found'],
    ['..\uFF0Fsecret', 'not_found'],
    ['file:///etc/passwd', 'not_found'],
    ['~/secret', 'not_found'],
    ['absent.md', 'not_found'],
    ['references/guide.md/x', 'not_found'],
    ['references', 'not_a_file'],
    ['.', 'not_a_file'],
    ['', 'not_a_file'],
    ['pipe', 'not_a_file'],
    ['image.png', 'binary_file'],
  ])('refuses the path %j as %s, at once', async (path, code) => {
    const failure = await refused({ name: 'guide', path })
    expect(failure.code).toBe(code)
    expect(failure.message).not.toContain(base)
    expect(failure.message).not.toContain('SECRET')
    expect(failure.message).not.toContain('workspace')
  })

  it('never reads what lies outside, whatever the path', async () => {
    const part = fc.constantFrom(
      '..',
      '.',
      '',
      'up',
      'out',
      'in',
      'references',
      'secret',
      'neighbour',
      'SKILL.md',
      'real',
      '\\',
      '/',
      '\0',
      '\uFF0E\uFF0E',
      '..\\',
    )
    await fc.assert(
      fc.asyncProperty(
        fc.array(part, { maxLength: 6 }),
        fc.constantFrom('/', '\\', '//'),
        async (parts, separator) => {
          const result = await view({ name: 'guide', path: parts.join(separator) }).catch(
            (error: unknown) => error,
          )
          if (result instanceof ToolFailure) return
          expect(result).toMatchObject({ skill: 'guide' })
          expect((result as { text: string }).text).not.toContain('SECRET')
        },
      ),
      { numRuns: 600 },
    )
  })

  it('reads what stands there now, and refuses a folder that became a link since', async () => {
    const folder = await temporary({ 'one/SKILL.md': 'x', 'one/sub/a.md': 'inside', 'other/a.md': 'SECRET' })
    const [own] = [skill('own', 'd', { folder: join(folder, 'one') })]
    expect(await view({ name: 'own', path: 'sub/a.md' }, [own])).toMatchObject({ text: 'inside' })
    await rm(join(folder, 'one/sub'), { recursive: true })
    await symlink('../other', join(folder, 'one/sub'))
    await expect(view({ name: 'own', path: 'sub/a.md' }, [own])).rejects.toMatchObject({
      code: 'outside_skill',
    })
    await rm(join(folder, 'one/sub'))
    await mkdir(join(folder, 'one/sub'))
    await writeFile(join(folder, 'one/sub/a.md'), 'again')
    expect(await view({ name: 'own', path: 'sub/a.md' }, [own])).toMatchObject({ text: 'again' })
  })

  it('of an unknown name says which there are, but not the hidden ones', async () => {
    const failure = await refused({ name: 'nope' })
    expect([failure.code, failure.message]).toEqual([
      'unknown_skill',
      'There is no skill "nope". There are: guide.',
    ])
    await expect(view({ name: 'nope' }, [])).rejects.toThrow('There are none.')
  })

  test.each([
    { path: 'a.md' },
    { name: 3 },
    { name: 'guide', path: 'a', offset: -1 },
    { name: 'guide', folder: '/' },
  ])('does not take %j', async (args) => {
    await expect(view(args)).rejects.toBeInstanceOf(ToolInputError)
  })
})
