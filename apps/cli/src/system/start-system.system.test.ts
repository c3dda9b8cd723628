// The real parts of two systems are killed and broken. They come back, each restart is a line of up.log, and
// a crash loop ends the system. Each `describe` is one system, and each of its tests continues where the one
// before it ended.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectBeaver } from '@beaver/client'
import { type Clock, systemClock } from '@beaver/core'
import { tokensFile } from '@beaver/gateway'
import { TokenStore } from '@beaver/http'
import { loadConfig } from '@beaver/platform'
import { until } from '@beaver/testing'
import { beforeAll, describe, expect, it } from 'vitest'
import { startSystem, type System, type SystemStatus } from './start-system.ts'

/** Pauses take milliseconds instead of seconds, and all deaths count as recent. */
const clock: Clock = { now: () => 0, after: (delayMs, act) => systemClock.after(delayMs / 100, act) }
const tools = JSON.parse(
  readFileSync(new URL('../../../../.beaver/tools/paths.json', import.meta.url), 'utf8'),
) as { natsServer: string }

/** To find the spares, the test reads the environments of all processes, so it looks less often. */
const slow = { everyMs: 50 }

interface TestedSystem {
  readonly home: string
  readonly system: System
  pidOf(name: string): number
  /**
   * Kills a part and waits until it runs again.
   *
   * @returns the process id of the new process
   */
  killed(name: string): Promise<number>
  /** The processes of this home that wait, or waited, as a spare. */
  spares(): number[]
  /** The parts without which it started, and why. */
  leftOut(): string[]
  /** The parts that were stopped, in the order in which this happened. */
  stopped(): string[]
  [Symbol.asyncDispose](): Promise<void>
}

async function systemWith(config: Record<string, unknown>): Promise<TestedSystem> {
  const home = mkdtempSync(join(tmpdir(), 'beaver-up-'))
  const statuses: SystemStatus[] = []
  let system: System
  try {
    writeFileSync(join(home, 'beaver.config.json'), JSON.stringify(config), { mode: 0o600 })
    const env = { BEAVER_NATS_SERVER: tools.natsServer, BEAVER_WORKER_THREADS: '1', BEAVER_TRUST: '1' }
    system = await startSystem(loadConfig({ home }, env, home), {
      clock,
      spareAfterMs: 0,
      usualGateway: true,
      onStatus: (status) => statuses.push(status),
    })
  } catch (error) {
    rmSync(home, { recursive: true })
    throw error
  }
  const pidOf = (name: string): number => system.parts.find((part) => part.name === name)?.pid ?? 0
  return {
    home,
    system,
    pidOf,
    async killed(name) {
      const before = pidOf(name)
      process.kill(before, 'SIGKILL')
      await until(`the ${name} runs again`, () => ![0, before].includes(pidOf(name)))
      return pidOf(name)
    },
    spares: () =>
      readdirSync('/proc')
        .filter((pid) => /^\d+$/.test(pid))
        .flatMap((pid) => {
          try {
            const env = readFileSync(`/proc/${pid}/environ`, 'utf8')
            return env.includes(`BEAVER_HOME=${home}\0`) && env.includes('BEAVER_SPARE=1\0')
              ? [Number(pid)]
              : []
          } catch {
            return []
          }
        }),
    leftOut: () =>
      statuses.flatMap((status) => (status.kind === 'left_out' ? [`${status.name}: ${status.reason}`] : [])),
    stopped: () => statuses.flatMap((status) => (status.kind === 'stopping' ? [status.name] : [])),
    async [Symbol.asyncDispose]() {
      await system.stop()
      rmSync(home, { recursive: true })
    },
  }
}

