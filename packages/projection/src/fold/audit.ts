// The audit: checks that each record follows the one before it in its task's log, by the head that is stored
// for the task. It reports faults and continues. After a fault, the log continues from what the record says
// of itself, so that one break is one finding. A record that claims a taken place changes no other row. A
// record follows those before it that are in an archive.
import type { LogId } from '@beaver/core'
import { type ArchivedGap, headAcross, placeFault, type WireRecord } from '@beaver/core/journal'
import type { HeldTask } from './batch.ts'
import type { Finding } from './intake.ts'
import { tables } from '../store/schema.ts'
import type { Sql } from '../store/sql.ts'
import { insert } from '../store/table.ts'

/**
 * `place`: the record takes its place in the log, with or without a finding. `repeat`: its place is already
 * taken.
 */
export type Verdict = { readonly kind: 'place' | 'repeat'; readonly finding: Finding | null }

/** Gives the archived messages of the log. */
export type GapsOf = () => readonly ArchivedGap[]

/** Judges a record against the head of its task, and moves the task on. */
export function judge(task: HeldTask, log: LogId, record: WireRecord, gaps: GapsOf = () => []): Verdict {
  const { last_taskseq: taskseq, epoch, head_hash: hash } = task.row
  const head = { taskseq, epoch, hash }
  const across = record.taskseq > taskseq + 1 ? headAcross(gaps(), head, record) : null
  const fault = placeFault(log, across ?? head, record)
  if (fault !== null) broken(task)
  if (fault !== null && record.taskseq <= taskseq)
    return { kind: 'repeat', finding: { kind: 'repeat', message: fault.message } }
  const row = task.change()
  row.last_taskseq = record.taskseq
  row.epoch = record.epoch
  row.head_hash = record.hash
  if (across !== null) row.archived_events += across.taskseq - taskseq
  return { kind: 'place', finding: fault }
}

/**
 * From here on, the task is shown as broken. If it has not ended, it is in quarantine: no daemon drives a
 * task whose log does not verify.
 */
export function broken(task: HeldTask): void {
  const row = task.change()
  row.chain_ok = 0
  if (row.ended_at !== null) return
  row.status = 'quarantined'
  row.daemon = null
}

export function recordFinding(
  sql: Sql,
  at: { taskKey: number; sequence: number; taskseq: number | null; record?: WireRecord },
  finding: Finding,
): void {
  insert(sql, tables.audit_findings, {
    task_key: at.taskKey,
    taskseq: at.taskseq,
    kind: finding.kind,
    message: finding.message,
    sequence: at.sequence,
    record: at.record === undefined ? null : JSON.stringify(at.record),
  })
}
