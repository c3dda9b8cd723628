// From event to rows: which writer takes which event. Total over the catalogue: a new event type does not compile until it has
// its line here. The writers: fold-task.ts, fold-run.ts, fold-calls.ts, fold-approvals.ts, fold-usage.ts, fold-team.ts.
// F1. An event changes rows of its own task only. F2. No event can make a writer fail: what has no row to change changes none.
import { type EventType, isTerminalTaskEvent, type RecordedEvent } from '@beaver/core'
import { approvalDecided, approvalRequested } from './fold-approvals.ts'
import { answered, providerCallFailed, toolCallRequested, toolCallStarted, toolResultRecorded } from './fold-calls.ts'
import { modeSelected, runEnded, runRestarted, runStarted, skillsActivated } from './fold-run.ts'
import { cancelRequested, claimed, deadLettered, ended, endedUnread, released, submitted } from './fold-task.ts'
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
import type { Sql } from './sql.ts'
import { userMessage } from './transcript.ts'

/** Where an event stands. */
export interface Place {
  readonly taskKey: number
  readonly taskseq: number
  readonly time: string
  readonly runId: string | null
}

export function foldEvent(sql: Sql, at: Place, event: RecordedEvent): void {
  switch (event.type) {
    case 'task_submitted':
      return submitted(sql, at, event.data)
    case 'task_claimed':
      return claimed(sql, at, event.data)
    case 'task_released':
      return released(sql, at)
    case 'task_cancel_requested':
      return cancelRequested(sql, at, event.data)
    case 'task_dead_lettered':
      return deadLettered(sql, at)
    case 'task_completed':
    case 'task_incomplete':
    case 'task_failed':
    case 'task_cancelled':
      return ended(sql, at, event.type, event.data)
    case 'run_started':
      return runStarted(sql, at, event.data)
    case 'skill_selection_recorded':
      return skillSelected(sql, at, event.data)
    case 'system_prompt_snapshotted':
      return promptFixed(sql, at, event.data)
    case 'context_compacted':
      return contextCompacted(sql, at, event.data)
    case 'context_summarized':
      return contextSummarized(sql, at, event.data)
    case 'skill_activation_snapshotted':
      return skillsActivated(sql, at, event.data)
    case 'execution_mode_selected':
      return modeSelected(sql, at, event.data)
    case 'user_message_added':
      return userMessage(sql, at, event.data)
    case 'assistant_message_added':
      return answered(sql, at, event.data)
    case 'provider_call_failed':
      return providerCallFailed(sql, at, event.data)
    case 'tool_call_requested':
      return toolCallRequested(sql, at, event.data)
    case 'approval_requested':
      return approvalRequested(sql, at, event.data)
    case 'approval_granted':
      return approvalDecided(sql, at, { ...event.data, approval: 'granted', reason: null })
    case 'approval_denied':
      return approvalDecided(sql, at, { ...event.data, approval: 'denied' })
    case 'tool_call_started':
      return toolCallStarted(sql, at, event.data)
    case 'tool_result_recorded':
      return toolResultRecorded(sql, at, event.data)
    case 'run_completed':
      return runEnded(sql, at, { status: 'completed', finishReason: event.data.finish_reason, toolIterations: event.data.tool_iterations, failure: null })
    case 'run_failed':
      return runEnded(sql, at, { status: 'failed', finishReason: null, toolIterations: event.data.tool_iterations, failure: event.data.failure })
    case 'run_cancelled':
      return runEnded(sql, at, { status: 'cancelled', finishReason: null, toolIterations: null, failure: { class: 'cancelled', message: event.data.reason } })
    case 'run_restarted':
      return runRestarted(sql, at, event.data)
    case 'task_team_run_started':
      return teamStarted(sql, at, event.data)
    case 'node_started':
      return nodeStarted(sql, at, event.data)
    case 'node_computed':
      return nodeComputed(sql, at, event.data)
    case 'node_skipped':
      return nodeSkipped(sql, at, event.data)
    case 'graph_extended':
      return graphExtended(sql, at, event.data)
    case 'node_evidence_evaluated':
      return evidenceEvaluated(sql, at, event.data)
    case 'node_completed':
      return nodeCompleted(sql, at, event.data)
    case 'node_failed':
      return nodeFailed(sql, at, event.data)
    case 'node_blocked':
      return nodeBlocked(sql, at, event.data)
    case 'node_cancel_requested':
      return nodeCancelRequested(sql, at, event.data)
    case 'node_cancelled':
      return nodeCancelled(sql, at, event.data)
    case 'team_diagnostic_recorded':
      return diagnosticRecorded(sql, at, event.data)
    case 'shared_state_changed':
      return sharedStateChanged(sql, at, event.data)
    case 'task_team_run_completed':
      return teamEnded(sql, at, { ...event.data, message: null })
    case 'task_team_run_failed':
      return teamEnded(sql, at, event.data)
    // In `events` only.
    case 'tool_scope_applied':
    case 'workspace_files_checked':
      return
    default:
      return event satisfies never
  }
}

/** An event whose data is lost: that a task ended is known all the same. */
export function foldLostEvent(sql: Sql, at: Place, type: EventType): void {
  if (isTerminalTaskEvent(type)) endedUnread(sql, at, type)
}
