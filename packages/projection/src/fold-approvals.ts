// What a person was asked about a call, and what was decided.
// A1. Like its start and its result, a decision belongs to the run's newest open call of that id.
import type { DataOf } from '@beaver/core'
import type { Place } from './fold.ts'
import { openCall, statusOfCalls } from './fold-calls.ts'
import type { Sql } from './sql.ts'

export function approvalRequested(sql: Sql, at: Place, { call_id, subject, rule }: DataOf<'approval_requested'>): void {
  sql.run(
    `update tool_calls set approval = 'requested', approval_subject = ?, approval_rule = ?, approval_requested_at = ?, approval_requested_taskseq = ?
     where ${openCall}`,
    [subject, rule, at.time, at.taskseq, at.taskKey, at.runId, call_id],
  )
  statusOfCalls(sql, at)
}

export function approvalDecided(sql: Sql, at: Place, decision: { call_id: string; by: string; approval: 'granted' | 'denied'; reason: string | null }): void {
  sql.run(`update tool_calls set approval = ?, approval_by = ?, approval_reason = ?, approval_decided_at = ? where ${openCall}`, [
    decision.approval,
    decision.by,
    decision.reason,
    at.time,
    at.taskKey,
    at.runId,
    decision.call_id,
  ])
  statusOfCalls(sql, at)
}
