// bench recover: how long work stands still when a daemon is killed with 200 tasks in flight. (a) A second
// daemon is alive. (b) The only daemon is started again by the supervision of `beaver up`, by its spare. (c)
// The same without a spare. And how long a daemon takes from spawn to ready. The time of a task is from the
// kill to its next event, as the journal stamps it.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type BeaverClient, connectBeaver } from '@beaver/client'
import { isTerminalTaskEvent } from '@beaver/core'
import { splitBatch } from '@beaver/core/journal'
import { connectNats, followJournal, subjectsOf, embeddedLogin, type NatsLogin } from '@beaver/nats'
import { benchEnvironment, startBeaver, startDaemon } from '../beaver.ts'
import { startTeamProvider } from '../team-provider.ts'

const tasks = Number(process.env['BENCH_TASKS'] ?? 200)
const rounds = Number(process.env['BENCH_ROUNDS'] ?? 3)
const nodes = 12
const latencyMs = 1_500
const waitMsMax = 60_000
/** Daemons hear of each other within so long. */
const acquaintMs = 2_500
/** A spare is there so long after the start of the system. */
const spareReadyMs = 12_500

const cases = ['second_daemon', 'restart', 'restart_cold', 'start'] as const
const titles = {
  second_daemon: 'kill, a second daemon alive',
  restart: 'kill, the only daemon restarted',
  restart_cold: 'the same, without a spare',
  start: 'spawn of a daemon to ready',
}
type Case = (typeof cases)[number]

/** Arguments are cases. */
export async function run({ json, args }: { json: boolean; args: readonly string[] }): Promise<void> {
  const say = (line: string): void => void process.stderr.write(`${line}\n`)
  const chosen = args.length === 0 ? cases : cases.filter((each) => args.includes(each))
  const provider = await startTeamProvider(latencyMs)
  const times = new Map<Case, number[]>(chosen.map((each) => [each, []]))
  try {
    for (let round = 1; round <= rounds; round++) {
      for (const each of chosen) {
        const ms =
          each === 'start'
            ? await startUps(provider.url)
            : each === 'restart' || each === 'restart_cold'
              ? await restarted(provider.url, each === 'restart')
              : await takenOver(provider.url)
        times.get(each)?.push(...ms)
        say(`round ${round}/${rounds}  ${titles[each].padEnd(34)} ${described(figuresOf(ms))}`)
      }
    }
  } finally {
    provider.stop()
  }
  const figures = Object.fromEntries(chosen.map((each) => [each, figuresOf(times.get(each) ?? [])]))
  if (json)
    process.stdout.write(`${JSON.stringify({ bench: 'recover', figures, ratios: {}, sync: 'always' })}\n`)
  else process.stdout.write(table(chosen, figures))
}

const config = { daemon: { tasks_max: tasks * 2 } }

/** All tasks are the first daemon's; the second is there when the first is killed, and drives nothing yet. */
async function takenOver(providerUrl: string): Promise<number[]> {
  const beaver = await startBeaver(providerUrl, config)
  try {
    await beaver.addProjector()
    const flight = await fill(beaver.client, beaver.url)
    await beaver.addDaemon()
    await sleep(acquaintMs)
    return await flight.afterKill(() => void beaver.daemons[0]?.kill('SIGKILL'))
  } finally {
    await beaver.stop()
  }
}

