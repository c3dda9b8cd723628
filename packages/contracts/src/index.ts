export {
  type BulkCount,
  bulkCount,
  bulkRequest,
  type BulkRequest,
  bulkResult,
  type BulkResult,
  type BulkVerb,
} from './bulk.ts'
export {
  type Change,
  changeData,
  type ChangedMessage,
  changedMessage,
  type ChangedTask,
  changedTasksMax,
  MergedChanges,
} from './changes.ts'
export { runNamed } from './fields.ts'
export type {
  BusLoad,
  BusMessages,
  BusQueue,
  DeadLetter,
  Handled,
  MessageBus,
  Taking,
  UncertainSends,
} from './channels/message-bus.ts'
export {
  type InboundMessage,
  inboundMessage,
  messageCharsMax,
  messageReceipt,
  type OutboundMessage,
  outboundMessage,
  webhookMessage,
} from './channels/messages.ts'
export { presenceAnswer, presenceMessage } from './wire.ts'
export { type SystemState, systemState } from './system.ts'
export type { AskedCallAnswer } from './queries/approvals.ts'
export type { BudgetAskAnswer, InboxEntry } from './queries/inbox.ts'
export { type AskedQuestionAnswer, questionIn } from './queries/questions.ts'
export {
  type EventItem,
  eventItem,
  isQueryName,
  queryContracts,
  type QueryInput,
  type QueryName,
  type QueryOutput,
  type QueryRead,
  type SearchAnswer,
  type TimelineItem,
  type UsageAnswer,
  type UsageGroup,
} from './queries/queries.ts'
export type { NodeDetail, RunDetail } from './queries/node.ts'
export type { SentMessage } from './queries/prompt.ts'
export type { CheckAnswer, NodeAnswer, RunAnswer, TeamAnswer } from './queries/run-tree.ts'
export type { SessionAnswer, SessionsAnswer, SessionSummary, SessionTurn } from './queries/sessions.ts'
export type { Span } from './queries/spans.ts'
export type { ProjectorStatus } from './queries/status.ts'
export type { TaskAnswer } from './queries/task.ts'
export type { ModelUsage, TaskSummary, TaskStatusFilter } from './queries/tasks.ts'
export { type CancelRequest, cancelRequest } from './requests/cancel.ts'
export type { CommandName } from './requests/commands.ts'
export { daemonCommand, daemonContracts, type TaskCommand } from './requests/daemon-commands.ts'
export type { AnswerRequest } from './requests/answer.ts'
export type { ClientAnswerRequest } from './requests/client-answer.ts'
export type { DecisionRequest } from './requests/decide.ts'
export {
  type MemoryReport,
  requestContracts,
  type RequestInput,
  type RequestName,
  type RequestOutput,
  type RequestRead,
  type RetriedTask,
} from './requests/requests.ts'
export {
  type ActorLoop,
  actorLoopsMax,
  type ActorPolicy,
  type ActorTask,
  actorTasksMax,
  type ActorTeam,
  type DaemonActors,
} from './requests/actors.ts'
export type { LoadedAnswer, LoadedEntry, LoadedKind } from './requests/loaded.ts'
export type { DaemonStatus, EndpointState } from './requests/status.ts'
export {
  type EndedTask,
  readOutput,
  type TypedOutcome,
  type TypedTask,
  UnfitOutputError,
  wireTask,
} from './typed-output.ts'
export { imagePartBytesMax } from './requests/store-image.ts'
export {
  mayBeAccepted,
  type SubmitRequest,
  submitRequest,
  type SubmittedTask,
  type SubmitTask,
  type TaskOutcome,
} from './requests/submit.ts'
