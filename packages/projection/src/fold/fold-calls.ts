// Folds what a run did: provider calls and tool calls. Their cost is in fold-usage.ts, the decisions of
// people are in fold.ts. Tokens are the sum of the recorded usage, in the same way for the run, for
// the task and by model. A start or a result belongs to the run's newest open call of that id, because
// providers use ids again in later answers. A result without a call has a row of its own.
import type { DataOf } from '@beaver/core'
import { shownStatusOfCalls } from '@beaver/core/fold'
import type { HeldTask, Place } from './batch.ts'
import { addUsage } from './fold-usage.ts'
import { tables } from '../store/schema.ts'
import { bit } from '../store/sql.ts'
import { insert } from '../store/table.ts'
import { assistantMessage, toolMessage } from './transcript.ts'

export function answered(task: HeldTask, at: Place, answer: DataOf<'assistant_message_added'>): void {
  const { usage, provider_name: provider, model } = answer
  // A copied answer was given and paid in another task. No model gave an answer that is a team's text.
  const isNew = answer.copied_from === undefined && answer.delivered_from === undefined
  task.named('model', model)
  if (isNew) providerCallAnswered(task, at, answer)
  const asks = answer.tool_calls.length > 0
  const run = task.run(at.runId)
  if (run !== undefined) {
    run.provider = provider
    run.model = model
    run.finish_reason = answer.finish_reason
    run.output = answer.content ?? ''
    run.output_taskseq = at.taskseq
    run.tool_iterations += bit(asks)
    if (run.ended_at === null) run.status = asks ? 'acting' : 'finalizing'
  }
  const row = task.change()
  row.provider = provider
  row.model = model
  if (isNew) addUsage(task, at, { provider, model, usage })
  for (const [index, call] of answer.tool_calls.entries()) {
    task.addCall({
      asked_taskseq: at.taskseq,
      call_index: index,
      run_id: at.runId,
      call_id: call.id,
      tool: call.name,
      arguments: call.arguments,
    })
  }
  assistantMessage(task, at, answer)
}

function providerCallAnswered(task: HeldTask, at: Place, answer: DataOf<'assistant_message_added'>): void {
  const { usage, provider_name: provider, model } = answer
  insert(task.sql, tables.provider_calls, {
    task_key: task.key,
    taskseq: at.taskseq,
    run_id: at.runId,
    time: at.time,
    success: 1,
    provider,
    model,
    response_id: answer.response_id,
    finish_reason: answer.finish_reason,
    duration_ms: answer.duration_ms,
    input_tokens: usage.input_tokens,
    output_tokens: usage.output_tokens,
  })
}

export function providerCallFailed(task: HeldTask, at: Place, failed: DataOf<'provider_call_failed'>): void {
  const { usage, provider_name: provider, model } = failed
  insert(task.sql, tables.provider_calls, {
    task_key: task.key,
    taskseq: at.taskseq,
    run_id: at.runId,
    time: at.time,
    success: 0,
    provider,
    model,
    input_tokens: usage?.input_tokens,
    output_tokens: usage?.output_tokens,
    failure_class: failed.failure.class,
    failure_message: failed.failure.message,
    http_status: failed.status === null ? null : Math.trunc(failed.status),
    tries: failed.tries,
    retry_in_ms: failed.retry_in_ms,
  })
  // An answer that is of no use is paid all the same.
  if (usage !== undefined)
    addUsage(task, at, { provider: provider ?? 'unknown', model: model ?? 'unknown', usage })
}

/** A call that has no answer in the conversation: it was lost, or it only compared texts. */
export function paidBeside(
  task: HeldTask,
  at: Place,
  { usage, provider_name: provider, model }: DataOf<'model_call_lost' | 'model_call_paid'>,
): void {
  addUsage(task, at, { provider, model, usage })
}

/** A call that the graph requests, without a model. */
export function toolCallRequested(task: HeldTask, at: Place, { call }: DataOf<'tool_call_requested'>): void {
  task.addCall({
    asked_taskseq: at.taskseq,
    call_index: 0,
    run_id: at.runId,
    call_id: call.id,
    tool: call.name,
    arguments: call.arguments,
  })
  const run = task.run(at.runId)
  if (run !== undefined && run.ended_at === null) run.status = 'acting'
}

export function toolCallStarted(task: HeldTask, at: Place, started: DataOf<'tool_call_started'>): void {
  const call = task.openCall(at.runId, started.call_id)
  if (call === undefined) return
  call.started_at ??= at.time
  call.starts++
  call.idempotent = bit(started.idempotent)
  runStatusOfCalls(task, at)
}

export function toolResultRecorded(task: HeldTask, at: Place, result: DataOf<'tool_result_recorded'>): void {
  const outcome = {
    ended_at: at.time,
    duration_ms: result.duration_ms,
    success: bit(result.success),
    error: result.error,
    result: result.content,
    result_taskseq: at.taskseq,
  }
  const call = task.openCall(at.runId, result.call_id)
  if (call === undefined) {
    task.addCall({
      asked_taskseq: at.taskseq,
      call_index: 0,
      run_id: at.runId,
      call_id: result.call_id,
      tool: result.tool_name,
      ...outcome,
    })
  } else {
    Object.assign(call, outcome)
    task.endCall(call)
    runStatusOfCalls(task, at)
  }
  // The result of a tool node's call is its output.
  const run = task.run(at.runId)
  if (run !== undefined && result.success && run.output_taskseq === null) {
    run.output = result.content
    run.output_taskseq = at.taskseq
  }
  toolMessage(task, at, result)
}

/** The status of a run follows from the open calls of its last answer, as in core's fold. */
export function runStatusOfCalls(task: HeldTask, at: Place): void {
  const run = task.run(at.runId)
  if (run === undefined || run.ended_at !== null) return
  const calls = task.openCalls(at.runId).filter((call) => call.asked_taskseq >= (run.output_taskseq ?? 0))
  run.status = shownStatusOfCalls(
    calls.map(({ approval, result, starts, asking_taskseq, client_taskseq }) => ({
      approval,
      result,
      started: starts > 0,
      asking: asking_taskseq !== null,
      atClient: client_taskseq !== null,
    })),
  )
}
