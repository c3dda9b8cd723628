// Three nats-servers that hold each stream three times, for what happens when one of them is behind or
// silent.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectNats, ensureJournalStream, subjectsOf, type Subjects } from '@beaver/nats'
import { until } from '@beaver/testing'
import { jetstreamManager } from '@nats-io/jetstream'
import { freeze } from './freeze.ts'
import { natsServerBinary, newNamespace, type TestServer } from './nats.ts'
import { tcpProxy } from './tcp-proxy.ts'

export interface NatsCluster extends AsyncDisposable {
  readonly urls: readonly string[]
  /** All of them, as one that a system uses. It takes nothing away. */
  readonly server: TestServer
  readonly subjects: Subjects
  /**
   * Waits until the journal stream has a leader and two followers that have everything. Returns the place of
   * the leader.
   */
  whole(): Promise<number>
  /**
   * Stops the process of a server, as a machine that is suspended. Resolves when none of its threads runs.
   */
  freeze(index: number): Promise<void>
  thaw(index: number): void
  /** Nothing passes between a server and the others any more, while clients reach all of them. */
  cutOff(index: number): void
  /** Everything passes again. */
  join(): void
  /** SIGKILL, as a machine that fails. Resolves when the process has ended. */
  kill(index: number): Promise<void>
  /** Starts a server again that was killed, with its data. */
  start(index: number): void
}

interface HeldPort {
  readonly port: number
  free(): Promise<unknown>
}

/** A port that nobody else gets before it is freed. */
async function heldPort(): Promise<HeldPort> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return { port, free: () => new Promise((resolve) => server.close(resolve)) }
}

const page = new URL('../../docs/how-to/run-on-a-cluster.md', import.meta.url)

/**
 * The configuration of the page for operators, with the name, the addresses and the folder of this server. It
 * does not sync, as no test server does.
 */
async function configOf(of: {
  name: string
  port: number
  route: number
  toOthers: readonly number[]
  storeDir: string
}): Promise<string> {
  const shown =
    /```text\n(?<text>server_name: n0\n[^]*?)```/.exec(await readFile(page, 'utf8'))?.groups?.['text'] ?? ''
  return (
    shown
      .replace('n0', of.name)
      .replace('10.0.0.10:4222', `127.0.0.1:${of.port}`)
      .replace('10.0.0.10:6222', `127.0.0.1:${of.route}`)
      // A server tells the others no address at which they would reach it beside the proxies.
      .replace(
        /routes: \[.*\]/,
        `routes: [${of.toOthers.map((route) => `"nats://127.0.0.1:${route}"`).join(', ')}]\n  advertise: "127.0.0.1:1"`,
      )
      .replace('/var/lib/nats', of.storeDir)
      .replace(', sync_interval: always', '')
  )
}

/** Starts the servers, and makes the journal stream of a namespace with three replicas. */
export async function natsCluster(): Promise<NatsCluster> {
  const folder = await mkdtemp(join(tmpdir(), 'beaver-cluster-'))
  const held = await Promise.all(Array.from({ length: 6 }, heldPort))
  const [ports, routes] = [held.slice(0, 3), held.slice(3)].map((some) => some.map(({ port }) => port)) as [
    number[],
    number[],
  ]
  const links = await Promise.all(
    [0, 1, 2].flatMap((from) =>
      [0, 1, 2]
        .filter((to) => to !== from)
        .map(async (to) => ({ from, to, proxy: await tcpProxy(routes[to] ?? 0) })),
    ),
  )
  for (const { free } of held) await free()
  const servers: ChildProcess[] = []
  const fileOf = (i: number): string => join(folder, `${i}.conf`)
  const start = (i: number): void =>
    void (servers[i] = spawn(natsServerBinary(), ['-c', fileOf(i)], { stdio: 'ignore' }))
  for (const [i, port] of ports.entries()) {
    await writeFile(
      fileOf(i),
      await configOf({
        name: `n${i}`,
        port,
        route: routes[i] ?? 0,
        toOthers: links.filter(({ from }) => from === i).map(({ proxy }) => proxy.port),
        storeDir: join(folder, `n${i}`),
      }),
    )
    start(i)
  }
  const urls = ports.map((port) => `nats://127.0.0.1:${port}`)
  const subjects = subjectsOf('cluster')
  const nc = await until(
    'a server answers',
    () => connectNats({ url: urls[0] ?? '', name: 'cluster' }).catch(() => false as const),
    { withinMs: 30_000 },
  )
  await until(
    'the servers have a leader',
    () =>
      ensureJournalStream(nc, subjects, { replicas: 3 }).then(
        () => true,
        () => false,
      ),
    { withinMs: 60_000 },
  )
  const manager = await jetstreamManager(nc)
  const cluster = async () => (await manager.streams.info(subjects.stream)).cluster
  const whole = (): Promise<number> =>
    until(
      'all replicas are current',
      async () => {
        const now = await cluster().catch(() => undefined)
        const current =
          now?.replicas?.filter((replica) => replica.current === true && replica.offline !== true) ?? []
        return current.length === 2 && now?.leader !== undefined && { leader: Number(now.leader.slice(1)) }
      },
      { withinMs: 60_000 },
    ).then(({ leader }) => leader)
  await whole()
  const signal = (index: number, name: NodeJS.Signals): void => void servers[index]?.kill(name)
  return {
    urls,
    server: {
      url: urls.join(','),
      port: ports[0] ?? 0,
      newNamespace,
      stored: () => Promise.reject(new Error('A cluster stores in many places.')),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    },
    subjects,
    whole,
    freeze: (index) => freeze(servers[index]?.pid ?? 0),
    thaw: (index) => signal(index, 'SIGCONT'),
    cutOff(index) {
      for (const { from, to, proxy } of links)
        if (from === index || to === index) proxy.silence('both', { newToo: true })
    },
    join() {
      for (const { proxy } of links) proxy.silence('none', { newToo: false })
    },
    async kill(index) {
      const exited = new Promise((resolve) => servers[index]?.once('exit', resolve))
      signal(index, 'SIGKILL')
      await exited
    },
    start,
    async [Symbol.asyncDispose]() {
      await nc.close()
      for (const server of servers.filter(
        ({ exitCode, signalCode }) => exitCode === null && signalCode === null,
      )) {
        const exited = new Promise((resolve) => server.once('exit', resolve))
        server.kill('SIGCONT')
        server.kill('SIGKILL')
        await exited
      }
      for (const { proxy } of links) await proxy[Symbol.asyncDispose]()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
