import { link, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ToolFailure } from '../tools/tool-failure.ts'
import { folderAccesses } from './held-folder.ts'
import { openFileInside, openFolderInside } from './open-inside.ts'
import { workspaceRoot } from './workspace-path.ts'

let base: string
let workspace: string

beforeAll(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), 'beaver-path-')))
  workspace = join(base, 'workspace')
  await mkdir(join(workspace, 'src/deep'), { recursive: true })
  await mkdir(join(base, 'workspace-two'))
  await writeFile(join(base, 'secret'), 'outside')
  await writeFile(join(workspace, 'src/a b.ts'), '')
  await symlink(base, join(workspace, 'out'))
  await symlink('../workspace-two', join(workspace, 'sibling'))
  await symlink('src', join(workspace, 'in'))
  await symlink(join(base, 'absent'), join(workspace, 'dangling-out'))
  await symlink('absent', join(workspace, 'dangling-in'))
  await symlink('loop', join(workspace, 'loop'))
  await symlink(join(workspace, 'src'), join(workspace, 'absolute'))
  await symlink('../workspace/src', join(workspace, 'back'))
  await symlink('..', join(workspace, 'src/deep/up'))
  await symlink('../..', join(workspace, 'src/deep/top'))
  await link(join(base, 'secret'), join(workspace, 'hard'))
})
afterAll(() => rm(base, { recursive: true }))

describe.each(
  folderAccesses.map(
    (access, i) => [i === 0 && folderAccesses.length > 1 ? 'by descriptor' : 'by path', access] as const,
  ),
)('folders held %s', (_, access) => {
  /** Opens whatever is there, and closes it. */
  async function found(path: string): Promise<{ shown: string; real: string }> {
    const root = workspaceRoot(workspace)
    const opened = await openFolderInside(root, path, { access }).catch((error: unknown) => {
      if (error instanceof ToolFailure && error.code === 'not_a_folder')
        return openFileInside(root, path, { access })
      throw error
    })
    const { shown, real } = opened
    await opened[Symbol.asyncDispose]()
    return { shown, real }
  }

  const codeOf = async (path: string): Promise<string> => {
    const error = await found(path).then(
      () => null,
      (thrown: unknown) => thrown,
    )
    if (error === null) return 'accepted'
    expect(error).toBeInstanceOf(ToolFailure)
    return (error as ToolFailure).code
  }

  test.each([
    ['', '.', '.'],
    ['.', '.', '.'],
    ['./src//deep/', 'src/deep', 'src/deep'],
    ['src/a b.ts', 'src/a b.ts', 'src/a b.ts'],
    ['in/deep', 'in/deep', 'src/deep'],
    ['absolute/deep', 'absolute/deep', 'src/deep'],
    ['back/deep', 'back/deep', 'src/deep'],
    ['src/deep/up', 'src/deep/up', 'src'],
    ['src/deep/top', 'src/deep/top', '.'],
  ])('opens %j', async (path, shown, real) => {
    expect(await found(path)).toEqual({ shown, real })
  })

  test.each([
    '/etc/passwd',
    '//server/share',
    '\\\\server\\share',
    '\\windows',
    'C:\\x',
    'c:/x',
    'C:',
    'C:x',
    '..',
    '../secret',
    'src/../..',
    'src/../src',
    '..\\secret',
    'src/..',
    'a\0b',
    'out',
    'out/secret',
    'out/absent',
    'out/absent/deeper',
    'sibling',
    'dangling-out',
    'dangling-out/x',
    'x'.repeat(5000),
  ])('refuses %j as outside the workspace', async (path) => {
    expect(await codeOf(path)).toBe('outside_workspace')
  })

  test.each(['absent', 'src/absent/x', 'dangling-in', 'loop', 'src/a b.ts/x', '~', 'src/...'])(
    'says that nothing is at %j',
    async (path) => {
      expect(await codeOf(path)).toBe('not_found')
    },
  )

  test('refuses a file with a second name, unless the caller allows its path', async () => {
    const root = workspaceRoot(workspace)
    await expect(openFileInside(root, 'hard', { access })).rejects.toThrow('has a second name (a hard link)')
    await using file = await openFileInside(root, 'hard', { access, hardLinks: (real) => real === 'hard' })
    expect(await file.handle.readFile('utf8')).toBe('outside')
  })

  test('a refusal names the path on one line and says what to give instead', async () => {
    await expect(found('../a\nb')).rejects.toThrow(
      'The path "../a\\nb" is refused: it holds "..". Give a path relative to the workspace',
    )
  })

  test('a link to something outside is refused alike whether or not that exists', async () => {
    const [exists, absent] = await Promise.all(
      ['out/secret', 'out/nope'].map((path) =>
        found(path).catch((error: Error) => error.message.replace(path, 'P')),
      ),
    )
    expect(exists).toBe(absent)
  })

  test('whatever is accepted lies in the workspace', async () => {
    const part = fc.oneof(
      fc.constantFrom(
        '..',
        '.',
        '',
        'src',
        'deep',
        'out',
        'in',
        'sibling',
        'loop',
        'workspace',
        '\0',
        '\\',
        'C:',
        '...',
        '. .',
      ),
      fc.string({ maxLength: 5 }),
    )
    const path = fc
      .tuple(
        fc.constantFrom('', '/', '\\', './', '//'),
        fc.array(part, { maxLength: 6 }),
        fc.constantFrom('/', '\\'),
      )
      .map(([start, parts, separator]) => start + parts.join(separator))
    await fc.assert(
      fc.asyncProperty(path, async (given) => {
        const opened = await found(given).catch((error: unknown) => error)
        if (opened instanceof ToolFailure) return
        const absolute = join(workspace, (opened as { real: string }).real)
        expect(absolute === workspace || absolute.startsWith(`${workspace}/`)).toBe(true)
        expect(await realpath(absolute)).toBe(absolute)
      }),
      { numRuns: 400 },
    )
  })
})
