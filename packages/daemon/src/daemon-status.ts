// What a daemon tells to those who watch it: whether it can work, and its metrics. Loaded only if the
// configuration lets somebody ask.
import { lineOf } from '@beaver/nats'
import { currentPrices } from '@beaver/platform'
import { startStatusListener, type StatusListener } from '@beaver/platform/status-listener'
import { contentType, watchProcess } from '@beaver/telemetry/metrics'
import type { DaemonBase } from './daemon-base.ts'
import { DaemonMetrics } from './daemon-metrics.ts'
import type { DaemonWorkers } from './daemon-workers.ts'
import { endpointGates } from './endpoint-states.ts'
import type { WhileHealthy } from './while-healthy.ts'

export interface DaemonStatus {
  readonly counted: DaemonMetrics
  /** Lets others ask. @param drives how many tasks the daemon drives now */
  listen(drives: () => number): Promise<StatusListener | null>
}

export function daemonStatus(
  { agents, config, logger, model, nc, stores }: DaemonBase,
  { external, pool }: DaemonWorkers,
  health: Pick<WhileHealthy, 'healthy'>,
): DaemonStatus {
  const ownTools = new Set(agents.toolNames)
  const counted = new DaemonMetrics({
    namespace: config.namespace,
    tenant: config.tenant,
    model: model.choice,
    prices: currentPrices(config),
    isConfigured: (name) => ownTools.has(name) || agents.workflows.names.includes(name),
    isOfMcp: (name) => external.tools.some((tool) => tool.name === name),
  })
  const { metrics } = counted
  const isHarmed = (): boolean => stores.watch.harm !== null
  watchProcess(metrics)
  lineOf(nc).onUp(() => metrics.add('beaver_nats_reconnects_total', 1))
  return {
    counted,
    listen(drives) {
      metrics.onScrape((show) => {
        show('beaver_nats_connected', lineOf(nc).downMs === 0 ? 1 : 0)
        show('beaver_journal_harmed', isHarmed() ? 1 : 0)
        show('beaver_slots', config.daemon.tasks_max)
        show('beaver_slots_used', drives())
        show('beaver_loops', pool.loops)
        show('beaver_threads', pool.threads)
      })
      metrics.onScrape((show) => {
        show('beaver_thread_restarts_total', pool.lost)
        for (const [name, { openMs, waits }] of endpointGates(model.choice)) {
          show('beaver_circuit_open', openMs > 0 ? 1 : 0, name)
          show('beaver_model_waits_total', waits.calls, name)
          show('beaver_model_wait_seconds_total', waits.ms / 1_000, name)
        }
        for (const { name, state, restarts } of external.servers()) {
          show('beaver_mcp_connected', state === 'connected' ? 1 : 0, name)
          show('beaver_mcp_restarts_total', restarts, name)
        }
      })
      return startStatusListener('daemon', config, {
        logger,
        metrics: () => metrics.text(),
        metricsType: contentType,
        notReady: () =>
          isHarmed()
            ? 'The journal is not as it was.'
            : health.healthy()
              ? null
              : 'The journal does not answer.',
      })
    },
  }
}
