export {
  readTeamConfiguration,
  strategies,
  type TeamConfiguration,
  teamConfiguration,
  type TeamConfigurationInput,
  type TeamMemberInput,
  type TeamStrategy,
} from './agent-team/configuration.ts'
export type { Interaction } from './agent-team/member-nodes.ts'
export type { MemberFailure, TeamFollowOptions } from './agent-team/team-journal.ts'
export type { TeamLogLine } from './agent-team/team-log.ts'
export { type TeamReport, teamReport } from './agent-team/team-report.ts'
export { type TeamStream, type TeamStreamEvent, teamStream } from './agent-team/team-stream.ts'
export { teamPatterns } from './team-patterns.ts'
export type { KnownWorkflowArguments } from './typed-arguments.ts'
