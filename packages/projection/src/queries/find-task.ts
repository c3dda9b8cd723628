// Finds the task that a person means, by its id, by the beginning of its id, or as the newest one. A whole id
// wins over the word `latest`, and that over a beginning. An ambiguous beginning is refused with the ids that
// it may mean. A beginning of a task's id is not ambiguous because of the task's retries. A beginning with
// `.retry-1` behind it means that retry. The newest task is the one that came into the journal last.
import { BeaverError } from '@beaver/core'
import { type OfUser, ofUser } from './of-user.ts'
import type { TaskRow } from '../store/schema.ts'
import type { Sql } from '../store/sql.ts'

/** The inputs that name a task. `tenant`, `session_id` and `user_id` narrow the choice. */
export interface TaskName {
  readonly task_id: string
  readonly session_id?: string | undefined
  readonly tenant?: string | undefined
  readonly user_id?: OfUser
}

export type FoundTask = Pick<TaskRow, 'task_key' | 'task_id' | 'session_id' | 'tenant' | 'submitted_at'>

/** In place of an id: the newest. */
export const latest = 'latest'

const namedInErrorMax = 8

/** @throws {BeaverError} `not_found` if no task fits, `invalid_arguments` if several fit */
export function findTask(sql: Sql, name: TaskName): FoundTask {
  const [only, ...others] = candidates(sql, name)
  if (only === undefined)
    throw new BeaverError('not_found', `There is no task ${JSON.stringify(name.task_id)} in the read model.`)
  if (others.length === 0) return only
  const shown = [only, ...others].slice(0, namedInErrorMax)
  const sameId = others.some((other) => other.task_id === only.task_id)
  const names = shown
    .map((task) => (sameId ? `${task.tenant}/${task.session_id}/${task.task_id}` : task.task_id))
    .join(', ')
  const message = `${JSON.stringify(name.task_id)} may mean several tasks: ${names}${others.length + 1 > namedInErrorMax ? ', …' : ''}. ${sameId ? 'Name the session.' : 'Give more of the id.'}`
  throw new BeaverError('invalid_arguments', message, { problems: [{ path: 'task_id', message }] })
}

function candidates(sql: Sql, name: TaskName): FoundTask[] {
  const [task, session, tenant] = [name.task_id, name.session_id ?? null, name.tenant ?? null]
  const [user, values] = ofUser(name.user_id, 5)
  const fitting = (which: string, order: string, id = task): FoundTask[] =>
    sql.all<FoundTask>(
      `select task_key, task_id, session_id, tenant, submitted_at from tasks
       where ${which} and (?2 is null or session_id = ?2) and (?3 is null or tenant = ?3) ${user} order by ${order} limit ?4`,
      [id, session, tenant, namedInErrorMax + 1, ...values],
    )
  const exact = fitting('task_id = ?1', 'task_key')
  if (exact.length > 0) return exact
  if (task === latest) return fitting('?1 is not null', 'task_key desc').slice(0, 1)
  const begins = 'task_id >= ?1 and task_id < ?1 || char(1114111)'
  const notRetried = (id: string): FoundTask[] =>
    fitting(`${begins} and retry_of is null`, 'task_id, task_key', id)
  const originals = notRetried(task)
  if (originals.length > 0) return originals
  const [, beginning, retry] = /^(.+)(\.retry-\d+)$/.exec(task) ?? []
  const [original, ...others] = beginning === undefined ? [] : notRetried(beginning)
  if (original !== undefined && others.length === 0)
    return fitting('task_id = ?1', 'task_key', original.task_id + retry)
  return fitting(begins, 'task_id, task_key')
}
