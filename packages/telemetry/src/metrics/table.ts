// Every metric that a process of Beaver shows, as data: docs/reference/metrics.md is made from this table, and
// the dashboard and the alerts of `deploy` are held to it. A name of a metric or a label never changes its
// meaning, because dashboards of others use it.

/** The processes that show metrics. */
export type WatchedProcess = 'daemon' | 'projector' | 'gateway'

export interface MetricRow {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  /** One sentence, without a full stop. */
  readonly help: string
  /** The labels, in the order in which values are given. */
  readonly labels: readonly LabelName[]
  /** The upper bounds of a histogram, in its unit. */
  readonly buckets?: readonly number[]
  readonly of: readonly WatchedProcess[]
}

/** What each label says, and the closed set that its values are from. */
export const labelTable = {
  namespace: 'the namespace of the system; on every metric',
  tenant: 'the tenant of the process; on every metric',
  status: 'the status of a task, as `beaver tasks` shows it',
  failure: 'a [failure class](failures.md), or `none`',
  provider: 'the name of a configured provider, `unknown` if the journal names none, or `other`',
  model: 'the name of a configured model; `unknown` if the journal names none, or `other`',
  outcome: '`ok`; for a model `lost` or a [failure class](failures.md), for a tool `error`',
  kind: 'of tokens: `input`, `output`, `cached`, `cache_write`, `reasoning`; of claims: `first`, `again`',
  endpoint:
    'the name of an endpoint of the configuration: `model`, `fallback`, `auxiliary`, `embeddings`, or `model` and the name of one',
  tool: 'the name of a tool or workflow of the configuration, `mcp` for all tools of MCP servers, or `other`',
  server: 'the name of an MCP server of the configuration',
  decision: '`granted` or `denied`',
  for: 'what is waited for: `person`, `provider`, `limit` or `client`',
  route: 'the name of an operation of `/api/openapi.json`, or `other` for pages and unknown paths',
  refused: 'what was refused: a `connection` or a `request`',
  channel: 'the name of a channel of the configuration',
  queue: '`inbound` or `outbound`',
  code: 'the class of an HTTP status: `2xx`, `3xx`, `4xx`, `5xx`',
} as const

export type LabelName = keyof typeof labelTable

const taskSeconds = [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600, 14_400, 86_400] as const
const callSeconds = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 60, 120] as const
const shortSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const
const all = ['daemon', 'projector', 'gateway'] as const

