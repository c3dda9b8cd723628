// The state of a task, folded from its log: what a daemon takes over from another, and where every view begins.
// T1. The fold of a log is the same wherever and however often it is done. T2. The state belongs to whoever folds: `evolveTask`
//     consumes it (event-place.ts).
// T3. A task ends once: what follows its terminal event changes nothing. T4. A task has a clock of its own, which passes while a daemon
//     drives it and while it waits for a provider. Only times that one daemon wrote are compared, so that no wrong clock matters.
import type { DataOf, EventType, TerminalTaskEvent } from '../events/catalog.ts'
import { isTerminalTaskEvent } from '../events/catalog.ts'
import type { RecordedEvent } from '../journal/record.ts'
import { type PersonWaits, waitBegan, waitEnded, waitsOver } from './person-waits.ts'
import { evolveRun, runEnded, type RunState, startRun } from './run-state.ts'
import { evolveTeam, startTeam, type TeamState } from './team-state.ts'

export type TaskStatus = 'submitted' | 'running' | 'completed' | 'incomplete' | 'failed' | 'cancelled'

export interface TaskState {
  submitted: DataOf<'task_submitted'> | null
  status: TaskStatus
  /** The daemon that drives the task; `null` before the first claim, after a release and while it is suspended. */
  owner: string | null
  /** How many owners in a row went away without a word and without progress: a task that kills its owners is given up on. */
  ownersLost: number
  /** Something of the work was recorded since the last claim. */
  progressed: boolean
  /** What the task waits for without a daemon; `null` when it does not, or when something happened since. */
  suspended: Pick<DataOf<'task_suspended'>, 'waits_for' | 'until' | 'wait_ms'> | null
  /** The task's own clock at its last event, in milliseconds. */
  clockMs: number
  readonly personWaits: PersonWaits
  /** The last event the owner wrote: the clock goes on from there. */
  written: { readonly source: string; readonly atMs: number } | null
  cancelReason: string | null
  /** Of a retry: what its log begins with was copied, from this task. `null`: nothing was, or not yet. */
  copied: DataOf<'task_log_copied'> | null
  rootRunId: string | null
  readonly runs: Map<string, RunState>
  readonly teams: Map<string, TeamState>
  ended: { readonly type: TerminalTaskEvent; readonly data: DataOf<TerminalTaskEvent> } | null
}

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
    copied: null,
    rootRunId: null,
    runs: new Map(),
    teams: new Map(),
    ended: null,
  }
}

export function foldTask(events: Iterable<RecordedEvent>): TaskState {
  let task = newTask()
  for (const event of events) task = evolveTask(task, event)
  return task
}

/** What shows that a task gets on. */
const progress: ReadonlySet<EventType> = new Set([
  'assistant_message_added',
  'tool_result_recorded',
  'provider_call_failed',
  'context_compacted',
  'context_summarized',
  'node_computed',
  'node_completed',
  'node_failed',
  'graph_extended',
  'run_completed',
  'run_failed',
  'task_team_run_completed',
  'task_team_run_failed',
])

/** Whether the owner the task has now would count as lost without progress. */
export const lostWithoutProgress = (task: TaskState): boolean => task.owner !== null && !task.progressed

/** The state after one more event. It consumes `task`. */
export function evolveTask(task: TaskState, event: RecordedEvent): TaskState {
  if (task.ended !== null) return task
  passTime(task, event)
  task.suspended = event.type === 'task_suspended' ? event.data : null
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
      if (runEnded(evolved)) waitsOver(task.personWaits, { runId: run.start.run_id, teamRunId: run.start.team_run_id }, task.clockMs)
      return task
    }
  }
}

/** Moves the task's clock on to an event. */
function passTime(task: TaskState, event: RecordedEvent): void {
  const atMs = Date.parse(event.time)
  const { written, suspended } = task
  if (event.type === 'task_claimed') {
    // While it waited for a provider its time went on, at most as long as it was to wait.
    if (suspended !== null && suspended.waits_for !== 'person') task.clockMs += suspended.wait_ms
    task.written = { source: event.source, atMs }
  } else if (written === null) task.written = { source: event.source, atMs }
  else if (written.source === event.source) {
    task.clockMs += Math.max(0, atMs - written.atMs)
    task.written = { source: event.source, atMs }
  }
}

function countPersonWait(task: TaskState, { start }: RunState, event: RecordedEvent): void {
  const of = { runId: start.run_id, teamRunId: start.team_run_id }
  if (event.type === 'approval_requested') waitBegan(task.personWaits, { ...of, callId: event.data.call_id }, task.clockMs)
  if (event.type === 'approval_granted' || event.type === 'approval_denied') waitEnded(task.personWaits, { ...of, callId: event.data.call_id }, task.clockMs)
}
