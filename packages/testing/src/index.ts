export { responsesDialects, type ResponsesDialect, responsesDialectsWith } from './responses-dialects.ts'
export {
  chatProviderContract,
  type ChatProviderUnderTest,
  contractKey,
  contractUsage,
  type ModelTurn,
} from './chat-provider-contract.ts'
export { foreignMessageContract } from './foreign-message-contract.ts'
export { journalContract, type JournalUnderTest } from './journal-contract.ts'
export { rootSpec, toolSpec, workerSpec } from './loop-specs.ts'
export { budgetAccountsContract, type BudgetAccountsUnderTest } from './budget-accounts-contract.ts'
export { type MemoryHost, memoryHost, type MemoryHostOptions } from './memory-host.ts'
export { type BudgetStorage, memoryBudgetAccounts } from './memory-budget-accounts.ts'
export { memoryBlobStore, memoryJournal, type MemoryJournal } from './memory-journal.ts'
export { knowledgeBaseContract, type KnowledgeBaseUnderTest } from './knowledge-base-contract.ts'
export { memoryKnowledgeBase } from './memory-knowledge-base.ts'
export { memoryMessageBus, messageStorage } from './memory-message-bus.ts'
export { inboundOf, messageBusContract, outboundOf } from './message-bus-contract.ts'
export { memoryMemoryStore, type MemoryStorage } from './memory-store.ts'
export { memoryStoreContract, type MemoryStoresUnderTest } from './memory-store-contract.ts'
export {
  calls,
  hangsPaid,
  says,
  type ScriptedProvider,
  scriptedProvider,
  type ScriptedReply,
  streams,
} from './scripted-provider.ts'
export { type Held, held, until } from './until.ts'
export { ownMs } from './own-time.ts'
export { countingIds, type VirtualClock, virtualClock } from './virtual-clock.ts'
export {
  agentNodes,
  agents,
  type Answers,
  dependencies,
  errorOf,
  graphOf,
  play,
  type Played,
  refuses,
  scripted,
  statusOf,
  structure,
} from './team-driver.ts'
export { toolContext } from './tool-context.ts'
export { memorySystemLog } from './memory-system-log.ts'
export { systemLogContract } from './system-log-contract.ts'
export { memoryKeys, newSigningKey } from './memory-keys.ts'
export { mcpRequest } from './mcp-request.ts'
export { type OAuthFixture, oauthFixture } from './mcp-oauth-server.ts'
export { type RawHttp, rawHttpServer, type RawRequest } from './mcp-raw-server.ts'
export { type Dialect, dialects, dialectsWith, weatherAnswer, weatherCall } from './dialects.ts'
export { accountWordings } from './account-wordings.ts'
export { type ImageWording, badImageWordings, imageCountWordings, imageWordings } from './image-wordings.ts'
export { otherWordings, overflowWordings } from './overflow-wordings.ts'
export { formWordings, type FormWording } from './form-wordings.ts'
export { cacheWordings, type CacheWording } from './cache-wordings.ts'
export { type CacheUse, prefixCache, type PrefixCache, type PrefixCacheOptions } from './prefix-cache.ts'
export { type MetricFamily, readPrometheusText, sampleOf } from './prometheus-text.ts'
