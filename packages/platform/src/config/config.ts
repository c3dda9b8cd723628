// The configuration: flags come before the environment, the environment before beaver.config.json, and that
// file before the defaults. Only the composition roots read it, once. Every problem is reported with its path
// and with the origin of the value. A message never contains a secret. What a file that was only found asks
// for beyond safe settings counts if its folder is trusted, and not otherwise (docs/how-to/trust-folders.md).
import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import {
  BeaverError,
  type KnownSecret,
  logLevels,
  problemsOf,
  supervisors,
  waitMsDefault,
} from '@beaver/core'
import { z } from 'zod'
import { checkpoints } from './checkpoints.ts'
import { egress } from './egress.ts'
import { endpoint, ofEachEndpoint } from './endpoint.ts'
import { readConfigFile } from './found-file.ts'
import { secretVariables } from './channels.ts'
import { gateway } from './gateway.ts'
import { knowledgeBases, resolvedBases } from './knowledge-base.ts'
import { type ManagedMcpServer, managedMcpServers, mcpServers } from './mcp-server.ts'
import { prices, pricesFileName } from './prices.ts'
import { retries } from './retries.ts'
import { isForeignHome } from '../home/home-origin.ts'
import { type FolderTrust, judgeFolder } from '../trust/folder-trust.ts'
import {
  allModels,
  type BroughtModels,
  checkRoutes,
  namedModels,
  route,
  sharedEndpoints,
} from './named-models.ts'
import { type NatsLogin, natsLoginOf } from './nats-login.ts'
import { secretsOf } from './secrets.ts'
import { rootsOf } from './workspace-roots.ts'

