// `beaver init` as a person types it: a project in a new and in an empty folder, and everything that it refuses.
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { keptCommands } from '../support/kept-system.ts'

let place = ''
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'beaver-init-'))
})
afterEach(() => rmSync(place, { recursive: true, force: true }))

describe('beaver init', () => {
  const listed = (folder: string): string[] => readdirSync(folder).toSorted()

  it('makes a project, and ends with the next three commands', async () => {
    const host = await keptCommands()
    const { exit, out } = await host.run(['init', 'teams/ada', '--json'], { cwd: place })
    const { name, next, files } = JSON.parse(out) as { name: string; next: string[]; files: string[] }
    expect({ exit, name, next: next.slice(-3) }).toEqual({
      exit: 0,
      name: 'ada',
      next: ['cd teams/ada', 'npm install', 'npm test'],
    })
    for (const file of files) expect(existsSync(join(place, 'teams/ada', file))).toBe(true)
    expect(listed(join(place, 'teams'))).toEqual(['ada'])

    mkdirSync(join(place, 'here', '.git'), { recursive: true })
    const here = await host.run(['init', '.'], { cwd: join(place, 'here') })
    expect(here.out.trimEnd().split('\n').slice(-3)).toEqual(['  npm install', '  npm test', '  npm start'])
    expect(listed(join(place, 'here'))).toEqual([...listed(join(place, 'teams/ada')), '.git'].toSorted())
  })

  it('overwrites nothing, and leaves nothing of a project that it cannot write', async () => {
    const host = await keptCommands()
    mkdirSync(join(place, 'full'))
    writeFileSync(join(place, 'full', 'README.md'), 'mine')
    writeFileSync(join(place, 'file'), 'mine')
    const said = async (folder: string) => {
      const { exit, out, err } = await host.run(['init', folder], { cwd: place })
      expect({ exit, out }).toEqual({ exit: folder === '' || folder === 'No' ? 2 : 1, out: '' })
      return err
    }
    expect(await said('full')).toContain('The folder full is not empty: it has README.md.')
    expect(await said('file')).toContain('file is a file.')
    expect(await said('file/ada')).toContain('a part of the path is not a folder')
    expect(await said('')).toContain('Name a folder')
    expect(await said('No')).toContain('beaver init no')
    expect(await said(`deep/${'x'.repeat(300)}/ada`)).toContain('the path is too long')
    expect(await said('/')).toContain('The folder / is not empty')
    if (existsSync('/proc/self'))
      expect(await said('/proc/ada/eve')).toContain('the system makes no folder there. Name another folder.')
    expect(readFileSync(join(place, 'full', 'README.md'), 'utf8')).toBe('mine')
    expect(listed(place)).toEqual(['file', 'full'])
  })
})

it('makes a project whose own tests pass', async () => {
  const template = fileURLToPath(new URL('../../templates/init', import.meta.url))
  const run = promisify(execFile)(process.execPath, ['--test', '--test-reporter=tap'], {
    cwd: template,
    env: { PATH: process.env['PATH'], HOME: place },
  })
  expect((await run).stdout).toMatch(/^# pass 3\n# fail 0$/m)
})
