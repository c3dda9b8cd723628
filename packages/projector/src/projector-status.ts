// What a projector tells to those who watch it: whether it follows the journal, and what the read model counts.
// All of it are gauges: a read model that is built again would count everything once more. Loaded only if the
// configuration lets somebody ask.
import { systemClock } from '@beaver/core'
import type { QueryOutput } from '@beaver/contracts'
import { lineOf } from '@beaver/nats'
import type { Config } from '@beaver/platform'
import { startStatusListener, type StatusListener } from '@beaver/platform/status-listener'
import { type Sql, waitReasons, waitsNow } from '@beaver/projection'
import { contentType, Metrics, type Show, watchProcess } from '@beaver/telemetry/metrics'
import type { TracingState } from './trace-feed.ts'

interface Watched {
  readonly nc: Parameters<typeof lineOf>[0]
  readonly sql: Sql
  /** The answer to the query `status`. */
  readonly status: () => Promise<QueryOutput<'status'>>
  readonly isHarmed: () => boolean
  /** How many spans the collector took and refused, and how many events wait. `null`: none are sent. */
  readonly spans: () => TracingState | null
  readonly logger: Parameters<typeof startStatusListener>[2]['logger']
}

export function listenToProjector(
  config: Pick<Config, 'home' | 'status' | 'namespace' | 'tenant'>,
  { nc, sql, status, isHarmed, spans, logger }: Watched,
): Promise<StatusListener | null> {
  const metrics = new Metrics('projector', { namespace: config.namespace, tenant: config.tenant })
  watchProcess(metrics)
  lineOf(nc).onUp(() => metrics.add('beaver_nats_reconnects_total', 1))
  metrics.onScrape((show) => {
    show('beaver_nats_connected', isConnected(nc) ? 1 : 0)
    show('beaver_journal_harmed', isHarmed() ? 1 : 0)
  })
  metrics.onScrape((show) => {
    const tracing = spans()
    show('beaver_spans_sent_total', tracing?.sent ?? 0)
    show('beaver_spans_refused_total', tracing?.refused ?? 0)
    show('beaver_spans_waiting_events', tracing?.waiting ?? 0)
  })
  metrics.onScrape(async (show) => showCounts(show, await status()))
  metrics.onScrape((show) => {
    const { queuedSince, waiting } = waitsNow(sql)
    show('beaver_queue_oldest_seconds', secondsSince(queuedSince) ?? 0)
    for (const reason of waitReasons) {
      show('beaver_tasks_waiting', waiting[reason].tasks, reason)
      show('beaver_waiting_oldest_seconds', secondsSince(waiting[reason].since) ?? 0, reason)
    }
  })
  return startStatusListener('projector', config, {
    logger,
    metrics: () => metrics.text(),
    metricsType: contentType,
    notReady: () => (isConnected(nc) ? null : 'The connection to NATS is down.'),
  })
}

type Status = QueryOutput<'status'>
type Counted = Pick<
  Status,
  'by_status' | 'events' | 'findings' | 'quarantined' | 'fault' | 'behind' | 'behind_since'
> & { readonly checkpoints: Pick<Status['checkpoints'], 'last'> }

/** Shows what the answer to the query `status` has, and nothing that it does not know. */
export function showCounts(show: Show, now: Counted): void {
  for (const [status, tasks] of Object.entries(now.by_status)) show('beaver_tasks', tasks, status)
  show('beaver_journal_events', now.events)
  show('beaver_findings', now.findings)
  show('beaver_quarantined', now.quarantined)
  show('beaver_projector_stalled', now.fault === null ? 0 : 1)
  // While the journal does not answer, nobody knows how far it is.
  if (now.behind !== null) {
    show('beaver_projector_behind_messages', now.behind)
    show('beaver_projector_behind_seconds', secondsSince(now.behind_since) ?? 0)
  }
  const age = secondsSince(now.checkpoints.last?.time ?? null)
  if (age !== null) show('beaver_checkpoint_age_seconds', age)
}

const isConnected = (nc: Watched['nc']): boolean => !nc.isClosed() && lineOf(nc).downMs === 0

/** `null`: there is no such time. The clocks of machines differ, so an age is never below 0. */
const secondsSince = (time: string | null): number | null => {
  const ms = time === null ? Number.NaN : Date.parse(time)
  return Number.isNaN(ms) ? null : Math.max(0, systemClock.now() - ms) / 1_000
}
