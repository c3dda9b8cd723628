// What a journal says: the states of tasks, runs and teams, folded from their events.
export { type CalledTeam, judgedTeams, retryCopy } from './retry-copy.ts'
export {
  framed,
  type FramedOutput,
  framedOutputs,
  type FramedText,
  frameMark,
  type FrameOf,
  isShorterCut,
  type OutputCut,
  unmarked,
  withOutputsCut,
} from './frame.ts'
export {
  type AskedQuestion,
  type ClientAnswer,
  type FilesFact,
  type OpenCall,
  type RunState,
  type RunStatus,
  runEnded,
  startRun,
  type ToolFact,
} from './run-state.ts'
export { endsModelCall } from './model-calls.ts'
export { goesNowhere } from './same-turns.ts'
export { evolveRun, skillMessage } from './evolve-run.ts'
export {
  isChosen,
  isForced,
  mustCall,
  nextMessages,
  nextToolNames,
  refersToTeamOutput,
} from './next-request.ts'
export { noSuspects, type OwnerLosses, ownerLosses, type SuspectTools } from './owner-losses.ts'
export { attemptOf, retryIdOf } from './retry-id.ts'
export { newestExchange, teamOutputReference, teamOutputTool } from './shorten.ts'
export {
  callAsks,
  callAtClient,
  callNeedsApproval,
  callWaits,
  type CallProgress,
  heldBy,
  shownStatusOfCalls,
  statusOfCalls,
} from './call-status.ts'
export type { EventPlace } from './event-place.ts'
export { type PersonWaits, waitBegan, waitedMs, waitEnded, waitsOver, wholeTask } from './person-waits.ts'
export {
  foldTask,
  lostWithoutProgress,
  newTask,
  previousTaskOf,
  raiseText,
  type TaskState,
  type TaskStatus,
} from './task-state.ts'
export {
  evolveTeam,
  startTeam,
  type TeamDiagnostic,
  type TeamNodeState,
  type TeamState,
} from './team-state.ts'