/** The content of `beaver.config.json`. */
export const configFile = z.strictObject({
  /** The NATS server or cluster. Default: the embedded server of `beaver up`. */
  nats_url: z.string().min(1).optional(),
  /**
   * How the servers of a cluster hold the streams that Beaver makes. `beaver nats apply` changes streams that
   * exist.
   */
  nats: z
    .strictObject({
      /** How many servers hold each stream. Default: 3 in a cluster with three servers, otherwise 1. */
      replicas: z.union([z.literal(1), z.literal(3), z.literal(5)], 'must be 1, 3 or 5').optional(),
      /** The cluster of servers, and the tags that each of the servers has. Default: any servers. */
      placement: z
        .strictObject({
          cluster: z.string().min(1, 'must not be empty').optional(),
          tags: z.array(z.string().min(1, 'must not be empty')).max(20).optional(),
        })
        .optional(),
    })
    .prefault({}),
  namespace: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,32}$/, 'must be 1 to 32 letters, digits, "-" or "_"')
    .default('default'),
  tenant: z.string().min(1).max(64).default('local'),
  model: z
    .strictObject({
      ...ofEachEndpoint,
      name: z.string().min(1).default('gpt-5-mini'),
      /** The time that one provider call may take. */
      timeout_ms: z.number().int().min(100).max(3_600_000).default(120_000),
      /** A streamed answer that is silent for this long is given up. */
      idle_ms: z.number().int().min(100).max(3_600_000).default(30_000),
      /**
       * The endpoint, or the names of models, that are asked if the main one does not answer. Each call tries
       * the main one first.
       */
      fallback: z.union([endpoint, route]).optional(),
      /** The endpoint that chooses skills and summarises. Default: the main one. */
      auxiliary: endpoint.optional(),
      /** The endpoint for recall of skills by meaning. Default: recall by words. */
      embeddings: endpoint.optional(),
      /** The limits of one endpoint, for all loops of the daemon together. Default: no limit. */
      requests_per_minute_max: z.number().int().min(1).max(10_000_000).optional(),
      tokens_per_minute_max: z.number().int().min(1).max(10_000_000_000).optional(),
      /** After this many failures in a row an endpoint is not asked for `circuit_open_ms`. */
      circuit_failures_max: z.number().int().min(1).max(10_000).default(8),
      circuit_open_ms: z.number().int().min(10).max(3_600_000).default(10_000),
    })
    .prefault({}),
  /** Models that profiles and agents may name. The key is the name. */
  models: namedModels,
  /** Endpoints that several models share, so that a URL and a key are written once. */
  endpoints: sharedEndpoints,
  /**
   * The time that a run waits for a provider that is away before it fails, including failed tries. 0: only
   * the number of tries decides.
   */
  provider_outage_ms_max: z.number().int().min(0).max(604_800_000).default(waitMsDefault),
  /** The same for a limit, which the provider or `model` sets. */
  provider_limit_ms_max: z.number().int().min(0).max(604_800_000).default(waitMsDefault),
  /** Changes the default policy of failure classes. */
  retries,
  prices,
  /** The file of imported prices, relative to the configuration file. Default: `prices.json` in the home. */
  prices_file: z.string().min(1, 'must not be empty').optional(),
  daemon: z
    .strictObject({
      worker_threads: z
        .number()
        .int()
        .min(1)
        .max(64)
        .default(Math.max(1, Math.min(8, availableParallelism() - 1))),
      worker_heap_mb_max: z.number().int().min(64).max(65_536).default(512),
      tasks_max: z.number().int().min(1).max(10_000).default(128),
      /** A daemon that is silent for this long loses its tasks to another daemon. */
      lease_ms: z.number().int().min(500).max(600_000).default(5_000),
      /** The time for which running tasks may go on after SIGTERM before they are handed over. */
      drain_ms: z.number().int().min(0).max(3_600_000).default(5_000),
      /** Whether `beaver up` keeps a process that has loaded a daemon and takes its place if it dies. */
      spare: z.boolean().default(true),
      owners_lost_max: z.number().int().min(1).max(100).default(supervisors.task.intensity.restartsMax),
    })
    .prefault({}),
  /** A process writes facts of this level and of higher levels to standard error. */
  log: z.strictObject({ level: z.enum(logLevels).default('info') }).prefault({}),
  agent: z
    .strictObject({
      tool_iterations_max: z.number().int().min(1).max(10_000).default(100),
      /** DEFAULT_TEAM_NODE_MAX_TOOL_ITERATIONS. */
      node_tool_iterations_max: z.number().int().min(1).max(10_000).default(20),
      tool_timeout_ms: z.number().int().min(10).max(3_600_000).default(60_000),
      /**
       * How a skill is chosen for a run that names none. `model`: by recall and one model call. `off`: no
       * skill is chosen.
       */
      skill_selection: z.enum(['model', 'off']).default('model'),
      /** Whether the folder `skills` of a task's workspace counts for the task. */
      workspace_skills: z.boolean().default(true),
    })
    .prefault({}),
  team: z
    .strictObject({
      concurrent_nodes_max: z.number().int().min(1).max(512).default(16),
      /** Bounds of the graph that a workflow call asks for (D-39). */
      agents_max: z.number().int().min(1).max(10_000).default(512),
      edges_max: z.number().int().min(0).max(1_000_000).default(8_192),
      /** How many characters of other nodes' outputs one node gets. Longer ones are cut. */
      outputs_chars_max: z.number().int().min(1_000).max(20_000_000).default(400_000),
      /** The number of teams that a root agent may start in one task. */
      runs_max: z.number().int().min(1).max(100).default(4),
      /** A team or a node that runs longer is stopped. 0: no bound. */
      deadline_ms: z.number().int().min(0).max(604_800_000).default(3_600_000),
      node_deadline_ms: z.number().int().min(0).max(604_800_000).default(1_800_000),
    })
    .prefault({}),
  /** The size of each sort of memory. A change that would exceed it is refused. */
  memory: z
    .strictObject({
      memory_chars_max: z.number().int().min(100).max(100_000).default(4_000),
      user_chars_max: z.number().int().min(100).max(100_000).default(2_000),
    })
    .prefault({}),
  permissions: z
    .strictObject({
      /**
       * The first rule that matches decides. If none matches, the tool's own permission decides. `*` matches
       * any characters.
       */
      rules: z
        .array(
          z.strictObject({
            tool: z.string().min(1),
            pattern: z.string().min(1).optional(),
            decision: z.enum(['allow', 'ask', 'deny']),
          }),
        )
        .max(1_000)
        .default([]),
      /** What happens to a call that asks, if its task does not say whether somebody can answer. */
      unattended: z.enum(['wait', 'refuse']).default('wait'),
      /** A call is refused if nobody has answered within this time. */
      wait_ms_max: z.number().int().min(100).max(2_147_483_647).default(86_400_000),
    })
    .prefault({}),
  egress,
  /**
   * The tool web_search. Default: it is not offered. It needs a JSON endpoint like that of SearXNG:
   * `{url}?q=…&format=json`.
   */
  web_search: z
    .strictObject({
      url: z.url('must be a URL'),
      timeout_ms: z.number().int().min(100).max(600_000).default(10_000),
    })
    .optional(),
  checkpoints,
  web_fetch: z
    .strictObject({
      /** Hosts that may be fetched even if their address is private: `host` or `host:port`. */
      private_hosts: z.array(z.string().min(1)).max(100).default([]),
      bytes_max: z.number().int().min(1_024).max(104_857_600).default(2_097_152),
      timeout_ms: z.number().int().min(100).max(600_000).default(20_000),
    })
    .prefault({}),
  run_command: z
    .strictObject({
      enabled: z.boolean().default(false),
      timeout_ms: z.number().int().min(100).max(3_600_000).default(30_000),
      output_bytes_max: z.number().int().min(1_024).max(10_485_760).default(65_536),
      /** Commands that have a network in the sandbox, as patterns of the whole command line. */
      network: z.array(z.string().min(1)).default([]),
    })
    .prefault({}),
  /** Whether commands, programs of MCP servers and processes of tools run in a sandbox. */
  sandbox: z.enum(['auto', 'required', 'off']).default('auto'),
  /** Folders and files that programs in the sandbox may read besides. */
  sandbox_readable: z.array(z.string().min(1)).default([]),
  /**
   * The folders in which, and below which, agents may work. Relative to the configuration file. Default: the
   * folder of the daemon; and for an embedded NATS server, which serves only the user who started it, also
   * the folders that this user owns.
   */
  workspace_roots: z.array(z.string().min(1, 'must not be empty')).max(100).optional(),
  gateway,
  /**
   * The MCP servers whose tools agents get. The key is a name that begins the name of each of the server's
   * tools.
   */
  mcp: mcpServers,
  /** The folders of documents in which agents search. The key is the id: `handbook` of `kb:handbook`. */
  knowledge_bases: knowledgeBases,
  /** Folders with your own skills, relative to the configuration file. */
  skills: z.array(z.string()).default([]),
  /** Modules with your own tools, relative to the configuration file. */
  tools: z.array(z.string().min(1, 'must not be empty')).default([]),
  /** Folders with workflow definition files, relative to the configuration file. */
  workflows: z.array(z.string().min(1, 'must not be empty')).default([]),
  /** Files with profiles of root agents, relative to the configuration file. */
  profiles: z.array(z.string().min(1, 'must not be empty')).default([]),
  /** The profile of a task that names none. Default: no profile. */
  profile: z.string().min(1, 'must not be empty').optional(),
})

