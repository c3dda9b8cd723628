// Restate for a bench: its server and a service of its SDK, each a process, with a data folder of their own.
// The ports are ours: the server is asked only after it has said who it is, and nobody else answers for it.
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../free-port.ts'
import { peersIn } from '../peers.ts'

export const restateVersion = '1.7.12'
/** The binary of this platform alone: the package around it reports its installation. */
const serverPackage = `@restatedev/restate-server-${process.platform}-${process.arch}`
export const restatePeers = peersIn('restate', {
  [serverPackage]: restateVersion,
  '@restatedev/restate-sdk': '1.17.2',
  undici: '8.12.4',
})

export interface BenchedRestate {
  /** Calls the service `Bench` through the ingress and waits for its answer. */
  call(request: { steps: number }): Promise<{ outputs: readonly string[] }>
  readonly pids: readonly number[]
  stop(): Promise<void>
}

const startMsMax = 60_000

export async function startRestate(providerUrl: string): Promise<BenchedRestate> {
  const dataDir = mkdtempSync(join(tmpdir(), 'beaver-bench-restate-'))
  process.on('exit', () => rmSync(dataDir, { recursive: true, force: true }))
  const [admin, ingress, node, service] = await Promise.all([freePort(), freePort(), freePort(), freePort()])
  const name = `bench-${process.pid}`
  const log = join(dataDir, 'server.log')
  const server = spawn(
    join(restatePeers.folder, 'node_modules', serverPackage, 'bin', 'restate-server'),
    ['--base-dir', dataDir, '--node-name', name],
    {
      env: {
        PATH: process.env['PATH'] ?? '',
        RESTATE_ADMIN__BIND_PORT: String(admin),
        RESTATE_INGRESS__BIND_PORT: String(ingress),
        RESTATE_BIND_PORT: String(node),
        RESTATE_DISABLE_TELEMETRY: 'true',
        DO_NOT_TRACK: '1',
      },
      stdio: ['ignore', openSync(log, 'a'), openSync(log, 'a')],
    },
  )
  const worker = fork(new URL('restate-service.ts', import.meta.url), {
    env: { ...process.env, BENCH_PORT: String(service), BENCH_PROVIDER_URL: providerUrl },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  try {
    await once(worker, 'message')
    await whenReady(server, `http://127.0.0.1:${admin}/health`, log)
    const registered = await fetch(
      `http://127.0.0.1:${admin}/deployments`,
      post({ uri: `http://127.0.0.1:${service}`, force: true }),
    )
    if (!registered.ok)
      throw new Error(`Restate did not take the service: ${registered.status} ${await registered.text()}`)
    await whenReady(server, `http://127.0.0.1:${ingress}/restate/health`, log)
    await isOurs(server, `http://127.0.0.1:${admin}`, service)
  } catch (error) {
    await end([server, worker])
    throw error
  }
  const { Agent } = (await restatePeers.load('undici')) as { Agent: new (options: object) => object }
  const dispatcher = new Agent({ connections: 256, pipelining: 1 })
  return {
    pids: [server.pid ?? 0, worker.pid ?? 0],
    async call(request) {
      const answer = await fetch(`http://127.0.0.1:${ingress}/Bench/run`, {
        ...post(request),
        dispatcher,
      } as RequestInit)
      if (!answer.ok) throw new Error(`Restate answered ${answer.status}: ${await answer.text()}`)
      return (await answer.json()) as { outputs: string[] }
    },
    stop: () => end([server, worker]),
  }
}

const post = (body: object): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
})

async function whenReady(server: ChildProcess, url: string, log: string): Promise<void> {
  const deadline = Date.now() + startMsMax
  while (Date.now() < deadline && server.exitCode === null) {
    const answer = await fetch(url).catch(() => null)
    if (answer?.ok === true) return
    await sleep(50)
  }
  throw new Error(`Restate is not ready at ${url}:\n${readFileSync(log, 'utf8').slice(-2_000)}`)
}

/** The server that answers has our service and no other, and our process still lives. */
async function isOurs(server: ChildProcess, admin: string, service: number): Promise<void> {
  const { deployments } = (await (await fetch(`${admin}/deployments`)).json()) as {
    deployments: { uri?: string }[]
  }
  const uris = deployments.map(({ uri }) => uri ?? '')
  if (server.exitCode !== null || uris.length !== 1 || uris[0]?.includes(`:${service}`) !== true)
    throw new Error(`Another Restate server answers: it has the services ${uris.join(', ')}.`)
}

async function end(children: readonly ChildProcess[]): Promise<void> {
  for (const child of children) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }
}
