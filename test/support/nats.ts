// A real nats-server for a test file: its own data folder, its own port, gone when the file is done.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readFileSync } from 'node:fs'
import { type EmbeddedServer, startEmbeddedServer } from '@beaver/nats'

const root = new URL('../../', import.meta.url).pathname

/** The nats-server the set-up brought. */
export function natsServerBinary(): string {
  const { natsServer } = JSON.parse(readFileSync(join(root, '.beaver/tools/paths.json'), 'utf8')) as { natsServer: string }
  return natsServer
}

export interface TestServer extends EmbeddedServer, AsyncDisposable {
  readonly dataDir: string
}

export async function testServer(options: { sync?: 'always' | 'default' } = {}): Promise<TestServer> {
  const dataDir = await mkdtemp(join(tmpdir(), 'beaver-nats-'))
  const server = await startEmbeddedServer({ binary: natsServerBinary(), dataDir, ...options })
  return {
    ...server,
    dataDir,
    async [Symbol.asyncDispose]() {
      await server.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}
