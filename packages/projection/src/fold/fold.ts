// Maps events to rows: it calls the writer of each event. It is total over the catalogue: a new event type
// does not compile without a row in `writers`. The writers of tasks, runs and people's decisions are here;
// the others are in fold-calls.ts, fold-usage.ts and fold-team.ts. An event changes rows of its own task
// only. No event can make a writer fail. An event without a row to change changes none.
import { type DataOf, type EventType, isTerminalTaskEvent, type TerminalTaskEvent } from '@beaver/core'
import type { RecordedEvent } from '@beaver/core/journal'
import type { Failure } from '@beaver/core/supervision'
import { hourOf, tables, type TaskNameKind } from '../store/schema.ts'
import { bit, type Sql } from '../store/sql.ts'
import { insert, insertIfNew } from '../store/table.ts'
import type { HeldTask, Place } from './batch.ts'
import { budgetRaised, budgetsOfClaim, foldReservation } from './fold-budgets.ts'
import {
  answered,
  paidBeside,
  providerCallFailed,
  runStatusOfCalls,
  toolCallRequested,
  toolCallStarted,
  toolResultRecorded,
} from './fold-calls.ts'
import {
  diagnosticRecorded,
  evidenceEvaluated,
  graphExtended,
  keepChecks,
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
import {
  nodeFailure,
  runFailure,
  taskAnswered,
  taskFailure,
  userMessage,
  workflowAsked,
} from './transcript.ts'

// Folds the row of a task. Its place in the chain (epoch, last_taskseq, head_hash) belongs to audit.ts. A
// task that has ended stays ended, whatever follows.

function submitted(
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
  named(task, { workflow: row.workflow, skill: row.skill, profile: row.profile })
  task.wordsChanged()
  task.sql.run(
    'insert into task_hours (hour, first_key, last_key) values (?1, ?2, ?2) on conflict (hour) do update set first_key = min(first_key, ?2), last_key = max(last_key, ?2)',
    [hourOf(at.time), task.key],
  )
  task.sql.run(
    'update sessions set user_id = ?3 where session_id = ?1 and tenant = ?2 and user_id is not ?3',
    [row.session_id, row.tenant, row.user_id],
  )
  if (request.workflow !== undefined) workflowAsked(task, at, request.text)
}

function named(task: HeldTask, names: Partial<Record<TaskNameKind, string | null>>): void {
  for (const [kind, name] of Object.entries(names) as [TaskNameKind, string | null][])
    if (name !== null) task.named(kind, name)
}

/** The events that follow are those that the retry keeps of the task that it retries. */
function copied(task: HeldTask, at: Place, { events }: DataOf<'task_log_copied'>): void {
  task.change().copied_to = at.taskseq + events
}

function claimed(task: HeldTask, at: Place, { daemon, budgets }: DataOf<'task_claimed'>): void {
  const row = task.change()
  row.budgets = budgetsOfClaim(budgets, row.budgets)
  row.claims++
  row.started_at ??= at.time
  if (row.chain_ok === 0) return // It is in quarantine.
  row.daemon = daemon
  if (row.ended_at === null) row.status = 'running'
}

function released(task: HeldTask): void {
  task.change().daemon = null
}

/** The task waits without a daemon until something wakes it. */
function suspended(task: HeldTask, { waits_for, until, reason }: DataOf<'task_suspended'>): void {
  const row = task.change()
  row.daemon = null
  row.waits_for = waits_for
  row.wake_at = until
  row.wait_reason = reason
}

/** The task has an event after its suspension, so it waits for nothing. Core's fold has the same rule. */
function waitsNoMore(task: HeldTask): void {
  if (task.row.waits_for === null) return
  const row = task.change()
  row.waits_for = null
  row.wake_at = null
  row.wait_reason = null
}

function cancelRequested(task: HeldTask, { reason }: DataOf<'task_cancel_requested'>): void {
  task.change().cancel_reason ??= reason
}

function deadLettered(task: HeldTask): void {
  task.change().dead_lettered = 1
}

function ended(task: HeldTask, at: Place, type: TerminalTaskEvent, result: DataOf<TerminalTaskEvent>): void {
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
  named(task, { failure: row.failure_class })
  if (result.failure !== null) task.wordsChanged()
  keepChecks(task.sql, at, { team_run_id: '', node_id: '', run_id: '', checks: result.evidence ?? [] })
  taskAnswered(task, at, result)
  if (result.failure !== null) taskFailure(task, at, result.failure)
}

function endedUnread(task: HeldTask, at: Place, type: TerminalTaskEvent): void {
  if (task.row.ended_at !== null) return
  const row = task.change()
  waitsNoMore(task)
  row.status = statusAfter(type)
  row.ended_at = at.time
}

const statusAfter = (type: TerminalTaskEvent): string => type.slice('task_'.length)

// Folds the row of a run: one execution of one AgentLoop, from its start to its end.

function runStarted(task: HeldTask, at: Place, run: DataOf<'run_started'>): void {
  const {
    run_id,
    parent_run_id,
    agent_name,
    team_run_id,
    node_id,
    attempt_index,
    source,
    max_tool_iterations,
  } = run
  const began = { status: 'assembling', started_at: at.time, started_taskseq: at.taskseq }
  if (
    !task.addRun({
      run_id,
      parent_run_id,
      agent_name,
      team_run_id,
      node_id,
      attempt_index,
      source,
      max_tool_iterations,
      ...began,
    })
  )
    return
  const row = task.change()
  row.agents++
  if (team_run_id === null) row.root_run_id = run_id
}

function skillsActivated(
  task: HeldTask,
  at: Place,
  { skills }: DataOf<'skill_activation_snapshotted'>,
): void {
  const run = task.run(at.runId)
  // The name alone, or with the mark: rows of earlier versions have names only.
  if (run !== undefined)
    run.skills = JSON.stringify(
      skills.map(({ name, from_workspace }) => (from_workspace === true ? { name, from_workspace } : name)),
    )
  for (const { name } of skills) task.named('skill', name)
}

function modeSelected(
  task: HeldTask,
  at: Place,
  { execution_mode }: DataOf<'execution_mode_selected'>,
): void {
  const run = task.run(at.runId)
  if (run !== undefined) run.execution_mode = execution_mode
}

function runEnded(
  task: HeldTask,
  at: Place,
  end: {
    status: 'completed' | 'failed' | 'cancelled'
    finishReason: string | null
    toolIterations: number | null
    failure: Failure | null
  },
): void {
  const run = task.run(at.runId)
  if (run === undefined || run.ended_at !== null) return
  run.status = end.status
  run.ended_at = at.time
  run.finish_reason = end.finishReason ?? run.finish_reason
  run.tool_iterations = end.toolIterations ?? run.tool_iterations
  run.failure_class = end.failure?.class ?? null
  run.failure_message = end.failure?.message ?? null
}

function runRestarted(task: HeldTask, at: Place, { restarts }: DataOf<'run_restarted'>): void {
  const run = task.run(at.runId)
  if (run !== undefined) run.restarts = restarts
}

// Folds what a running call asked a person, and the answers. As with approvals, a question belongs to the
// run's newest open call of that id. Without such a call it changes nothing.

function questionAsked(
  task: HeldTask,
  at: Place,
  { call_id, question_index, question }: DataOf<'question_asked'>,
): void {
  const call = task.openCall(at.runId, call_id)
  if (call === undefined) return
  call.asking_taskseq = at.taskseq
  insertIfNew(task.sql, tables.questions, {
    task_key: task.key,
    taskseq: at.taskseq,
    run_id: at.runId,
    asked_taskseq: call.asked_taskseq,
    call_index: call.call_index,
    call_id,
    tool: call.tool,
    question_index,
    question: JSON.stringify(question),
    asked_at: at.time,
  })
  runStatusOfCalls(task, at)
}

function questionAnswered(
  task: HeldTask,
  at: Place,
  { call_id, answer, by, user_id, reason }: DataOf<'question_answered'>,
): void {
  const call = task.openCall(at.runId, call_id)
  if (call === undefined || call.asking_taskseq === null) return
  const answerText =
    answer.answers?.join('\n') ?? (answer.content === undefined ? null : JSON.stringify(answer.content))
  task.sql.run(
    'update questions set action = ?, answer = ?, answered_by = ?, answered_for = ?, reason = ?, answered_at = ? where task_key = ? and taskseq = ?',
    [answer.action, answerText, by, user_id ?? null, reason ?? null, at.time, task.key, call.asking_taskseq],
  )
  call.asking_taskseq = null
  runStatusOfCalls(task, at)
}

// Folds which calls are with the client.

function toClient(task: HeldTask, at: Place, { call_id }: DataOf<'client_call_requested'>): void {
  const call = task.openCall(at.runId, call_id)
  if (call === undefined) return
  call.client_taskseq = at.taskseq
  runStatusOfCalls(task, at)
}

function fromClient(task: HeldTask, at: Place, { call_id }: DataOf<'client_call_answered'>): void {
  const call = task.openCall(at.runId, call_id)
  if (call === undefined || call.client_taskseq === null) return
  call.client_taskseq = null
  runStatusOfCalls(task, at)
}

// Folds what a person was asked about a call, and what was decided. Like a start and a result, a decision
// belongs to the run's newest open call of that id. Without such a call it changes nothing.

function approvalRequested(
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

function approvalDecided(
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

// Folds the texts with which a task is steered: requested, and given to the root agent. The texts themselves
// are in the events.

function steerRequested(
  { sql, key }: HeldTask,
  at: Place,
  { request_id }: DataOf<'task_steer_requested'>,
): void {
  insert(sql, tables.steers, { task_key: key, taskseq: at.taskseq, request_id })
}

function steerGiven(
  { sql, key }: HeldTask,
  at: Place,
  { steer_request_id }: DataOf<'user_message_added'>,
): void {
  if (steer_request_id === undefined) return
  sql.run(
    'update steers set given_taskseq = ? where task_key = ? and request_id = ? and given_taskseq is null',
    [at.taskseq, key, steer_request_id],
  )
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
  budget_reached: noRows,
  budget_raised: budgetRaised,
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
  model_call_reserved: noRows,
  model_call_lost: paidBeside,
  model_call_paid: paidBeside,
  budget_exceeded: noRows,
  output_rejected: noRows,
  tool_call_requested: toolCallRequested,
  approval_requested: approvalRequested,
  approval_granted: (task, at, data) =>
    approvalDecided(task, at, { ...data, approval: 'granted', reason: null }),
  approval_denied: (task, at, data) => approvalDecided(task, at, { ...data, approval: 'denied' }),
  question_asked: questionAsked,
  question_answered: questionAnswered,
  client_call_requested: toClient,
  client_call_answered: fromClient,
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
  task_team_run_started(task, at, data) {
    teamStarted(task.sql, at, data)
    task.named('workflow', data.graph.workflow)
  },
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
  foldReservation(task, at, event)
  const run = task.run(at.runId)
  if (run !== undefined) run.changed_taskseq = at.taskseq
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
