// The arguments of every workflow that comes with Beaver, as a TypeScript program writes them.
import type { CommonWorkflowArguments, WrittenArguments } from '@beaver/workflows'
import type { TeamConfigurationInput } from './agent-team/configuration.ts'
import type { groupChat } from './group-chat/group-chat.ts'
import type { hierarchicalWorkflow } from './hierarchical/hierarchical-workflow.ts'
import type { majorityVote } from './majority-vote/majority-vote.ts'

/** The arguments of the workflows that come with Beaver, by name. */
export interface KnownWorkflowArguments extends CommonWorkflowArguments {
  readonly GroupChat: WrittenArguments<typeof groupChat>
  readonly HierarchicalWorkflow: WrittenArguments<typeof hierarchicalWorkflow>
  readonly MajorityVote: WrittenArguments<typeof majorityVote>
  readonly AgentTeam: TeamConfigurationInput
}
