export { type Archives, noArchives } from './fold/archives.ts'
export type { FindingKind, JournalMessage } from './fold/intake.ts'
export type { SystemMessage } from './fold/fold-system.ts'
export {
  eventsAfter,
  eventsOfTask,
  keyOfRetried,
  lastPlace,
  logOfTask,
  placeInFeed,
  type StoredEvent,
} from './event-feed.ts'
export { answer } from './queries/queries.ts'
export { endedSince, longestWaiting, waitReasons, waitsNow } from './queries/waits-now.ts'
export { checkpointFault, nextCheckpoint } from './fold/fold-checkpoint.ts'
export type { Anchoring, Around, Following, NoteSigner } from './queries/query.ts'
export { type Applied, openReadModel, type ReadModel } from './read-model.ts'
export { type ModelSnapshot, openSnapshot } from './store/snapshot.ts'
export { countFaults, keyOfTask, type TaskVerdict, verifyTasks } from './verify.ts'
export { tableNames } from './store/schema.ts'
export type { Sql, SqlValue } from './store/sql.ts'
