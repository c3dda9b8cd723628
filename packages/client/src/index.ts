export { AgentTeam, type TeamRun, type TeamRunOptions } from './agent-team.ts'
export {
  type BeaverClient,
  type CallAnswer,
  type CallDecision,
  clientOn,
  connectBeaver,
} from './beaver-client.ts'
export { type Asked, examineSystem, type SystemExamination, type SystemPlace } from './examine-system.ts'
export type { Patience } from './patient-requests.ts'
export { followTask, type Followed, type LiveOr, submitAndFollow, withLive } from './follow-task.ts'
export type { SearchOptions, SessionEvent, SessionMessage, Sessions } from './sessions.ts'
export {
  type ArgumentsOf,
  type TaskInput,
  type TaskOptions,
  type GivenTask,
  typedTask,
  type WorkflowArguments,
} from './task-input.ts'
export { readOutput, UnfitOutputError } from '@beaver/contracts'
export type {
  Change,
  ChangedTask,
  DaemonStatus,
  EndedTask,
  MemoryReport,
  QueryInput,
  QueryName,
  QueryOutput,
  RetriedTask,
  SubmittedTask,
  SubmitTask,
  SystemState,
  TaskOutcome,
  TypedOutcome,
  TypedTask,
} from '@beaver/contracts'
