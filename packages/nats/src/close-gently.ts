// Ends a connection, whether the server is there or not. If the server is there, outgoing messages are sent
// first. It ends after `closeMsMax` at the latest. Without a server, a drain fails or hangs, and the
// connection would try to come back for ever.
import { pause, systemClock } from '@beaver/core'
import type { NatsConnection } from '@nats-io/nats-core'
import { lineOf } from './line.ts'

const closeMsMax = 2_000

/** Closes the connection. It never rejects. */
export async function closeGently(nc: NatsConnection): Promise<void> {
  if (nc.isClosed()) return
  if (lineOf(nc).downMs === 0) {
    const drained = new AbortController()
    const late = pause(systemClock, closeMsMax, drained.signal)
    await Promise.race([nc.drain().catch(() => {}), late])
    drained.abort()
  }
  await nc.close().catch(() => {})
}
