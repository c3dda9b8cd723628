// Beaver with everything on, for a bench: a nats-server that syncs each write, a daemon with worker threads, a client.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BeaverClient, connectBeaver } from '@beaver/client'
import { startEmbeddedServer } from '@beaver/nats'

export interface BenchedBeaver {
  readonly client: BeaverClient
  /** The processes it consists of, beside this one. */
  readonly pids: readonly number[]
  stop(): Promise<void>
}

/** @param files written beside the configuration, by name */
export async function startBeaver(
  providerUrl: string,
  config: Record<string, unknown> = {},
  files: Readonly<Record<string, unknown>> = {},
): Promise<BenchedBeaver> {
  const dataDir = mkdtempSync(join(tmpdir(), 'beaver-bench-'))
  process.on('exit', () => rmSync(dataDir, { recursive: true, force: true }))
  const configFile = join(dataDir, 'beaver.config.json')
  for (const [name, content] of Object.entries({ ...files, 'beaver.config.json': config })) writeFileSync(join(dataDir, name), JSON.stringify(content))
  const { natsServer } = JSON.parse(readFileSync(new URL('../.beaver/tools/paths.json', import.meta.url), 'utf8')) as { natsServer: string }
  const server = await startEmbeddedServer({ binary: natsServer, dataDir })
  const supervisor = fork(new URL('../apps/supervisor/src/main.ts', import.meta.url), {
    env: {
      ...process.env,
      NATS_URL: server.url,
      OPENAI_BASE_URL: providerUrl,
      OPENAI_API_KEY: 'bench',
      BEAVER_MODEL: 'bench-model',
      BEAVER_HOME: dataDir,
      BEAVER_CONFIG: configFile,
    },
    stdio: ['ignore', process.env['BENCH_DEBUG'] === undefined ? 'ignore' : 'inherit', process.env['BENCH_DEBUG'] === undefined ? 'ignore' : 'inherit', 'ipc'],
    execArgv: (process.env['BENCH_SUPERVISOR_ARGS'] ?? '').split(' ').filter((arg) => arg !== ''),
  })
  const gone = once(supervisor, 'exit')
  await Promise.race([once(supervisor, 'message'), gone.then(() => Promise.reject(new Error('The supervisor ended. Say BENCH_DEBUG=1 to see why.')))])
  const client = await connectBeaver({ url: server.url, namespace: 'default', tenant: 'local' })
  return {
    client,
    pids: [server.pid, supervisor.pid as number],
    async stop() {
      await client.close()
      supervisor.kill()
      await gone
      await server.stop()
    },
  }
}
