// Patterns of teams whose graph follows from what its agents say, on the public port of @beaver/workflows.
// A composition root adds them to the workflows that its process knows.
import type { Workflow } from '@beaver/workflows'
import { agentTeam } from './agent-team/agent-team.ts'
import { groupChat } from './group-chat/group-chat.ts'
import { hierarchicalWorkflow } from './hierarchical/hierarchical-workflow.ts'
import { majorityVote } from './majority-vote/majority-vote.ts'

/** All patterns, for `addWorkflows`. AgentTeam is no tool of a model. */
export const teamPatterns: readonly Workflow[] = [groupChat, hierarchicalWorkflow, majorityVote, agentTeam]

export {
  readTeamConfiguration,
  strategies,
  type TeamConfiguration,
  teamConfiguration,
  type TeamStrategy,
} from './agent-team/configuration.ts'
export type { Interaction } from './agent-team/member-nodes.ts'
export type { MemberFailure, TeamFollowOptions } from './agent-team/team-journal.ts'
export type { TeamLogLine } from './agent-team/team-log.ts'
export { type TeamReport, teamReport } from './agent-team/team-report.ts'
export { type TeamStream, type TeamStreamEvent, teamStream } from './agent-team/team-stream.ts'
