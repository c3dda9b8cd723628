// What a gateway tells to those who watch it: whether it reaches a system, and its requests. It is no part of the
// public interface, whose port is for tokens. Loaded only if the configuration lets somebody ask.
import type { Server, ServerResponse } from 'node:http'
import type { Logger } from '@beaver/core'
import type { AnsweredRequest } from '@beaver/http'
import { lineOf, type natsMessageBus } from '@beaver/nats'
import type { Config } from '@beaver/platform'
import { startStatusListener, type StatusListener } from '@beaver/platform/status-listener'
import { contentType, Metrics, otherValue, type Show, watchProcess } from '@beaver/telemetry/metrics'

type Loads = Awaited<ReturnType<typeof natsMessageBus>>['loads']

export interface GatewayMetrics {
  answered(answered: AnsweredRequest): void
  connectionRefused(this: void): void
  /** Lets others ask. */
  listen(of: {
    readonly server: Server
    /** The messages of channels that wait. `null`: the configuration has no channel. */
    readonly loads: Loads | null
    readonly logger: Logger
  }): Promise<StatusListener | null>
}

export function gatewayMetrics(
  config: Pick<Config, 'home' | 'status' | 'namespace' | 'tenant' | 'gateway'>,
  nc: Parameters<typeof lineOf>[0],
): GatewayMetrics {
  const metrics = new Metrics('gateway', { namespace: config.namespace, tenant: config.tenant })
  const isConnected = (): boolean => !nc.isClosed() && lineOf(nc).downMs === 0
  watchProcess(metrics)
  lineOf(nc).onUp(() => metrics.add('beaver_nats_reconnects_total', 1))
  return {
    connectionRefused: () => metrics.add('beaver_http_refused_total', 1, 'connection'),
    answered({ route, status, ms, refused }) {
      const name = route ?? otherValue
      metrics.add('beaver_http_requests_total', 1, name, `${Math.floor(status / 100)}xx`)
      metrics.observe('beaver_http_request_seconds', ms / 1_000, name)
      if (refused) metrics.add('beaver_http_refused_total', 1, 'request')
    },
    listen({ server, loads, logger }) {
      const streams = openStreams(server)
      metrics.onScrape((show) => show('beaver_nats_connected', isConnected() ? 1 : 0))
      metrics.onScrape(async (show) => {
        show('beaver_http_connections', await connectionsOf(server))
        show('beaver_http_streams', streams())
      })
      if (loads !== null) metrics.onScrape(async (show) => showLoads(show, config, await loads()))
      return startStatusListener('gateway', config, {
        logger,
        metrics: () => metrics.text(),
        metricsType: contentType,
        notReady: () => (isConnected() ? null : 'The connection to NATS is down.'),
      })
    },
  }
}

/** @returns how many streams of events are open now */
function openStreams(server: Server): () => number {
  const open = new Set<ServerResponse>()
  server.on('request', (_, response) => {
    open.add(response)
    response.once('close', () => open.delete(response))
  })
  const isStream = (response: ServerResponse): boolean =>
    String(response.getHeader('content-type') ?? '').startsWith('text/event-stream')
  return () => [...open].filter(isStream).length
}

/** The messages that wait, for each channel of the configuration. */
function showLoads(
  show: Show,
  { gateway }: Pick<Config, 'gateway'>,
  loads: Awaited<ReturnType<Loads>>,
): void {
  for (const channel of Object.keys(gateway.channels))
    for (const queue of ['inbound', 'outbound'] as const) {
      const own = loads.filter((load) => load.channel === channel && load.queue === queue)
      const messages = own.reduce((sum, load) => sum + load.messages, 0)
      show('beaver_channel_messages_waiting', messages, channel, queue)
    }
}

const connectionsOf = (server: Server): Promise<number> =>
  new Promise((resolve, reject) =>
    server.getConnections((error, count) => (error === null ? resolve(count) : reject(error))),
  )
