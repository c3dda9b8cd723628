// What a project's configuration file asks for beyond what Beaver gives a folder by itself: code, servers,
// places where data goes, permissions. A key counts without consent only if the table says so; an unknown key
// is withheld. Withholding never widens the rest: of the permission rules only those that allow are withheld,
// and an endpoint is withheld as a whole, so that no model's name goes to another endpoint. Strangers write
// the texts, so each is one bounded line without control characters.

import {
  defaultEgressPolicy,
  type Guard,
  guards,
  type Sink,
  sinks,
  type TaintLabel,
  taintLabels,
} from '@beaver/core/taint'
import { isLooser } from '../config/budgets.ts'
import { isForOthers } from '../config/status.ts'

/** The kinds of rights that trust gives to a folder, in the order in which a person sees them. */
const rightKinds = ['code', 'server', 'endpoint', 'permission', 'other'] as const

/** One thing that a configuration file asks for. */
export interface AskedRight {
  readonly kind: (typeof rightKinds)[number]
  /** The key of the file, such as `model.base_url`. */
  readonly key: string
  /** What would happen, without a subject and without a full stop: `runs the module tool.ts`. */
  readonly says: string
}

export interface SplitContent {
  /** What counts without consent. */
  readonly safe: Record<string, unknown>
  readonly asked: readonly AskedRight[]
  /**
   * The values that need consent, by key, also those that are overridden: the same file has the same settings
   * in every environment.
   */
  readonly settings: Readonly<Record<string, unknown>>
}

type Value = unknown
/** Says what a value asks for. An empty list: it asks for nothing. */
type Teller = (value: Value) => readonly Omit<AskedRight, 'key'>[]

const host = (value: Value): string => URL.parse(String(value))?.host || String(value)
const text = (value: Value): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))
const listOf = (value: Value): readonly Value[] => (Array.isArray(value) ? value : [value])
const fieldsOf = (value: Value): Readonly<Record<string, unknown>> => (isPlain(value) ? value : {})
const endpoint: Teller = (value) => [
  { kind: 'endpoint', says: `sends prompts and the key of the model to ${host(value)}` },
]
const endpointBeside: Teller = (value) => {
  const { base_url } = fieldsOf(value)
  return [...(isPlain(value) && base_url === undefined ? [] : endpoint(base_url ?? value)), ...beyond(value)]
}
const routeRight: Teller = (value) => [
  {
    kind: 'endpoint',
    says: `sends prompts to ${listOf(value).map(text).join(', ')} if the main model does not answer`,
  },
]
const withKey = (key: Value): string => (key === undefined ? '' : ` with the key in ${text(key)}`)
/** What the settings of an endpoint ask for beyond where it is. */
const beyond: Teller = (value) => {
  const { settings, headers, key_header, cache_key_header, store, azure, workload_identity } = fieldsOf(value)
  return [
    ...extraBody(settings),
    ...(headers === undefined ? [] : sentHeaders(headers)),
    ...(key_header === undefined ? [] : keyHeader(key_header)),
    ...(cache_key_header === undefined ? [] : cacheKeyHeader(cache_key_header)),
    ...(store === undefined ? [] : kept(store)),
    ...(azure === undefined ? [] : azureKey(azure)),
    ...(workload_identity === undefined ? [] : workload(workload_identity)),
  ]
}
/** Settings only change how an answer is written, but a server may do anything with a field of its own. */
const extraBody: Teller = (value) => {
  const { extra_body } = fieldsOf(value)
  return extra_body === undefined
    ? []
    : [
        {
          kind: 'endpoint',
          says: `sends the fields ${Object.keys(fieldsOf(extra_body)).join(', ')} to the endpoint of the model`,
        },
      ]
}
const sentHeaders: Teller = (value) => [
  {
    kind: 'endpoint',
    says: `sends the headers ${Object.keys(fieldsOf(value)).join(', ')} to the endpoint of the model`,
  },
]
const kept: Teller = (value) =>
  value === false ? [] : [{ kind: 'endpoint', says: 'lets the endpoint of the model keep conversations' }]
