// Runs the embedded nats-server as a supervised child. A restart uses the port of the first start, so that
// every client reconnects by itself.
import { switchOff } from '@beaver/core'
import { type EmbeddedServer, type EmbeddedServerOptions, startEmbeddedServer } from '@beaver/nats'
import type { Service, ServiceSpec } from './service.ts'

/** The server's scheduling is an optimisation that a benchmark may switch off. */
export function natsProcess(
  options: EmbeddedServerOptions & { version: string; logFile: string },
): ServiceSpec {
  switchOff(process.env['BEAVER_SWITCH_OFF'])
  let port: number | null = null
  return {
    name: 'nats-server',
    logFile: options.logFile,
    async start() {
      const server = await startEmbeddedServer({ ...options, ...(port === null ? {} : { port }) })
      port = server.port
      return running(server, options.version)
    },
  }
}

function running(server: EmbeddedServer, version: string): Service {
  return {
    pid: server.pid,
    info: { url: server.url, version },
    gone: server.closed.then(({ code }) => ({
      reason: code === null ? 'killed' : code > 128 ? `killed by signal ${code - 128}` : `exit code ${code}`,
      normal: code === 0,
    })),
    stop: () => server.stop(),
    kill: () => {
      try {
        process.kill(server.pid, 'SIGKILL')
      } catch {
        // gone already
      }
    },
  }
}
