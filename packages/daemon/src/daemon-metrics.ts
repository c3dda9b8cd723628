// What a daemon counts for Prometheus: each event that it made durable counts once, whoever wrote it, so the sums
// of all daemons are those of the journal, except for what a daemon could not count any more before it died.
// An event is parsed only if its numbers are needed, and nothing of it is kept (docs/decisions/0022).
import { type DataOf, type DomainEvent, isTerminalTaskEvent, steadyClock, type Usage } from '@beaver/core'
import { costOfUsage, type PriceTable } from '@beaver/core/cost'
import type { Draft, Journal } from '@beaver/core/journal'
import { closedNames, Metrics } from '@beaver/telemetry/metrics'
import type { ModelChoice } from './model.ts'

export interface DaemonMetricsOf {
  readonly namespace: string
  readonly tenant: string
  readonly model: ModelChoice
  readonly prices: () => PriceTable
  /** Whether a tool or a workflow of this name is one of the configuration. */
  readonly isConfigured: (tool: string) => boolean
  /** Whether a tool of this name is one of an MCP server. */
  readonly isOfMcp: (tool: string) => boolean
}

/** One call of a model, as an event tells it. */
interface ModelCall {
  readonly provider: string | null | undefined
  readonly model: string | null | undefined
  readonly outcome: string
  readonly usage?: Usage | undefined
  readonly durationMs?: number | undefined
}

export class DaemonMetrics {
  readonly metrics: Metrics
  readonly #of: DaemonMetricsOf
  readonly #providerOf: (name: string | null | undefined) => string
  readonly #modelOf: (name: string | null | undefined) => string

  constructor(of: DaemonMetricsOf) {
    this.#of = of
    this.metrics = new Metrics('daemon', { namespace: of.namespace, tenant: of.tenant })
    const endpoints = endpointsIn(of.model)
    this.#providerOf = closedNames(endpoints.map(({ provider }) => provider))
    this.#modelOf = closedNames(endpoints.map(({ model }) => model))
  }

  /** Counts the events of one append, by the groups in which they were given. Never throws. */
  appended(groups: readonly { readonly drafts: readonly Draft[] }[], epoch: number): void {
    let events = 0
    for (const { drafts } of groups) {
      events += drafts.length
      this.saw(drafts, epoch)
    }
    this.metrics.observe('beaver_append_events', events)
  }

  /** Counts a task that this daemon claimed after its owner was lost. */
  takenOver(): void {
    this.metrics.add('beaver_takeovers_total', 1)
  }

  /** Counts events that were given together and are durable. */
  saw(drafts: readonly Draft[], epoch: number): void {
    let copies = 0
    for (const each of drafts) {
      // The task that is retried had these calls, and paid for them.
      if (copies > 0) copies--
      else if (each.type === 'task_log_copied') copies = dataOf<'task_log_copied'>(each).events
      else this.#count(each, epoch)
    }
  }

  /** Counts the end of a task, which this daemon wrote. */
  ended(end: DomainEvent, acceptedAt: string | null, nowMs: number): void {
    if (!isTerminalTaskEvent(end.type)) return
    const { failure } = end.data as DataOf<'task_failed'>
    const status = end.type.slice('task_'.length)
    this.metrics.add('beaver_tasks_ended_total', 1, status, failure?.class ?? 'none')
    const startMs = acceptedAt === null ? Number.NaN : Date.parse(acceptedAt)
    // The clocks of the daemon that accepted it and of this one may differ.
    if (!Number.isNaN(startMs))
      this.metrics.observe('beaver_task_seconds', Math.max(0, nowMs - startMs) / 1_000, status)
  }

  /** The same journal. Its writes are counted. */
  watched<Watched extends Pick<Journal, 'append' | 'accept'>>(journal: Watched): Watched {
    const timed = async <Outcome>(write: () => Promise<Outcome>): Promise<Outcome> => {
      const startMs = steadyClock.now()
      const outcome = await write()
      this.metrics.observe('beaver_append_seconds', (steadyClock.now() - startMs) / 1_000)
      return outcome
    }
    const append: Journal['append'] = (entry) => timed(() => journal.append(entry))
    const accept: Journal['accept'] = async (acceptance) => {
      const outcome = await timed(() => journal.accept(acceptance))
      if (outcome.kind === 'accepted')
        this.metrics.add('beaver_tasks_accepted_total', 1 + (acceptance.followers?.length ?? 0))
      return outcome
    }
    return Object.assign(Object.create(journal) as Watched, { append, accept })
  }

