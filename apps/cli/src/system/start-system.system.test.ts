// The real parts of a system, killed and broken: they come back, each restart is a line of up.log, and a crash loop trips.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Clock, systemClock } from '@beaver/core'
import { tokensFile } from '@beaver/gateway'
import { TokenStore } from '@beaver/http'
import { loadConfig } from '@beaver/platform'
import { until } from '@beaver/testing'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { startSystem, type System, type SystemStatus } from './start-system.ts'

vi.setConfig({ testTimeout: 90_000, hookTimeout: 60_000 }) // processes start, many times

/** Pauses of milliseconds in place of seconds, and no death ever counts as one of long ago. */
const clock: Clock = { now: () => 0, after: (delayMs, act) => systemClock.after(delayMs / 100, act) }
const tools = JSON.parse(readFileSync(new URL('../../../../.beaver/tools/paths.json', import.meta.url), 'utf8')) as { natsServer: string }

let home: string
let system: System | null = null
const statuses: SystemStatus[] = []
beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'beaver-up-'))
  const config = loadConfig({ home }, { BEAVER_NATS_SERVER: tools.natsServer, BEAVER_WORKER_THREADS: '1' }, home)
  statuses.length = 0
  system = await startSystem(config, { clock, onStatus: (status) => statuses.push(status) })
})
afterEach(async () => {
  await system?.stop()
  rmSync(home, { recursive: true })
})

const pidOf = (name: string): number => system?.parts.find((part) => part.name === name)?.pid ?? 0
const logged = (): Record<string, unknown>[] =>
  readFileSync(join(home, 'logs', 'up.log'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

it('starts a part that dies again, alone, and says so; it stops them in the order that drains', async () => {
  const [nats, supervisor, projector] = [pidOf('nats-server'), pidOf('supervisor'), pidOf('projector')]
  process.kill(nats, 'SIGKILL')
  await until('the nats-server runs again', () => ![0, nats].includes(pidOf('nats-server')))
  expect([pidOf('supervisor'), pidOf('projector')]).toEqual([supervisor, projector])
  expect(logged().filter(({ child }) => child === 'nats-server')).toMatchObject([
    { level: 'info', event: 'child_started', supervisor: 'services' },
    { level: 'warn', event: 'child_restarting', deaths: 1 },
    { level: 'info', event: 'child_restarted', pid: pidOf('nats-server') },
  ])
  await system?.stop()
  expect(statuses.flatMap((status) => (status.kind === 'stopping' ? [status.name] : []))).toEqual(['supervisor', 'projector', 'nats-server'])
})

it('gives up a part that dies at once, again and again, and leaves nothing running', async () => {
  const pids = ['nats-server', 'supervisor', 'projector'].map(pidOf)
  const database = join(home, 'projection-default.db')
  process.kill(pidOf('projector'), 'SIGKILL')
  for (const file of [database, `${database}-wal`, `${database}-shm`]) rmSync(file, { force: true })
  mkdirSync(database) // no start succeeds
  await expect(system?.failed).rejects.toThrow(/^The projector died 6 times within 60 s \(last: .*\), so Beaver stops\. Its log: .*projector\.log$/)
  expect(logged().filter(({ event }) => event === 'supervisor_escalated')).toMatchObject([{ level: 'error', child: 'projector', deaths: 6 }])
  for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow('ESRCH')
})

describe('a spare of the supervisor', () => {
  /** The processes of this home that wait. */
  const spares = (): number[] =>
    readdirSync('/proc')
      .filter((pid) => /^\d+$/.test(pid))
      .flatMap((pid) => {
        try {
          const env = readFileSync(`/proc/${pid}/environ`, 'utf8')
          return env.includes(`BEAVER_HOME=${home}\0`) && env.includes('BEAVER_SPARE=1\0') ? [Number(pid)] : []
        } catch {
          return []
        }
      })
  const withSpare = async (spare: boolean): Promise<void> => {
    await system?.stop()
    const config = loadConfig({ home }, { BEAVER_NATS_SERVER: tools.natsServer, BEAVER_WORKER_THREADS: '1' }, home)
    system = await startSystem({ ...config, daemon: { ...config.daemon, spare } }, { clock, spareAfterMs: 0 })
  }

  it('takes its place when it dies, and ends with the system', async () => {
    await withSpare(true)
    const [spare] = await until('a spare waits', () => spares().length > 0 && spares())
    const before = pidOf('supervisor')
    process.kill(before, 'SIGKILL')
    await until('the supervisor runs again', () => ![0, before].includes(pidOf('supervisor')))
    expect(pidOf('supervisor')).toBe(spare)
    await until('there is another spare', () => spares().length === 2)
    await system?.stop()
    await until('nothing waits', () => spares().length === 0)
  })

  it('that died itself is not missed', async () => {
    await withSpare(true)
    const [spare = 0] = await until('a spare waits', () => spares().length > 0 && spares())
    process.kill(spare, 'SIGKILL')
    await until('it is gone', () => spares().length === 0)
    const before = pidOf('supervisor')
    process.kill(before, 'SIGKILL')
    await until('the supervisor runs again', () => ![0, before].includes(pidOf('supervisor')))
  })

  it('is not there if nobody wants it', async () => {
    await withSpare(false)
    const before = pidOf('supervisor')
    process.kill(before, 'SIGKILL')
    await until('the supervisor runs again', () => ![0, before].includes(pidOf('supervisor')))
    expect(spares()).toEqual([])
  })
})

it('has a gateway if the configuration wants one, which asks for the users of its tokens', async () => {
  await system?.stop()
  writeFileSync(join(home, 'beaver.config.json'), JSON.stringify({ gateway: { enabled: true, port: 0 } }))
  system = await startSystem(loadConfig({ home }, { BEAVER_NATS_SERVER: tools.natsServer, BEAVER_WORKER_THREADS: '1', BEAVER_TRUST: '1' }, home), { clock })
  const token = await new TokenStore(tokensFile(home)).create('ann', { roles: ['submit'], userId: 'ann', now: new Date() })
  const url = system.parts.find(({ name }) => name === 'gateway')?.info['url'] as string
  const answer = await fetch(`${url}/api/chat`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ message: 'Say what you are.' }),
  })
  expect([answer.status, await answer.json()]).toEqual([200, expect.objectContaining({ status: 'completed' })])
})

it('leaves nothing in its home that other users of the machine could read', () => {
  const open = readdirSync(home, { recursive: true, withFileTypes: true })
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => (statSync(path).mode & 0o077) !== 0)
  expect(open).toEqual([])
})
