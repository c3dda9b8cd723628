export { isRefusedWith, tooFewServers } from './api-refusal.ts'
export { type AskAt, askDaemon, askOneDaemon, askProjector } from './ask-by-contract.ts'
export { natsBlobStore, natsTexts } from './blob-store.ts'
export { natsBudgetAccounts } from './budget-accounts.ts'
export { type ChangePublisher, changePublisher, followChanges } from './changes.ts'
export { closeGently } from './close-gently.ts'
export { compareVersions, connectNats, serverVersionTested, shownUrl } from './connect.ts'
export { eraseBlob } from './erase-blob.ts'
export {
  embeddedIdentities,
  embeddedLogin,
  identitiesWith,
  type Identity,
  type NamedRole,
  permissionsFor,
} from './identities.ts'
export { type Attempt, beyondRole, neededBy, ofAnotherTenant, permitted } from './probe-permissions.ts'
export { type Role, roles } from './permissions.ts'
export {
  type EmbeddedServer,
  type EmbeddedServerOptions,
  startEmbeddedServer,
  userLines,
} from './embedded-server.ts'
export { findNatsServer, type FoundNatsServer } from './find-nats-server.ts'
export {
  type FeedBatch,
  type FeedMessage,
  findTask,
  followJournal,
  followLog,
  type StrayMessage,
  type SystemFeedMessage,
} from './journal-feed.ts'
export { type JournalSignatures, natsJournal, type NatsJournal } from './journal.ts'
export { JournalTrust, type RecordReading, recordReading } from './journal-trust.ts'
export { type JournalReader, journalReader } from './journal-reader.ts'
export { type MessageBusOptions, natsMessageBus } from './message-bus.ts'
export { natsMemoryStore, type NatsMemoryStore } from './memory-store.ts'
export { natsOpenTasks } from './open-tasks.ts'
export type { NatsLogin } from '@beaver/platform/nats-login'
export { type DaemonFigures, natsPeers, type NatsPeers, type PresentDaemon, presentDaemons } from './peers.ts'
export {
  type JournalAcceptance,
  type JournalFinding,
  journalFindingKind,
  type JournalMark,
} from './journal-judge.ts'
export {
  acceptanceFault,
  journalRefusal,
  type JournalWatch,
  markStore,
  type MarkStore,
  readAcceptances,
  signedAcceptance,
  watchJournal,
} from './journal-watch.ts'
export { acceptableState } from './acceptable-state.ts'
export { backupFormat, backupManifest, type BackupManifest } from './backup-manifest.ts'
export { judgeMark } from './judge-mark.ts'
export { lineOf } from './line.ts'
export { callerName, roleLogin } from './login.ts'
export { elsewhereMs, leaveServer } from './other-server.ts'
export { openInCluster } from './open-in-cluster.ts'
export { type PlacedStream, placedStreams, placeStream, standingOf } from './placed-streams.ts'
export { putInBucket } from './put-in-bucket.ts'
export { refusedOn } from './request-guard.ts'
export { call, type HandleRequest, NotSent, parseRequest, serve } from './rpc.ts'
export { natsFault } from './nats-fault.ts'
export { natsSessionSearch } from './session-search.ts'
export { damageIn } from './server-log.ts'
export {
  type ArchivedHead,
  archivableOf,
  deleteArchived,
  mayShorten,
  type Removed,
} from './shorten-journal.ts'
export { ensureJournalStream, hasChannelStream } from './stream.ts'
export { type PlacedConfig, replicasExpected, storedPlacement, type StreamPlace } from './stream-place.ts'
export { type StreamLook, streamPulse } from './stream-pulse.ts'
export {
  deleteEmptyStream,
  describeStream,
  lastSequenceOf,
  restoreStream,
  snapshotStream,
  type StreamDescription,
} from './stream-snapshot.ts'
export { callerOf, encodeToken, logOf, type Subjects, subjectsOf } from './subjects.ts'
export { natsSystemLog } from './system-log.ts'
export { natsTaskQueue } from './task-queue.ts'
export { watchConnection } from './watch-connection.ts'
