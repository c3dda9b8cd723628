import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { installation, publishedName } from '@beaver/platform'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { init, nameOf, projectFiles, sourcesOf } from './init.ts'

let place = ''
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'beaver-init-'))
})
afterEach(() => rmSync(place, { recursive: true, force: true }))

describe('the files of a project', () => {
  const own = installation()
  const files = projectFiles(own, 'ada', { [publishedName]: '^1.2.3' })

  it('have the name of the project and of the published package', () => {
    expect(JSON.parse(files['package.json'] ?? '')).toMatchObject({
      name: 'ada',
      type: 'module',
      dependencies: { [publishedName]: '^1.2.3' },
    })
    expect(files['tools.ts']).toContain(`from '${publishedName}/tool'`)
    expect(files['program.ts']).toContain(`from '${publishedName}'`)
    expect(files['README.md']).toMatch(/^# ada\n/)
    for (const text of Object.values(files)) expect(text).not.toMatch(/@beaver\/|my-team/)
  })

  it('are complete, also those that npm leaves out of packages', () => {
    expect(Object.keys(files).toSorted()).toEqual([
      '.gitignore',
      '.npmrc',
      'README.md',
      'beaver.config.json',
      'package.json',
      'plan.md',
      'program.ts',
      join('skills', 'release-plan', 'SKILL.md'),
      'team.test.ts',
      'tools.ts',
      'tsconfig.json',
    ])
  })

  it('name the versions of TypeScript and of the types of Node.js with which they were checked', () => {
    const { devDependencies } = JSON.parse(files['package.json'] ?? '') as {
      devDependencies: Record<string, string>
    }
    const versionOf = (name: string): string =>
      (
        JSON.parse(readFileSync(join(own.folder, 'node_modules', name, 'package.json'), 'utf8')) as {
          version: string
        }
      ).version
    expect(devDependencies).toEqual({
      '@types/node': `^${versionOf('@types/node')}`,
      typescript: `^${versionOf('typescript')}`,
    })
  })
})

describe('the dependency of a project', () => {
  const server = '@beaver-agents/nats-server-linux-x64'
  const packaged = (folder: string) => ({
    ...{ folder, kind: 'package' as const, name: publishedName, version: '1.2.3' },
    optional: [server],
    peers: {},
  })

  it('is the version of the Beaver that makes it', () => {
    const folder = join(place, 'node_modules', publishedName)
    expect(sourcesOf(packaged(folder), join(place, 'ada'))).toEqual({
      dependencies: { [publishedName]: '^1.2.3' },
      unbuilt: false,
    })
  })

  it('is the file from which that was installed', () => {
    const dependencies = {
      [publishedName]: 'file:../kept/beaver.tgz',
      [server]: 'file:nats.tgz',
      other: 'file:x',
    }
    writeFileSync(join(place, 'package.json'), JSON.stringify({ dependencies }))
    const folder = join(place, 'node_modules', publishedName)
    const made = sourcesOf(packaged(folder), join(place, 'teams', 'ada')).dependencies
    expect(made[publishedName]).toBe('file:../../../kept/beaver.tgz')
    if (process.platform === 'linux' && process.arch === 'x64')
      expect(made[server]).toBe('file:../../nats.tgz')
    expect(made).not.toHaveProperty('other')
  })

  it('is what a build of a checkout leaves', () => {
    const own = { ...packaged(place), kind: 'checkout' as const }
    const tarball = join(place, '.beaver', 'build', 'beaver-agents-beaver.tgz')
    const made = { [publishedName]: 'file:../.beaver/build/beaver-agents-beaver.tgz' }
    expect(sourcesOf(own, join(place, 'ada'))).toEqual({ dependencies: made, unbuilt: true })
    mkdirSync(join(tarball, '..'), { recursive: true })
    writeFileSync(tarball, '')
    expect(sourcesOf(own, join(place, 'ada'))).toEqual({ dependencies: made, unbuilt: false })
  })
})

it.each([
  ['My-Team', 'my-team'],
  ['-team', 'team'],
  ['.team', 'team'],
  ['a team', 'a-team'],
  ['node_modules', 'my-team'],
  ['Überblick', 'uberblick'],
  ['日本', 'my-team'],
  ['x'.repeat(101), 'x'.repeat(100)],
])('refuses the name %s and says one beside it that npm takes', (name, better) => {
  expect(() => nameOf(resolve('teams', name))).toThrow(`Name another folder: beaver init teams/${better}`)
})

it.runIf(existsSync('/proc'))('refuses a folder where nothing can be made', () => {
  expect(() => init('/proc/beaver/team', {}, { color: false })).toThrow(
    'The project /proc/beaver/team was not made: the system makes no folder there. Name another folder.',
  )
})
