// The journal: logs, entries, records, hashes, signatures, and the ports that store them.
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
} from './journal.ts'
export {
  type Exchange,
  exchangeMessages,
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
  visibleHistoryNow,
} from './past-task.ts'
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
} from './read-log.ts'
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
} from './record.ts'
export type { SystemAppend, SystemLog } from './system-log.ts'
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
} from './system-record.ts'
export {
  type ArchivableLog,
  type ArchivableMessage,
  archivedIn,
  type ArchivedMessage,
  ArchivedMessages,
  archiveEvents,
  headAcross,
} from './archived.ts'
export { RemovalLog, type Removals } from './removals.ts'
export {
  redactedData,
  type Redaction,
  ReplacementBytes,
  type Replacements,
  replacementsOf,
} from './redactions.ts'
export {
  checkOperator,
  joinJournal,
  type KeyPorts,
  operatorSigner,
  readKeyRing,
  revokeKey,
  systemSign,
  trustKey,
} from './join-keys.ts'
export { KeyRing, keyStatus, type KnownKey, readTrustedEvents } from './key-ring.ts'
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
} from './signature.ts'
export type { Delivery, TaskQueue, Wake } from './task-queue.ts'
export { appendCheckpoint } from '../tree/append-checkpoint.ts'
export { type ArchivedLeaf, type JournalLeaf, journalLeaf, journalLeaves } from '../tree/journal-leaf.ts'
export { appendLeaves, MerkleTree, type TileStore } from '../tree/merkle-tree.ts'
export {
  checkpointText,
  type NoteKey,
  noteKeyText,
  readCheckpoint,
  signNote,
  type TreeHead,
} from '../tree/signed-note.ts'