/** Every metric, in the order of the page. */
export const metricTable = [
  {
    name: 'beaver_tasks',
    type: 'gauge',
    help: 'Tasks of the journal by status, ended ones too',
    labels: ['status'],
    of: ['projector'],
  },
  {
    name: 'beaver_tasks_waiting',
    type: 'gauge',
    help: 'Suspended tasks by what they wait for',
    labels: ['for'],
    of: ['projector'],
  },
  {
    name: 'beaver_spans_sent_total',
    type: 'counter',
    help: 'Spans that the collector of traces took',
    labels: [],
    of: ['projector'],
  },
  {
    name: 'beaver_spans_refused_total',
    type: 'counter',
    help: 'Spans that the collector of traces refused, so that they are left out',
    labels: [],
    of: ['projector'],
  },
  {
    name: 'beaver_spans_waiting_events',
    type: 'gauge',
    help: 'Events of the read model whose spans the collector of traces does not have yet',
    labels: [],
    of: ['projector'],
  },
  {
    name: 'beaver_queue_oldest_seconds',
    type: 'gauge',
    help: 'Age of the oldest task that no daemon has claimed yet; 0 if there is none',
    labels: [],
    of: ['projector'],
  },
  {
    name: 'beaver_waiting_oldest_seconds',
    type: 'gauge',
    help: 'How long the suspended task waits that waits the longest; 0 if there is none',
    labels: ['for'],
    of: ['projector'],
  },
  {
    name: 'beaver_journal_events',
    type: 'gauge',
    help: 'Events that the read model has, those about the journal itself too',
    labels: [],
    of: ['projector'],
  },
  {
    name: 'beaver_projector_behind_messages',
    type: 'gauge',
    help: 'Messages of the journal that the read model does not have yet',
    labels: [],
    of: ['projector'],
  },
  {
    name: 'beaver_projector_behind_seconds',
    type: 'gauge',
    help: 'How long messages wait of which none was applied; 0 if none waits',
    labels: [],
    of: ['projector'],
  },
  {
    name: 'beaver_projector_stalled',
    type: 'gauge',
    help: '1 while the projector cannot continue, else 0; `beaver status` says why',
    labels: [],
    of: ['projector'],
  },
  {
    name: 'beaver_findings',
    type: 'gauge',
    help: 'Records of the journal that break a rule, as `beaver audit` shows them',
    labels: [],
    of: ['projector'],
  },
  {
    name: 'beaver_journal_harmed',
    type: 'gauge',
    help: '1 while the journal is not as it was, so that no daemon writes, else 0',
    labels: [],
    of: ['daemon', 'projector'],
  },
  {
    name: 'beaver_quarantined',
    type: 'gauge',
    help: 'Messages of the journal that are no records',
    labels: [],
    of: ['projector'],
  },
  {
    name: 'beaver_checkpoint_age_seconds',
    type: 'gauge',
    help: 'Age of the newest signed checkpoint; absent if there is none',
    labels: [],
    of: ['projector'],
  },
  {
    name: 'beaver_tasks_accepted_total',
    type: 'counter',
    help: 'Tasks that this daemon accepted',
    labels: [],
    of: ['daemon'],
  },
  {
    name: 'beaver_tasks_ended_total',
    type: 'counter',
    help: 'Tasks whose end this daemon wrote',
    labels: ['status', 'failure'],
    of: ['daemon'],
  },
  {
    name: 'beaver_task_seconds',
    type: 'histogram',
    help: 'Time from the acceptance of a task to its end, waits included',
    labels: ['status'],
    buckets: taskSeconds,
    of: ['daemon'],
  },
  {
    name: 'beaver_claims_total',
    type: 'counter',
    help: 'Claims of tasks by this daemon: the first of a task, or one after a wait, a release or a lost owner',
    labels: ['kind'],
    of: ['daemon'],
  },
  {
    name: 'beaver_takeovers_total',
    type: 'counter',
    help: 'Tasks that this daemon claimed after their owner was lost',
    labels: [],
    of: ['daemon'],
  },
  {
    name: 'beaver_slots',
    type: 'gauge',
    help: 'Tasks that this daemon drives at most at a time (daemon.tasks_max)',
    labels: [],
    of: ['daemon'],
  },
  {
    name: 'beaver_slots_used',
    type: 'gauge',
    help: 'Tasks that this daemon drives now',
    labels: [],
    of: ['daemon'],
  },
  {
    name: 'beaver_loops',
    type: 'gauge',
    help: 'Loops of agents and tool nodes in this daemon now',
    labels: [],
    of: ['daemon'],
  },
  {
    name: 'beaver_threads',
    type: 'gauge',
    help: 'Worker threads of this daemon that run now',
    labels: [],
    of: ['daemon'],
  },
  {
    name: 'beaver_thread_restarts_total',
    type: 'counter',
    help: 'Worker threads that were lost and replaced',
    labels: [],
    of: ['daemon'],
  },
  {
    name: 'beaver_mcp_connected',
    type: 'gauge',
    help: '1 while an MCP server is connected, else 0',
    labels: ['server'],
    of: ['daemon'],
  },
  {
    name: 'beaver_mcp_restarts_total',
    type: 'counter',
    help: 'How often an MCP server died, or could not be reached, and was tried again',
    labels: ['server'],
    of: ['daemon'],
  },
  {
    name: 'beaver_model_calls_total',
    type: 'counter',
    help: 'Calls of models, each try for itself',
    labels: ['provider', 'model', 'outcome'],
    of: ['daemon'],
  },
  {
    name: 'beaver_model_call_seconds',
    type: 'histogram',
    help: 'Duration of calls of models that the journal measures, failed ones too',
    labels: ['provider', 'model'],
    buckets: callSeconds,
    of: ['daemon'],
  },
  {
    name: 'beaver_model_tokens_total',
    type: 'counter',
    help: 'Tokens of models; `cached` and `cache_write` are part of `input`, `reasoning` of `output`',
    labels: ['provider', 'model', 'kind'],
    of: ['daemon'],
  },
  {
    name: 'beaver_model_cost_usd_total',
    type: 'counter',
    help: 'Known cost of calls of models, in US dollars',
    labels: ['provider', 'model'],
    of: ['daemon'],
  },
  {
    name: 'beaver_model_cost_unknown_calls_total',
    type: 'counter',
    help: 'Calls of models whose cost is not known, or only in part',
    labels: ['provider', 'model'],
    of: ['daemon'],
  },
  {
    name: 'beaver_circuit_open',
    type: 'gauge',
    help: '1 while this daemon leaves an endpoint alone after failures, else 0',
    labels: ['endpoint'],
    of: ['daemon'],
  },
  {
    name: 'beaver_model_waits_total',
    type: 'counter',
    help: 'Calls that waited for their turn, because the rate of the endpoint is limited',
    labels: ['endpoint'],
    of: ['daemon'],
  },
  {
    name: 'beaver_model_wait_seconds_total',
    type: 'counter',
    help: 'How long calls waited for their turn, together',
    labels: ['endpoint'],
    of: ['daemon'],
  },
  {
    name: 'beaver_tool_calls_total',
    type: 'counter',
    help: 'Calls of tools with a result, workflows too',
    labels: ['tool', 'outcome'],
    of: ['daemon'],
  },
  {
    name: 'beaver_tool_call_seconds',
    type: 'histogram',
    help: 'Duration of calls of tools',
    labels: ['tool'],
    buckets: callSeconds,
    of: ['daemon'],
  },
  {
    name: 'beaver_approvals_total',
    type: 'counter',
    help: 'Decisions about calls of tools, by persons and by rules that refuse',
    labels: ['decision'],
    of: ['daemon'],
  },
  {
    name: 'beaver_run_restarts_total',
    type: 'counter',
    help: 'Runs that began again because their worker thread was lost',
    labels: [],
    of: ['daemon'],
  },
  {
    name: 'beaver_append_seconds',
    type: 'histogram',
    help: 'Time until an append to the journal was durable',
    labels: [],
    buckets: shortSeconds,
    of: ['daemon'],
  },
  {
    name: 'beaver_append_events',
    type: 'histogram',
    help: 'Events of one append to the log of a task',
    labels: [],
    buckets: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000],
    of: ['daemon'],
  },
  {
    name: 'beaver_http_requests_total',
    type: 'counter',
    help: 'Answered HTTP requests',
    labels: ['route', 'code'],
    of: ['gateway'],
  },
  {
    name: 'beaver_http_request_seconds',
    type: 'histogram',
    help: 'Time until the head of an HTTP answer; requests that wait for a task wait as long as it',
    labels: ['route'],
    buckets: shortSeconds,
    of: ['gateway'],
  },
  {
    name: 'beaver_http_connections',
    type: 'gauge',
    help: 'Open connections of the gateway, streams of events among them',
    labels: [],
    of: ['gateway'],
  },
  {
    name: 'beaver_http_streams',
    type: 'gauge',
    help: 'Streams of events that are open now',
    labels: [],
    of: ['gateway'],
  },
  {
    name: 'beaver_http_refused_total',
    type: 'counter',
    help: 'Connections and requests that a bound of the gateway refused',
    labels: ['refused'],
    of: ['gateway'],
  },
  {
    name: 'beaver_channel_messages_waiting',
    type: 'gauge',
    help: 'Messages of a channel that wait for their handling, or for being sent',
    labels: ['channel', 'queue'],
    of: ['gateway'],
  },
  {
    name: 'beaver_nats_connected',
    type: 'gauge',
    help: '1 while the connection to NATS works, else 0',
    labels: [],
    of: all,
  },
  {
    name: 'beaver_nats_reconnects_total',
    type: 'counter',
    help: 'How often the connection to NATS came back',
    labels: [],
    of: all,
  },
  {
    name: 'beaver_scrape_errors_total',
    type: 'counter',
    help: 'How often gauges are absent in an answer, because what they show could not be read in time',
    labels: [],
    of: all,
  },
  {
    name: 'process_start_time_seconds',
    type: 'gauge',
    help: 'Start of the process, in seconds since 1970',
    labels: [],
    of: all,
  },
  {
    name: 'process_cpu_seconds_total',
    type: 'counter',
    help: 'Processor time of the process and its threads, in seconds',
    labels: [],
    of: all,
  },
  {
    name: 'process_resident_memory_bytes',
    type: 'gauge',
    help: 'Resident memory of the process',
    labels: [],
    of: all,
  },
  {
    name: 'process_open_fds',
    type: 'gauge',
    help: 'Open file descriptors; absent where the system does not tell',
    labels: [],
    of: all,
  },
  {
    name: 'nodejs_heap_size_used_bytes',
    type: 'gauge',
    help: 'Used heap of the main thread',
    labels: [],
    of: all,
  },
  {
    name: 'nodejs_heap_size_total_bytes',
    type: 'gauge',
    help: 'Heap of the main thread',
    labels: [],
    of: all,
  },
  {
    name: 'nodejs_eventloop_utilization',
    type: 'gauge',
    help: 'Share of the time since the last scrape for which the main thread was busy, from 0 to 1',
    labels: [],
    of: all,
  },
] as const satisfies readonly MetricRow[]

type Rows = (typeof metricTable)[number]
export type MetricName = Rows['name']
/** The names of the metrics of a type. */
export type NameOf<Type extends MetricRow['type']> = Extract<Rows, { readonly type: Type }>['name']
type StringsOf<Labels extends readonly unknown[]> = { readonly [Place in keyof Labels]: string }
/** The values of the labels of a metric, in the order of the table. */
export type LabelsOf<Name extends MetricName> = StringsOf<Extract<Rows, { readonly name: Name }>['labels']>
