// The ExecutionGraph and how its nodes are scheduled; teams and their limits.
export { authorsOf, givenInstruction, materialOf } from './given-facts.ts'
export {
  type AgentDescriptor,
  type AgentNode,
  agentDescriptor,
  agentNode,
  type CodeNode,
  definitionPrefix,
  type ExecutionGraph,
  type ExecutionNode,
  executionGraph,
  executionNode,
  type ToolNode,
} from './execution-graph.ts'
export { type NodeState, type NodeStates, type NodeStatus, type TeamOutcome } from './schedule.ts'
export {
  type Edge,
  findCycle,
  graphFault,
  reachable,
  sinksOf,
  type Topology,
  topologyOf,
  weakComponents,
} from './topology.ts'
export {
  type Diagnostic,
  type Growth,
  type NodeEntry,
  type NodeSequel,
  type TeamProgram,
  type TeamView,
} from './team-program.ts'
export { joinedOutputs, teamOutput } from './team-output.ts'
export { type NodeEnd, type StepOptions, stepTeam } from './team-step.ts'
export {
  changeSharedState,
  readSharedState,
  type SharedStateChange,
  type SharedStateResult,
  sharedStateBytesMax,
  sharedStateChange,
} from '../team/shared-state.ts'
