// Maps events to rows: it calls the writer of each event. It is total over the catalogue: a new event type does not compile without a line
// here. The writers: fold-task.ts, fold-run.ts, fold-calls.ts, fold-approvals.ts, fold-usage.ts, fold-team.ts.
// F1. An event changes rows of its own task only.
// F2. No event can make a writer fail. An event without a row to change changes none.
import { type EventType, isTerminalTaskEvent, type RecordedEvent } from '@beaver/core'
import { approvalDecided, approvalRequested } from './fold-approvals.ts'
import { answered, providerCallFailed, toolCallRequested, toolCallStarted, toolResultRecorded } from './fold-calls.ts'
import { modeSelected, runEnded, runRestarted, runStarted, skillsActivated } from './fold-run.ts'
import { cancelRequested, claimed, deadLettered, ended, endedUnread, released, submitted, suspended, waitsNoMore } from './fold-task.ts'
import {
  diagnosticRecorded,
  evidenceEvaluated,
  graphExtended,
  nodeBlocked,
  nodeCancelled,
  nodeCancelRequested,
  nodeCompleted,
  nodeComputed,
  nodeFailed,
  nodeSkipped,
  nodeStarted,
  sharedStateChanged,
  teamEnded,
  teamStarted,
} from './fold-team.ts'
import { contextCompacted, contextSummarized, promptFixed, skillSelected } from './fold-usage.ts'
import type { HeldTask } from './batch.ts'
import { userMessage } from './transcript.ts'

/** The place of an event. */
export interface Place {
  readonly taskKey: number
  readonly taskseq: number
  readonly time: string
  readonly runId: string | null
}

export function foldEvent(task: HeldTask, at: Place, event: RecordedEvent): void {
  waitsNoMore(task)
  switch (event.type) {
    case 'task_submitted':
      return submitted(task, at, event.data)
    case 'task_claimed':
      return claimed(task, at, event.data)
    case 'task_released':
      return released(task)
    case 'task_suspended':
      return suspended(task, event.data)
    case 'task_cancel_requested':
      return cancelRequested(task, event.data)
    case 'task_dead_lettered':
      return deadLettered(task)
    case 'task_completed':
    case 'task_incomplete':
    case 'task_failed':
    case 'task_cancelled':
      return ended(task, at, event.type, event.data)
    case 'run_started':
      return runStarted(task, at, event.data)
    case 'skill_selection_recorded':
      return skillSelected(task, at, event.data)
    case 'system_prompt_snapshotted':
      return promptFixed(task, at, event.data)
    case 'context_compacted':
      return contextCompacted(task, at, event.data)
    case 'context_summarized':
      return contextSummarized(task, at, event.data)
    case 'skill_activation_snapshotted':
      return skillsActivated(task, at, event.data)
    case 'execution_mode_selected':
      return modeSelected(task, at, event.data)
    case 'user_message_added':
      return userMessage(task, at, event.data)
    case 'assistant_message_added':
      return answered(task, at, event.data)
    case 'provider_call_failed':
      return providerCallFailed(task, at, event.data)
    case 'tool_call_requested':
      return toolCallRequested(task, at, event.data)
    case 'approval_requested':
      return approvalRequested(task, at, event.data)
    case 'approval_granted':
      return approvalDecided(task, at, { ...event.data, approval: 'granted', reason: null })
    case 'approval_denied':
      return approvalDecided(task, at, { ...event.data, approval: 'denied' })
    case 'tool_call_started':
      return toolCallStarted(task, at, event.data)
    case 'tool_result_recorded':
      return toolResultRecorded(task, at, event.data)
    case 'run_completed':
      return runEnded(task, at, { status: 'completed', finishReason: event.data.finish_reason, toolIterations: event.data.tool_iterations, failure: null })
    case 'run_failed':
      return runEnded(task, at, { status: 'failed', finishReason: null, toolIterations: event.data.tool_iterations, failure: event.data.failure })
    case 'run_cancelled':
      return runEnded(task, at, { status: 'cancelled', finishReason: null, toolIterations: null, failure: { class: 'cancelled', message: event.data.reason } })
    case 'run_restarted':
      return runRestarted(task, at, event.data)
    case 'task_team_run_started':
      return teamStarted(task.sql, at, event.data)
    case 'node_started':
      return nodeStarted(task.sql, at, event.data)
    case 'node_computed':
      return nodeComputed(task.sql, at, event.data)
    case 'node_skipped':
      return nodeSkipped(task.sql, at, event.data)
    case 'graph_extended':
      return graphExtended(task.sql, at, event.data)
    case 'node_evidence_evaluated':
      return evidenceEvaluated(task.sql, at, event.data)
    case 'node_completed':
      return nodeCompleted(task.sql, at, event.data)
    case 'node_failed':
      return nodeFailed(task.sql, at, event.data)
    case 'node_blocked':
      return nodeBlocked(task.sql, at, event.data)
    case 'node_cancel_requested':
      return nodeCancelRequested(task.sql, at, event.data)
    case 'node_cancelled':
      return nodeCancelled(task.sql, at, event.data)
    case 'team_diagnostic_recorded':
      return diagnosticRecorded(task.sql, at, event.data)
    case 'shared_state_changed':
      return sharedStateChanged(task.sql, at, event.data)
    case 'task_team_run_completed':
      return teamEnded(task.sql, at, { ...event.data, message: null })
    case 'task_team_run_failed':
      return teamEnded(task.sql, at, event.data)
    // These are stored in `events` only.
    case 'tool_scope_applied':
    case 'workspace_files_checked':
    case 'task_log_copied':
      return
    default:
      return event satisfies never
  }
}

/** An event whose data is lost. Even so, the end of a task is recorded. */
export function foldLostEvent(task: HeldTask, at: Place, type: EventType): void {
  if (isTerminalTaskEvent(type)) endedUnread(task, at, type)
}
