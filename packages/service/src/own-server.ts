// The nats-server of an embedded service. If it dies, it is started again on the same port, so that every client reconnects.
// N1. The server never outlives this process, however the process ends.
// N2. If the server dies too often, it is given up, and `failed` says so.
import { setTimeout as sleep } from 'node:timers/promises'
import { BeaverError, messageOf } from '@beaver/core'
import { type EmbeddedServer, startEmbeddedServer } from '@beaver/nats'

export interface OwnServer {
  readonly url: string
  /** The process id of the current server. */
  readonly pid: number
  /** Rejects with a BeaverError if the server cannot be kept alive. */
  readonly failed: Promise<never>
  stop(): Promise<void>
}

const restartsMax = 5
const restartsPeriodMs = 60_000
const restartPauseMs = 100

/**
 * Starts the server.
 *
 * @throws {BeaverError} `server_missing`, `server_too_old`, `start_failed`
 */
export async function ownServer(options: { binary: string; dataDir: string; tell: (message: string) => void }): Promise<OwnServer> {
  const { binary, dataDir, tell } = options
  const { promise: failed, reject: fail } = Promise.withResolvers<never>()
  failed.catch(() => {}) // a rejection without a listener must not end the process
  let server: EmbeddedServer = await startEmbeddedServer({ binary, dataDir })
  const { url, port } = server
  let stopping = false

  async function keep(): Promise<void> {
    const deaths: number[] = []
    for (;;) {
      const { code } = await server.closed
      if (stopping) return
      const now = Date.now()
      deaths.push(now)
      const recent = deaths.filter((death) => now - death < restartsPeriodMs).length
      if (recent > restartsMax)
        return fail(new BeaverError('start_failed', `The nats-server died ${recent} times within ${restartsPeriodMs / 1000} s. Its log is in ${dataDir}.`))
      tell(`The nats-server died (${code === null ? 'killed' : `exit code ${code}`}) and starts again.`)
      await sleep(restartPauseMs * recent)
      if (stopping) return
      try {
        server = await startEmbeddedServer({ binary, dataDir, port })
      } catch (error) {
        return fail(new BeaverError('start_failed', `The nats-server does not start again: ${messageOf(error)}`, { cause: error }))
      }
    }
  }
  const keeping = keep()

  return {
    url,
    get pid() {
      return server.pid
    },
    failed,
    async stop() {
      stopping = true
      await server.stop()
      await keeping
      await server.stop() // a server that was being started in the meantime
    },
  }
}
