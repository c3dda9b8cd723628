// What a run did: provider calls and tool calls. What they cost is in fold-usage.ts, what a person decided in fold-approvals.ts.
// C1. Tokens are summed from what was recorded as used, on the run, on the task and by model alike.
// C2. A start or a result belongs to the run's newest open call of that id; providers use ids again in later answers.
// C3. A result nobody asked for has a row of its own.
import type { DataOf } from '@beaver/core'
import type { Place } from './fold.ts'
import { addUsage } from './fold-usage.ts'
import { bit, type Sql } from './sql.ts'
import { assistantMessage, toolMessage } from './transcript.ts'

export function answered(sql: Sql, at: Place, answer: DataOf<'assistant_message_added'>): void {
  const { usage, provider_name: provider, model } = answer
  sql.run(
    `insert into provider_calls (task_key, taskseq, run_id, time, success, provider, model, response_id, finish_reason, duration_ms, input_tokens, output_tokens)
     values (?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?)`,
    [
      at.taskKey,
      at.taskseq,
      at.runId,
      at.time,
      provider,
      model,
      answer.response_id,
      answer.finish_reason,
      answer.duration_ms,
      usage.input_tokens,
      usage.output_tokens,
    ],
  )
  const asks = answer.tool_calls.length > 0
  sql.run(
    `update runs set provider = ?, model = ?, finish_reason = ?,
       output = ?, output_taskseq = ?, tool_iterations = tool_iterations + ?, status = case when ended_at is null then ? else status end
     where task_key = ? and run_id = ?`,
    [provider, model, answer.finish_reason, answer.content ?? '', at.taskseq, bit(asks), asks ? 'acting' : 'finalizing', at.taskKey, at.runId],
  )
  sql.run('update tasks set provider = ?, model = ? where task_key = ?', [provider, model, at.taskKey])
  addUsage(sql, at, { provider, model, usage })
  for (const [index, call] of answer.tool_calls.entries()) {
    sql.run('insert into tool_calls (task_key, asked_taskseq, call_index, run_id, call_id, tool, arguments) values (?, ?, ?, ?, ?, ?, ?)', [
      at.taskKey,
      at.taskseq,
      index,
      at.runId,
      call.id,
      call.name,
      call.arguments,
    ])
  }
  assistantMessage(sql, at, answer)
}

export function providerCallFailed(sql: Sql, at: Place, failed: DataOf<'provider_call_failed'>): void {
  sql.run(
    `insert into provider_calls (task_key, taskseq, run_id, time, success, provider, failure_class, failure_message, http_status, tries, retry_in_ms)
     values (?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?)`,
    [
      at.taskKey,
      at.taskseq,
      at.runId,
      at.time,
      failed.provider_name ?? null,
      failed.failure.class,
      failed.failure.message,
      failed.status === null ? null : Math.trunc(failed.status),
      failed.tries,
      failed.retry_in_ms,
    ],
  )
}

/** The run's newest open call of an id: for `[…, task_key, run_id, call_id]`. */
export const openCall = `rowid = (select rowid from tool_calls where task_key = ? and run_id is ? and call_id = ? and ended_at is null
  order by asked_taskseq desc, call_index limit 1)`

/** A call the graph asks for, without a model. */
export function toolCallRequested(sql: Sql, at: Place, { call }: DataOf<'tool_call_requested'>): void {
  sql.run('insert into tool_calls (task_key, asked_taskseq, call_index, run_id, call_id, tool, arguments) values (?, ?, 0, ?, ?, ?, ?)', [
    at.taskKey,
    at.taskseq,
    at.runId,
    call.id,
    call.name,
    call.arguments,
  ])
  sql.run("update runs set status = 'acting' where task_key = ? and run_id = ? and ended_at is null", [at.taskKey, at.runId])
}

export function toolCallStarted(sql: Sql, at: Place, call: DataOf<'tool_call_started'>): void {
  sql.run(`update tool_calls set started_at = coalesce(started_at, ?), starts = starts + 1, idempotent = ? where ${openCall}`, [
    at.time,
    bit(call.idempotent),
    at.taskKey,
    at.runId,
    call.call_id,
  ])
}

export function toolResultRecorded(sql: Sql, at: Place, result: DataOf<'tool_result_recorded'>): void {
  const outcome = [at.time, result.duration_ms, bit(result.success), result.error, result.content, at.taskseq]
  const matched = sql.run(`update tool_calls set ended_at = ?, duration_ms = ?, success = ?, error = ?, result = ?, result_taskseq = ? where ${openCall}`, [
    ...outcome,
    at.taskKey,
    at.runId,
    result.call_id,
  ])
  if (matched === 0) {
    sql.run(
      `insert into tool_calls (ended_at, duration_ms, success, error, result, result_taskseq, task_key, asked_taskseq, call_index, run_id, call_id, tool)
       values (?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?)`,
      [...outcome, at.taskKey, at.taskseq, at.runId, result.call_id, result.tool_name],
    )
  }
  statusOfCalls(sql, at)
  // The result of a tool node's call is its output.
  if (result.success) {
    sql.run('update runs set output = ?, output_taskseq = ? where task_key = ? and run_id = ? and output_taskseq is null', [
      result.content,
      at.taskseq,
      at.taskKey,
      at.runId,
    ])
  }
  toolMessage(sql, at, result)
}

/** What a run does follows from the open calls of its last answer: it acts, waits when a person is asked about every one, or thinks again. */
export function statusOfCalls(sql: Sql, at: Place): void {
  const open = 'select 1 from tool_calls where task_key = runs.task_key and run_id = runs.run_id and ended_at is null'
  const ofLastAnswer = `${open} and asked_taskseq >= coalesce(runs.output_taskseq, 0)`
  sql.run(
    `update runs set status = case when exists (${ofLastAnswer} and approval is not 'requested') then 'acting'
       when exists (${ofLastAnswer}) then 'waiting_for_approval' else 'thinking' end
     where task_key = ? and run_id = ? and ended_at is null`,
    [at.taskKey, at.runId],
  )
}
