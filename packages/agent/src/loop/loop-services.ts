// What all loops of a worker thread share: the providers, the tools and workflows, and the limits.
import type { Clock, Logger } from '@beaver/core'
import type { FailurePolicies } from '@beaver/core/supervision'
import type { Workflow, WorkflowLimits } from '@beaver/workflows'
import type { AgentProfile } from '../profile/agent-profile.ts'
import type { ProviderBundle } from '../provider/provider-bundle.ts'
import type { Skill } from '../skills/skill.ts'
import type { EgressRules } from '../taint/egress-rules.ts'
import type { PermissionRule } from '../tools/permission.ts'
import type { Tool } from '../tools/tool.ts'

/** What all loops of a worker thread share. */
export interface LoopServices {
  readonly providers: ProviderBundle
  readonly tools: readonly Tool[]
  readonly skills: readonly Skill[]
  /** The workflows of the loaded definition files. They are tools where a profile lists them. */
  readonly definitions: readonly Workflow[]
  readonly profiles: ReadonlyMap<string, AgentProfile>
  /** The profile of a root that names none. `null`: no profile. */
  readonly profileDefault: string | null
  /** What happens after each class of failure. */
  readonly failurePolicies: FailurePolicies
  readonly clock: Clock
  /** Returns a number in [0, 1). */
  readonly random: () => number
  /** How long a call may take if its tool says nothing else. */
  readonly toolTimeoutMs: number
  /** These rules decide before the tools' own permissions. */
  readonly permissions: readonly PermissionRule[]
  /** What may leave a run that has read a stranger's text or a secret. Default: `defaultEgressRules`. */
  readonly egress?: EgressRules
  /**
   * How a skill is found for a run that names none: by recall and one model call (`model`), or not at all
   * (`off`).
   */
  readonly skillSelection: 'model' | 'off'
  /**
   * Tools that cost this daemon several threads: calls of those that come from a module run in a process of
   * their own. Default: none.
   */
  readonly suspectTools?: ReadonlySet<string>
  /** Limits of the graph that a workflow call asks for. Default: `defaultWorkflowLimits`. */
  readonly workflowLimits?: Partial<WorkflowLimits>
  /**
   * How many characters of other nodes' outputs a message may have; longer ones are cut. Default:
   * `outputsCharsMaxDefault`.
   */
  readonly outputsCharsMax?: number
  /** The longest time for which a question waits, in milliseconds. Default: as long as it says. */
  readonly answerWaitMsMax?: number
  /** Receives what tools print in cells or throw too late. Default: nobody does. */
  readonly logger?: Logger
  /**
   * Loops whose services name the same object here have the same tools, definitions and profiles. Default:
   * the services themselves.
   */
  readonly toolboxesOf?: LoopServices
}
