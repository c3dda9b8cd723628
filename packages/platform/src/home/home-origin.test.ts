import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest'
import { loadConfig } from '../config/config.ts'
import { makeOwnFolder, markHome, requireOwnHome } from './home-origin.ts'
import { readSystemFile } from './system-file.ts'

let folder = ''
let home = ''
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'beaver-home-origin-')))
  home = join(folder, '.beaver')
})
afterEach(() => rmSync(folder, { recursive: true }))

/** A home as a system leaves it. */
function madeWith(file: string): void {
  mkdirSync(join(home, file, '..'), { recursive: true })
  writeFileSync(join(home, file), '{}')
}
const isForeign = (env: Record<string, string> = {}, cwd = folder): boolean =>
  loadConfig({}, env, cwd).foreignHome

describe('data that came with a folder', () => {
  test.each(['nats/jetstream', 'nats/keys', 'run/system.json'])(
    '%s is not used: no system starts with it',
    (file) => {
      madeWith(file)
      const config = loadConfig({}, {}, folder)
      expect(config.foreignHome).toBe(true)
      expect(() => requireOwnHome(config)).toThrow(
        expect.objectContaining({
          code: 'untrusted_folder',
          message: expect.stringContaining(`--home ${home}`) as string,
        }),
      )
    },
  )

  it('is not used by a link to another home either', () => {
    madeWith('nats/keys')
    markHome(home)
    renameSync(home, join(folder, 'elsewhere'))
    symlinkSync(join(folder, 'elsewhere'), home)
    expect(isForeign()).toBe(true)
  })

  it('is used if the user names it, and with BEAVER_TRUST=1', () => {
    madeWith('nats/keys')
    expect([isForeign({ BEAVER_HOME: '.beaver' }), isForeign({ BEAVER_TRUST: '1' })]).toEqual([false, false])
  })

  it('does not bring its own mark: that of another folder is not valid', () => {
    madeWith('nats/keys')
    markHome(home)
    const clone = join(folder, 'clone')
    cpSync(home, join(clone, '.beaver'), { recursive: true })
    expect([isForeign(), isForeign({}, clone)]).toEqual([false, true])
  })
})

it('a home that was made here stays usable, also after its folder was moved', () => {
  mkdirSync(home)
  expect(isForeign()).toBe(false)
  markHome(home)
  madeWith('nats/keys')
  const moved = join(folder, 'moved')
  mkdirSync(moved)
  renameSync(home, join(moved, '.beaver'))
  expect(isForeign({}, moved)).toBe(false)
})

it.runIf(process.platform === 'linux')(
  'a file that names a running process without its start names no system',
  () => {
    madeWith('run/system.json')
    const system = {
      pid: process.ppid,
      nats_url: 'nats://evil.example:4222',
      embedded: false,
      namespace: 'default',
    }
    writeFileSync(join(home, 'run/system.json'), JSON.stringify(system))
    expect(readSystemFile(home)).toBeNull()
  },
)

describe('a folder for data that can be built again', () => {
  const index = (): string => join(home, 'knowledge/index')

  it('is made for its owner only, and keeps what is in it', () => {
    makeOwnFolder(home, 'knowledge')
    writeFileSync(index(), 'own')
    makeOwnFolder(home, 'knowledge')
    expect(existsSync(index())).toBe(true)
    expect(lstatSync(join(home, 'knowledge')).mode & 0o777).toBe(0o700)
    expect(readdirSync(home)).toEqual(['knowledge'])
    expect(isForeign()).toBe(false)
  })

  it('loses what came with a copy of the home, or by a link', () => {
    makeOwnFolder(home, 'knowledge')
    writeFileSync(index(), 'of a stranger')
    const clone = join(folder, 'clone')
    cpSync(home, clone, { recursive: true })
    makeOwnFolder(clone, 'knowledge')
    expect(readdirSync(join(clone, 'knowledge'))).toEqual(['made-here.json'])
    const linked = join(folder, 'linked')
    mkdirSync(linked)
    symlinkSync(join(folder, 'elsewhere'), join(linked, 'knowledge'))
    makeOwnFolder(linked, 'knowledge')
    expect(lstatSync(join(linked, 'knowledge')).isDirectory()).toBe(true)
  })
})
