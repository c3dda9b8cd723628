// What `beaver.config.json` may contain, and the configuration that a process has in the end. How the sources
// are put together is in config.ts.
import { availableParallelism } from 'node:os'
import { logLevels } from '@beaver/core'
import type { KnownSecret } from '@beaver/core/secrets'
import { supervisors, waitMsDefault } from '@beaver/core/supervision'
import { z } from 'zod'
import type { FolderTrust } from '../trust/folder-trust.ts'
import { alertRules } from './alert-rules.ts'
import { budgets } from './budgets.ts'
import { variable } from './channels.ts'
import { checkpoints } from './checkpoints.ts'
import { telemetry, type tracesOf } from './telemetry.ts'
import { egress } from './egress.ts'
import { endpoint, ofEachEndpoint } from './endpoint.ts'
import { gateway } from './gateway.ts'
import { knowledgeBases } from './knowledge-base.ts'
import type { ManagedMcpServer } from './mcp-server.ts'
import { mcpServers } from './mcp-server.ts'
import { namedModels, route, sharedEndpoints } from './named-models.ts'
import type { NatsLogin } from './nats-login.ts'
import { prices } from './prices.ts'
import { retries } from './retries.ts'
import { status } from './status.ts'

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
  /** What each task and each node of a team may use. */
  budgets,
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
  /** Whether and where processes tell how they are, with metrics for Prometheus. */
  status,
  agent: z
    .strictObject({
      tool_iterations_max: z.number().int().min(1).max(10_000).default(100),
      /** DEFAULT_TEAM_NODE_MAX_TOOL_ITERATIONS. */
      node_tool_iterations_max: z.number().int().min(1).max(10_000).default(20),
      /** How many turns of a run in a row may be the same before it fails. `null`: no bound. */
      repeats_max: z.number().int().min(2).max(10_000).nullable().default(5),
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
      /**
       * What a rule that denies does to a command of which nobody can say whether it is what the rule names.
       * Where nobody can answer, a question is refused.
       */
      unreadable: z.enum(['ask', 'deny']).default('ask'),
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
  telemetry,
  alerts: z
    .strictObject({
      /** Each alert is sent here by POST, as JSON. */
      webhook: z.url('must be a URL').optional(),
      /** The variable of the environment with the secret by which alerts are signed. */
      secret_env: variable.optional(),
      rules: alertRules,
    })
    .prefault({}),
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
      /** The size of `/tmp` and of `/dev/shm` in the sandbox, each. */
      tmp_bytes_max: z.number().int().min(1_048_576).max(1_099_511_627_776).default(67_108_864),
      /** Commands that have a network in the sandbox: patterns that hold as those of rules that allow. */
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

/** The content of the file as it is written. */
export type ConfigFile = z.input<typeof configFile>

/** The configuration of a process. */
export interface Config extends z.output<typeof configFile> {
  /** The absolute path of the data folder. */
  readonly home: string
  /** The MCP servers that Beaver manages itself, by their names. */
  readonly managedMcp: Readonly<Record<string, ManagedMcpServer>>
  /** Whether the home was only found, and its data was not made here. No system starts with it. */
  readonly foreignHome: boolean
  /** The absolute path of the folder with the keys that sign the journal. */
  readonly keysFolder: string
  /** Where the spans of tasks go. `null`: nowhere. */
  readonly traces: ReturnType<typeof tracesOf>
  /** Whether models, MCP servers and tools are told of the trace of a task. */
  readonly propagatesTraces: boolean
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
  /** The secret of `alerts.secret_env`. `null`: none is set. */
  readonly alertsSecret: string | null
  readonly channelSecrets: Readonly<Record<string, string | null>>
  /** The variables to which MCP servers refer, by their names, or `undefined` where one is not set. */
  readonly mcpVariables: Readonly<Record<string, string | undefined>>
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
