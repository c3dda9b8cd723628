export { clientAnswerEvents, type ClientAnswers } from './client-answers.ts'
export { retryTask } from './retry-request.ts'
export { isUnverified } from './final-faults.ts'
export { startTaskDriver } from './task-driver.ts'
export type { TaskDriver, TaskDriverOptions, DrivenTasks, HandedOn } from './task-driver-ports.ts'
export { type LoadedTask, loadTask } from './load-task.ts'
export { startSweep, type Sweep } from './sweep.ts'
export { acceptanceLines } from './accept-task.ts'
export { type IntakePorts, submitTask } from './task-intake.ts'
export {
  type Answer,
  answerEvent,
  type ArgumentsJudge,
  callWaiting,
  type Decision,
  decisionEvent,
  mustFit,
  questionWaiting,
  type TaskSoFar,
} from './task-approvals.ts'
export { AccountBook } from './account-lines.ts'
export { listShared, raiseShared, type SharedBudgetsPorts } from './shared-raises.ts'
export type { BudgetRules, LimitRules } from './budget-rules.ts'
export { raiseEvent, type RaiseRequest } from './task-raises.ts'
export { steerEvent, type SteerRequest } from './task-steers.ts'
export { TaskLog, type TaskLogPorts } from './task-log.ts'
export type { TaskLimits, TaskPorts } from './task-ports.ts'
export { type TaskNow, type TaskSupervisor } from './task-supervisor.ts'
export type { LoopNow } from './task-run.ts'
export {
  type PoolSnapshot,
  startWorkerPool,
  type ThreadedPool,
  type WorkerPool,
} from './worker/worker-pool.ts'
export { workspaceFolders, type WorkspaceFolders, type WorkspaceRoots } from './workspace-folders.ts'
