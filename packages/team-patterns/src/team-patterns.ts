// Patterns of teams whose graph follows from what its agents say, on the public port of @beaver/workflows.
// A composition root adds them to the workflows that its process knows.
import type { Workflow } from '@beaver/workflows'
import { agentTeam } from './agent-team/agent-team.ts'
import { groupChat } from './group-chat/group-chat.ts'
import { hierarchicalWorkflow } from './hierarchical/hierarchical-workflow.ts'
import { majorityVote } from './majority-vote/majority-vote.ts'

/** All patterns, for `addWorkflows`. AgentTeam is no tool of a model. */
export const teamPatterns: readonly Workflow[] = [groupChat, hierarchicalWorkflow, majorityVote, agentTeam]
