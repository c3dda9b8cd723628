import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ToolFailure } from '../tools/tool.ts'
import { resolveInWorkspace } from './workspace-path.ts'

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
})
afterAll(() => rm(base, { recursive: true }))

const codeOf = async (path: string): Promise<string> => {
  const error = await resolveInWorkspace(workspace, path).then(
    () => null,
    (thrown: unknown) => thrown,
  )
  if (error === null) return 'accepted'
  expect(error).toBeInstanceOf(ToolFailure)
  return (error as ToolFailure).code
}

test.each([
  ['', '.', ''],
  ['.', '.', ''],
  ['./src//deep/', 'src/deep', 'src/deep'],
  ['src/a b.ts', 'src/a b.ts', 'src/a b.ts'],
  ['in/deep', 'in/deep', 'src/deep'],
])('resolves %j', async (path, shown, real) => {
  expect(await resolveInWorkspace(workspace, path)).toEqual({ shown, absolute: join(workspace, real) })
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

test.each(['absent', 'src/absent/x', 'dangling-in', 'loop', 'src/a b.ts/x', '~', 'src/...'])('says that nothing is at %j', async (path) => {
  expect(await codeOf(path)).toBe('not_found')
})

test('a refusal names the path on one line and says what to give instead', async () => {
  await expect(resolveInWorkspace(workspace, '../a\nb')).rejects.toThrow('The path "../a\\nb" is refused: it holds "..". Give a path relative to the workspace')
})

test('a link to something outside is refused alike whether or not that exists', async () => {
  const [exists, absent] = await Promise.all(
    ['out/secret', 'out/nope'].map((path) => resolveInWorkspace(workspace, path).catch((error: Error) => error.message.replace(path, 'P'))),
  )
  expect(exists).toBe(absent)
})

test('whatever is accepted lies in the workspace', async () => {
  const part = fc.oneof(
    fc.constantFrom('..', '.', '', 'src', 'deep', 'out', 'in', 'sibling', 'loop', 'workspace', '\0', '\\', 'C:', '...', '. .'),
    fc.string({ maxLength: 5 }),
  )
  const path = fc
    .tuple(fc.constantFrom('', '/', '\\', './', '//'), fc.array(part, { maxLength: 6 }), fc.constantFrom('/', '\\'))
    .map(([start, parts, separator]) => start + parts.join(separator))
  await fc.assert(
    fc.asyncProperty(path, async (given) => {
      const found = await resolveInWorkspace(workspace, given).catch((error: unknown) => error)
      if (found instanceof ToolFailure) return
      const { absolute } = found as { absolute: string }
      expect(absolute === workspace || absolute.startsWith(`${workspace}/`)).toBe(true)
      expect(await realpath(absolute)).toBe(absolute)
    }),
    { numRuns: 400 },
  )
})
