// The state of a task, folded from its log: a daemon that takes a task over begins with it, and so does every
// view.
// T1. The fold of a log is always the same. `evolveTask` changes the state that it gets (event-place.ts).
// Events after the terminal event change nothing. The task's own clock runs while a daemon drives it and
// while it waits for a provider or a rate limit. Only times from the same daemon are compared, so a wrong
// clock does no harm.
import type { DataOf, EventType } from '../events/catalog.ts'
import { type TerminalTaskEvent, isTerminalTaskEvent } from '../events/event-kinds.ts'
import type { TaskId } from '../ids.ts'
import type { RecordedEvent } from '../journal/record.ts'
import { canonicalJson } from '../canonical-json.ts'
import type { JsonValue } from '../json.ts'
import { type PersonWaits, waitBegan, waitEnded, waitsOver } from './person-waits.ts'
import { evolveRun } from './evolve-run.ts'
import { runEnded, type RunState, startRun } from './run-state.ts'
import { evolveTeam, startTeam, type TeamState } from './team-state.ts'

/** What became of a task. The last four are final. */
export type TaskStatus = 'submitted' | 'running' | 'completed' | 'incomplete' | 'failed' | 'cancelled'

/** The state of a task. */
export interface TaskState {
  submitted: DataOf<'task_submitted'> | null
  status: TaskStatus
  /**
   * The daemon that drives the task; `null` before the first claim, after a release and while it is
   * suspended.
   */
  owner: string | null
  /**
   * How many owners in a row disappeared without a release and without progress. A task that kills its owners
   * is given up.
   */
  ownersLost: number
  /** Whether progress was recorded since the last claim. */
  progressed: boolean
  /**
   * What the task waits for without a daemon; `null` if it does not wait, or if something was written since.
   */
  suspended: Pick<DataOf<'task_suspended'>, 'waits_for' | 'until' | 'wait_ms'> | null
  /** The task's own clock at its last event, in milliseconds. */
  clockMs: number
  readonly personWaits: PersonWaits
  /** The last event of the owner. The clock continues from there. */
  written: { readonly source: string; readonly atMs: number } | null
  cancelReason: string | null
  /**
   * The texts with which the task is steered, by the id of the request, in the order in which they were
   * recorded.
   */
  readonly steers: Map<string, string>
  /** What persons gave more to its budgets, as text, by the id of the request. */
  readonly raises: Map<string, string>
  /**
   * For a retry: the task from which the first events were copied. `null` if nothing was copied, or not yet.
   */
  copied: DataOf<'task_log_copied'> | null
  rootRunId: string | null
  readonly runs: Map<string, RunState>
  readonly teams: Map<string, TeamState>
  ended: { readonly type: TerminalTaskEvent; readonly data: DataOf<TerminalTaskEvent> } | null
}

/**
 * The state of a task before its first event.
 *
 * @example
 * newTask().status // => 'submitted'
 */
export function newTask(): TaskState {
  return {
    submitted: null,
    status: 'submitted',
    owner: null,
    ownersLost: 0,
    progressed: false,
    suspended: null,
    clockMs: 0,
    personWaits: new Map(),
    written: null,
    cancelReason: null,
    steers: new Map(),
    raises: new Map(),
    copied: null,
    rootRunId: null,
    runs: new Map(),
    teams: new Map(),
    ended: null,
  }
}

/**
 * The state of a task after the events of its log, in order.
 *
 * @example
 * const task = foldTask(events)
 * task.status // => 'completed'
 * task.runs.size // => 2
 */
export function foldTask(events: Iterable<RecordedEvent>): TaskState {
  let task = newTask()
  for (const event of events) task = evolveTask(task, event)
  return task
}

/** The events that count as progress. */
const progress: ReadonlySet<EventType> = new Set([
  'assistant_message_added',
  'tool_result_recorded',
  'provider_call_failed',
  'context_compacted',
  'context_summarized',
  'summary_refused',
  'node_computed',
  'node_completed',
  'node_failed',
  'graph_extended',
  'run_completed',
  'run_failed',
  'task_team_run_completed',
  'task_team_run_failed',
])

/**
 * The task before this one in the session. The retry of a retry continues the history of the first task.
 *
 * @example
 * previousTaskOf(foldTask(events)) // => null
 */
export const previousTaskOf = ({ submitted, copied }: TaskState): TaskId | null =>
  copied === null ? (submitted?.previous_task_id ?? null) : copied.previous_task_id

/**
 * Whether the current owner would count as lost without progress.
 *
 * @example
 * lostWithoutProgress(foldTask(events)) // => false
 */
export const lostWithoutProgress = (task: TaskState): boolean => task.owner !== null && !task.progressed

