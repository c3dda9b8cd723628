// What all loops of a worker share: whom they may ask, what there is to call, and the bounds they keep to.
import type { Clock, FailurePolicies, Logger } from '@beaver/core'
import type { Workflow, WorkflowLimits } from '@beaver/workflows'
import type { AgentProfile } from '../profile/agent-profile.ts'
import type { ProviderBundle } from '../provider/provider-bundle.ts'
import type { Skill } from '../skills/skill.ts'
import type { PermissionRule } from '../tools/permission.ts'
import type { Tool } from '../tools/tool.ts'

export interface LoopServices {
  readonly providers: ProviderBundle
  readonly tools: readonly Tool[]
  readonly skills: readonly Skill[]
  /** The workflows of the loaded definition files: tools where a profile lists them. */
  readonly definitions: readonly Workflow[]
  readonly profiles: ReadonlyMap<string, AgentProfile>
  /** The profile of a root that names none; `null`: none. */
  readonly profileDefault: string | null
  /** What is done about each class of failure. */
  readonly failurePolicies: FailurePolicies
  readonly clock: Clock
  /** In [0, 1). */
  readonly random: () => number
  /** How long a call may take whose tool says nothing else. */
  readonly toolTimeoutMs: number
  /** Decide before the tools' own permissions do. */
  readonly permissions: readonly PermissionRule[]
  /** How a skill is found for a run that names none: recall and one model call, or not at all. */
  readonly skillSelection: 'model' | 'off'
  /** Tools that cost this daemon several threads: their calls run in a process of their own. Absent: none. */
  readonly suspectTools?: ReadonlySet<string>
  /** Bounds of the graph a workflow call asks for; what is absent is as `defaultWorkflowLimits` says. */
  readonly workflowLimits?: Partial<WorkflowLimits>
  /** Absent: nobody hears what tools print in cells or throw too late. */
  readonly logger?: Logger
}
