// The nats-server of a home without the rest of the system, for a command that works on the streams while
// nothing runs.
import { join } from 'node:path'
import { embeddedIdentities, findNatsServer, startEmbeddedServer } from '@beaver/nats'
import type { Config } from '@beaver/platform'
import { type Connection, connect } from '../connection.ts'
import { loginAt } from './find-system.ts'

/**
 * Runs the server with the data of a home while `act` works. The caller has the lock of the home.
 *
 * @throws {BeaverError} `server_missing`, `server_too_old`, `start_failed`, and what `act` throws
 */
export async function withOwnServer<T>(
  config: Config,
  home: string,
  act: (connection: Connection) => Promise<T>,
): Promise<T> {
  const { namespace, tenant, keysFolder } = config
  const dataDir = join(home, 'nats')
  const { binary } = await findNatsServer(config.natsServerBinary, process.env['PATH'])
  const server = await startEmbeddedServer({
    binary,
    dataDir,
    identities: embeddedIdentities(dataDir, config),
  })
  try {
    await using connection = await connect({
      url: server.url,
      login: loginAt(home, 'operator'),
      namespace,
      tenant,
      pid: null,
      keysFolder,
    })
    return await act(connection)
  } finally {
    await server.stop()
  }
}
