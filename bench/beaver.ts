// Beaver with everything on, for a bench: a nats-server that syncs each write, a daemon with worker threads,
// a client.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BeaverClient, connectBeaver } from '@beaver/client'
import { switchOff } from '@beaver/core'
import { startEmbeddedServer } from '@beaver/nats'

// For the nats-server, which is started here; the processes of Beaver read the variable themselves.
switchOff(process.env['BEAVER_SWITCH_OFF'])

export interface BenchedBeaver {
  readonly client: BeaverClient
  readonly url: string
  /** The processes it consists of, beside this one. */
  readonly pids: readonly number[]
  /** The daemons. */
  readonly daemons: readonly ChildProcess[]
  /** Starts one more daemon; resolves when it is ready. */
  addDaemon(): Promise<ChildProcess>
  /** Starts a projector, which daemons ask for tasks that nobody drives; resolves when it is ready. */
  addProjector(): Promise<void>
  /** Starts a gateway; resolves when it listens. @param nodeArgs options of Node.js for it */
  addGateway(nodeArgs?: readonly string[]): Promise<{ readonly url: string; readonly pid: number }>
  /** The home of its processes. */
  readonly home: string
  stop(): Promise<void>
}

/**
 * @param files written beside the configuration, by name @param nodeArgs options of Node.js for the daemon @param
 * hasDaemon `false`: it has none yet
 */
export async function startBeaver(
  providerUrl: string,
  config: Record<string, unknown> = {},
  files: Readonly<Record<string, unknown>> = {},
  nodeArgs: readonly string[] = [],
  hasDaemon = true,
): Promise<BenchedBeaver> {
  const dataDir = mkdtempSync(join(tmpdir(), 'beaver-bench-'))
  process.on('exit', () => rmSync(dataDir, { recursive: true, force: true }))
  const configFile = join(dataDir, 'beaver.config.json')
  for (const [name, content] of Object.entries({ ...files, 'beaver.config.json': config }))
    writeFileSync(join(dataDir, name), JSON.stringify(content))
  const { natsServer } = JSON.parse(
    readFileSync(new URL('../.beaver/tools/paths.json', import.meta.url), 'utf8'),
  ) as { natsServer: string }
  const server = await startEmbeddedServer({ binary: natsServer, dataDir })
  const env = {
    ...benchEnvironment(providerUrl),
    NATS_URL: server.url,
    BEAVER_HOME: dataDir,
    BEAVER_CONFIG: configFile,
  }
  const daemons: ChildProcess[] = []
  const started: ChildProcess[] = []
  const addDaemon = async (): Promise<ChildProcess> => {
    const daemon = await startDaemon(env, nodeArgs)
    daemons.push(daemon)
    started.push(daemon)
    return daemon
  }
  if (hasDaemon) await addDaemon()
  const client = await connectBeaver({ url: server.url, namespace: 'default', tenant: 'local' })
  return {
    client,
    url: server.url,
    home: dataDir,
    pids: [server.pid, daemons[0]?.pid ?? 0],
    daemons,
    addDaemon,
    addProjector: async () => void started.push((await startProcess('projector', env)).child),
    async addGateway(of = []) {
      const { child, info } = await startProcess('gateway', env, of)
      started.push(child)
      return { url: String(info['url']), pid: child.pid ?? 0 }
    },
    async stop() {
      await client.close()
      for (const child of started) {
        if (child.exitCode !== null || child.signalCode !== null) continue
        const gone = once(child, 'exit')
        child.kill()
        await gone
      }
      await server.stop()
    },
  }
}

/**
 * What every process of a bench is started with: the model, and the compiled code of earlier starts, as
 * `bin/beaver` keeps it.
 */
export const benchEnvironment = (providerUrl: string): Record<string, string | undefined> => ({
  NODE_COMPILE_CACHE: join(fileURLToPath(new URL('../.beaver/cache/compile', import.meta.url))),
  ...process.env,
  OPENAI_BASE_URL: providerUrl,
  OPENAI_API_KEY: 'bench',
  BEAVER_MODEL: 'bench-model',
})

/** A daemon; resolves when it is ready. */
export const startDaemon = async (
  env: Record<string, string | undefined>,
  nodeArgs: readonly string[] = [],
): Promise<ChildProcess> =>
  (
    await startProcess('daemon', env, [
      ...nodeArgs,
      ...(process.env['BENCH_DAEMON_ARGS'] ?? '').split(' ').filter((arg) => arg !== ''),
    ])
  ).child

interface Started {
  readonly child: ChildProcess
  /** What it says of itself when it is ready. */
  readonly info: Readonly<Record<string, unknown>>
}

async function startProcess(
  app: 'daemon' | 'projector' | 'gateway',
  env: Record<string, string | undefined>,
  execArgv: readonly string[] = [],
): Promise<Started> {
  const output = process.env['BENCH_DEBUG'] === undefined ? 'ignore' : 'inherit'
  const child = fork(new URL(`../apps/${app}/src/main.ts`, import.meta.url), {
    env: env as NodeJS.ProcessEnv,
    stdio: ['ignore', output, output, 'ipc'],
    execArgv: [...execArgv],
  })
  const gone = once(child, 'exit')
  const [ready] = (await Promise.race([
    once(child, 'message'),
    gone.then(() => Promise.reject(new Error(`The ${app} ended. Say BENCH_DEBUG=1 to see why.`))),
  ])) as [{ readonly kind: string; readonly message?: string }]
  if (ready.kind !== 'ready') throw new Error(`The ${app} does not start: ${ready.message}`)
  return { child, info: { ...ready } }
}
