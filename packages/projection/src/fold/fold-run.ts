// Folds the row of a run: one execution of one AgentLoop, from its start to its end.
import type { DataOf, Failure } from '@beaver/core'
import type { HeldTask } from './batch.ts'
import type { Place } from './fold.ts'

export function runStarted(task: HeldTask, at: Place, run: DataOf<'run_started'>): void {
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

export function skillsActivated(
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
}

export function modeSelected(
  task: HeldTask,
  at: Place,
  { execution_mode }: DataOf<'execution_mode_selected'>,
): void {
  const run = task.run(at.runId)
  if (run !== undefined) run.execution_mode = execution_mode
}

export function runEnded(
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

export function runRestarted(task: HeldTask, at: Place, { restarts }: DataOf<'run_restarted'>): void {
  const run = task.run(at.runId)
  if (run !== undefined) run.restarts = restarts
}