/** @param spare whether the supervisor has a spare when it is killed */
async function restarted(providerUrl: string, spare: boolean): Promise<number[]> {
  const folder = mkdtempSync(join(tmpdir(), 'beaver-bench-up-'))
  const home = join(folder, '.beaver')
  const env = {
    ...benchEnvironment(providerUrl),
    BEAVER_HOME: home,
    BEAVER_TASKS_MAX: String(tasks * 2),
    NATS_URL: undefined,
  }
  writeFileSync(
    join(folder, 'beaver.config.json'),
    JSON.stringify({ daemon: { spare }, gateway: { enabled: false } }),
  )
  const cli = fileURLToPath(new URL('../../apps/cli/src/main.ts', import.meta.url))
  const up = spawn(process.execPath, [cli, 'up'], {
    cwd: folder,
    env: env as NodeJS.ProcessEnv,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  try {
    const system = await systemOf(up, home)
    const client = await connectBeaver({ home })
    if (spare) await sleep(spareReadyMs)
    const flight = await fill(client, system.nats_url, embeddedLogin(join(home, 'nats'), 'client'))
    const ms = await flight.afterKill(() => void process.kill(system.children['daemon'] ?? 0, 'SIGKILL'))
    await client.close()
    return ms
  } finally {
    if (up.exitCode === null) {
      const gone = once(up, 'exit')
      up.kill('SIGTERM')
      await gone
    }
    rmSync(folder, { recursive: true, force: true })
  }
}

interface SystemFile {
  readonly nats_url: string
  readonly children: Readonly<Record<string, number>>
}

async function systemOf(up: ChildProcess, home: string): Promise<SystemFile> {
  const deadline = Date.now() + waitMsMax
  while (Date.now() < deadline && up.exitCode === null) {
    try {
      return JSON.parse(readFileSync(join(home, 'run', 'system.json'), 'utf8')) as SystemFile
    } catch {
      await sleep(50)
    }
  }
  throw new Error('"beaver up" did not start.')
}

/** Tasks under way, and the journal followed. */
async function fill(
  client: BeaverClient,
  url: string,
  login: NatsLogin = {},
): Promise<{ afterKill(kill: () => void): Promise<number[]> }> {
  const nc = await connectNats({ url, login, name: 'bench-recover' })
  const stop = new AbortController()
  const open = new Set<string>()
  const next = new Map<string, number>()
  let killedAt = Infinity
  const following = (async () => {
    for await (const { messages } of followJournal(nc, subjectsOf('default'), {
      from: 1,
      signal: stop.signal,
    })) {
      for (const { log, payload } of messages) {
        for (const { type, time } of splitBatch(payload)) {
          const name = type.slice('beaver.'.length, -'.v1'.length)
          if (name === 'node_started') open.add(log.task)
          if (isTerminalTaskEvent(name)) open.delete(log.task)
          if (Date.parse(time) > killedAt && !next.has(log.task))
            next.set(log.task, Date.parse(time) - killedAt)
        }
      }
    }
  })()
  const agents = Array.from({ length: nodes }, (_, i) => ({
    name: `agent ${i}`,
    instruction: `Do part ${i}.`,
  }))
  const workflow = { name: 'SequentialWorkflow', arguments: { task: 'A bench.', agents } }
  await Promise.all(Array.from({ length: tasks }, () => client.submit({ workflow })))
  await until('all tasks are under way', () => open.size === tasks)
  return {
    async afterKill(kill) {
      const hit = [...open]
      killedAt = Date.now()
      kill()
      await until('every task had an event', () => hit.every((task) => next.has(task))).catch(() => {})
      stop.abort()
      await following
      await nc.close()
      return hit.map((task) => next.get(task) ?? waitMsMax)
    },
  }
}

async function until(what: string, look: () => boolean): Promise<void> {
  const deadline = Date.now() + waitMsMax
  while (!look()) {
    if (Date.now() > deadline) throw new Error(`It did not come to this within ${waitMsMax} ms: ${what}`)
    await sleep(5)
  }
}

/**
 * Beside a system that runs: of starts one after the other, the first of which fills the cache of compiled
 * code and does not count.
 */
async function startUps(providerUrl: string): Promise<number[]> {
  const beaver = await startBeaver(providerUrl)
  const home = mkdtempSync(join(tmpdir(), 'beaver-bench-start-'))
  try {
    const ms: number[] = []
    for (let i = 0; i < 6; i++) {
      const since = performance.now()
      const daemon = await startDaemon({
        ...benchEnvironment(providerUrl),
        NATS_URL: beaver.url,
        BEAVER_HOME: home,
        BEAVER_KEYS: join(beaver.home, 'keys'),
      })
      if (i > 0) ms.push(Math.round(performance.now() - since))
      const gone = once(daemon, 'exit')
      daemon.kill('SIGKILL')
      await gone
    }
    return ms
  } finally {
    await beaver.stop()
    rmSync(home, { recursive: true, force: true })
  }
}

interface Figures {
  readonly count: number
  readonly p50_ms: number
  readonly p99_ms: number
  readonly max_ms: number
}

function figuresOf(ms: readonly number[]): Figures {
  const sorted = ms.toSorted((a, b) => a - b)
  const at = (part: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN
  return { count: ms.length, p50_ms: at(0.5), p99_ms: at(0.99), max_ms: sorted.at(-1) ?? NaN }
}

const described = ({ count, p50_ms, p99_ms, max_ms }: Figures): string =>
  [count, p50_ms, p99_ms, max_ms].map((value) => String(value).padStart(10)).join('')

const goals: Readonly<Record<Case, string>> = {
  second_daemon: 'p99 ≤ 1000 ms',
  restart: 'p99 ≤ 1000 ms',
  restart_cold: 'none',
  start: 'p50 ≤ 700 ms',
}

function table(chosen: readonly Case[], figures: Readonly<Record<string, Figures>>): string {
  return [
    '',
    `A daemon killed with ${tasks} tasks in flight: time to the next event of each; ${rounds} rounds; ${cpus().length} × ${cpus()[0]?.model.trim()}; Node.js ${process.version}; JetStream sync: always`,
    '',
    `${''.padEnd(36)}${['count', 'p50 ms', 'p99 ms', 'max ms'].map((cell) => cell.padStart(10)).join('')}`,
    ...chosen.map(
      (each) => `${titles[each].padEnd(36)}${described(figures[each] as Figures)}   (goal: ${goals[each]})`,
    ),
    '',
  ].join('\n')
}