describe('a system without a spare', () => {
  let tested: TestedSystem
  beforeAll(async () => {
    // No machine has this address.
    tested = await systemWith({ daemon: { spare: false }, gateway: { host: '203.0.113.1' } })
    return () => tested[Symbol.asyncDispose]()
  })

  const logged = (): Record<string, unknown>[] =>
    readFileSync(join(tested.home, 'logs', 'up.log'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)

  it('goes on without a gateway that nobody asked for and that cannot start, and says why', async () => {
    const [left] = await until('it is left out', () => tested.leftOut().length > 0 && tested.leftOut())
    expect(left).toMatch(/^gateway: The gateway cannot listen on 203\.0\.113\.1:20000: /)
    expect(tested.system.parts.map(({ name }) => name).toSorted()).toEqual([
      'daemon',
      'nats-server',
      'projector',
    ])
  })

  it('leaves nothing in its home that other users of the machine could read', () => {
    const open = readdirSync(tested.home, { recursive: true, withFileTypes: true })
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => (statSync(path).mode & 0o077) !== 0)
    expect(open).toEqual([])
  })

  it('starts a part that dies again, alone, and says so', async () => {
    const others = ['daemon', 'projector'].map(tested.pidOf)
    const pid = await tested.killed('nats-server')
    expect(['daemon', 'projector'].map(tested.pidOf)).toEqual(others)
    expect(logged().filter(({ child }) => child === 'nats-server')).toMatchObject([
      { level: 'info', event: 'child_started', supervisor: 'services' },
      { level: 'warn', event: 'child_restarting', deaths: 1 },
      { level: 'info', event: 'child_restarted', pid },
    ])
  })

  it('starts the supervisor again when it dies, and no process waits to take its place', async () => {
    expect(tested.spares()).toEqual([])
    await tested.killed('daemon')
    expect(tested.spares()).toEqual([])
  })

  // This test is the last one, because it ends the system.
  it('gives up a part that dies at once, again and again, stops the others in their order and leaves nothing running', async () => {
    const { system, home, pidOf } = tested
    const pids = ['nats-server', 'daemon', 'projector'].map(pidOf)
    const database = join(home, 'projection-default.db')
    process.kill(pidOf('projector'), 'SIGKILL')
    for (const file of [database, `${database}-wal`, `${database}-shm`]) rmSync(file, { force: true })
    mkdirSync(database) // no start succeeds
    await expect(system.failed).rejects.toThrow(
      /^The projector died 6 times within 60 s \(last: .*\), so Beaver stops\. Its log: .*projector\.log$/,
    )
    expect(logged().filter(({ event }) => event === 'supervisor_escalated')).toMatchObject([
      { level: 'error', child: 'projector', deaths: 6 },
    ])
    for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow('ESRCH')
    expect(tested.stopped()).toEqual(['daemon', 'nats-server'])
  })
})

describe('a system with a gateway and a spare of the supervisor', () => {
  let tested: TestedSystem
  beforeAll(async () => {
    tested = await systemWith({ gateway: { enabled: true, port: 0 } })
    return () => tested[Symbol.asyncDispose]()
  })

  it('has a gateway because the configuration wants one, which asks for the users of its tokens', async () => {
    expect(await asked({})).toEqual([200, expect.objectContaining({ status: 'completed' })])
  })

  it('lets the user of the machine work in a folder of theirs, and nobody who comes over the gateway', async () => {
    const workspace = mkdtempSync(join(tmpdir(), 'beaver-elsewhere-'))
    await using client = await connectBeaver({ home: tested.home })
    expect(await client.run({ task: 'Say what you are.', workspace })).toMatchObject({ status: 'completed' })
    expect(await asked({ workspace_dir: workspace })).toEqual([
      422,
      expect.objectContaining({ code: 'workspace_refused' }),
    ])
    rmSync(workspace, { recursive: true })
  })

  /** The gateway's answer to the user ann. */
  async function asked(more: object): Promise<[number, unknown]> {
    const token = await new TokenStore(tokensFile(tested.home)).create(`ann ${Object.keys(more).join('')}`, {
      roles: ['submit'],
      userId: 'ann',
      now: new Date(),
    })
    const url = tested.system.parts.find(({ name }) => name === 'gateway')?.info['url'] as string
    const answer = await fetch(`${url}/api/chat`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ message: 'Say what you are.', ...more }),
    })
    return [answer.status, await answer.json()]
  }

  it('does not miss a spare that died itself: the supervisor comes back without it', async () => {
    const [spare = 0] = await until(
      'a spare waits',
      () => tested.spares().length > 0 && tested.spares(),
      slow,
    )
    process.kill(spare, 'SIGKILL')
    await until('it is gone', () => tested.spares().length === 0, slow)
    const pid = await tested.killed('daemon')
    expect(tested.spares()).not.toContain(pid)
  })

  it('has the spare take the place of a supervisor that dies, and then has another one', async () => {
    const [spare] = await until('a spare waits', () => tested.spares().length > 0 && tested.spares(), slow)
    expect(await tested.killed('daemon')).toBe(spare)
    await until('there is another spare', () => tested.spares().length === 2, slow)
  })

  // This test is the last one, because it ends the system.
  it('stops its parts in the order that drains, and the spare with them', async () => {
    await tested.system.stop()
    expect(tested.stopped()).toEqual(['gateway', 'daemon', 'projector', 'nats-server'])
    await until('nothing waits', () => tested.spares().length === 0, slow)
  })
})
