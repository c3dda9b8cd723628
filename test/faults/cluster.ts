// The processes a campaign breaks: a nats-server, daemons that reach it each through a proxy of their own, a
// projector. It starts them, breaks them on demand and starts again what has died; which fault comes when
// belongs to faults.ts. What has died is started again after a pause, until `close`. Nothing outlives the
// campaign.
import { type ChildProcess, spawn } from 'node:child_process'
import { appendFileSync } from 'node:fs'
import { appendFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type DaemonProcess, daemonProcess } from '../support/daemon.ts'
import { ownServer, type OwnServer } from '../support/nats.ts'
import { tcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { smallDisk, type SmallDisk } from './file-system.ts'
import type { Random } from './random.ts'

export interface DaemonPlace {
  readonly index: number
  readonly link: TcpProxy
  /** `null` while it is away. */
  daemon: DaemonProcess | null
  /** Sends a signal to the process, if there is one. */
  signal(signal: NodeJS.Signals): void
}

export interface Cluster extends AsyncDisposable {
  readonly server: OwnServer
  readonly places: readonly DaemonPlace[]
  readonly disk: SmallDisk | null
  readonly namespace: string
  readonly folder: string
  readonly ledgerFile: string
  readonly projectorFile: string
  readonly projectorPid: number
  /** Daemons that ended by themselves, and the projector. */
  readonly unexpectedExits: readonly string[]
  killProjector(): void
  /** SIGKILL, then the same data on the same port after a pause. */
  killServer(pauseMs: number): Promise<void>
  /** Rewrites the server's configuration and has it read again. */
  reloadServer(lines: readonly string[]): Promise<void>
  /** Waits until every process is there; false: one was not there in time. */
  whole(withinMs: number): Promise<boolean>
  stopProjector(): Promise<void>
}

export interface ClusterOptions {
  readonly daemons: number
  readonly leaseMs: number
  readonly providerUrl: string
  readonly random: Random
  readonly withDisk: boolean
  /** How long what has died stays away, in milliseconds: from, to. */
  readonly awayMs: readonly [number, number]
}

const namespace = 'faults'
const tools = new URL('tools.ts', import.meta.url).pathname

export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  await using undo = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'beaver-faults-'))
  if (process.env['BEAVER_FAULTS_KEEP'] === undefined)
    undo.defer(() => rm(folder, { recursive: true, force: true }))
  const disk = options.withDisk ? await smallDisk() : null
  if (disk !== null) undo.use(disk)
  const server = undo.use(await ownServer(disk === null ? {} : { dataDir: disk.folder }))
  const ledgerFile = join(folder, 'ledger.jsonl')
  await writeFile(ledgerFile, '')
  await writeFile(join(folder, 'beaver.config.json'), JSON.stringify(configOf(options)))
  const env = {
    BEAVER_NAMESPACE: namespace,
    BEAVER_HOME: join(folder, '.beaver'),
    BEAVER_FAULTS_LEDGER: ledgerFile,
    BEAVER_STATUS_LISTEN: 'on',
    ...provider(options.providerUrl),
  }
  const unexpectedExits: string[] = []
  let closing = false

  const places: Place[] = []
  for (let index = 0; index < options.daemons; index++) {
    const link = undo.use(await tcpProxy(server.port))
    places.push({ index, link, daemon: null, pid: 0, signal: () => {} })
  }

  async function keepDaemon(place: Place): Promise<void> {
    while (!closing) {
      try {
        const daemon = await daemonProcess({
          cwd: folder,
          env: { ...env, NATS_URL: `nats://127.0.0.1:${place.link.port}` },
          onSpawn: (pid) => void (place.pid = pid),
        })
        place.daemon = daemon
        let signalled = false
        place.signal = (signal) => {
          signalled = true
          daemon.kill(signal)
        }
        const { code, signal } = await daemon.exited
        place.daemon = null
        if (daemon.stderr !== '')
          await appendFile(
            join(folder, `daemon-${place.index}.log`),
            `--- ${daemon.id} ended (${code ?? signal})\n${daemon.stderr}`,
          )
        if (!signalled && !closing)
          unexpectedExits.push(`${daemon.id}: ${code ?? signal}: ${daemon.stderr.slice(-300)}`)
      } catch (error) {
        killQuietly(place.pid) // Else two would work in its place.
        appendFileSync(join(folder, `daemon-${place.index}.log`), `--- did not start: ${String(error)}\n`)
      }
      if (!closing) await sleep(options.random.between(...options.awayMs))
    }
  }

  const projector = keepProjector(join(folder, 'projector'), { ...env, NATS_URL: server.url }, () => closing)
  const keepers = places.map(keepDaemon)
  undo.defer(async () => {
    closing = true
    projector.kill('SIGKILL')
    for (const place of places) {
      if (place.daemon === null && place.pid > 0) killQuietly(place.pid)
      place.daemon?.kill('SIGKILL')
      place.daemon?.kill('SIGCONT')
    }
    await Promise.all(keepers)
    await projector.ended
  })

  const whole = async (withinMs: number): Promise<boolean> => {
    const deadline = Date.now() + withinMs
    while (places.some(({ daemon }) => daemon === null) || projector.pid === 0) {
      if (Date.now() > deadline) return false
      await sleep(20)
    }
    return true
  }
  const confFile = join(server.dataDir, 'nats-server.conf')
  const stack = undo.move()
  return {
    server,
    places,
    disk,
    namespace,
    folder,
    ledgerFile,
    projectorFile: join(folder, 'projector', `projection-${namespace}.db`),
    get projectorPid() {
      return projector.pid
    },
    unexpectedExits,
    killProjector: () => projector.kill('SIGKILL'),
    killServer: (pauseMs) => server.crash(pauseMs),
    async reloadServer(lines) {
      const before = (await readFile(confFile, 'utf8')).split('\n# Of the campaign.')[0] ?? ''
      await writeFile(confFile, `${before}\n# Of the campaign.\n${lines.join('\n')}\n`)
      process.kill(server.pid, 'SIGHUP')
    },
    whole,
    async stopProjector() {
      projector.stop()
      await projector.ended
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

interface Place extends DaemonPlace {
  /** Also while it starts. */
  pid: number
}

const provider = (url: string): Record<string, string> => ({
  OPENAI_BASE_URL: url,
  OPENAI_API_KEY: 'sk-faults',
})

const configOf = ({ leaseMs }: ClusterOptions): object => ({
  tools: [tools],
  daemon: { worker_threads: 1, worker_heap_mb_max: 192, tasks_max: 48, lease_ms: leaseMs, drain_ms: 300 },
  agent: { skill_selection: 'off', tool_timeout_ms: 2_000 },
  model: { timeout_ms: 4_000, idle_ms: 4_000 },
})

function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It is gone already.
  }
}

interface Kept {
  readonly pid: number
  readonly ended: Promise<void>
  kill(signal: NodeJS.Signals): void
  /** Ends it for good. */
  stop(): void
}

/** A projector that is started again whenever it dies. */
function keepProjector(home: string, env: Record<string, string>, closing: () => boolean): Kept {
  let child: ChildProcess | null = null
  let ready = false
  let stopped = false
  const ended = (async () => {
    await mkdir(home, { recursive: true })
    while (!stopped && !closing()) {
      const started = spawn(
        process.execPath,
        [new URL('../../apps/projector/src/main.ts', import.meta.url).pathname],
        {
          cwd: home,
          env: { PATH: process.env['PATH'] ?? '', BEAVER_TRUST: '1', ...env, BEAVER_HOME: home },
          stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
        },
      )
      child = started
      started.once('message', () => void (ready = true))
      await new Promise((resolve) => started.once('exit', resolve))
      ready = false
      if (!stopped && !closing()) await sleep(200)
    }
  })()
  return {
    get pid() {
      return ready ? (child?.pid ?? 0) : 0
    },
    ended,
    kill: (signal) => void child?.kill(signal),
    stop() {
      stopped = true
      child?.kill('SIGTERM')
    },
  }
}
