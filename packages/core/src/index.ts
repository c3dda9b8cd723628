export { modelSettings, type ModelSettings, settingsFrom } from './model-settings.ts'
export {
  type ChatMessage,
  addUsage,
  noUsage,
  partsOfUsage,
  type ProviderState,
  type ToolCall,
  toolCall,
  type Usage,
  type UsagePart,
  usage,
  usageParts,
} from './chat.ts'
export {
  imageLimits,
  type ImagePart,
  imagePart,
  imageText,
  imageTokens,
  imageTypes,
} from './images/image-part.ts'
export { type ImageHeader, readImageHeader } from './images/image-header.ts'
export { estimateTokens } from './context/estimate-tokens.ts'
export { costOf, exactCostAt, exactCostOf, type PriceBook, priceOf, usdOf } from './cost/cost.ts'
export { type DatedPrice, modelPrices, type Price } from './cost/model-prices.ts'
export {
  BeaverError,
  type ErrorCode,
  errorCodes,
  invariant,
  messageOf,
  type Problem,
  whyUnreadable,
} from './errors.ts'
export { problemsOf, problemsText } from './problems.ts'
export { type ContextPart } from './events/run-events.ts'
export {
  type DataOf,
  type DomainEvent,
  type EventType,
  event,
  eventData,
  isTerminalTaskEvent,
  type TerminalTaskEvent,
  terminalTaskEvents,
  visibleEventTypes,
} from './events/catalog.ts'
export {
  type NodeOutput,
  nodeOutput,
  type TaskRequest,
  type TaskResult,
  failedResult,
  type FailedResult,
  taskRequest,
  taskResult,
  type Asker,
} from './events/task-events.ts'
export {
  isSystemLogName,
  type KeyRole,
  keyRole,
  type SystemDataOf,
  type SystemEvent,
  systemEventData,
  type SystemEventType,
  type SystemLogName,
  systemLogNames,
  systemLogOf,
} from './events/system-catalog.ts'
export { checkedFormats, checkedKeywords, schemaFault, schemaMismatch } from './evidence/output-schema.ts'
export { withoutFence } from './evidence/output-schema.ts'
export { type SchemaClash, schemaClash } from './evidence/schema-clash.ts'
export {
  faultsText,
  judgeOutput,
  type JudgedOutput,
  type OutputFault,
  outputSchema,
  repairMessage,
} from './evidence/structured-output.ts'
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
export { isPointer, plannedRequirement } from './evidence/requirement-fault.ts'
export {
  type EvidenceGate,
  type EvidenceVerdict,
  factsOf,
  filesToFind,
  type GivenFact,
  type RunFacts,
} from './evidence/run-facts.ts'
export {
  type Failure,
  type FailureClass,
  failure,
  failureClass,
  fallbackClasses,
} from './failure/failure-class.ts'
export {
  type FailedTries,
  type FailurePolicies,
  type FailurePolicy,
  failurePolicies,
  outageClasses,
  paidTriesMax,
  policiesWith,
  type RetryChange,
  retryPauseMs,
  retryTimeMsMax,
  waitMsDefault,
} from './failure/failure-policy.ts'
export { type CalledTeam, judgedTeams, retryCopy } from './fold/retry-copy.ts'
export { authorsOf, givenInstruction, materialOf } from './graph/given-facts.ts'
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
} from './fold/frame.ts'
export { answerInForm, questionForm } from './question/question-form.ts'
export {
  answerInText,
  type FormField,
  formFields,
  questionLines,
  readAnswer,
} from './question/read-answer.ts'
export {
  answerFault,
  askUserTool,
  question,
  questionAnswer,
  type Question,
  type QuestionAnswer,
  questionBounds,
  questionFault,
  takesFreeText,
} from './question/question.ts'
export {
  alreadySettled,
  type Answered,
  type Decided,
  isAnswer,
  isDecision,
  isSettled,
  type Said,
  saysTheSame,
  type Settled,
} from './question/settled.ts'
export {
  type AskedQuestion,
  type FilesFact,
  type OpenCall,
  type RunState,
  type RunStatus,
  runEnded,
  startRun,
  type ToolFact,
} from './fold/run-state.ts'
export { evolveRun, skillMessage } from './fold/evolve-run.ts'
export { noSuspects, type OwnerLosses, ownerLosses, type SuspectTools } from './fold/owner-losses.ts'
export { attemptOf, retryIdOf } from './fold/retry-id.ts'
export { newestExchange, teamOutputReference, teamOutputTool } from './fold/shorten.ts'
export {
  callAsks,
  callNeedsApproval,
  callWaits,
  type CallProgress,
  heldBy,
  shownStatusOfCalls,
  statusOfCalls,
} from './fold/call-status.ts'
export type { EventPlace } from './fold/event-place.ts'
export { type PersonWaits, waitBegan, waitedMs, waitEnded, waitsOver } from './fold/person-waits.ts'
export {
  foldTask,
  lostWithoutProgress,
  newTask,
  previousTaskOf,
  type TaskState,
  type TaskStatus,
} from './fold/task-state.ts'
export {
  evolveTeam,
  startTeam,
  type TeamDiagnostic,
  type TeamNodeState,
  type TeamState,
} from './fold/team-state.ts'
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
} from './graph/execution-graph.ts'
export { type NodeState, type NodeStates, type NodeStatus, type TeamOutcome } from './graph/schedule.ts'
export {
  type Edge,
  findCycle,
  graphFault,
  reachable,
  sinksOf,
  type Topology,
  topologyOf,
  weakComponents,
} from './graph/topology.ts'
export {
  type Diagnostic,
  type Growth,
  type NodeEntry,
  type NodeSequel,
  type TeamProgram,
  type TeamView,
} from './graph/team-program.ts'
export { joinedOutputs, teamOutput } from './graph/team-output.ts'
export { type NodeEnd, type StepOptions, stepTeam } from './graph/team-step.ts'
export {
  foreignId,
  type LogId,
  logKey,
  type RunId,
  runId,
  type SessionId,
  sessionId,
  type TaskId,
  type TeamRunId,
  taskId,
  teamRunId,
} from './ids.ts'
export {
  type Acceptance,
  type AcceptOutcome,
  type Append,
  type AppendOutcome,
  type ArchivedGap,
  type ArchivedGaps,
  type Entry,
  type Journal,
  revisionAfter,
  type SessionTail,
  type SignedEntry,
} from './journal/journal.ts'
export {
  type Exchange,
  exchangeOf,
  type GivenMessage,
  historyBound,
  type HistoryBound,
  type LogSource,
  type PastExchange,
  type PastTask,
  readPastTask,
  visibleAnswer,
  visibleHistory,
} from './journal/past-task.ts'
export { isTimeZone, type LocalTime, localTime } from './context/time-zone.ts'
export {
  blobNameOf,
  headBefore,
  identityFault,
  type LogFault,
  type LogFaultKind,
  LogReader,
  newestRecord,
  foreignFault,
  type OpenedEntry,
  type OpenedRecord,
  openEntry,
  placeFault,
  type ReadBlob,
  type ReplacedData,
  type SignatureJudge,
} from './journal/read-log.ts'
export {
  type Blob,
  type Draft,
  draft,
  drafted,
  emptyHead,
  eventTypeOf,
  genesisHash,
  headAfter,
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
export type { SystemAppend, SystemLog } from './journal/system-log.ts'
export {
  appendSystemEvent,
  appendSystemEvents,
  emptySystemLog,
  type ReadSystemLog,
  readSystemEntries,
  type RecordedSystemEvent,
  systemEventTypeOf,
  systemFault,
  type SystemWriter,
} from './journal/system-record.ts'
export {
  type ArchivableLog,
  type ArchivableMessage,
  archivedIn,
  type ArchivedMessage,
  ArchivedMessages,
  archiveEvents,
  headAcross,
} from './journal/archived.ts'
export { RemovalLog, type Removals } from './journal/removals.ts'
export {
  redactedData,
  type Redaction,
  ReplacementBytes,
  type Replacements,
  replacementsOf,
} from './journal/redactions.ts'
export {
  checkOperator,
  joinJournal,
  type KeyPorts,
  operatorSigner,
  readKeyRing,
  revokeKey,
  systemSign,
  trustKey,
} from './journal/join-keys.ts'
export { KeyRing, keyStatus, type KnownKey, readTrustedEvents } from './journal/key-ring.ts'
export {
  lastHashOf,
  leafContent,
  pemOf,
  SignatureVerifier,
  type SigningKey,
  signingKeyFromPem,
  signingKeyOf,
  signTree,
  verifyingKey,
} from './journal/signature.ts'
export type { KeyStore } from './ports/key-store.ts'
export type { Delivery, TaskQueue, Wake } from './journal/task-queue.ts'
export { canonicalJson, type JsonObject, type JsonValue, jsonObject, jsonValue } from './json.ts'
export { isOn, type Optimisation, optimisations, switchOff } from './optimisations.ts'
export { guarded, processFacts, systemFacts, taskFacts, threadFacts } from './log/facts.ts'
export { safeJson, visible } from './hidden-characters.ts'
export { hideSecrets } from './secrets/hide-secrets.ts'
export { type MaskedStream, maskedStream } from './secrets/masked-stream.ts'
export {
  hasSecret,
  maskedData,
  maskSecrets,
  onSecretsChange,
  protectedSecrets,
  protectSecrets,
} from './secrets/process-secrets.ts'
export { isHideable, type KnownSecret } from './secrets/secret-masker.ts'
export { changeMemory, type MemoryLimits } from './memory/change-memory.ts'
export type { BlobStore } from './ports/blob-store.ts'
export {
  isProgress,
  type LiveDelta,
  liveDelta,
  type LiveProgress,
  liveProgress,
  type LiveUpdate,
  liveUpdate,
  progressText,
} from './ports/live-output.ts'
export {
  emptyMemory,
  type MemoryAnswer,
  type MemoryChange,
  type MemorySnapshot,
  type MemoryOwner,
  type MemoryStore,
  type MemoryTarget,
  memoryTarget,
} from './ports/memory-store.ts'
export {
  type LogFields,
  type Logger,
  loggerOver,
  type LogLevel,
  type LogLine,
  logLevels,
  silentLogger,
} from './ports/logger.ts'
export {
  type KnowledgeAnswer,
  type KnowledgeBase,
  knowledgeLimitMax,
  type KnowledgePassage,
  type KnowledgeRequest,
} from './ports/knowledge-base.ts'
export { type DocumentPassage, documentPassages, passageCharsMax } from './knowledge/passages.ts'
export { mixRanks } from './knowledge/mix-ranks.ts'
export { comparedWords } from './words/compared-words.ts'
export { foldedText, unfoldedPlace } from './words/folded-text.ts'
export type {
  SessionScope,
  SessionSearch,
  SessionSearchHit,
  SessionSearchRequest,
} from './ports/session-search.ts'
export { type Clock, pause, steadyClock, systemClock } from './ports/clock.ts'
export { type Ids, ulidIds } from './ports/ids.ts'
export {
  afterDeath,
  type AfterDeath,
  type Backoff,
  type Intensity,
  isExceeded,
  pauseBefore,
  recentDeaths,
} from './supervision/restart-intensity.ts'
export {
  type ChildEnd,
  type RunningChild,
  type StartChild,
  Supervision,
  type SupervisionOptions,
  type SupervisionStatus,
} from './supervision/supervision.ts'
export type { Escalation, RestartPolicy, SupervisorSpec } from './supervision/supervisor-spec.ts'
export { supervisors, timesWithoutProgress } from './supervision/supervisors.ts'
export {
  defaultEgressPolicy,
  egressGuard,
  type EgressPolicy,
  type Guard,
  guards,
  type Sink,
  sinks,
  stricter,
} from './taint/egress-policy.ts'
export { cleanTaint, isUnlabelled, joinTaints, type Taint, type TaintLabel, taint } from './taint/taint.ts'
export {
  changeSharedState,
  readSharedState,
  type SharedStateChange,
  type SharedStateResult,
  sharedStateBytesMax,
  sharedStateChange,
} from './team/shared-state.ts'
export {
  type AgentState,
  type AgentView,
  type CallView,
  growthOrder,
  heldTools,
  type TeamProgress,
} from './task-view/agent-view.ts'
export {
  agentAsks,
  type AskedCall,
  askingCall,
  type OpenQuestion,
  type SettledByPerson,
} from './task-view/asked.ts'
export {
  askInOutput,
  type CallItem,
  type OutputChange,
  type OutputItem,
  type OutputView,
} from './task-view/output-view.ts'
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
} from './task-view/task-view.ts'
export { describeEvent } from './telling/describe-event.ts'
export { clip, count, counted, excerpt } from './telling/text.ts'
export { type Actor, agentTitle, type EventDescription, type Surroundings } from './telling/told.ts'
export { type Doer, whoDid } from './telling/doer.ts'
export { applyToolScope, type ToolScope } from './tool-scope.ts'
export { appendCheckpoint } from './tree/append-checkpoint.ts'
export { type ArchivedLeaf, type JournalLeaf, journalLeaf, journalLeaves } from './tree/journal-leaf.ts'
export { appendLeaves, MerkleTree, type TileStore } from './tree/merkle-tree.ts'
export {
  checkpointText,
  type NoteKey,
  noteKeyText,
  readCheckpoint,
  signNote,
  type TreeHead,
} from './tree/signed-note.ts'
export type { OpenTask, OpenTasks } from './ports/open-tasks.ts'
export type { Peers, PeerState } from './ports/peers.ts'
