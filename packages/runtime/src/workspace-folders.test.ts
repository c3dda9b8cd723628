import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { virtualClock } from '@beaver/testing'
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest'
import { workspaceFolders, type WorkspaceRoots } from './workspace-folders.ts'

let folder: string
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'beaver-folders-')))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const everywhere: WorkspaceRoots = { roots: ['/'], owned: false, home: '/nowhere' }

it('tells a folder, a file, and nothing', async () => {
  const file = join(folder, 'a.txt')
  writeFileSync(file, 'a')
  const folders = workspaceFolders(virtualClock(), everywhere)
  expect([await folders.at(folder), await folders.at(file), await folders.at(join(folder, 'none'))]).toEqual([
    { kind: 'folder', real: folder },
    { kind: 'file' },
    { kind: 'missing' },
  ])
})

it('looks again after a second, and at once for what was not there', async () => {
  const clock = virtualClock()
  const folders = workspaceFolders(clock, everywhere)
  const later = join(folder, 'later')
  expect([(await folders.at(folder)).kind, (await folders.at(later)).kind]).toEqual(['folder', 'missing'])
  writeFileSync(later, '')
  expect((await folders.at(later)).kind).toBe('file')
  rmSync(folder, { recursive: true })
  expect((await folders.at(folder)).kind).toBe('folder')
  clock.advance(1_000)
  expect((await folders.at(folder)).kind).toBe('missing')
})

describe('the roots', () => {
  const at = (path: string, roots: Partial<WorkspaceRoots>): Promise<unknown> =>
    workspaceFolders(virtualClock(), { ...everywhere, ...roots }).at(path)
  const outside = { kind: 'refused', why: 'outside' }
  const system = { kind: 'refused', why: 'system' }

  it('allow what is below them after all links, and nothing else', async () => {
    for (const name of ['root/inner', 'other', 'root-two']) mkdirSync(join(folder, name), { recursive: true })
    symlinkSync(join(folder, 'other'), join(folder, 'root/out'))
    symlinkSync(join(folder, 'root'), join(folder, 'link'))
    const roots = { roots: [join(folder, 'root')] }
    expect(await at(join(folder, 'root'), roots)).toEqual({ kind: 'folder', real: join(folder, 'root') })
    expect(await at(join(folder, 'link/inner'), roots)).toEqual({
      kind: 'folder',
      real: join(folder, 'root/inner'),
    })
    for (const name of ['root/out', 'root/../other', 'other', 'root-two', ''])
      expect(await at(join(folder, name), roots)).toEqual(outside)
    expect(await at(join(folder, 'root'), { roots: [join(folder, 'link')] })).toMatchObject({
      kind: 'folder',
    })
    expect(await at(folder, { roots: [] })).toEqual(outside)
  })

  test
    .runIf(process.platform === 'linux')
    .each(['/', '/etc', '/proc', '/proc/self', '/sys', '/dev', '/tmp', '/usr/lib'])(
    'never allow %s',
    async (path) => {
      expect(await at(path, { roots: ['/', path], owned: true })).toEqual(system)
      symlinkSync(path, join(folder, 'link'))
      expect(await at(join(folder, 'link'), { roots: ['/', folder], owned: true })).toEqual(system)
    },
  )

  it('never allow the home of Beaver, or a folder of keys', async () => {
    for (const name of ['data/nats', 'me/.ssh']) mkdirSync(join(folder, name), { recursive: true })
    const home = join(folder, 'data')
    for (const name of ['data', 'data/nats', 'me/.ssh'])
      expect(await at(join(folder, name), { home })).toEqual(system)
    expect(await at(folder, { home })).toMatchObject({ kind: 'folder' })
  })

  it('of a system of one user allow the folders that this user owns', async () => {
    expect(await at(folder, { roots: [], owned: true })).toEqual({ kind: 'folder', real: folder })
  })

  it('do not allow them to whoever may use the roots only, also a moment after they were allowed', async () => {
    const inner = join(folder, 'inner')
    mkdirSync(inner)
    const folders = workspaceFolders(virtualClock(), { roots: [inner], owned: true, home: '/nowhere' })
    for (let i = 0; i < 2; i++) {
      expect([await folders.at(folder), await folders.at(folder, { rootsOnly: true })]).toEqual([
        { kind: 'folder', real: folder },
        outside,
      ])
      expect(await folders.at(inner, { rootsOnly: true })).toEqual({ kind: 'folder', real: inner })
    }
  })
})
