// Serves requests only while the journal answers. A daemon that cannot write leaves the queue group, so that
// other daemons get the requests; it still answers those under way. After `elsewhereMs` it goes to another
// server of the cluster where the journal answers, because its own may be cut off or frozen; that cuts what
// is under way.
import type { Logger } from '@beaver/core'
import { elsewhereMs, type HandleRequest, leaveServer, serve } from '@beaver/nats'
import type { NatsConnection } from '@nats-io/nats-core'

/** Serves a subject whenever the journal answers. */
export type GatedService = (
  subject: string,
  handle: HandleRequest,
  options?: { openMax?: number },
) => { stop(): Promise<void> }

export interface WhileHealthy {
  readonly serving: GatedService
  /** Whether the journal answers. */
  healthy(): boolean
  close(): void
}

const lookMs = 200
const lateMsMax = 100
/** The journal counts as silent only after this many looks in a row were on time. */
const looksOnTime = 3

/** @param of `stream`: the journal; `silentMs`: for how long it has not answered; `silentMsMax`: the bound */
export function whileHealthy(
  nc: NatsConnection,
  of: { stream: string; silentMs: () => number; silentMsMax: number; logger: Logger },
): WhileHealthy {
  const services = new Set<{ begin(): void; end(): Promise<void> }>()
  let healthy = true
  let since = 0
  let lookedAt = performance.now()
  let onTime = 0
  const goElsewhere = (silent: number): void => {
    if (silent < elsewhereMs || onTime < looksOnTime) return
    void leaveServer(nc, of.stream).then((left) => {
      if (left)
        of.logger.warn(
          'server_left',
          'The journal did not answer at the NATS server. The daemon went to another one.',
          { silent_ms: Math.round(silent) },
        )
    })
  }
  const timer = setInterval(() => {
    // A process that is late itself cannot blame the journal, whose answers may wait here unread.
    const lateMs = performance.now() - lookedAt - lookMs
    lookedAt = performance.now()
    onTime = lateMs < lateMsMax ? onTime + 1 : 0
    const silent = of.silentMs()
    goElsewhere(silent)
    if (healthy === silent <= of.silentMsMax || (healthy && onTime < looksOnTime)) return
    healthy = !healthy
    if (healthy)
      of.logger.info('journal_answers', 'The journal answers again. The daemon accepts requests.', {
        silent_ms: Math.round(performance.now() - since),
      })
    else {
      since = performance.now() - silent
      of.logger.warn(
        'journal_silent',
        'The journal does not answer. The daemon accepts no requests and renews no leases.',
        { silent_ms: Math.round(silent) },
      )
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
