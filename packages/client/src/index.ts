export { AgentTeam, type TeamRun, type TeamRunOptions } from './agent-team.ts'
export {
  type BeaverClient,
  type CallDecision,
  clientOn,
  connectBeaver,
  type DaemonStatus,
  type Patience,
  type RetriedTask,
  type SubmittedTask,
  type SubmitTask,
  type TaskOutcome,
} from './beaver-client.ts'
export { followTask, type Followed } from './follow-task.ts'
export type { SearchOptions, SessionEvent, SessionMessage, Sessions } from './sessions.ts'
