// Reports each change of the connection to NATS and of the journal stream to operators, in one line. It only
// watches; no other code depends on it. A stream that does not answer does not count as missing.
import { type Clock, type Logger, messageOf, steadyClock, systemFacts } from '@beaver/core'
import type { NatsConnection } from '@nats-io/nats-core'
import { shownUrl } from './connect.ts'
import { streamPulse } from './stream-pulse.ts'

/** @param stream reports also that it was deleted or recreated. Default: only the connection is watched */
export function watchConnection(
  nc: NatsConnection,
  logger: Logger,
  stream?: string,
  clock: Clock = steadyClock,
): void {
  /** In a cluster, the next connection may be to another server. */
  let server = shownUrl(nc.getServer())
  let downSince: number | null = null
  void (async () => {
    for await (const status of nc.status()) {
      if (status.type === 'disconnect' && downSince === null) {
        downSince = clock.now()
        systemFacts.connectionDown(logger, { server })
      } else if (status.type === 'reconnect' && downSince !== null) {
        server = shownUrl(nc.getServer())
        systemFacts.connectionUp(logger, { server, downMs: clock.now() - downSince })
        downSince = null
      } else if (status.type === 'error')
        systemFacts.connectionError(logger, { server, reason: messageOf(status.error) })
    }
  })()
  const forget = stream === undefined ? () => {} : watchStream(nc, logger, stream)
  void nc.closed().then((error) => {
    forget()
    if (error instanceof Error) systemFacts.connectionClosed(logger, { server, reason: error.message })
  })
}

function watchStream(nc: NatsConnection, logger: Logger, stream: string): () => void {
  const pulse = streamPulse(nc, stream)
  let identity: string | null = null
  let missing = false
  const forget = pulse.follow(() => {
    const { seen } = pulse
    if (seen.kind === 'unknown') return
    if (seen.kind === 'missing') {
      if (!missing && identity !== null) systemFacts.streamDeleted(logger, { stream })
      missing = true
      return
    }
    if (identity !== null && identity !== seen.identity)
      systemFacts.streamRecreated(logger, { stream, created: seen.identity.slice(stream.length + 1) })
    else if (missing && identity !== null) systemFacts.streamBack(logger, { stream })
    missing = false
    identity = seen.identity
  })
  void pulse.look()
  return forget
}
