// The worker threads of a daemon, and the external tools that their loops are offered.
import type { ExternalTools } from '@beaver/agent'
import { onSecretsChange, protectedSecrets } from '@beaver/core'
import { configuredPolicies } from '@beaver/platform'
import { startWorkerPool, type WorkerPool } from '@beaver/runtime'
import type { DaemonBase } from './daemon-base.ts'
import { type daemonThreads, threadOptions } from './daemon-threads.ts'
import { externalToolsOf, type OwnedExternalTools } from './external-tools-of.ts'
import { openKnowledge, withKnowledge } from './with-knowledge.ts'
import { type OwnModels, servedModels } from './own-models.ts'
import { hearingRefusals } from './hearing-refusals.ts'
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
