// The nats-server of an embedded service. If it dies, it is started again on the same port, so that every
// client reconnects. How often is the row `service_nats` of core's supervisors. The server never outlives
// this process, however the process ends. If the server dies too often, it is given up, and `failed` says so.
import {
  BeaverError,
  type Clock,
  type Logger,
  type RunningChild,
  startSupervision,
  supervisors,
  systemClock,
} from '@beaver/core'
import { type EmbeddedServer, type Identity, startEmbeddedServer } from '@beaver/nats'

export interface OwnServer {
  readonly url: string
  readonly dataDir: string
  /** The process id of the current server. While it is started again, that of the last one. */
  readonly pid: number
  /** Rejects with a BeaverError if the server cannot be kept alive. */
  readonly failed: Promise<never>
  stop(): Promise<void>
}

export interface OwnServerOptions {
  readonly binary: string
  readonly dataDir: string
  /** Who may log in. */
  readonly identities: readonly Identity[]
  readonly tell: (message: string) => void
  readonly logger: Logger
  /** For the pauses before restarts. Default: the clock of the system. */
  readonly clock?: Clock
}

/**
 * Starts the server.
 *
 * @throws {BeaverError} `server_missing`, `server_too_old`, `start_failed`
 */
export async function ownServer({
  binary,
  dataDir,
  identities,
  tell,
  logger,
  clock = systemClock,
}: OwnServerOptions): Promise<OwnServer> {
  const { periodMs } = supervisors.service_nats.intensity
  const supervision = startSupervision<EmbeddedServer & RunningChild>({
    spec: supervisors.service_nats,
    logger,
    clock,
    fieldsOf: ({ pid }) => ({ pid }),
    onStatus(status) {
      if (status.kind === 'died') tell(`The nats-server died (${status.reason}) and starts again.`)
    },
    failure: ({ deaths, reason }) =>
      new BeaverError(
        'start_failed',
        `The nats-server died ${deaths} times within ${periodMs / 1000} s (last: ${reason}). Its log is in ${dataDir}.`,
      ),
  })
  let newest: EmbeddedServer | null = null
  const { url, pid } = await supervision.add({ id: 'nats-server', restart: 'permanent' }, async () => {
    const server = await startEmbeddedServer({
      binary,
      dataDir,
      identities,
      ...(newest === null ? {} : { port: newest.port }),
    })
    newest = server
    const gone = server.closed.then(({ code }) => ({
      reason: code === null ? 'killed' : `exit code ${code}`,
      normal: code === 0,
    }))
    return { ...server, gone }
  })
  return {
    url,
    dataDir,
    get pid() {
      return newest?.pid ?? pid
    },
    failed: supervision.failed,
    stop: () => supervision.stop(),
  }
}
