export { type WorkflowAgentSpec } from './agent-spec.ts'
export { agentTeam } from './agent-team/agent-team.ts'
export {
  type MemberProfile,
  readTeamConfiguration,
  strategies,
  teamConfiguration,
  type TeamStrategy,
  type TeamConfiguration,
  withMemberProfiles,
} from './agent-team/configuration.ts'
export type { Interaction } from './agent-team/member-nodes.ts'
export { type TeamContext, teamContextOf } from './agent-team/team-context.ts'
export type { MemberFailure, TeamFollowOptions } from './agent-team/team-journal.ts'
export type { TeamLogLine } from './agent-team/team-log.ts'
export { type TeamReport, teamReport } from './agent-team/team-report.ts'
export { type TeamStream, type TeamStreamEvent, teamStream } from './agent-team/team-stream.ts'
export type {
  DefinitionDiagnostic,
  WorkflowDefinitionFile,
  WorkflowDefinitionInput,
} from './definitions/definition-file.ts'
export { definitionWorkflow } from './definitions/definition-workflow.ts'
export { checkLibrary, type DefinitionLibrary } from './definitions/library.ts'
export { readDefinition } from './definitions/read-definition.ts'
export { graphWorkflow } from './graphs/graph-workflow.ts'
export { growthOf } from './growing/growth.ts'
export { skillsOf } from './growing/growing-team.ts'
export { groupChat } from './group-chat/group-chat.ts'
export { hierarchicalWorkflow } from './hierarchical/hierarchical-workflow.ts'
export { majorityVote } from './majority-vote/majority-vote.ts'
export { graphToMermaid } from './graphs/mermaid.ts'
export {
  createTeamWorkflowTools,
  findTaskWorkflow,
  findWorkflow,
  isWorkflowTool,
  moreWorkflowTools,
  programOf,
  workflowToolPrefix,
  workflowToolSchemas,
} from './registry.ts'
export { readArgumentsText } from './arguments/read-arguments.ts'
export { sequentialWorkflow } from './graphs/sequential.ts'
export { type PlanOptions, type PlanResult, type Workflow, type WorkflowLimits } from './workflow.ts'
export { evidenceFault, finalQuotesFault, type KnownTools, knownTools } from './evidence-fault.ts'
export { finalFormFault } from './final-form.ts'
export {
  type Refusal,
  type WorkflowError,
  type WorkflowErrorCode,
  workflowErrorCodes,
} from './workflow-error.ts'