const keyHeader: Teller = (value) => [
  { kind: 'endpoint', says: `sends the key of the model in the header ${text(value)}` },
]
const azureKey: Teller = () => keyHeader('api-key')
const workload: Teller = (value) => {
  const [[from, what] = ['', '']] = Object.entries(fieldsOf(fieldsOf(value)['token']))
  const proof =
    from === 'file' ? `the content of the file ${text(what)}` : `a token of ${from} for ${text(what)}`
  return [
    {
      kind: 'endpoint',
      says: `sends ${proof} to auth.openai.com, for a token of the service account ${text(fieldsOf(value)['service_account_id'])}`,
    },
  ]
}
const cacheKeyHeader: Teller = (value) => [
  { kind: 'endpoint', says: `sends a key for the cache of the model in the header ${text(value)}` },
]

const labelled: Readonly<Record<TaintLabel, string>> = {
  private: 'something private',
  untrusted: "a stranger's text",
  secret: 'a secret',
}

/** A row of the table may be made stricter without consent, but not weaker. */
const guard =
  (sink: Sink, label: TaintLabel): Teller =>
  (value) =>
    guards.indexOf(value as Guard) >= guards.indexOf(defaultEgressPolicy[sink][label])
      ? []
      : [
          {
            kind: 'permission',
            says: `sets ${sink} to ${text(value)} for runs that have read ${labelled[label]}`,
          },
        ]

/**
 * Every key of the configuration. `null`: it counts without consent, because it only bounds, names or tells
 * something.
 */
