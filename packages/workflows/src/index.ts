// The workflow tools for those who offer and run them, and the parts of which somebody else may make a
// workflow: see packages/team-patterns.
export {
  agentsFault,
  agentsField,
  placed,
  type PlacedAgent,
  taskField,
  type WorkflowAgentSpec,
  workflowAgentSpec,
} from './agent-spec.ts'
export { isRecord } from './arguments/json-text.ts'
export { wholeSchema } from './arguments/tool-schema.ts'
export { readArguments, readArgumentsText } from './arguments/read-arguments.ts'
export { didYouMean, quote, quoteAll } from './arguments/wording.ts'
export type {
  DefinitionDiagnostic,
  WorkflowDefinitionFile,
  WorkflowDefinitionInput,
} from './definitions/definition-file.ts'
export { definitionWorkflow } from './definitions/definition-workflow.ts'
export { checkLibrary, type DefinitionLibrary } from './definitions/library.ts'
export { readDefinition } from './definitions/read-definition.ts'
export { evidenceFault, finalQuotesFault, type KnownTools, knownTools } from './evidence-fault.ts'
export { finalFormFault } from './final-form.ts'
export { graphWorkflow } from './graphs/graph-workflow.ts'
export { graphToMermaid } from './graphs/mermaid.ts'
export { sequentialWorkflow } from './graphs/sequential.ts'
export { nodeOfAgent } from './graphs/team-graph.ts'
export { conditionOf, growthOf, type ShownPlan, shownPlan, skillsOf } from './growth.ts'
export {
  addedWorkflowTools,
  addWorkflows,
  createTeamWorkflowTools,
  findTaskWorkflow,
  findWorkflow,
  isWorkflowTool,
  programOf,
  taskWorkflowNames,
  workflowToolPrefix,
  workflowToolSchemas,
} from './registry.ts'
export { type TeamContext, teamContextOf } from './team-context.ts'
export type { CommonWorkflowArguments, Written, WrittenArguments } from './typed-arguments.ts'
export {
  type ConfiguredTeam,
  type MemberProfile,
  type PlanOptions,
  type PlanResult,
  type TypedWorkflow,
  type Workflow,
  type WorkflowDefinition,
  type WorkflowLimits,
  workflowOf,
} from './workflow.ts'
export {
  type Refusal,
  refuse,
  type WorkflowError,
  type WorkflowErrorCode,
  workflowErrorCodes,
} from './workflow-error.ts'
