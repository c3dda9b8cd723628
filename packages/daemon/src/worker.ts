// Starts a worker thread: builds what all loops of the thread share, then serves the thread's shard.
import type { EgressRules, PermissionRule } from '@beaver/agent'
import { switchOff, systemClock } from '@beaver/core'
import { type KnownSecret, protectSecrets } from '@beaver/core/secrets'
import type { FailurePolicies } from '@beaver/core/supervision'
import { collectGarbageOfStart } from '@beaver/platform/v8-flags'
import { providerBundle } from '@beaver/providers'
import { guardThread, serveShard, type ShardPlace } from '@beaver/runtime/worker'
import { loadOwnTools, type ToolsetPlaces } from '@beaver/tools'
import { teamPatterns } from '@beaver/team-patterns'
import { addWorkflows, type WorkflowLimits } from '@beaver/workflows'
import type { ModelChoice } from './model.ts'

export interface WorkerData {
  readonly model: ModelChoice
  readonly toolset: ToolsetPlaces
  readonly failurePolicies: FailurePolicies
  readonly toolTimeoutMs: number
  readonly workflowLimits: WorkflowLimits
  readonly outputsCharsMax: number
  readonly answerWaitMsMax: number
  readonly permissions: readonly PermissionRule[]
  readonly egress: EgressRules
  readonly skillSelection: 'model' | 'off'
  /** The secrets to hide. */
  readonly secrets: readonly KnownSecret[]
}

/** Piscina calls this once in each thread. It ends when the port closes. */
export async function shard({ data, ...place }: ShardPlace & { readonly data: WorkerData }): Promise<void> {
  switchOff(process.env['BEAVER_SWITCH_OFF'])
  guardThread()
  protectSecrets(data.secrets)
  addWorkflows(teamPatterns)
  // The daemon has reported their faults. It sends the skills, definitions and profiles later.
  const { tools } = await loadOwnTools(data.toolset)
  collectGarbageOfStart()
  await serveShard(place, {
    providers: providerBundle(data.model, { ownModels: place.models ?? null }),
    permissions: data.permissions,
    egress: data.egress,
    skillSelection: data.skillSelection,
    tools,
    skills: [],
    definitions: [],
    profiles: new Map(),
    profileDefault: data.toolset.profileDefault,
    failurePolicies: data.failurePolicies,
    clock: systemClock,
    random: Math.random,
    toolTimeoutMs: data.toolTimeoutMs,
    workflowLimits: data.workflowLimits,
    outputsCharsMax: data.outputsCharsMax,
    answerWaitMsMax: data.answerWaitMsMax,
  })
}