export type ConfigFile = z.input<typeof configFile>

export interface Config extends z.output<typeof configFile> {
  /** The absolute path of the data folder. */
  readonly home: string
  /** The MCP servers that Beaver manages itself, by their names. */
  readonly managedMcp: Readonly<Record<string, ManagedMcpServer>>
  /** Whether the home was only found, and its data was not made here. No system starts with it. */
  readonly foreignHome: boolean
  /** The absolute path of the folder with the keys that sign the journal. */
  readonly keysFolder: string
  /** The absolute path of the file of imported prices. */
  readonly pricesFile: string
  readonly natsServerBinary: string | null
  /** The login at a server of the user's own. The embedded server asks for none. Paths are absolute. */
  readonly natsLogin: NatsLogin
  readonly apiKey: string | null
  /** The keys of the other endpoints, or `null` if none is given. */
  readonly apiKeys: {
    readonly fallback: string | null
    readonly auxiliary: string | null
    readonly embeddings: string | null
  }
  /** The keys of the named models by the names of their variables, or `null` where one is not set. */
  readonly modelKeys: Readonly<Record<string, string | null>>
  /** The secrets of the channels by the names of their variables, or `null` where one is not set. */
  readonly channelSecrets: Readonly<Record<string, string | null>>
  /** The absolute path of the folder in which agents work if a task names none. */
  readonly workspace: string
  /** Where agents may work. `owned`: also in folders that the user of the daemon owns. Paths are absolute. */
  readonly workspaceRoots: {
    readonly roots: readonly string[]
    readonly owned: boolean
    readonly home: string
  }
  /** The file that was read, if there was one. */
  readonly file: string | null
  /** Whether the whole file counts. If it does not, the other fields have only what is safe. */
  readonly trust: FolderTrust
  /** What this process was given and must not tell. */
  readonly secrets: readonly KnownSecret[]
}

