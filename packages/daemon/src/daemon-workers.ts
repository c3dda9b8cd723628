// The worker threads of a daemon, and the external tools that their loops are offered.
import type { ExternalTools } from '@beaver/agent'
import { type KnownSecret, type Logger, onSecretsChange, protectedSecrets } from '@beaver/core'
import { type Config, configuredPolicies, makeOwnFolder } from '@beaver/platform'
import { startWorkerPool, type WorkerPool } from '@beaver/runtime'
import type { DaemonBase } from './daemon-base.ts'
import { type daemonThreads, threadOptions } from './daemon-threads.ts'
import { externalToolsOf, type OwnedExternalTools } from './external-tools-of.ts'
import type { ModelChoice } from './model.ts'
import { type OwnModels, servedModels } from './own-models.ts'
import { egressRules } from './task-limits.ts'
import type { WorkerData } from './worker.ts'

export interface DaemonWorkers {
  readonly pool: WorkerPool
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
    permissions: config.permissions.rules,
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
  const unshielded = onSecretsChange(() => pool.protect(protectedSecrets()))
  undo.defer(async () => unshielded())
  const knowledge = await openKnowledge({ config, model: model.choice, secrets: data.secrets, logger })
  undo.defer(() => knowledge?.close())
  const external = withKnowledge(await externalToolsOf(config, embedded, agents.toolNames, logger), knowledge)
  tools.external = external
  undo.defer(() => external.close())
  pool.give(agents.texts)
  const deaf = agents.onChange(() => pool.give(agents.texts))
  undo.defer(async () => deaf())
  const offer = (): void => pool.offer(external.tools)
  const unlisten = external.onChange(offer)
  offer()
  return {
    pool,
    external,
    async withdraw() {
      unlisten()
      deaf()
      await external.close()
    },
  }
}

// Worker threads learn which tools a model provider refuses, and log it. The process that has the tools hears
// of it here, so that the doctor can say it.

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

// Adds the searches of knowledge bases to the external tools of the daemon's process. The tools themselves
// are known from the configuration, in every thread; only their calls come here. If no knowledge base is
// configured, nothing is loaded and no thread is started.

/** What the knowledge bases of a daemon need. */
interface KnowledgeParts {
  readonly config: Pick<Config, 'knowledge_bases' | 'home'>
  readonly model: ModelChoice
  readonly secrets: readonly KnownSecret[]
  readonly logger: Logger
}

/** The searches of a daemon. */
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
  // An index that came with a folder could say what no document says.
  makeOwnFolder(config.home, 'knowledge')
  const { knowledgeCalls, knowledgeFolders, startKnowledge } = await import('@beaver/knowledge')
  const knowledge = startKnowledge(
    { folders: knowledgeFolders(config.knowledge_bases), home: config.home, model, secrets },
    logger,
  )
  return { ...knowledgeCalls(knowledge), close: () => knowledge.close() }
}

/** The same tools, whose calls of `kb:<id>` are answered. `close` also ends the knowledge bases. */
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
    async close() {
      await Promise.all([external.close(), knowledge.close()])
    },
  }
}
