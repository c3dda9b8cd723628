// The row of a task. Its place in the chain (epoch, last_taskseq, head_hash) belongs to audit.ts.
// T1. A task that ended stays ended, whatever follows.
import type { DataOf, TerminalTaskEvent } from '@beaver/core'
import type { Place } from './fold.ts'
import { bit, type Sql } from './sql.ts'

export function submitted(sql: Sql, at: Place, { request, previous_task_id }: DataOf<'task_submitted'>): void {
  sql.run(
    'update tasks set text = ?, skill = ?, workspace = ?, source = ?, workflow = ?, profile = ?, previous_task_id = ?, submitted_at = ? where task_key = ?',
    [
      request.text,
      request.skill,
      request.workspace,
      request.source,
      request.workflow?.name ?? null,
      request.profile ?? null,
      previous_task_id,
      at.time,
      at.taskKey,
    ],
  )
}

export function claimed(sql: Sql, at: Place, { daemon }: DataOf<'task_claimed'>): void {
  sql.run(
    `update tasks set daemon = ?, claims = claims + 1, started_at = coalesce(started_at, ?),
       status = case when ended_at is null then 'running' else status end
     where task_key = ?`,
    [daemon, at.time, at.taskKey],
  )
}

export function released(sql: Sql, at: Place): void {
  sql.run('update tasks set daemon = null where task_key = ?', [at.taskKey])
}

export function cancelRequested(sql: Sql, at: Place, { reason }: DataOf<'task_cancel_requested'>): void {
  sql.run('update tasks set cancel_reason = coalesce(cancel_reason, ?) where task_key = ?', [reason, at.taskKey])
}

export function deadLettered(sql: Sql, at: Place): void {
  sql.run('update tasks set dead_lettered = 1 where task_key = ?', [at.taskKey])
}

export function ended(sql: Sql, at: Place, type: TerminalTaskEvent, result: DataOf<TerminalTaskEvent>): void {
  sql.run(
    `update tasks set status = ?, ended_at = ?, final_output = ?, outputs = ?, simulated = ?,
       provider = coalesce(?, provider), model = coalesce(?, model), failure_class = ?, failure_message = ?
     where task_key = ? and ended_at is null`,
    [
      statusAfter(type),
      at.time,
      result.final_output,
      JSON.stringify(result.outputs),
      bit(result.simulated),
      result.provider,
      result.model,
      result.failure?.class ?? null,
      result.failure?.message ?? null,
      at.taskKey,
    ],
  )
}

export function endedUnread(sql: Sql, at: Place, type: TerminalTaskEvent): void {
  sql.run('update tasks set status = ?, ended_at = ? where task_key = ? and ended_at is null', [statusAfter(type), at.time, at.taskKey])
}

const statusAfter = (type: TerminalTaskEvent): string => type.slice('task_'.length)