/** The state after one more event. It changes and returns `task`. */
export function evolveTask(task: TaskState, event: RecordedEvent): TaskState {
  if (task.ended !== null) return task
  passTime(task, event)
  if (endsWait(event)) task.suspended = event.type === 'task_suspended' ? event.data : null
  if (isTerminalTaskEvent(event.type)) {
    task.status = event.type.slice('task_'.length) as TaskStatus
    task.ended = { type: event.type, data: event.data as DataOf<TerminalTaskEvent> }
    return task
  }
  switch (event.type) {
    case 'task_submitted':
      task.submitted = event.data
      return task
    case 'task_claimed':
      task.ownersLost = task.owner === null || task.progressed ? 0 : task.ownersLost + 1
      task.progressed = false
      task.owner = event.data.daemon
      task.status = 'running'
      return task
    case 'task_released':
    case 'task_suspended':
      task.owner = null
      return task
    case 'task_cancel_requested':
      task.cancelReason ??= event.data.reason
      return task
    case 'task_steer_requested':
      task.steers.set(event.data.request_id, event.data.text)
      return task
    case 'budget_raised':
      task.raises.set(event.data.request_id, raiseText(event.data))
      return task
    case 'task_log_copied':
      task.copied = event.data
      return task
    case 'run_started':
      task.runs.set(event.data.run_id, startRun(event.data))
      if (event.data.team_run_id === null) task.rootRunId = event.data.run_id
      return task
    case 'task_team_run_started':
      task.teams.set(event.data.team_run_id, startTeam(event.data, task.clockMs))
      return task
    case 'node_started':
    case 'node_computed':
    case 'node_completed':
    case 'node_skipped':
    case 'node_failed':
    case 'node_blocked':
    case 'node_cancel_requested':
    case 'node_cancelled':
    case 'graph_extended':
    case 'shared_state_changed':
    case 'team_diagnostic_recorded':
    case 'task_team_run_completed':
    case 'task_team_run_failed': {
      const team = task.teams.get(event.data.team_run_id)
      if (team === undefined) return task
      if (progress.has(event.type)) task.progressed = true
      evolveTeam(team, event, { clockMs: task.clockMs })
      return task
    }
    default: {
      const run = event.runId === undefined ? undefined : task.runs.get(event.runId)
      if (run === undefined) return task
      if (progress.has(event.type)) task.progressed = true
      const evolved = evolveRun(run, event, event)
      task.runs.set(run.start.run_id, evolved)
      countPersonWait(task, run, event)
      if (runEnded(evolved))
        waitsOver(
          task.personWaits,
          { runId: run.start.run_id, teamRunId: run.start.team_run_id },
          task.clockMs,
        )
      return task
    }
  }
}

/**
 * What a request gives more, to compare it with another request of the same id.
 *
 * @example
 * raiseText({ budget: { of: 'task', per: 'run' }, more: { usd: 1 } }) // => '{"budget":{"of":"task","per":"run"},"more":{"usd":1}}'
 */
export const raiseText = ({ budget, more }: Pick<DataOf<'budget_raised'>, 'budget' | 'more'>): string =>
  canonicalJson({ budget, more } as JsonValue)

/** A text that steers a waiting task is used when the wait is over, so it ends no wait. */
const endsWait = ({ type }: RecordedEvent): boolean => type !== 'task_steer_requested'

/** Moves the task's clock forward to an event. */
function passTime(task: TaskState, event: RecordedEvent): void {
  const atMs = Date.parse(event.time)
  const { written, suspended } = task
  if (event.type === 'task_claimed') {
    // The clock ran while the task waited for a provider or a rate limit, for at most the time it was meant
    // to wait. It stood while the task waited for a person or for its client.
    if (suspended?.waits_for === 'provider' || suspended?.waits_for === 'limit')
      task.clockMs += suspended.wait_ms
    task.written = { source: event.source, atMs }
  } else if (written === null) task.written = { source: event.source, atMs }
  else if (written.source === event.source) {
    task.clockMs += Math.max(0, atMs - written.atMs)
    task.written = { source: event.source, atMs }
  }
}

const beginsWait: ReadonlySet<EventType> = new Set([
  'approval_requested',
  'question_asked',
  'client_call_requested',
])
/** A call of the client waits as one that asks a person does. A call may end although nobody answered: its outcome is in doubt, for example. */
const endsPersonWait: ReadonlySet<EventType> = new Set([
  'approval_granted',
  'approval_denied',
  'question_answered',
  'client_call_answered',
  'tool_result_recorded',
])

function countPersonWait(task: TaskState, { start }: RunState, event: RecordedEvent): void {
  const ids = { runId: start.run_id, teamRunId: start.team_run_id }
  const forBudget = { ...ids, callId: 'budget' }
  if (event.type === 'budget_exceeded' && event.data.wait_ms !== null)
    waitBegan(task.personWaits, forBudget, task.clockMs)
  if (event.type === 'model_call_reserved' || event.type === 'tool_call_started')
    waitEnded(task.personWaits, forBudget, task.clockMs)
  if (beginsWait.has(event.type) && 'call_id' in event.data)
    waitBegan(task.personWaits, { ...ids, callId: event.data.call_id ?? '' }, task.clockMs)
  if (endsPersonWait.has(event.type) && 'call_id' in event.data)
    waitEnded(task.personWaits, { ...ids, callId: event.data.call_id ?? '' }, task.clockMs)
}