export const consentOf: Readonly<Record<string, Teller | null>> = {
  nats_url: (value) => [
    {
      kind: 'endpoint',
      says: `connects to the NATS server ${text(value)
        .split(',')
        .map((url) => host(url.trim()))
        .join(', ')} with your login`,
    },
  ],
  'nats.replicas': null,
  'nats.placement': null,
  namespace: (value) => [{ kind: 'endpoint', says: `works in the namespace ${text(value)}` }],
  tenant: (value) => [{ kind: 'endpoint', says: `works for the tenant ${text(value)}` }],
  'model.base_url': endpoint,
  'model.name': null,
  'model.settings': extraBody,
  'model.context_tokens': null,
  'model.images': null,
  'model.structured_output': null,
  'model.headers': sentHeaders,
  'model.key_header': keyHeader,
  'model.azure': azureKey,
  'model.workload_identity': workload,
  'model.cache': null,
  'model.cache_key_header': cacheKeyHeader,
  'model.protocol': null,
  'model.store': kept,
  'model.timeout_ms': null,
  'model.idle_ms': null,
  'model.fallback': (value) => (isPlain(value) ? endpointBeside(value) : routeRight(value)),
  'model.auxiliary': endpointBeside,
  'model.embeddings': endpointBeside,
  models: (value) =>
    Object.entries(fieldsOf(value)).flatMap(([name, model]) => {
      const { base_url, key, endpoint: shared } = fieldsOf(model)
      const where =
        shared !== undefined
          ? `the endpoint ${text(shared)}`
          : base_url === undefined
            ? 'the main endpoint'
            : host(base_url)
      return [
        { kind: 'endpoint', says: `sends prompts for the model ${name} to ${where}${withKey(key)}` },
        ...beyond(model),
      ]
    }),
  endpoints: (value) =>
    Object.entries(fieldsOf(value)).flatMap(([name, endpoint]) => {
      const { base_url, key } = fieldsOf(endpoint)
      const where = base_url === undefined ? 'the main endpoint' : host(base_url)
      return [
        {
          kind: 'endpoint',
          says: `sends prompts for the models of the endpoint ${name} to ${where}${withKey(key)}`,
        },
        ...beyond(endpoint),
      ]
    }),
  'model.requests_per_minute_max': null,
  'model.tokens_per_minute_max': null,
  'model.circuit_failures_max': null,
  'model.circuit_open_ms': null,
  provider_outage_ms_max: null,
  provider_limit_ms_max: null,
  retries: null,
  budgets: (value) =>
    isLooser(value)
      ? [{ kind: 'permission', says: `lets each task use more than by default: ${text(value)}` }]
      : [],
  // Budgets count by them: a price of zero would lift each budget of money.
  prices: (value) => [{ kind: 'permission', says: `sets the prices by which budgets count: ${text(value)}` }],
  prices_file: (value) => [{ kind: 'other', says: `keeps imported prices in the file ${text(value)}` }],
  'daemon.worker_threads': null,
  'daemon.worker_heap_mb_max': null,
  'daemon.tasks_max': null,
  'daemon.lease_ms': null,
  'daemon.drain_ms': null,
  'daemon.owners_lost_max': null,
  'daemon.spare': null,
  'log.level': null,
  'status.listen': (value) =>
    isForOthers(text(value))
      ? [{ kind: 'server', says: `shows metrics without a login to other machines, at ${text(value)}` }]
      : [],
  'agent.tool_iterations_max': null,
  'agent.node_tool_iterations_max': null,
  'agent.repeats_max': null,
  'agent.tool_timeout_ms': null,
  'agent.skill_selection': null,
  'agent.workspace_skills': null,
  'team.concurrent_nodes_max': null,
  'team.agents_max': null,
  'team.outputs_chars_max': null,
  'team.edges_max': null,
  'team.runs_max': null,
  'team.deadline_ms': null,
  'team.node_deadline_ms': null,
  'memory.memory_chars_max': null,
  'memory.user_chars_max': null,
  'permissions.rules': (value) =>
    allowing(value).map((rule) => ({
      kind: 'permission',
      says: `allows calls without asking: ${ruleText(rule)}`,
    })),
  'permissions.unreadable': (value) =>
    value === 'ask'
      ? [{ kind: 'permission', says: 'asks about commands that a rule could deny, where it would deny them' }]
      : [],
  'permissions.unattended': null,
  'permissions.wait_ms_max': null,
  'checkpoints.every_ms': null,
  'checkpoints.every_events': null,
  'checkpoints.folder': (value) => [
    { kind: 'other', says: `writes checkpoints of the journal to the folder ${text(value)}` },
  ],
  'checkpoints.webhook': (value) => [
    { kind: 'endpoint', says: `sends checkpoints of the journal to ${host(value)}` },
  ],
  'alerts.webhook': (value) => [
    { kind: 'endpoint', says: `sends alerts about tasks and what they used to ${host(value)}` },
  ],
  'telemetry.traces.endpoint': (value) => [
    { kind: 'endpoint', says: `sends spans of all tasks to ${host(value)}` },
  ],
  'telemetry.traces.ratio': null,
  'telemetry.traces.propagate': null,
  'telemetry.traces.content': (value) =>
    value === true
      ? [{ kind: 'other', says: 'sends the texts of answers and of tools to the collector of spans' }]
      : [],
  'alerts.secret_env': (value) => [{ kind: 'other', says: `signs alerts with $${text(value)}` }],
  'alerts.rules': null,
  'checkpoints.bucket.name': null,
  'checkpoints.bucket.nats_url': (value) => [
    { kind: 'endpoint', says: `sends checkpoints of the journal to the NATS server ${host(value)}` },
  ],
  'egress.hosts_allowed': (value) =>
    listOf(value).length === 0
      ? []
      : [
          {
            kind: 'permission',
            says: `lets every run contact ${listOf(value).map(text).join(', ')}, whatever it has read`,
          },
        ],
  ...Object.fromEntries(
    sinks.flatMap((sink) =>
      taintLabels.map((label) => [`egress.policy.${sink}.${label}`, guard(sink, label)] as const),
    ),
  ),
  'egress.secret_paths': null,
  'egress.untrusted_paths': null,
  'egress.own_paths': (value) =>
    listOf(value).length === 0
      ? []
      : [
          {
            kind: 'permission',
            says: `counts the files ${listOf(value).map(text).join(', ')} as your own text`,
          },
        ],
  'web_search.url': (value) => [{ kind: 'endpoint', says: `sends searches to ${host(value)}` }],
  'web_search.timeout_ms': null,
  'web_fetch.private_hosts': (value) =>
    listOf(value).length === 0
      ? []
      : [
          {
            kind: 'permission',
            says: `lets agents fetch from private hosts: ${listOf(value).map(text).join(', ')}`,
          },
        ],
  'web_fetch.bytes_max': null,
  'web_fetch.timeout_ms': null,
  'run_command.enabled': (value) =>
    value === false ? [] : [{ kind: 'permission', says: 'lets agents run programs (run_command)' }],
  'run_command.timeout_ms': null,
  'run_command.output_bytes_max': null,
  'run_command.tmp_bytes_max': null,
  'run_command.network': (value) =>
    listOf(value).length === 0
      ? []
      : [
          {
            kind: 'permission',
            says: `lets these commands use the network: ${listOf(value).map(text).join(', ')}`,
          },
        ],
  sandbox: (value) =>
    value === 'auto' || value === 'required'
      ? []
      : [{ kind: 'permission', says: 'runs programs without a sandbox' }],
  sandbox_readable: (value) =>
    listOf(value).length === 0
      ? []
      : [
          {
            kind: 'permission',
            says: `lets programs in the sandbox read ${listOf(value).map(text).join(', ')}`,
          },
        ],
  mcp: (value) =>
    isPlain(value)
      ? Object.entries(value).map(([name, server]) => serverRight(name, fieldsOf(server)))
      : [{ kind: 'server', says: text(value) }],
  knowledge_bases: (value) =>
    isPlain(value)
      ? Object.entries(value).map(([id, base]) => ({
          kind: 'permission',
          says: `lets agents search the documents in ${text(fieldsOf(base)['folder'])} as kb:${id}`,
        }))
      : [{ kind: 'permission', says: text(value) }],
  'gateway.enabled': null,
  'gateway.host': (value) =>
    value === '127.0.0.1' || value === '::1'
      ? []
      : [{ kind: 'server', says: `answers HTTP requests from other machines, at ${text(value)}` }],
  'gateway.port': null,
  'gateway.hosts': (value) =>
    listOf(value).length === 0
      ? []
      : [{ kind: 'server', says: `answers HTTP requests as ${listOf(value).map(text).join(', ')}` }],
  'gateway.origins': (value) =>
    listOf(value).length === 0
      ? []
      : [{ kind: 'server', says: `lets the pages of ${listOf(value).map(text).join(', ')} use it` }],
  'gateway.image_origins': (value) =>
    listOf(value).length === 0
      ? []
      : [
          {
            kind: 'server',
            says: `fetches images that its callers name from ${listOf(value).map(text).join(', ')}`,
          },
        ],
  'gateway.workspace_root': null,
  'gateway.body_bytes_max': null,
  'gateway.wait_ms_max': null,
  'gateway.requests_per_second_max': null,
  'gateway.connections_max': null,
  'gateway.connections_of_address_max': null,
  'gateway.open_requests_max': null,
  'gateway.headers_ms_max': null,
  'gateway.channels': (value) =>
    isPlain(value)
      ? Object.entries(value).map(([name, channel]) => ({
          kind: 'endpoint',
          says: channelText(name, fieldsOf(channel)),
        }))
      : [{ kind: 'endpoint', says: text(value) }],
  'gateway.channels_on_stop': null,
  'gateway.channels_lease_ms': null,
  skills: null,
  tools: (value) =>
    listOf(value).map((module) => ({ kind: 'code', says: `runs the module ${text(module)}` })),
  workflows: null,
  workspace_roots: (value) => [
    { kind: 'permission', says: `lets agents work in ${listOf(value).map(text).join(', ')}` },
  ],
  profiles: null,
  profile: null,
}

