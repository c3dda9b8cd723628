// `beaver tasks`: what was asked of the system, newest first.
import type { TasksAnswer, TaskSummary } from '../answers.ts'
import type { GlobalOptions } from '../context.ts'
import type { Screen } from '../screen.ts'
import { count, duration, moment } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { statusPaint } from '../text/status-paint.ts'
import { table } from '../text/table.ts'
import { ask, asking } from './query.ts'

interface TasksOptions {
  readonly status?: string
  readonly session?: string
  readonly limit?: number
  readonly json?: true
}

export function tasks({ json, ...input }: TasksOptions, globals: GlobalOptions): Promise<number> {
  return asking(globals, async ({ screen }, connection) => {
    const answer = await ask<TasksAnswer>(connection, 'tasks', { ...input })
    if (json === true) return screen.json(answer)
    if (answer.tasks.length === 0)
      return screen.print(input.status === undefined && input.session === undefined ? 'No tasks yet. Submit one: beaver run "…"' : 'No such tasks.')
    screen.print(...tasksTable(answer.tasks, screen, Date.now()))
    if (answer.more) screen.print(screen.style.dim(`There are more; --limit ${Math.min(200, answer.tasks.length * 5)} shows them.`))
  })
}

export function tasksTable(rows: readonly TaskSummary[], screen: Pick<Screen, 'columns' | 'style'>, now: number): string[] {
  const { style } = screen
  return table<TaskSummary>(
    [
      { title: 'TASK', cell: (task) => task.task_id },
      { title: 'STATUS', cell: (task) => task.status, paint: (cell, task) => statusPaint(task.status, style)(cell) },
      { title: 'SUBMITTED', cell: (task) => (task.submitted_at === null ? '' : moment(task.submitted_at, now)), optional: 2 },
      { title: 'TOOK', cell: (task) => (task.elapsed_ms === null ? '' : duration(task.elapsed_ms)), align: 'right', optional: 1 },
      { title: 'AGENTS', cell: (task) => count(task.agents), align: 'right', optional: 3 },
      { title: 'TOKENS', cell: (task) => count(task.input_tokens + task.output_tokens), align: 'right', optional: 4 },
      { title: 'MODEL', cell: (task) => (task.simulated === true ? 'simulated' : (task.model ?? '')), optional: 5 },
      { title: 'REQUEST', cell: (task) => oneLine(task.text ?? ''), flexible: true },
    ],
    rows,
    { width: screen.columns, title: style.dim },
  )
}
