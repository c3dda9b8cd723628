export { modelSettings, type ModelSettings, settingsFrom } from './model-settings.ts'
export { type ChatMessage, type ProviderState, type ToolCall, toolCall, type Usage, usage } from './chat.ts'
export { type ClientTool, clientTool, type ToolChoice, toolChoice } from './client-tool.ts'
export { addUsage, noUsage, partsOfUsage, type UsagePart, usageParts } from './usage.ts'
export { estimateTokens } from './context/estimate-tokens.ts'
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
export { type DataOf, type DomainEvent, type EventType, event, eventData } from './events/catalog.ts'
export {
  isTerminalTaskEvent,
  type TerminalTaskEvent,
  terminalTaskEvents,
  visibleEventTypes,
} from './events/event-kinds.ts'
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
export { isTimeZone, type LocalTime, localTime } from './context/time-zone.ts'
export type { KeyStore } from './ports/key-store.ts'
export { canonicalJson } from './canonical-json.ts'
export { type JsonObject, type JsonValue, jsonObject, jsonValue } from './json.ts'
export { isOn, type Optimisation, optimisations, switchOff } from './optimisations.ts'
export { guarded, processFacts, systemFacts, taskFacts, threadFacts } from './log/facts.ts'
export {
  secretBytes,
  signatureFault,
  signatureHeaders,
  signatureOf,
  signedHeaders,
  webhookOutcome,
} from './signed-webhook.ts'
export { safeJson, visible } from './hidden-characters.ts'
export { shellWord } from './shell-word.ts'
export { changeMemory, type MemoryLimits } from './memory/change-memory.ts'
export type { BlobStore } from './ports/blob-store.ts'
export { isProgress, progressText } from './telling/live-progress.ts'
export { statusWord, taskStatus } from './telling/status-words.ts'
export {
  type LiveDelta,
  liveDelta,
  type LiveProgress,
  liveProgress,
  type LiveUpdate,
  liveUpdate,
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
  type PaidEmbedding,
  type KnowledgeBase,
  knowledgeLimitMax,
  type KnowledgePassage,
  type KnowledgeRequest,
} from './ports/knowledge-base.ts'
export { type DocumentPassage, documentPassages, passageCharsMax } from './knowledge/passages.ts'
export { mixRanks } from './knowledge/mix-ranks.ts'
export { comparedWords } from './words/compared-words.ts'
export { foldedText, unfoldedPlace } from './words/folded-text.ts'
export { searchWords } from './words/search-words.ts'
export type {
  SessionScope,
  SessionSearch,
  SessionSearchHit,
  SessionSearchRequest,
} from './ports/session-search.ts'
export { type Clock, pause, steadyClock, systemClock } from './ports/clock.ts'
export { type Ids, ulidIds } from './ports/ids.ts'
export { applyToolScope, type ToolScope } from './tool-scope.ts'
export type { OpenTask, OpenTasks } from './ports/open-tasks.ts'
export type { Peers, PeerState } from './ports/peers.ts'
