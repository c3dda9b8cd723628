// Folds what a person was asked about a call, and what was decided. Like a start and a result, a decision
// belongs to the run's newest open call of that id. Without such a call it changes nothing.
import type { DataOf } from '@beaver/core'
import type { HeldTask } from './batch.ts'
import type { Place } from './fold.ts'
import { runStatusOfCalls } from './fold-calls.ts'

export function approvalRequested(
  task: HeldTask,
  at: Place,
  { call_id, subject, rule, reason, call_hash, preview }: DataOf<'approval_requested'>,
): void {
  const call = task.openCall(at.runId, call_id)
  if (call === undefined) return
  call.approval = 'requested'
  call.approval_subject = subject
  call.approval_rule = rule ?? reason ?? null
  call.approval_hash = call_hash ?? null
  call.approval_preview = preview === undefined ? null : JSON.stringify(preview)
  call.approval_requested_at = at.time
  call.approval_requested_taskseq = at.taskseq
  runStatusOfCalls(task, at)
}

export function approvalDecided(
  task: HeldTask,
  at: Place,
  decision: {
    call_id: string
    by: string
    user_id?: string | undefined
    approval: 'granted' | 'denied'
    reason: string | null
    arguments?: string | undefined
  },
): void {
  const call = task.openCall(at.runId, decision.call_id)
  if (call === undefined) return
  call.approval = decision.approval
  call.approval_by = decision.by
  call.approval_user = decision.user_id ?? null
  call.approval_arguments = decision.arguments ?? null
  call.approval_reason = decision.reason
  call.approval_decided_at = at.time
  runStatusOfCalls(task, at)
}
