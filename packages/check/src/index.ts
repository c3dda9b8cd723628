export { type AuditOptions, auditJournal, type AuditResult } from './audit-journal.ts'
export {
  type CheckOptions,
  checkJournal,
  type CheckResult,
  type CheckSummary,
  findingsMax,
  type Note,
  type SignatureSummary,
} from './check-journal.ts'
export { checkSettled } from './check-settled.ts'
export {
  type Evidence,
  type GivenCheckpoint,
  type JournalAbout,
  type JournalSource,
  type ProofOfConsistency,
  type ProofOfInclusion,
  type StreamMessage,
  UnreadableJournal,
} from './source.ts'
export { eventTypes } from './event.ts'
export { exportLines, openExport } from './export-file.ts'
export { type LogPlace, placeOf } from './layout.ts'
export { natsSource, type NatsSourceOptions } from './nats-source.ts'
export { type Finding, type Rule, rules } from './rules.ts'
export { judgeNote, type VerifierKey, readNote, readVerifierKey } from './note.ts'
export { passesAt } from './value-rules.ts'
export { LeafTree, leafOf, provesConsistency, provesInclusion } from './tree.ts'
