// The worker threads of a daemon, and the external tools of their loops.
import { type EgressRules, type ExternalTools, rulesOf } from '@beaver/agent'
import { type Logger, silentLogger } from '@beaver/core'
import { type KnownSecret, onSecretsChange, protectedSecrets } from '@beaver/core/secrets'
import type { McpServerStatus } from '@beaver/mcp'
import { beaverVersion, type Config, configuredPolicies, makeOwnFolder } from '@beaver/platform'
import { type TaskDriverOptions, startWorkerPool, type ThreadedPool } from '@beaver/runtime'
import type { DaemonBase } from './daemon-base.ts'
import { type daemonThreads, threadOptions } from './daemon-threads.ts'
import type { ModelChoice } from './model.ts'
import { type OwnModels, servedModels } from './own-models.ts'
import type { WorkerData } from './worker.ts'

export interface DaemonWorkers {
  readonly pool: ThreadedPool
  readonly external: OwnedExternalTools
  /** Ends the external tools. The threads stay, until `pool.close`. */
  withdraw(): Promise<void>
}

/** @param made threads that exist already @throws {BeaverError} `start_failed` */
export async function startWorkers(
  { config, logger, agents, model }: DaemonBase,
  {
    embedded,
    models,
    made,
  }: {
    readonly embedded: ExternalTools | null
    readonly models: OwnModels
    readonly made: ReturnType<typeof daemonThreads> | undefined
  },
  undo: AsyncDisposableStack,
): Promise<DaemonWorkers> {
  const data: WorkerData = {
    model: model.choice,
    failurePolicies: configuredPolicies(config),
    toolset: agents.places,
    toolTimeoutMs: config.agent.tool_timeout_ms,
    workflowLimits: agents.workflowLimits,
    outputsCharsMax: config.team.outputs_chars_max,
    answerWaitMsMax: config.permissions.wait_ms_max,
    permissions: rulesOf(config.permissions),
    egress: egressRules(config),
    skillSelection: config.agent.skill_selection,
    secrets: protectedSecrets(),
  }
  const tools: { external: OwnedExternalTools | null } = { external: null }
  const hearing = hearingRefusals(logger, (...of) => tools.external?.refused?.(...of))
  const pool = await startWorkerPool({
    ...threadOptions(config),
    data,
    made,
    logger: hearing,
    serveModels: servedModels(models, logger),
  })
  undo.defer(() => pool.close())
  const stopSecrets = onSecretsChange(() => pool.setSecrets(protectedSecrets()))
  undo.defer(async () => stopSecrets())
  const knowledge = await openKnowledge({ config, model: model.choice, secrets: data.secrets, logger })
  undo.defer(() => knowledge?.close())
  const external = withKnowledge(await externalToolsOf(config, embedded, agents.toolNames, logger), knowledge)
  tools.external = external
  undo.defer(() => external.close())
  pool.setAgentTexts(agents.texts)
  const stopTexts = agents.onChange(() => pool.setAgentTexts(agents.texts))
  undo.defer(async () => stopTexts())
  const sendTools = (): void => pool.setExternalTools(external.tools)
  const stopTools = external.onChange(sendTools)
  sendTools()
  return {
    pool,
    external,
    async withdraw() {
      stopTools()
      stopTexts()
      await external.close()
    },
  }
}

// Worker threads learn which tools a model provider refuses, and log it. The main process reads these lines,
// so that the doctor can report them.

type Refused = NonNullable<ExternalTools['refused']>

/** The same logger. `refused` is called for each line about a tool that a provider refuses. */
function hearingRefusals(logger: Logger, refused: Refused): Logger {
  return {
    debug: (...line) => logger.debug(...line),
    info: (...line) => logger.info(...line),
    warn(event, message, fields = {}) {
      logger.warn(event, message, fields)
      const { tool, provider, reason } = fields
      if (
        event === 'tool_left_out' &&
        typeof tool === 'string' &&
        typeof provider === 'string' &&
        typeof reason === 'string'
      )
        refused(tool, { provider, says: reason })
    },
    error: (...line) => logger.error(...line),
    with: (fields) => hearingRefusals(logger.with(fields), refused),
  }
}

// The searches of knowledge bases, as external tools of the daemon's process. Every thread knows these tools
// from the configuration; only their calls come here. Without a configured knowledge base, nothing is loaded
// and no thread is started.

/** What the knowledge bases of a daemon need. */
interface KnowledgeParts {
  readonly config: Pick<Config, 'knowledge_bases' | 'home'>
  readonly model: ModelChoice
  readonly secrets: readonly KnownSecret[]
  readonly logger: Logger
}

interface OwnedKnowledge extends Pick<ExternalTools, 'call'> {
  close(): Promise<void>
}

