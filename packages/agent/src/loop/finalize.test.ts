import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { findFiles } from './finalize.ts'

let home = ''
let workspace = ''
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'beaver-find-'))
  workspace = join(home, 'workspace')
  await mkdir(join(workspace, 'data'), { recursive: true })
  await writeFile(join(workspace, 'data', '数 据.csv'), 'a,b\n')
  await writeFile(join(workspace, 'empty'), '')
  await writeFile(join(home, 'secret'), 'x')
  await symlink(join(home, 'secret'), join(workspace, 'out'))
  await symlink('empty', join(workspace, 'in'))
})
afterAll(() => rm(home, { recursive: true, force: true }))

it('says what stands at each path, in the order of the paths', async () => {
  expect(await findFiles(workspace, ['data/数 据.csv', './empty', 'in', 'data', 'gone', 'empty/x'])).toEqual([
    { path: 'data/数 据.csv', found: 'file', bytes: 4 },
    { path: './empty', found: 'file', bytes: 0 },
    { path: 'in', found: 'file', bytes: 0 },
    { path: 'data', found: 'folder', bytes: null },
    { path: 'gone', found: 'missing', bytes: null },
    { path: 'empty/x', found: 'missing', bytes: null },
  ])
})

it('looks at nothing outside of the workspace, and does not tell whether something is there', async () => {
  const paths = ['../secret', '../gone', 'out', join(home, 'secret'), 'data/../../secret']
  expect((await findFiles(workspace, paths)).map((file) => file.found)).toEqual([
    'refused',
    'refused',
    'refused',
    'refused',
    'refused',
  ])
})

it('a workspace that is gone is no reason to throw', async () => {
  expect(await findFiles(join(home, 'gone'), ['a'])).toEqual([
    { path: 'a', found: 'unreadable', bytes: null },
  ])
})
