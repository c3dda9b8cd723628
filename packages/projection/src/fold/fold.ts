// Maps events to rows: it calls the writer of each event. It is total over the catalogue: a new event type
// does not compile without a row in `writers`. The writers: fold-task.ts, fold-run.ts, fold-calls.ts,
// fold-approvals.ts, fold-usage.ts, fold-team.ts. An event changes rows of its own task only. No event can
// make a writer fail. An event without a row to change changes none.
import {
  type DataOf,
  type EventType,
  isTerminalTaskEvent,
  type RecordedEvent,
  type TerminalTaskEvent,
} from '@beaver/core'
import { approvalDecided, approvalRequested } from './fold-approvals.ts'
import { questionAnswered, questionAsked } from './fold-questions.ts'
import {
  answered,
  providerCallFailed,
  toolCallRequested,
  toolCallStarted,
  toolResultRecorded,
} from './fold-calls.ts'
import { modeSelected, runEnded, runRestarted, runStarted, skillsActivated } from './fold-run.ts'
import { steerGiven, steerRequested } from './fold-steers.ts'
import {
  cancelRequested,
  claimed,
  copied,
  deadLettered,
  ended,
  endedUnread,
  released,
  submitted,
  suspended,
  waitsNoMore,
} from './fold-task.ts'
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
import {
  contextCompacted,
  contextSummarized,
  promptFixed,
  skillSelected,
  summaryRefused,
} from './fold-usage.ts'
import type { Sql } from '../store/sql.ts'
import type { HeldTask } from './batch.ts'
import { nodeFailure, runFailure, userMessage } from './transcript.ts'

/** The place of an event. */
export interface Place {
  readonly taskKey: number
  readonly taskseq: number
  readonly time: string
  readonly runId: string | null
}

/** Changes the rows by the data of an event. */
type Writer<T extends EventType> = (task: HeldTask, at: Place, data: DataOf<T>) => void

/** Events that are stored in `events` only. */
const noRows = (): void => {}
const ends =
  <T extends TerminalTaskEvent>(type: T): Writer<T> =>
  (task, at, data) =>
    ended(task, at, type, data)
/** The writer of an event of a team, which changes no row of the task itself. */
const ofTeam =
  <Data>(write: (sql: Sql, at: Place, data: Data) => void) =>
  (task: HeldTask, at: Place, data: Data): void =>
    write(task.sql, at, data)

const writers: { readonly [T in EventType]: Writer<T> } = {
  task_submitted: submitted,
  task_claimed: claimed,
  task_released: released,
  task_suspended: (task, _at, data) => suspended(task, data),
  task_cancel_requested: (task, _at, data) => cancelRequested(task, data),
  task_steer_requested: steerRequested,
  task_dead_lettered: deadLettered,
  task_completed: ends('task_completed'),
  task_incomplete: ends('task_incomplete'),
  task_failed: ends('task_failed'),
  task_cancelled: ends('task_cancelled'),
  task_log_copied: copied,
  run_started: runStarted,
  tool_scope_applied: noRows,
  tools_left_out: noRows,
  skill_selection_recorded: skillSelected,
  system_prompt_snapshotted: promptFixed,
  context_compacted: contextCompacted,
  context_summarized: contextSummarized,
  summary_refused: summaryRefused,
  skill_activation_snapshotted: skillsActivated,
  execution_mode_selected: modeSelected,
  user_message_added(task, at, data) {
    userMessage(task, at, data)
    steerGiven(task, at, data)
  },
  assistant_message_added: answered,
  provider_call_failed: providerCallFailed,
  output_rejected: noRows,
  tool_call_requested: toolCallRequested,
  approval_requested: approvalRequested,
  approval_granted: (task, at, data) =>
    approvalDecided(task, at, { ...data, approval: 'granted', reason: null }),
  approval_denied: (task, at, data) => approvalDecided(task, at, { ...data, approval: 'denied' }),
  question_asked: questionAsked,
  question_answered: questionAnswered,
  tool_call_started: toolCallStarted,
  tool_result_recorded: toolResultRecorded,
  workspace_files_checked: noRows,
  run_completed: (task, at, { finish_reason: finishReason, tool_iterations: toolIterations }) =>
    runEnded(task, at, { status: 'completed', finishReason, toolIterations, failure: null }),
  run_failed: (task, at, { tool_iterations: toolIterations, failure }) => {
    runEnded(task, at, { status: 'failed', finishReason: null, toolIterations, failure })
    runFailure(task, at, failure)
  },
  run_cancelled: (task, at, { reason }) =>
    runEnded(task, at, {
      status: 'cancelled',
      finishReason: null,
      toolIterations: null,
      failure: { class: 'cancelled', message: reason },
    }),
  run_restarted: runRestarted,
  task_team_run_started: ofTeam(teamStarted),
  node_started: ofTeam(nodeStarted),
  node_computed: ofTeam(nodeComputed),
  node_skipped: ofTeam(nodeSkipped),
  graph_extended: ofTeam(graphExtended),
  node_evidence_evaluated: ofTeam(evidenceEvaluated),
  node_completed: ofTeam(nodeCompleted),
  node_failed(task, at, data) {
    nodeFailed(task.sql, at, data)
    nodeFailure(task, at, data)
  },
  node_blocked: ofTeam(nodeBlocked),
  node_cancel_requested: ofTeam(nodeCancelRequested),
  node_cancelled: ofTeam(nodeCancelled),
  team_diagnostic_recorded: ofTeam(diagnosticRecorded),
  shared_state_changed: ofTeam(sharedStateChanged),
  task_team_run_completed: ({ sql }, at, data) => teamEnded(sql, at, { ...data, message: null }),
  task_team_run_failed: ofTeam(teamEnded),
}

export function foldEvent(task: HeldTask, at: Place, event: RecordedEvent): void {
  // A text that steers a waiting task is used when the wait is over.
  if (event.type !== 'task_steer_requested') waitsNoMore(task)
  write(task, at, event)
}

/** It is generic, so that the compiler knows that the writer and the data belong to the same type. */
function write<T extends EventType>(
  task: HeldTask,
  at: Place,
  { type, data }: { readonly type: T; readonly data: DataOf<T> },
): void {
  writers[type](task, at, data)
}

/** An event whose data is lost. Even so, the end of a task is recorded. */
export function foldLostEvent(task: HeldTask, at: Place, type: EventType): void {
  if (isTerminalTaskEvent(type)) endedUnread(task, at, type)
}
