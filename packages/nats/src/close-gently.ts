// Ends a connection within `closeMsMax`, after outgoing messages are sent if the server is there. Without a
// server, a drain fails or hangs, and the connection would try to reconnect without end.
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
