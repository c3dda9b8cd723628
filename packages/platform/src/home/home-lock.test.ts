import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '@beaver/testing'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { HomeInUse, isAlive, lockHome, startOf } from './home-lock.ts'
import { readSystemFile, removeSystemFile, writeSystemFile } from './system-file.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'beaver-home-'))
})
afterEach(() => rmSync(home, { recursive: true }))

/** The pid of a process that has ended. */
const deadPid = (): number => spawnSync('true').pid
const system = {
  nats_url: 'nats://127.0.0.1:4222',
  namespace: 'default',
  tenant: 'local',
  started_at: '2027-01-09T12:00:00Z',
  embedded: true,
  children: { daemon: 7 },
}

describe('the lock of a home', () => {
  test('is held by one at a time; the second is told who holds it', () => {
    const unlock = lockHome(home)
    expect(() => lockHome(home)).toThrow(HomeInUse)
    expect(() => lockHome(home)).toThrow(`process ${process.pid}`)
    unlock()
    lockHome(home)()
    expect(readdirSync(join(home, 'run'))).toEqual([])
  })

  test('of a dead process is taken over', () => {
    mkdirSync(join(home, 'run'))
    writeFileSync(join(home, 'run', 'lock'), JSON.stringify({ pid: deadPid(), started: null }))
    lockHome(home)()
  })

  test.skipIf(startOf(process.pid) === null)(
    'of a process that ended and whose parent does not wait for it is taken over',
    async () => {
      const parent = spawn('sh', ['-c', 'sleep 60 & echo $!; exec sleep 60'], { detached: true })
      onTestFinished(() => void process.kill(-(parent.pid as number), 'SIGKILL'))
      const [line] = (await once(parent.stdout, 'data')) as [Buffer]
      const pid = Number(line.toString())
      // A shell would wait for its child. What takes its place does not.
      await until('the shell is gone', () => readFileSync(`/proc/${parent.pid}/comm`, 'utf8') === 'sleep\n', {
        everyMs: 5,
      })
      process.kill(pid, 'SIGKILL')
      await until('it has ended', () => readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z '), {
        everyMs: 5,
      })
      expect(isAlive({ pid, started: startOf(pid) })).toBe(false)
    },
  )

  test.skipIf(startOf(process.pid) === null)('of another process with the same pid is taken over', () => {
    expect(isAlive({ pid: process.pid, started: startOf(process.pid) })).toBe(true)
    expect(isAlive({ pid: process.pid, started: 'another boot:1' })).toBe(false)
  })
})

describe('what runs in a home', () => {
  test('is found while its process lives', () => {
    expect(readSystemFile(home)).toBeNull()
    writeSystemFile(home, system)
    expect(readSystemFile(home)).toMatchObject({ ...system, pid: process.pid })
    removeSystemFile(home)
    expect(readSystemFile(home)).toBeNull()
  })

  test('counts as nothing when its process is dead or the file is broken', () => {
    mkdirSync(join(home, 'run'))
    writeFileSync(join(home, 'run', 'system.json'), JSON.stringify({ ...system, pid: deadPid() }))
    expect(readSystemFile(home)).toBeNull()
    writeFileSync(join(home, 'run', 'system.json'), '{"pid":')
    expect(readSystemFile(home)).toBeNull()
  })
})