/**
 * Splits the content of a file. `overridden` says whether the user gave this key elsewhere, so that the
 * file's value is not used and asks for nothing.
 */
export function splitContent(
  content: Readonly<Record<string, unknown>>,
  overridden: (key: string) => boolean = () => false,
): SplitContent {
  const asked: AskedRight[] = []
  const settings: Record<string, unknown> = {}
  const walk = (value: Readonly<Record<string, unknown>>, prefix: string): Record<string, unknown> => {
    const safe: [string, unknown][] = []
    for (const [name, inner] of Object.entries(value)) {
      const key = `${prefix}${name}`
      const consent = Object.hasOwn(consentOf, key) ? consentOf[key] : undefined
      if (consent === undefined && isPlain(inner) && isGroup(key)) {
        safe.push([name, walk(inner, `${key}.`)])
        continue
      }
      const rights = consent === null ? [] : (consent ?? unknownKey(key))(inner)
      if (rights.length === 0) {
        safe.push([name, inner])
        continue
      }
      settings[key] = inner
      if (overridden(key)) continue
      asked.push(...rights.map(({ kind, says }) => ({ kind, key: printable(key), says: printable(says) })))
      if (key === 'permissions.rules') safe.push([name, restricting(inner)])
    }
    // `__proto__` from JSON stays a key.
    return Object.fromEntries(safe)
  }
  const safe = walk(content, '')
  return {
    safe,
    asked: asked.toSorted((a, b) => rightKinds.indexOf(a.kind) - rightKinds.indexOf(b.kind)),
    settings,
  }
}

