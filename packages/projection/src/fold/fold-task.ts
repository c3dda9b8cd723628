// Folds the row of a task. Its place in the chain (epoch, last_taskseq, head_hash) belongs to audit.ts. A
// task that has ended stays ended, whatever follows.
import type { DataOf, TerminalTaskEvent } from '@beaver/core'
import type { HeldTask } from './batch.ts'
import { keepChecks } from './fold-team.ts'
import type { Place } from './fold.ts'
import { bit } from '../store/sql.ts'
import { taskAnswered, taskFailure, workflowAsked } from './transcript.ts'

export function submitted(
  task: HeldTask,
  at: Place,
  { request, previous_task_id, by }: DataOf<'task_submitted'>,
): void {
  const row = task.change()
  row.text = request.text
  row.skill = request.skill
  row.workspace = request.workspace
  row.source = request.source
  row.submitted_by = by ?? null
  row.user_id = request.user_id ?? null
  row.title = request.title ?? null
  row.workflow = request.workflow?.name ?? null
  row.profile = request.profile ?? null
  row.previous_task_id = previous_task_id
  row.retry_of = request.retry_of ?? null
  row.submitted_at = at.time
  task.sql.run(
    'update sessions set user_id = ?3 where session_id = ?1 and tenant = ?2 and user_id is not ?3',
    [row.session_id, row.tenant, row.user_id],
  )
  if (request.workflow !== undefined) workflowAsked(task, at, request.text)
}

/** The events that follow are those that the retry keeps of the task that it retries. */
export function copied(task: HeldTask, at: Place, { events }: DataOf<'task_log_copied'>): void {
  task.change().copied_to = at.taskseq + events
}

export function claimed(task: HeldTask, at: Place, { daemon }: DataOf<'task_claimed'>): void {
  const row = task.change()
  row.claims++
  row.started_at ??= at.time
  if (row.chain_ok === 0) return // It is in quarantine.
  row.daemon = daemon
  if (row.ended_at === null) row.status = 'running'
}

export function released(task: HeldTask): void {
  task.change().daemon = null
}

/** The task waits without a daemon until something wakes it. */
export function suspended(task: HeldTask, { waits_for, until, reason }: DataOf<'task_suspended'>): void {
  const row = task.change()
  row.daemon = null
  row.waits_for = waits_for
  row.wake_at = until
  row.wait_reason = reason
}

/** The task has an event after its suspension, so it waits for nothing. Core's fold has the same rule. */
export function waitsNoMore(task: HeldTask): void {
  if (task.row.waits_for === null) return
  const row = task.change()
  row.waits_for = null
  row.wake_at = null
  row.wait_reason = null
}

export function cancelRequested(task: HeldTask, { reason }: DataOf<'task_cancel_requested'>): void {
  task.change().cancel_reason ??= reason
}

export function deadLettered(task: HeldTask): void {
  task.change().dead_lettered = 1
}

export function ended(
  task: HeldTask,
  at: Place,
  type: TerminalTaskEvent,
  result: DataOf<TerminalTaskEvent>,
): void {
  if (task.row.ended_at !== null) return
  endedUnread(task, at, type)
  const row = task.change()
  row.final_output = result.final_output
  row.outputs = JSON.stringify(result.outputs)
  row.simulated = bit(result.simulated)
  row.provider = result.provider ?? row.provider
  row.model = result.model ?? row.model
  row.failure_class = result.failure?.class ?? null
  row.failure_message = result.failure?.message ?? null
  keepChecks(task.sql, at, { team_run_id: '', node_id: '', run_id: '', checks: result.evidence ?? [] })
  taskAnswered(task, at, result)
  if (result.failure !== null) taskFailure(task, at, result.failure)
}

export function endedUnread(task: HeldTask, at: Place, type: TerminalTaskEvent): void {
  if (task.row.ended_at !== null) return
  const row = task.change()
  waitsNoMore(task)
  row.status = statusAfter(type)
  row.ended_at = at.time
}

const statusAfter = (type: TerminalTaskEvent): string => type.slice('task_'.length)
