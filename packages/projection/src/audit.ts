// The audit: does each record follow the one before it in its task's log? It reports and goes on; it never refuses to show.
// A1. Every record is compared with the head stored for its task, whatever batch it came in.
// A2. After a fault the log goes on from what the record says of itself, so that one break is one finding.
// A3. A record for a place that is already taken is kept in the finding; it changes no other row.
import { chainFault, emptyHead, headAfter, type LogHead, type LogId, logKey, messageOf, type WireRecord } from '@beaver/core'
import type { Finding } from './intake.ts'
import { bit, type Sql } from './sql.ts'

/** Where a task stands while a batch is applied. */
export interface Standing {
  readonly key: number
  head: LogHead
  chainOk: boolean
  lastEventAt: string | null
}

/** The tasks a batch touches; `save` writes where they stand, once each. */
export interface Standings {
  of(log: LogId): Standing
  save(): void
}

export function standingsIn(sql: Sql): Standings {
  const touched = new Map<string, Standing>()
  return {
    of(log) {
      const key = logKey(log)
      let standing = touched.get(key)
      if (standing === undefined) touched.set(key, (standing = load(sql, log)))
      return standing
    },
    save() {
      for (const task of touched.values()) {
        sql.run('update tasks set epoch = ?, last_taskseq = ?, head_hash = ?, chain_ok = ?, last_event_at = ? where task_key = ?', [
          task.head.epoch,
          task.head.taskseq,
          task.head.hash,
          bit(task.chainOk),
          task.lastEventAt,
          task.key,
        ])
      }
    },
  }
}

interface StandingRow {
  readonly task_key: number
  readonly last_taskseq: number
  readonly epoch: number
  readonly head_hash: string
  readonly chain_ok: number
  readonly last_event_at: string | null
}

function load(sql: Sql, { tenant, session, task }: LogId): Standing {
  const find = 'select task_key, last_taskseq, epoch, head_hash, chain_ok, last_event_at from tasks where tenant = ? and session_id = ? and task_id = ?'
  let row = sql.get<StandingRow>(find, [tenant, session, task])
  if (row === undefined) {
    sql.run('insert into tasks (tenant, session_id, task_id, head_hash) values (?, ?, ?, ?)', [tenant, session, task, emptyHead.hash])
    row = sql.one<StandingRow>(find, [tenant, session, task])
  }
  const head = { taskseq: row.last_taskseq, epoch: row.epoch, hash: row.head_hash }
  return { key: row.task_key, head, chainOk: row.chain_ok === 1, lastEventAt: row.last_event_at }
}

/** `place`: the record takes its place in the log, with or without a finding. `repeat`: its place is taken. */
export type Verdict = { readonly kind: 'place' | 'repeat'; readonly finding: Finding | null }

/** Judges a record against where its task stands, and moves the task on. */
export function judge(task: Standing, record: WireRecord): Verdict {
  const fault = faultOf(task.head, record)
  if (fault === null) {
    task.head = headAfter(record)
    return { kind: 'place', finding: null }
  }
  task.chainOk = false
  if (record.taskseq <= task.head.taskseq) return { kind: 'repeat', finding: { kind: 'repeat', message: fault } }
  task.head = headAfter(record)
  return { kind: 'place', finding: { kind: 'chain', message: fault } }
}

function faultOf(head: LogHead, record: WireRecord): string | null {
  try {
    return chainFault(head, record)
  } catch (error) {
    // Data nested deeper than the stack cannot be put in canonical form.
    return `event ${record.taskseq} cannot be verified: ${messageOf(error)}`
  }
}

export function recordFinding(sql: Sql, at: { taskKey: number; sequence: number; taskseq: number | null; record?: WireRecord }, finding: Finding): void {
  sql.run('insert into audit_findings (task_key, taskseq, kind, message, sequence, record) values (?, ?, ?, ?, ?, ?)', [
    at.taskKey,
    at.taskseq,
    finding.kind,
    finding.message,
    at.sequence,
    at.record === undefined ? null : JSON.stringify(at.record),
  ])
}
