import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { homeChangeTexts, makeHomePrivate, makePrivateFile } from './private-home.ts'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'beaver-home-'))))
afterEach(() => rmSync(folder, { recursive: true }))
const modeOf = (...path: string[]): string => (statSync(join(folder, ...path)).mode & 0o777).toString(8)

const nothing = { closed: [], open: [] }

describe('a home', () => {
  it('that is new is closed to others, with its folders, whatever the umask', () => {
    const before = process.umask(0)
    try {
      expect(makeHomePrivate(join(folder, 'home'))).toEqual(nothing)
    } finally {
      process.umask(before)
    }
    expect(['.', 'logs', 'nats', 'run'].map((name) => modeOf('home', name))).toEqual([
      '700',
      '700',
      '700',
      '700',
    ])
  })

  it('of an earlier Beaver is closed, and says what was open', () => {
    mkdirSync(join(folder, 'nats'))
    writeFileSync(join(folder, 'nats', 'nats-server.conf'), '')
    writeFileSync(join(folder, 'projection-default.db'), '')
    writeFileSync(join(folder, 'projection-default.db-wal'), '')
    for (const name of ['nats', 'projection-default.db', 'projection-default.db-wal'])
      chmodSync(join(folder, name), 0o755)
    expect(makeHomePrivate(folder)).toEqual({
      closed: ['nats', 'projection-default.db', 'projection-default.db-wal'],
      open: [],
    })
    expect([modeOf('nats'), modeOf('projection-default.db')]).toEqual(['700', '700'])
    expect(makeHomePrivate(folder)).toEqual(nothing)
  })

  it('that is a folder with other things leaves these, and its own mode, as they are', () => {
    writeFileSync(join(folder, 'letter.txt'), 'mine')
    chmodSync(join(folder, 'letter.txt'), 0o644)
    for (const name of ['logs', 'nats']) mkdirSync(join(folder, name))
    for (const name of ['logs', 'nats', '.']) chmodSync(join(folder, name), 0o755)
    expect(makeHomePrivate(folder)).toEqual(nothing)
    expect(['.', 'letter.txt', 'logs', 'nats', 'run'].map((name) => modeOf(name))).toEqual([
      '755',
      '644',
      '755',
      '755',
      '700',
    ])
  })

  it('with links leaves what they point to as it is, also if nothing is there', () => {
    const target = mkdtempSync(join(tmpdir(), 'beaver-home-target-'))
    chmodSync(target, 0o755)
    symlinkSync(target, join(folder, 'logs'))
    symlinkSync(join(folder, 'nothing'), join(folder, 'projection-default.db'))
    expect(makeHomePrivate(folder)).toEqual(nothing)
    expect((statSync(target).mode & 0o777).toString(8)).toBe('755')
    rmSync(target, { recursive: true })
  })

  it('whose read model is closed by another process meanwhile is no fault', async () => {
    const script = `const { rmSync, writeFileSync } = require('node:fs')
for (;;) { writeFileSync(process.argv[1], '', { mode: 0o644 }); rmSync(process.argv[1]) }`
    const other = spawn(process.execPath, ['-e', script, join(folder, 'projection-default.db-wal')])
    await once(other, 'spawn')
    try {
      // They meet once in a few thousand times.
      for (let i = 0; i < 10_000; i++) makeHomePrivate(folder)
    } finally {
      other.kill('SIGKILL')
      await once(other, 'close')
    }
  })

  it('is told about in whole sentences', () => {
    expect(homeChangeTexts('/h', nothing)).toEqual([])
    expect(homeChangeTexts('/h', { closed: ['nats'], open: ['a.db', 'b.db'] })).toEqual([
      'nats in /h was open to other users of this machine. It is private now.',
      'a.db, b.db in /h are open to other users of this machine, and Beaver cannot close them.',
    ])
  })

  it('that is a file is refused, with its path', () => {
    writeFileSync(join(folder, 'file'), '')
    expect(() => makeHomePrivate(join(folder, 'file'))).toThrow(
      expect.objectContaining({
        code: 'start_failed',
        message: expect.stringContaining('file') as string,
      }) as Error,
    )
  })
})

it('a private file is made once, and keeps what is in it', () => {
  const file = join(folder, 'db')
  makePrivateFile(file)
  expect(modeOf('db')).toBe('600')
  writeFileSync(file, 'content')
  makePrivateFile(file)
  expect(existsSync(file) && readFileSync(file, 'utf8')).toBe('content')
})
