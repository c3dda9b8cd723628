// The state of a task, folded from its log: what a daemon takes over from another, and where every view begins.
// T1. The fold of a log is the same wherever and however often it is done. T2. `evolveTask` consumes its argument: the
//     state belongs to whoever folds (a log may hold thousands of runs, and copying their map per event would be quadratic).
// T3. A task ends once: what follows its terminal event changes nothing.
import type { DataOf, TerminalTaskEvent } from '../events/catalog.ts'
import { isTerminalTaskEvent } from '../events/catalog.ts'
import type { RecordedEvent } from '../journal/record.ts'
import { evolveRun, type RunState, startRun } from './run-state.ts'
import { evolveTeam, startTeam, type TeamState } from './team-state.ts'

export type TaskStatus = 'submitted' | 'running' | 'completed' | 'incomplete' | 'failed' | 'cancelled'

export interface TaskState {
  submitted: DataOf<'task_submitted'> | null
  status: TaskStatus
  /** The daemon that drives the task; `null` before the first claim and after a release. */
  owner: string | null
  /** How many owners went away without a release: a task that kills its owners is given up on. */
  ownersLost: number
  cancelReason: string | null
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
    cancelReason: null,
    rootRunId: null,
    runs: new Map(),
    teams: new Map(),
    ended: null,
  }
}

export function foldTask(events: Iterable<RecordedEvent>): TaskState {
  const task = newTask()
  for (const event of events) evolveTask(task, event)
  return task
}

/** Brings `task` up to date with one more event. */
export function evolveTask(task: TaskState, event: RecordedEvent): void {
  if (task.ended !== null) return
  if (isTerminalTaskEvent(event.type)) {
    task.status = event.type.slice('task_'.length) as TaskStatus
    task.ended = { type: event.type, data: event.data as DataOf<TerminalTaskEvent> }
    return
  }
  switch (event.type) {
    case 'task_submitted':
      task.submitted = event.data
      return
    case 'task_claimed':
      if (task.owner !== null) task.ownersLost++
      task.owner = event.data.daemon
      task.status = 'running'
      return
    case 'task_released':
      task.owner = null
      return
    case 'task_cancel_requested':
      task.cancelReason ??= event.data.reason
      return
    case 'run_started':
      task.runs.set(event.data.run_id, startRun(event.data))
      if (event.data.team_run_id === null) task.rootRunId = event.data.run_id
      return
    case 'task_team_run_started':
      task.teams.set(event.data.team_run_id, startTeam(event.data, Date.parse(event.time)))
      return
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
      if (team !== undefined) evolveTeam(team, event, Date.parse(event.time))
      return
    }
    default: {
      const run = event.runId === undefined ? undefined : task.runs.get(event.runId)
      if (run !== undefined) task.runs.set(run.start.run_id, evolveRun(run, event, event.taskseq))
    }
  }
}
