// The view of a task for people and programs, and the sentences that describe events.
export {
  type AgentState,
  type AgentView,
  type CallView,
  growthOrder,
  heldTools,
  type TeamProgress,
} from './agent-view.ts'
export {
  agentAsks,
  type AskedCall,
  askingCall,
  type ClientCall,
  type OpenQuestion,
  type SettledByPerson,
} from './asked.ts'
export { type BudgetAsk, budgetAsks, budgetAsksIn, type BudgetWait, operatorGives } from './budget-waits.ts'
export {
  askInOutput,
  type CallItem,
  type OutputChange,
  type OutputItem,
  type OutputView,
} from './output-view.ts'
export {
  agentsOf,
  type AgentRunResult,
  evolveTaskView,
  evolveTaskViewLive,
  newTaskView,
  readTaskView,
  resultOf,
  type SeenTask,
  type TaskView,
  type TaskViewEnd,
} from './task-view.ts'
export { describeEvent } from '../telling/describe-event.ts'
export { clip, count, counted, excerpt } from '../telling/text.ts'
export { type Actor, agentTitle, type EventDescription, type Surroundings } from '../telling/told.ts'
export { beaverItself, type Doer, whoDid } from '../telling/doer.ts'
