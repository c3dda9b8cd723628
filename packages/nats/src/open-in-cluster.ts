// Opens something at a cluster, and tries again while its servers elect a leader for a stream.
import { BeaverError, type Clock, type Logger, pause, steadyClock } from '@beaver/core'
import { JetStreamApiError } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/nats-core'
import { noLeader } from './api-refusal.ts'
import { natsFault } from './nats-fault.ts'

/** A server that is elected leads its streams within this time. */
const openMsMax = 30_000
const againMs = 250

/** Whether the servers answered and refused for another reason than an election. */
const isRefusal = (cause: unknown): boolean => cause instanceof JetStreamApiError && cause.code !== noLeader

/** @param open leaves nothing behind if it fails @throws what `open` throws if waiting does not help */
export async function openInCluster<Opened>(
  nc: NatsConnection,
  open: () => Promise<Opened>,
  { logger, clock = steadyClock }: { readonly logger: Logger; readonly clock?: Clock },
): Promise<Opened> {
  const end = clock.now() + openMsMax
  for (let isReported = false; ; isReported = true) {
    try {
      return await open()
    } catch (thrown) {
      const error = natsFault(thrown)
      // The cause of a failed open says whether it may pass.
      const cause =
        error instanceof BeaverError && error.code === 'start_failed' ? natsFault(error.cause) : error
      const mayPass =
        cause instanceof BeaverError &&
        (cause.code === 'timeout' || (cause.code === 'unreachable' && !isRefusal(cause.cause)))
      const isAlone = (nc.info?.cluster ?? '') === ''
      if (!mayPass || isAlone || nc.isClosed() || clock.now() > end) throw error
      if (!isReported)
        logger.warn(
          'start_waits',
          `The start waits until the servers of the cluster answer for every stream: ${cause.message}`,
        )
      await pause(clock, againMs, new AbortController().signal)
    }
  }
}