/** Starts the knowledge bases of the configuration, or returns `null` if there are none. */
async function openKnowledge({
  config,
  model,
  secrets,
  logger,
}: KnowledgeParts): Promise<OwnedKnowledge | null> {
  if (Object.keys(config.knowledge_bases).length === 0) return null
  // Keep the index in a folder of our own: an index that came with a folder could say what no document says.
  makeOwnFolder(config.home, 'knowledge')
  const { knowledgeCalls, knowledgeFolders, startKnowledge } = await import('@beaver/knowledge')
  const knowledge = startKnowledge(
    { folders: knowledgeFolders(config.knowledge_bases), home: config.home, model, secrets },
    logger,
  )
  return { ...knowledgeCalls(knowledge), close: () => knowledge.close() }
}

/** Answers the calls of `kb:<id>` besides. `close` also ends the knowledge bases. */
function withKnowledge(external: OwnedExternalTools, knowledge: OwnedKnowledge | null): OwnedExternalTools {
  if (knowledge === null) return external
  return {
    get tools() {
      return external.tools
    },
    onChange: (listener) => external.onChange(listener),
    ...(external.arrival === undefined ? {} : { arrival: external.arrival.bind(external) }),
    ...(external.refused === undefined ? {} : { refused: external.refused.bind(external) }),
    ...(external.describe === undefined ? {} : { describe: external.describe.bind(external) }),
    call: (call, ...how) => (call.name.startsWith('kb:') ? knowledge : external).call(call, ...how),
    servers: () => external.servers(),
    async close() {
      await Promise.all([external.close(), knowledge.close()])
    },
  }
}

export const taskLimits = ({ agent, team, daemon, permissions }: Config): TaskDriverOptions['limits'] => ({
  toolIterationsMax: agent.tool_iterations_max,
  nodeToolIterationsMax: agent.node_tool_iterations_max,
  repeatsMax: agent.repeats_max,
  concurrentNodesMax: team.concurrent_nodes_max,
  teamRunsMax: team.runs_max,
  graphMax: { agents: team.agents_max, edges: team.edges_max },
  teamDeadlineMs: team.deadline_ms || null,
  nodeDeadlineMs: team.node_deadline_ms || null,
  ownersLostMax: daemon.owners_lost_max,
  unattended: permissions.unattended,
  approvalWaitMsMax: permissions.wait_ms_max,
})

export function egressRules({ egress }: Config): EgressRules {
  const {
    policy,
    hosts_allowed: hostsAllowed,
    secret_paths: secretPaths,
    untrusted_paths: untrustedPaths,
    own_paths: ownPaths,
  } = egress
  return { policy, hostsAllowed, secretPaths, untrustedPaths, ownPaths }
}

// The external tools of the daemon's process come from the configured MCP servers and from a program that
// embeds the daemon. Without an MCP server, the MCP client is not loaded, because it is a large part of a
// daemon's start.

interface OwnedExternalTools extends ExternalTools {
  /** The MCP servers of the configuration. */
  servers(): readonly McpServerStatus[]
  /** Ends the connections made here. */
  close(): Promise<void>
}

/** @param taken names that no MCP tool may have */
async function externalToolsOf(
  config: Pick<Config, 'mcp' | 'mcpVariables' | 'home' | 'keysFolder' | 'sandbox' | 'sandbox_readable'>,
  embedded: ExternalTools | null,
  taken: readonly string[],
  logger: Logger = silentLogger,
): Promise<OwnedExternalTools> {
  if (Object.keys(config.mcp).length === 0)
    return owned(embedded ?? none, { servers: () => [], close: async () => {} })
  const { joinExternalTools, mcpLoginsFolder, mcpPinsFile, mcpReportFile, startMcpServers } =
    await import('@beaver/mcp')
  const mcp = await startMcpServers(config.mcp, {
    environment: { ...process.env, ...config.mcpVariables },
    pinsFile: mcpPinsFile(config.home),
    loginsFolder: mcpLoginsFolder(config.home),
    reportFile: mcpReportFile(config.home),
    version: beaverVersion,
    reserved: taken,
    sandbox: {
      mode: config.sandbox,
      hidden: [config.home, config.keysFolder],
      readable: config.sandbox_readable,
    },
    logger,
  })
  const joined = embedded === null ? mcp : joinExternalTools([embedded, mcp])
  return owned(joined, { servers: () => mcp.status, close: () => mcp.close() })
}

const none: ExternalTools = {
  tools: [],
  onChange: () => () => {},
  call: async ({ name }) => ({
    success: false,
    error: 'tool_not_available',
    content: `There is no tool ${name} any more.`,
  }),
}

/** `tools` changes, so each access reads it again. */
const owned = (
  from: ExternalTools,
  own: Pick<OwnedExternalTools, 'servers' | 'close'>,
): OwnedExternalTools => ({
  get tools() {
    return from.tools
  },
  onChange: (listener) => from.onChange(listener),
  ...(from.arrival === undefined ? {} : { arrival: from.arrival.bind(from) }),
  ...(from.refused === undefined ? {} : { refused: from.refused.bind(from) }),
  ...(from.describe === undefined ? {} : { describe: from.describe.bind(from) }),
  call: (...call) => from.call(...call),
  ...own,
})
