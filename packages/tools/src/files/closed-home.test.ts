// The home of Beaver is closed to every tool, whatever its name is and whatever leads to it.
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openFolderInside, ToolFailure, workspaceRoot } from '@beaver/agent/tool-kit'
import { toolContext } from '@beaver/testing'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { builtinTools } from '../builtin-tools.ts'
import { defaultBuiltinToolOptions } from '../options.ts'
import { noFigures } from './figures.ts'
import { recountInProcess } from './recount-files.ts'

let workspace: string
let home: string
beforeEach(async () => {
  workspace = await realpath(await mkdtemp(join(tmpdir(), 'beaver-closed-')))
  home = join(workspace, 'src', 'state')
  await mkdir(join(home, 'keys'), { recursive: true })
  await writeFile(join(home, 'keys', 'notes.txt'), 'canary\n')
  await writeFile(join(home, 'top.txt'), 'canary\n')
  await writeFile(join(workspace, 'src', 'a.txt'), 'one\n')
  await symlink('src/state', join(workspace, 'link'))
  await symlink('src/state/keys', join(workspace, 'deep'))
})
afterEach(() => rm(workspace, { recursive: true, force: true }))

const answer = async (name: string, args: object, place = workspace): Promise<string> => {
  const options = {
    ...defaultBuiltinToolOptions,
    runCommand: { ...defaultBuiltinToolOptions.runCommand, enabled: true },
    sandbox: { mode: 'required' as const, hidden: [home], readable: [] },
  }
  const tool = builtinTools(options).find((each) => each.name === name)
  const allowed = () => ({ decision: 'allow' as const, rule: 'a rule', explicit: true })
  const context = { ...toolContext({ workspace: place }), permission: allowed }
  try {
    return String(await tool?.invoke(args, context))
  } catch (error) {
    return error instanceof ToolFailure ? error.code : String(error)
  }
}

it.each(['src/state/top.txt', 'src/state/keys/notes.txt', 'link/top.txt', 'deep/notes.txt', 'link/new.txt'])(
  'refuses %s to every tool, also with a rule that allows it',
  async (path) => {
    expect(await answer('read_file', { path })).toBe('protected_path')
    expect(await answer('view_image', { path })).not.toContain('canary')
    expect(await answer('write_file', { path, content: 'x', mode: 'overwrite' })).toBe('protected_path')
    expect(await answer('list_files', { path: path.slice(0, path.lastIndexOf('/')) })).toBe('protected_path')
  },
)

it('is left out of lists and counts, and a command sees it empty', async () => {
  const list = JSON.parse(await answer('list_files', {})) as { entries: { path: string }[] }
  expect(list).toMatchObject({ ignored: { paths: ['src/state'], left_out: 0 } })
  expect(list.entries.map(({ path }) => path)).toEqual(['deep', 'link', 'src/a.txt'])
  const counted = { ...noFigures(), files: 1, lines: 1, words: 1, bytes: 4 }
  expect(JSON.parse(await answer('file_stats', { path: '.' }))).toMatchObject({ totals: counted })
  expect(await answer('recount_files', { path: '.', expected: counted })).toContain('"agrees":true')
  await using from = await openFolderInside(workspaceRoot(workspace), '.')
  expect(await recountInProcess(from, new AbortController().signal)).toEqual({
    totals: counted,
    problems: [],
  })
  expect(JSON.parse(await answer('run_command', { command: 'ls', args: ['src/state'] }))).toMatchObject({
    exit_code: 0,
    stdout: '',
  })
})

it('is no workspace', async () => {
  expect(await answer('list_files', {}, home)).toBe('protected_path')
  expect(await answer('read_file', { path: 'top.txt' }, home)).toBe('protected_path')
})