  #count(event: Draft, epoch: number): void {
    switch (event.type) {
      case 'task_claimed':
        return this.metrics.add('beaver_claims_total', 1, epoch === 1 ? 'first' : 'again')
      case 'run_restarted':
        return this.metrics.add('beaver_run_restarts_total', 1)
      case 'approval_granted':
        return this.metrics.add('beaver_approvals_total', 1, 'granted')
      case 'approval_denied':
        return this.metrics.add('beaver_approvals_total', 1, 'denied')
      case 'tool_result_recorded':
        return this.#tool(dataOf<'tool_result_recorded'>(event))
      case 'assistant_message_added': {
        const { provider_name: provider, model, ...data } = dataOf<'assistant_message_added'>(event)
        if (data.delivered_from !== undefined) return // A team wrote it, and no model was asked.
        return this.#call({
          ...{ provider, model, outcome: 'ok' },
          usage: data.usage,
          durationMs: data.duration_ms,
        })
      }
      case 'provider_call_failed': {
        const { provider_name: provider, model, ...data } = dataOf<'provider_call_failed'>(event)
        const { usage, duration_ms: durationMs } = data
        return this.#call({ provider, model, outcome: data.failure.class, usage, durationMs })
      }
      case 'model_call_lost': {
        const { provider_name: provider, model, usage } = dataOf<'model_call_lost'>(event)
        return this.#call({ provider, model, outcome: 'lost', usage })
      }
      case 'model_call_paid':
      case 'context_summarized':
      case 'summary_refused': {
        const { provider_name: provider, model, usage } = dataOf<typeof event.type>(event)
        return this.#call({ provider, model, outcome: 'ok', usage })
      }
      case 'skill_selection_recorded': {
        const {
          provider_name: provider,
          model,
          usage,
          failed_calls: failed = [],
        } = dataOf<'skill_selection_recorded'>(event)
        if (usage.calls > 0) this.#call({ provider, model, outcome: 'ok', usage })
        for (const each of failed)
          this.#call({ ...each, provider: each.provider_name, outcome: 'malformed_output' })
        return
      }
      default: // All other events count nothing.
    }
  }

  #call({ provider: providerName, model: modelName, outcome, usage, durationMs }: ModelCall): void {
    const { metrics } = this
    const [provider, model] = [this.#providerOf(providerName), this.#modelOf(modelName)]
    metrics.add('beaver_model_calls_total', 1, provider, model, outcome)
    if (durationMs !== undefined)
      metrics.observe('beaver_model_call_seconds', durationMs / 1_000, provider, model)
    if (usage === undefined) return
    metrics.add('beaver_model_tokens_total', usage.input_tokens, provider, model, 'input')
    metrics.add('beaver_model_tokens_total', usage.output_tokens, provider, model, 'output')
    metrics.add('beaver_model_tokens_total', usage.cached_input_tokens ?? 0, provider, model, 'cached')
    metrics.add('beaver_model_tokens_total', usage.cache_write_tokens ?? 0, provider, model, 'cache_write')
    metrics.add('beaver_model_tokens_total', usage.reasoning_tokens ?? 0, provider, model, 'reasoning')
    const cost = costOfUsage(
      [{ ...usage, provider: providerName ?? null, model: modelName ?? null }],
      this.#of.prices(),
    )
    metrics.add('beaver_model_cost_usd_total', cost.cost_usd ?? cost.cost_usd_known ?? 0, provider, model)
    if (cost.cost_usd === null) metrics.add('beaver_model_cost_unknown_calls_total', 1, provider, model)
  }

  #tool({ tool_name: name, success, duration_ms: durationMs }: DataOf<'tool_result_recorded'>): void {
    const { isConfigured, isOfMcp } = this.#of
    const tool = isConfigured(name) ? name : isOfMcp(name) ? 'mcp' : 'other'
    this.metrics.add('beaver_tool_calls_total', 1, tool, success ? 'ok' : 'error')
    this.metrics.observe('beaver_tool_call_seconds', durationMs / 1_000, tool)
  }
}

/** The data of an event that this process wrote. */
const dataOf = <Type extends DomainEvent['type']>({ dataJson }: Draft): DataOf<Type> =>
  JSON.parse(dataJson) as DataOf<Type>

const endpointsIn = (choice: ModelChoice): { readonly provider: string; readonly model: string }[] =>
  [
    choice,
    choice.fallback,
    choice.auxiliary,
    choice.embeddings,
    ...Object.values(choice.models ?? {}).map((each) => each.endpoint),
  ].filter((each) => each !== null)
