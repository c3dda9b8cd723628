// The row of a run: one execution of one AgentLoop, from its start to its end.
import type { DataOf, Failure } from '@beaver/core'
import type { Place } from './fold.ts'
import type { Sql } from './sql.ts'

export function runStarted(sql: Sql, at: Place, run: DataOf<'run_started'>): void {
  const added = sql.run(
    `insert into runs (task_key, run_id, parent_run_id, agent_name, team_run_id, node_id, attempt_index, source, status, started_at, started_taskseq, max_tool_iterations)
     values (?, ?, ?, ?, ?, ?, ?, ?, 'assembling', ?, ?, ?) on conflict do nothing`,
    [
      at.taskKey,
      run.run_id,
      run.parent_run_id,
      run.agent_name,
      run.team_run_id,
      run.node_id,
      run.attempt_index,
      run.source,
      at.time,
      at.taskseq,
      run.max_tool_iterations,
    ],
  )
  if (added === 0) return
  if (run.team_run_id === null) sql.run('update tasks set agents = agents + 1, root_run_id = ? where task_key = ?', [run.run_id, at.taskKey])
  else sql.run('update tasks set agents = agents + 1 where task_key = ?', [at.taskKey])
}

export function skillsActivated(sql: Sql, at: Place, { skills }: DataOf<'skill_activation_snapshotted'>): void {
  const names = JSON.stringify(skills.map((skill) => skill.name))
  sql.run('update runs set skills = ? where task_key = ? and run_id = ?', [names, at.taskKey, at.runId])
}

export function modeSelected(sql: Sql, at: Place, { execution_mode }: DataOf<'execution_mode_selected'>): void {
  sql.run('update runs set execution_mode = ? where task_key = ? and run_id = ?', [execution_mode, at.taskKey, at.runId])
}

export function runEnded(
  sql: Sql,
  at: Place,
  end: { status: 'completed' | 'failed' | 'cancelled'; finishReason: string | null; toolIterations: number | null; failure: Failure | null },
): void {
  sql.run(
    `update runs set status = ?, ended_at = ?, finish_reason = coalesce(?, finish_reason), tool_iterations = coalesce(?, tool_iterations),
       failure_class = ?, failure_message = ?
     where task_key = ? and run_id = ? and ended_at is null`,
    [end.status, at.time, end.finishReason, end.toolIterations, end.failure?.class ?? null, end.failure?.message ?? null, at.taskKey, at.runId],
  )
}

export function runRestarted(sql: Sql, at: Place, { restarts }: DataOf<'run_restarted'>): void {
  sql.run('update runs set restarts = ? where task_key = ? and run_id = ?', [restarts, at.taskKey, at.runId])
}
