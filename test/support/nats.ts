// Real nats-servers for tests: the one of the run, which all files share, and servers of a test's own. Each
// system has a namespace of its own. The streams of the namespaces that a file makes are removed when the
// file ends its use of the server.
import { type Dirent, existsSync, readFileSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, sep } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connectNats, type EmbeddedServer, startEmbeddedServer } from '@beaver/nats'
import { jetstreamManager } from '@nats-io/jetstream'
import { inject } from 'vitest'

const root = new URL('../../', import.meta.url).pathname

/** The nats-server the set-up brought. */
export function natsServerBinary(): string {
  const { natsServer } = JSON.parse(readFileSync(join(root, '.beaver/tools/paths.json'), 'utf8')) as {
    natsServer: string
  }
  return natsServer
}

export interface TestServer extends AsyncDisposable {
  readonly url: string
  readonly port: number
  /** A namespace that nobody else on the server has. */
  newNamespace(): string
  /**
   * What the server has on disk, byte by byte: journals, blobs, consumers. On the run's server, that of the
   * namespaces that were made here.
   */
  stored(): Promise<Buffer>
}

/** A server that a test may stop, kill and look into. */
export interface OwnServer extends TestServer {
  readonly pid: number
  readonly dataDir: string
  /** SIGKILL, then the same data on the same port again, after a pause if one is given. */
  crash(pauseMs?: number): Promise<void>
  /**
   * Ends, and starts again on the same port after `act`. A server that is stopped writes its index; a killed
   * one does not.
   */
  down(act: () => Promise<void>, how?: 'stopped' | 'killed'): Promise<void>
}

let namespaces = 0
/** A namespace that nobody else has. */
export const newNamespace = (): string => `n${process.pid}_${++namespaces}`

/** The server of the run. When this use of it ends, the namespaces that were made here are removed. */
export function testServer(): Promise<TestServer> {
  const { url, port, dataDir } = inject('sharedServer')
  const made: string[] = []
  const isMine = (stream: string): boolean => made.some((name) => belongsTo(stream, name))
  return Promise.resolve({
    url,
    port,
    newNamespace() {
      const name = newNamespace()
      made.push(name)
      return name
    },
    stored: () => filesBelow(dataDir, (path) => path.split(sep).some(isMine)),
    [Symbol.asyncDispose]: () => eachStream(url, (name, remove) => (isMine(name) ? remove() : undefined)),
  })
}

/** The namespaces of this worker that still have streams on the run's server. */
export async function namespacesLeft(): Promise<
  { readonly namespace: string; readonly streams: readonly string[] }[]
> {
  if (namespaces === 0) return []
  const streams: string[] = []
  await eachStream(inject('sharedServer').url, (name) => void streams.push(name))
  return [...Map.groupBy(streams, (name) => new RegExp(`_(n${process.pid}_\\d+)`).exec(name)?.[1])].flatMap(
    ([namespace, streams]) => (namespace === undefined ? [] : [{ namespace, streams }]),
  )
}

/** `BEAVER_n17_2_WAKE` and `KV_BEAVER_n17_2_MEMORY` belong to `n17_2`, those of `n17_20` do not. */
const belongsTo = (stream: string, namespace: string): boolean =>
  `${stream}_`.includes(`BEAVER_${namespace}_`)

async function eachStream(
  url: string,
  act: (name: string, remove: () => Promise<unknown>) => unknown,
): Promise<void> {
  const nc = await connectNats({ url, name: 'test' })
  const manager = await jetstreamManager(nc)
  const names: string[] = []
  for await (const name of manager.streams.names()) names.push(name)
  for (const name of names) await act(name, () => manager.streams.delete(name))
  await nc.close()
}

export async function ownServer({
  sync,
  ...given
}: { sync?: 'always' | 'default'; dataDir?: string } = {}): Promise<OwnServer> {
  const dataDir = given.dataDir ?? (await mkdtemp(join(tmpdir(), 'beaver-nats-')))
  const start = (port?: number): Promise<EmbeddedServer> =>
    startEmbeddedServer({
      binary: natsServerBinary(),
      dataDir,
      ...(sync === undefined ? {} : { sync }),
      ...(port === undefined ? {} : { port }),
    })
  let server = await start()
  const { url, port } = server
  return {
    url,
    port,
    newNamespace,
    get pid() {
      return server.pid
    },
    dataDir,
    stored: () => filesBelow(dataDir, () => true),
    async crash(pauseMs = 0) {
      process.kill(server.pid, 'SIGKILL')
      await server.closed
      if (pauseMs > 0) await sleep(pauseMs)
      server = await start(port)
    },
    async down(act, how = 'stopped') {
      if (how === 'killed') process.kill(server.pid, 'SIGKILL')
      else await server.stop()
      await server.closed
      try {
        await act()
      } finally {
        server = await start(port)
      }
    },
    async [Symbol.asyncDispose]() {
      await server.stop()
      if (given.dataDir === undefined) await rm(dataDir, { recursive: true, force: true })
    },
  }
}

async function filesBelow(dataDir: string, isMeant: (folder: string) => boolean): Promise<Buffer> {
  const entries = await listed(join(dataDir, 'jetstream'))
  const files = entries.filter((entry) => entry.isFile() && isMeant(entry.parentPath))
  return Buffer.concat(
    await Promise.all(files.map((file) => readFile(join(file.parentPath, file.name)).catch(unlessGone))),
  )
}

/** The server makes and removes folders while it is read. */
async function listed(folder: string): Promise<Dirent[]> {
  for (;;) {
    try {
      return await readdir(folder, { recursive: true, withFileTypes: true })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || !existsSync(folder)) throw error
    }
  }
}

/** The server replaces its files by renaming others. */
function unlessGone(error: NodeJS.ErrnoException): Buffer {
  if (error.code === 'ENOENT') return Buffer.alloc(0)
  throw error
}
