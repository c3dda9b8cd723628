// What a gateway tells to those who watch it: whether it reaches a system, and its requests. It is no part of the
// public interface, whose port is for tokens. Loaded only if the configuration lets somebody ask.
import type { Server } from 'node:http'
import type { Logger } from '@beaver/core'
import type { AnsweredRequest } from '@beaver/http'
import { lineOf } from '@beaver/nats'
import type { Config } from '@beaver/platform'
import { startStatusListener, type StatusListener } from '@beaver/platform/status-listener'
import { contentType, Metrics, otherValue, watchProcess } from '@beaver/telemetry/metrics'

export interface GatewayMetrics {
  answered(answered: AnsweredRequest): void
  /** Lets others ask. */
  listen(of: { readonly server: Server; readonly logger: Logger }): Promise<StatusListener | null>
}

export function gatewayMetrics(
  config: Pick<Config, 'home' | 'status' | 'namespace' | 'tenant'>,
  nc: Parameters<typeof lineOf>[0],
): GatewayMetrics {
  const metrics = new Metrics('gateway', { namespace: config.namespace, tenant: config.tenant })
  const isConnected = (): boolean => !nc.isClosed() && lineOf(nc).downMs === 0
  watchProcess(metrics)
  lineOf(nc).onUp(() => metrics.add('beaver_nats_reconnects_total', 1))
  return {
    answered({ route, status, ms }) {
      const name = route ?? otherValue
      metrics.add('beaver_http_requests_total', 1, name, `${Math.floor(status / 100)}xx`)
      metrics.observe('beaver_http_request_seconds', ms / 1_000, name)
    },
    listen({ server, logger }) {
      metrics.onScrape(async () => {
        metrics.set('beaver_nats_connected', isConnected() ? 1 : 0)
        metrics.set('beaver_http_connections', await connectionsOf(server))
      })
      return startStatusListener('gateway', config, {
        logger,
        metrics: () => metrics.text(),
        metricsType: contentType,
        notReady: () => (isConnected() ? null : 'The connection to NATS is down.'),
      })
    },
  }
}

const connectionsOf = (server: Server): Promise<number> =>
  new Promise((resolve, reject) =>
    server.getConnections((error, count) => (error === null ? resolve(count) : reject(error))),
  )
