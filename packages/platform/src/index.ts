export { type NatsLogin, natsLoginEnvironment, natsLoginVariables } from './config/nats-login.ts'
export type { Config, ConfigFile } from './config/config-file.ts'
export { type ConfigFlags, loadConfig } from './config/config.ts'
export { type ManagedMcpServer, managedMcpServers } from './config/mcp-server.ts'
export {
  currentPrices,
  importedPrices,
  importPrices,
  mergedPrices,
  type PriceChange,
  type PricesFile,
  pricesOf,
} from './config/prices.ts'
export { configuredBudgets } from './config/budgets.ts'
export { type BadEntry, readPrices } from './config/read-prices.ts'
export { type EndpointConfig, isSimulated } from './config/endpoint.ts'
export { inlineFallback, namesOfRoute, routeOf } from './config/named-models.ts'
export { type ChannelConfig, secretVariables } from './config/channels.ts'
export { workspaceRootsEnvironment } from './config/workspace-roots.ts'
export { configuredPolicies } from './config/retries.ts'
export { whileLocked } from './home/file-lock.ts'
export { HomeInUse, isAlive, lockHolder, lockHome, startOf } from './home/home-lock.ts'
export { homeKeys, knownOperator, machineName } from './home/home-keys.ts'
export { acceptancesFile, journalFiles, keptFile, type KeptFile } from './home/kept-file.ts'
export {
  homeChangeTexts,
  type HomeChange,
  makeHomePrivate,
  makePrivateFile,
  readModelFile,
} from './home/private-home.ts'
export { isMarked, makeOwnFolder, mark as homeMark, markHome, requireOwnHome } from './home/home-origin.ts'
export { makeFolder } from './home/make-folder.ts'
export { serverLogOf } from './home/server-log.ts'
export { runningStatus, type StatusFile } from './home/status-file.ts'
export { readSystemFile, removeSystemFile, type SystemFile, writeSystemFile } from './home/system-file.ts'
export { type AlertWebhook, configuredAlertWebhook } from './process/webhook.ts'
export { runAsChild, type StartedChild } from './process/lifeline.ts'
export { stderrLogger, type StderrLoggerOptions } from './process/stderr-logger.ts'
export { beaverVersion } from './process/version.ts'
export { type AskedRight } from './trust/asked-rights.ts'
export {
  type FolderTrust,
  requireTrust,
  systemKeysLeftOut,
  trustForChild,
  trustLines,
} from './trust/folder-trust.ts'
export {
  revokeTrust,
  trustedFolder,
  type TrustedFolder,
  trustedFolders,
  trustFolder,
  trustStoreFolder,
} from './trust/trust-store.ts'
export { optionalPackages, requirePackages } from './process/optional-packages.ts'
export {
  builtTarball,
  importedByUsers,
  type Installation,
  installation,
  natsServerAdvice,
  natsServerName,
  natsServerPackage,
  publishedName,
  thisPlatform,
} from './process/installation.ts'
