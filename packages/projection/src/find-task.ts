// Finding the task a person means: by its id, or by the beginning of its id.
// F1. A whole id wins over a beginning. F2. What could mean several tasks is refused, with their names.
import { BeaverError } from '@beaver/core'
import { z } from 'zod'
import type { Sql } from './sql.ts'

/** The inputs that name a task; `tenant` and `session` narrow the choice. */
export const taskName = {
  task: z.string().min(1).max(128),
  session: z.string().min(1).max(128).optional(),
  tenant: z.string().min(1).max(128).optional(),
}

export interface TaskName {
  readonly task: string
  readonly session?: string | undefined
  readonly tenant?: string | undefined
}

export interface FoundTask {
  readonly task_key: number
  readonly task_id: string
  readonly session_id: string
  readonly tenant: string
  readonly submitted_at: string | null
}

const namedInErrorMax = 8

/** @throws {BeaverError} `not_found` when no task fits, `invalid_arguments` when several do */
export function findTask(sql: Sql, name: TaskName): FoundTask {
  const [only, ...others] = candidates(sql, name)
  if (only === undefined) throw new BeaverError('not_found', `There is no task ${JSON.stringify(name.task)} in the read model.`)
  if (others.length === 0) return only
  const shown = [only, ...others].slice(0, namedInErrorMax)
  const sameId = others.some((other) => other.task_id === only.task_id)
  const names = shown.map((task) => (sameId ? `${task.tenant}/${task.session_id}/${task.task_id}` : task.task_id)).join(', ')
  const message = `${JSON.stringify(name.task)} may mean several tasks: ${names}${others.length + 1 > namedInErrorMax ? ', …' : ''}. ${sameId ? 'Name the session.' : 'Give more of the id.'}`
  throw new BeaverError('invalid_arguments', message, { problems: [{ path: 'task', message }] })
}

function candidates(sql: Sql, name: TaskName): FoundTask[] {
  const [task, session, tenant] = [name.task, name.session ?? null, name.tenant ?? null]
  const select = 'select task_key, task_id, session_id, tenant, submitted_at from tasks where'
  const within = 'and (?2 is null or session_id = ?2) and (?3 is null or tenant = ?3) order by task_id, task_key limit ?4'
  const exact = sql.all<FoundTask>(`${select} task_id = ?1 ${within}`, [task, session, tenant, namedInErrorMax + 1])
  if (exact.length > 0) return exact
  return sql.all<FoundTask>(`${select} task_id >= ?1 and task_id < ?1 || char(1114111) ${within}`, [task, session, tenant, namedInErrorMax + 1])
}
