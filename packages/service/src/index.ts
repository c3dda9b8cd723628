// What a program imports to embed Beaver: the service, and the functions that define tools, profiles and
// workflows.
export {
  type ChatAnswer,
  type ChatProvider,
  type ChatRequest,
  defineTool,
  ProviderError,
  type Tool,
  type ToolContext,
  type ToolDefinition,
  ToolFailure,
  type ToolSchema,
  z,
} from '@beaver/agent'
export {
  AgentTeam,
  type ArgumentsOf,
  type TaskInput,
  type TaskOptions,
  type TeamRun,
  type TeamRunOptions,
  UnfitOutputError,
  type WorkflowArguments,
} from '@beaver/client'
export { BeaverError, type ErrorCode, type LiveDelta, type LiveProgress } from '@beaver/core'
export type { RecordedEvent } from '@beaver/core/journal'
export type { AgentRunResult } from '@beaver/core/task-view'
export type { OwnModel } from '@beaver/daemon'
export { AgentService, type StopOptions } from './agent-service.ts'
export { defineProfile, defineWorkflow, type WorkflowInput } from './definitions.ts'
export type { ServiceState } from './lifecycle.ts'
export { type FollowOptions, type ResultFold, resultFold } from './open-task.ts'
export type { AgentServiceOptions, ApprovalRequest, FilePlace, OnApproval } from './options.ts'
export type { ServiceInfo } from './runtime.ts'
export type { ShutdownHook } from './shutdown-hooks.ts'
