// A real nats-server for a test file: its own data folder, its own port, gone when the file is done.
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type EmbeddedServer, startEmbeddedServer } from '@beaver/nats'

const root = new URL('../../', import.meta.url).pathname

/** The nats-server the set-up brought. */
export function natsServerBinary(): string {
  const { natsServer } = JSON.parse(readFileSync(join(root, '.beaver/tools/paths.json'), 'utf8')) as { natsServer: string }
  return natsServer
}

export interface TestServer extends AsyncDisposable {
  readonly url: string
  readonly port: number
  readonly pid: number
  readonly dataDir: string
  /** Everything the server has on disk, byte by byte: journals, blobs, consumers. */
  stored(): Promise<Buffer>
  /** SIGKILL, then the same data on the same port again, after a pause if one is given. */
  crash(pauseMs?: number): Promise<void>
  /** Ends, and starts again on the same port after `act`. A server that is stopped writes its index; a killed one does not. */
  down(act: () => Promise<void>, how?: 'stopped' | 'killed'): Promise<void>
}

/** The server replaces its files by renaming others. */
function unlessGone(error: NodeJS.ErrnoException): Buffer {
  if (error.code === 'ENOENT') return Buffer.alloc(0)
  throw error
}

export async function testServer({ sync, ...given }: { sync?: 'always' | 'default'; dataDir?: string } = {}): Promise<TestServer> {
  const dataDir = given.dataDir ?? (await mkdtemp(join(tmpdir(), 'beaver-nats-')))
  const start = (port?: number): Promise<EmbeddedServer> =>
    startEmbeddedServer({ binary: natsServerBinary(), dataDir, ...(sync === undefined ? {} : { sync }), ...(port === undefined ? {} : { port }) })
  let server = await start()
  const { url, port } = server
  return {
    url,
    port,
    get pid() {
      return server.pid
    },
    dataDir,
    async stored() {
      const files = (await readdir(join(dataDir, 'jetstream'), { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile())
      return Buffer.concat(await Promise.all(files.map((file) => readFile(join(file.parentPath, file.name)).catch(unlessGone))))
    },
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
      await act()
      server = await start(port)
    },
    async [Symbol.asyncDispose]() {
      await server.stop()
      if (given.dataDir === undefined) await rm(dataDir, { recursive: true, force: true })
    },
  }
}
