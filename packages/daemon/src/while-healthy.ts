// Serving requests only while the journal answers: a daemon that cannot write leaves the queue group, so that others get the requests.
// H1. It leaves within a few looks after it was found silent, unless it is too busy to tell, and comes back as soon as the journal answers. H2. What is under way when it
//     leaves is answered still.
import type { Logger } from '@beaver/core'
import { serve } from '@beaver/nats'
import type { NatsConnection } from '@nats-io/nats-core'

type Handler = (request: unknown) => Promise<unknown>

/** Serves a subject from now on, while the journal answers. */
export type GatedService = (subject: string, handle: Handler, options?: { openMax?: number }) => { stop(): Promise<void> }

export interface WhileHealthy {
  readonly serving: GatedService
  /** Whether the journal answers. */
  healthy(): boolean
  close(): void
}

const lookMs = 200
const lateMsMax = 100
/** So many looks in a row must have come in time before the journal counts as silent. */
const looksOnTime = 3

/** @param silentMs for how long the journal has not answered @param silentMsMax for how long it may */
export function whileHealthy(nc: NatsConnection, of: { silentMs: () => number; silentMsMax: number; logger: Logger }): WhileHealthy {
  const services = new Set<{ begin(): void; end(): Promise<void> }>()
  let healthy = true
  let since = 0
  let lookedAt = performance.now()
  let onTime = 0
  const timer = setInterval(() => {
    // A process that is late itself cannot say that the journal is: its answers may wait here to be read.
    const lateMs = performance.now() - lookedAt - lookMs
    lookedAt = performance.now()
    onTime = lateMs < lateMsMax ? onTime + 1 : 0
    const silent = of.silentMs()
    if (healthy === silent <= of.silentMsMax || (healthy && onTime < looksOnTime)) return
    healthy = !healthy
    if (healthy)
      of.logger.info('journal_answers', 'The journal answers again; the daemon takes requests.', { silent_ms: Math.round(performance.now() - since) })
    else {
      since = performance.now() - silent
      of.logger.warn('journal_silent', 'The journal does not answer; the daemon takes no requests and renews no leases.', { silent_ms: Math.round(silent) })
    }
    for (const service of services) {
      if (healthy) service.begin()
      else void service.end()
    }
  }, lookMs)
  timer.unref()

  return {
    healthy: () => healthy,
    serving(subject, handle, options = {}) {
      let served: { stop(): Promise<void> } | null = null
      const service = {
        begin: () => void (served ??= nc.isClosed() ? null : serve(nc, subject, handle, options)),
        async end() {
          const ending = served
          served = null
          await ending?.stop()
        },
      }
      service.begin()
      services.add(service)
      return {
        async stop() {
          services.delete(service)
          await service.end()
        },
      }
    },
    close: () => clearInterval(timer),
  }
}