const isGroup = (key: string): boolean => Object.keys(consentOf).some((each) => each.startsWith(`${key}.`))
const unknownKey =
  (key: string): Teller =>
  (value) => [{ kind: 'other', says: `sets ${key} to ${text(value)}` }]

const allowing = (rules: Value): readonly Value[] => listOf(rules).filter((rule) => !isRestricting(rule))
const restricting = (rules: Value): readonly Value[] =>
  (Array.isArray(rules) ? rules : []).filter(isRestricting)
const isRestricting = (rule: Value): boolean => ['ask', 'deny'].includes(String(fieldsOf(rule)['decision']))

function ruleText(rule: Value): string {
  const { tool, pattern } = fieldsOf(rule)
  return tool === undefined
    ? text(rule)
    : `${text(tool)}${pattern === undefined ? '' : ` (${text(pattern)})`}`
}

function serverRight(name: string, server: Readonly<Record<string, unknown>>): Omit<AskedRight, 'key'> {
  const { command, args, url, env, headers, permission, trusted, oauth } = server
  const does =
    url === undefined
      ? `starts the program ${[command, ...(args === undefined ? [] : listOf(args))].map(text).join(' ')}`
      : `connects to ${host(url)}`
  const given = [
    ...new Set([env, headers].flatMap((values) => Object.values(fieldsOf(values))).flatMap(variablesIn)),
  ]
  const { client_secret: secret, issuer } = fieldsOf(oauth)
  const toIssuer = variablesIn(secret ?? '')
  return {
    kind: 'server',
    says: [
      `${does} as MCP server ${name}`,
      ...(given.length === 0 ? [] : [`gives it ${given.join(', ')}`]),
      ...(toIssuer.length === 0 ? [] : [`gives ${toIssuer.join(', ')} to ${host(issuer)}`]),
      ...(permission === 'allow' ? ['allows its tools without asking'] : []),
      ...(trusted === undefined || trusted === false ? [] : ['counts what it returns as your own text']),
    ].join(', '),
  }
}

function channelText(name: string, channel: Readonly<Record<string, unknown>>): string {
  const { approvers } = channel
  const decide =
    approvers === undefined || listOf(approvers).length === 0
      ? ''
      : `, and lets ${listOf(approvers).map(text).join(', ')} decide about calls`
  return `takes tasks from the channel ${name} and sends answers ${networkText(channel)}${decide}`
}

function networkText({
  type,
  url,
  secret_env,
  imap,
  smtp,
  sender_check,
  adapter,
  options,
  secrets_env,
}: Readonly<Record<string, unknown>>): string {
  if (type === 'chat_sdk') {
    const secrets = Object.values(fieldsOf(secrets_env)).map((each) => `$${text(each)}`)
    const given =
      options === undefined || Object.keys(fieldsOf(options)).length === 0
        ? ''
        : `, with the options ${text(options)}`
    return `by the package @chat-adapter/${text(adapter)}${secrets.length === 0 ? '' : `, which gets ${secrets.join(' and ')}`}${given}`
  }
  if (type !== 'email') return `to ${host(url)}, signed with $${text(secret_env)}`
  const servers = [fieldsOf(imap), fieldsOf(smtp)]
  const given = servers.flatMap(({ password_env: each }) => (each === undefined ? [] : [`$${text(each)}`]))
  const login = given.length === 0 ? '' : `, which get ${[...new Set(given)].join(' and ')}`
  const believed = sender_check === 'relay' ? ', and believes the sender of every mail' : ''
  return `by the mail servers ${servers.map(({ host: each }) => text(each)).join(' and ')}${login}${believed}`
}

const variablesIn = (value: Value): readonly string[] =>
  [...text(value).matchAll(/\$\{?([A-Za-z_][A-Za-z0-9_]*)/g)].map(([, name = '']) => `$${name}`)

const charsMax = 300

function printable(says: string): string {
  const line = says
    .slice(0, 4_000)
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
    .toWellFormed()
  return line.length <= charsMax ? line : `${line.slice(0, charsMax)}… (${says.length} characters)`
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