/** Settings of the command line or of a program that embeds Beaver. They come before all other sources. */
export interface ConfigFlags {
  readonly config?: string | undefined
  readonly natsUrl?: string | undefined
  readonly home?: string | undefined
  /**
   * Keys of the file that a program sets. They come before the environment. A list replaces the file's list.
   * Paths are relative to `cwd`.
   */
  readonly set?: ConfigFile | undefined
  /** The models that a program brings besides those of the file. Routes may name them. */
  readonly models?: BroughtModels | undefined
  /**
   * `true`: the folder is trusted, `false`: it is not. Default: BEAVER_TRUST, or else what the user accepted.
   */
  readonly trust?: boolean | undefined
  /**
   * The path of a program that embeds Beaver. A configuration file beside it is as trusted as the program.
   */
  readonly program?: string | undefined
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Environment variables and the keys that they set. API keys, BEAVER_CONFIG, BEAVER_HOME, BEAVER_KEYS,
 * BEAVER_NATS_SERVER and BEAVER_TRUST have no key in the file.
 */
export const variables: readonly {
  name: string
  path: readonly [string] | readonly [string, string]
  number?: true
}[] = [
  { name: 'NATS_URL', path: ['nats_url'] },
  { name: 'BEAVER_NAMESPACE', path: ['namespace'] },
  { name: 'BEAVER_TENANT', path: ['tenant'] },
  { name: 'OPENAI_BASE_URL', path: ['model', 'base_url'] },
  { name: 'BEAVER_MODEL', path: ['model', 'name'] },
  { name: 'BEAVER_MODEL_TIMEOUT_MS', path: ['model', 'timeout_ms'], number: true },
  { name: 'BEAVER_PROVIDER_OUTAGE_MS_MAX', path: ['provider_outage_ms_max'], number: true },
  { name: 'BEAVER_PROVIDER_LIMIT_MS_MAX', path: ['provider_limit_ms_max'], number: true },
  { name: 'BEAVER_WORKER_THREADS', path: ['daemon', 'worker_threads'], number: true },
  { name: 'BEAVER_TASKS_MAX', path: ['daemon', 'tasks_max'], number: true },
  { name: 'BEAVER_LEASE_MS', path: ['daemon', 'lease_ms'], number: true },
  { name: 'BEAVER_DRAIN_MS', path: ['daemon', 'drain_ms'], number: true },
  { name: 'BEAVER_LOG', path: ['log', 'level'] },
]

/**
 * Loads the configuration of this process. `beaver.config.json` is looked for in `cwd`. Relative paths in the
 * file start at the file's folder, other relative paths at `cwd`.
 * @throws {BeaverError} `invalid_configuration` with every problem
 */
export function loadConfig(
  flags: ConfigFlags = {},
  env: Environment = process.env,
  cwd = process.cwd(),
): Config {
  const found = readConfigFile(flags, env, cwd)
  const { file } = found
  const { trust, content } = judgeFolder({
    ...found,
    overridden: overriddenBy(flags, env),
    env,
    told: flags.trust,
    program: flags.program,
  })
  const merged = structuredClone(content) as Record<string, unknown>
  const origins = new Map<string, string>()
  for (const { name, path, number } of variables) {
    const value = env[name]
    if (value === undefined || value === '') continue
    put(merged, path, number === true && Number.isFinite(Number(value)) ? Number(value) : value)
    origins.set(path.join('.'), `the environment variable ${name}`)
  }
  overlay(merged, flags.set ?? {}, (path) => origins.set(path, 'the program'))
  if (flags.natsUrl !== undefined) {
    merged['nats_url'] = flags.natsUrl
    origins.set('nats_url', 'the option --nats-url')
  }
  const parsed = configFile
    .superRefine((content, context) => checkRoutes(content, context, flags.models))
    .safeParse(merged)
  if (!parsed.success) {
    const problems = problemsOf(parsed.error.issues, merged)
    const lines = problems.map(
      ({ path, message }) =>
        `${path === '' ? 'the configuration' : path}: ${message} (from ${origins.get(path) ?? file ?? 'the defaults'})`,
    )
    throw new BeaverError(
      'invalid_configuration',
      `The configuration is not valid:\n  ${lines.join('\n  ')}`,
      { problems },
    )
  }
  const base = file === null ? cwd : join(file, '..')
  const paths = (
    key: 'skills' | 'tools' | 'workflows' | 'profiles' | 'sandbox_readable' | 'workspace_roots',
  ): string[] => {
    return (parsed.data[key] ?? []).map((path) => resolve(flags.set?.[key] === undefined ? base : cwd, path))
  }
  const homeNamed = flags.home ?? (env['BEAVER_HOME'] || undefined)
  const home = resolve(cwd, homeNamed ?? '.beaver')
  const models = allModels(parsed.data)
  const config: Omit<Config, 'secrets'> = {
    ...parsed.data,
    managedMcp: managedMcpServers,
    models,
    home,
    keysFolder: env['BEAVER_KEYS'] ? resolve(cwd, env['BEAVER_KEYS']) : join(home, 'keys'),
    pricesFile: resolve(
      flags.set?.prices_file === undefined ? base : cwd,
      parsed.data.prices_file ?? join(home, pricesFileName),
    ),
    foreignHome:
      flags.trust !== true &&
      env['BEAVER_TRUST'] !== '1' &&
      isForeignHome(home, { folder: cwd, named: homeNamed !== undefined, program: flags.program }),
    natsServerBinary: env['BEAVER_NATS_SERVER'] || null,
    natsLogin: natsLoginOf(env, cwd),
    apiKey: env['OPENAI_API_KEY'] || null,
    apiKeys: {
      fallback: env['BEAVER_FALLBACK_API_KEY'] || null,
      auxiliary: env['BEAVER_AUXILIARY_API_KEY'] || null,
      embeddings: env['BEAVER_EMBEDDINGS_API_KEY'] || null,
    },
    modelKeys: Object.fromEntries(
      Object.values(models).flatMap(({ key }) => (key === undefined ? [] : [[key, env[key] || null]])),
    ),
    channelSecrets: Object.fromEntries(
      Object.values(parsed.data.gateway.channels)
        .flatMap(secretVariables)
        .map((name) => [name, env[name] || null]),
    ),
    workspace: cwd,
    checkpoints: withPath(
      parsed.data.checkpoints,
      'folder',
      flags.set?.checkpoints?.folder === undefined ? base : cwd,
    ),
    knowledge_bases: resolvedBases(parsed.data.knowledge_bases, (id) =>
      flags.set?.knowledge_bases?.[id] === undefined ? base : cwd,
    ),
    workspaceRoots: { ...rootsOf(parsed.data, { env, cwd, named: paths('workspace_roots') }), home },
    skills: paths('skills'),
    tools: paths('tools'),
    workflows: paths('workflows'),
    profiles: paths('profiles'),
    sandbox_readable: paths('sandbox_readable'),
    gateway: withPath(
      parsed.data.gateway,
      'workspace_root',
      flags.set?.gateway?.workspace_root === undefined ? base : cwd,
    ),
    file,
    trust,
  }
  return { ...config, secrets: secretsOf(config, env) }
}

/** The settings with a path that starts at `base`, if they have one. */
function withPath<Key extends string, Settings extends { readonly [key in Key]?: string | undefined }>(
  settings: Settings,
  key: Key,
  base: string,
): Settings {
  const path = settings[key]
  return path === undefined ? settings : { ...settings, [key]: resolve(base, path) }
}

/**
 * Whether a flag, a variable or the program gives a value for a key, so that the file's value is not used.
 * Groups are merged, so they never do.
 */
function overriddenBy(flags: ConfigFlags, env: Environment): (key: string) => boolean {
  const given = new Set(
    variables.filter(({ name }) => (env[name] ?? '') !== '').map(({ path }) => path.join('.')),
  )
  if (flags.natsUrl !== undefined) given.add('nats_url')
  const collect = (set: object, prefix: string): void => {
    for (const [key, value] of Object.entries(set) as [string, unknown][]) {
      if (isPlain(value)) collect(value, `${prefix}${key}.`)
      else if (value !== undefined) given.add(`${prefix}${key}`)
    }
  }
  collect(flags.set ?? {}, '')
  return (key) => given.has(key)
}

/** Merges `set` into `target`, object by object, and reports the path of each value. */
function overlay(target: Record<string, unknown>, set: object, tell: (path: string) => void): void {
  for (const [key, value] of Object.entries(set) as [string, unknown][]) {
    if (value === undefined) continue
    tell(key)
    if (!isPlain(value)) target[key] = structuredClone(value)
    else {
      const there = target[key]
      const into = (target[key] = isPlain(there) ? there : {}) as Record<string, unknown>
      overlay(into, value, (path) => tell(`${key}.${path}`))
    }
  }
}

const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function put(target: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [first = '', ...rest] = path
  if (rest.length === 0) {
    target[first] = value
    return
  }
  const inner = target[first]
  if (inner !== undefined && (typeof inner !== 'object' || inner === null)) return // The schema reports this.
  put((target[first] ??= {}) as Record<string, unknown>, rest, value)
}
