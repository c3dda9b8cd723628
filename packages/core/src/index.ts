export { type ChatMessage, addUsage, noUsage, type ToolCall, toolCall, type Usage, usage } from './chat.ts'
export { estimateTokens } from './context/estimate-tokens.ts'
export { costOf } from './cost/cost.ts'
export { modelPrices, type Price } from './cost/model-prices.ts'
export { BeaverError, type ErrorCode, errorCodes, invariant, messageOf, type Problem } from './errors.ts'
export {
  type ContextPart,
  type DataOf,
  type DomainEvent,
  type EventType,
  event,
  eventData,
  isTerminalTaskEvent,
  type NodeOutput,
  nodeOutput,
  type TaskRequest,
  type TaskResult,
  type TerminalTaskEvent,
  taskRequest,
  taskResult,
  terminalTaskEvents,
  visibleEventTypes,
} from './events/catalog.ts'
export { evaluateEvidence, evaluateNode } from './evidence/evaluate.ts'
export { withoutFence } from './evidence/output-schema.ts'
export { compilePattern } from './evidence/pattern.ts'
export {
  type EvidenceCheck,
  type EvidenceDemands,
  type EvidenceRequirement,
  evidenceCheck,
  evidenceRequirement,
  type MachineRequirement,
  machineRequirement,
  requirementsOf,
} from './evidence/requirement.ts'
export { plannedRequirement } from './evidence/requirement-fault.ts'
export { factsOf, filesToFind, type RunFacts } from './evidence/run-facts.ts'
export {
  type Failure,
  type FailureClass,
  type FailurePolicy,
  failure,
  failureClass,
  failurePolicies,
  fallbackClasses,
  retryPauseMs,
} from './failure/failure-class.ts'
export {
  callsWait,
  evolveRun,
  type FilesFact,
  type OpenCall,
  type RunState,
  type RunStatus,
  runEnded,
  skillMessage,
  startRun,
  type ToolFact,
} from './fold/run-state.ts'
export { newestExchange, resultReference } from './fold/shorten.ts'
export { evolveTask, foldTask, newTask, type TaskState, type TaskStatus } from './fold/task-state.ts'
export { evolveTeam, startTeam, type TeamNodeState, type TeamState } from './fold/team-state.ts'
export { visibleAnswer } from './fold/visible-answer.ts'
export {
  type AgentDescriptor,
  type AgentNode,
  agentDescriptor,
  agentNode,
  type CodeNode,
  type ExecutionGraph,
  type ExecutionNode,
  executionGraph,
  executionNode,
  type ToolNode,
} from './graph/execution-graph.ts'
export {
  decideTeam,
  type NodeState,
  type NodeStates,
  type NodeStatus,
  type TeamDecision,
  type TeamOutcome,
  teamOutcome,
  waitingNode,
} from './graph/schedule.ts'
export { type Edge, findCycle, graphFault, reachable, sinksOf, type Topology, topologyOf, weakComponents } from './graph/topology.ts'
export { type Diagnostic, type Growth, grow, type NodeEntry, type NodeSequel, type TeamProgram, type TeamView } from './graph/team-program.ts'
export { type NodeEnd, type StepOptions, stepTeam, teamOutput } from './graph/team-step.ts'
export { foreignId, type LogId, logKey, type RunId, runId, type SessionId, sessionId, type TaskId, type TeamRunId, taskId, teamRunId } from './ids.ts'
export type { AcceptOutcome, Append, AppendOutcome, Entry, Journal, SessionTail } from './journal/journal.ts'
export {
  type Blob,
  batchContentType,
  blobOf,
  chainFault,
  type Draft,
  draft,
  emptyHead,
  eventTypeOf,
  genesisHash,
  headAfter,
  inlineBytesMax,
  joinBatch,
  type LogHead,
  openRecord,
  type RecordedEvent,
  type SealedRecord,
  seal,
  sealer,
  sealedEvent,
  splitBatch,
  type WireRecord,
} from './journal/record.ts'
export type { Delivery, TaskQueue } from './journal/task-queue.ts'
export { canonicalJson, type JsonObject, type JsonValue, jsonObject, jsonValue } from './json.ts'
export { changeMemory, type MemoryLimits } from './memory/change-memory.ts'
export type { BlobStore } from './ports/blob-store.ts'
export { type LiveDelta, liveDelta } from './ports/live-output.ts'
export {
  emptyMemory,
  type MemoryAnswer,
  type MemoryChange,
  type MemorySnapshot,
  type MemoryStore,
  type MemoryTarget,
  memoryTarget,
} from './ports/memory-store.ts'
export type { SessionSearch, SessionSearchHit, SessionSearchRequest } from './ports/session-search.ts'
export { type Clock, pause, systemClock } from './ports/clock.ts'
export { type Ids, ulidIds } from './ports/ids.ts'
export {
  changeSharedState,
  readSharedState,
  type SharedStateChange,
  type SharedStateResult,
  sharedStateBytesMax,
  sharedStateChange,
} from './team/shared-state.ts'
export { applyToolScope, type ToolScope } from './tool-scope.ts'
export { TransientMap } from './transient-map.ts'
