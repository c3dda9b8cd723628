// `sessions`: the conversations, each at the place of its newest task. `session`: one conversation as a
// person reads it. A whole id wins over the word `latest` (the session with the newest task), and that over
// the beginning of an id. An ambiguous beginning is refused with the ids that it may mean. Long texts are
// cut, with their full length beside them.
import type { QueryRead, SessionSummary, SessionTurn } from '@beaver/contracts'
import { BeaverError } from '@beaver/core'
import { clip } from '@beaver/core/task-view'
import { latest } from './find-task.ts'
import { inTime } from './in-time.ts'
import { ofUser } from './of-user.ts'
import { page } from './page.ts'
import type { Query } from './query.ts'
import { failureView, statusOf } from './query-tasks.ts'
import type { SessionRow, TaskRow } from '../store/schema.ts'
import { type Sql, truth } from '../store/sql.ts'

const titleCharsMax = 200
const turnCharsMax = 40_000
const namedInErrorMax = 8
/** No place is after this one. */
const newest = Number.MAX_SAFE_INTEGER

/** Newest first. `before` is the `next` of the page before. */
export const sessions: Query<'sessions'> = (sql, input) => {
  const { tenant = null, user_id, limit, before = newest, since, until } = input
  const [user, values] = ofUser(user_id)
  const [inTimes, times] = inTime('submitted_at', { since, until })
  const isInTime =
    inTimes === '' ? '' : `and exists (select 1 from tasks where task_key = sessions.newest_key ${inTimes})`
  const rows = sql.each<SessionRow>(
    `select * from sessions where newest_key < ? and (? is null or tenant = ?) ${user} ${isInTime}
     order by newest_key desc limit ?`,
    [before, tenant, tenant, ...values, ...times, limit + 1],
  )
  const { items, more, next } = page(rows, limit, {
    item: (row) => summaryOf(sql, row),
    cursor: (row) => row.newest_key,
  })
  return { sessions: items, more, next }
}

/** Newest first. `before` is the `next` of the page before. */
export const session: Query<'session'> = (sql, { limit, before = newest, ...name }) => {
  const found = findSession(sql, name)
  const rows = sql.each<TaskRow>(
    'select * from tasks where tenant = ? and session_id = ? and task_key < ? order by task_key desc limit ?',
    [found.tenant, found.session_id, before, limit + 1],
  )
  const { items, more, next } = page(rows, limit, { item: turnOf, cursor: (row) => row.task_key })
  return { session: summaryOf(sql, found), tasks: items, more, next }
}

function summaryOf(
  sql: Sql,
  { tenant, session_id, user_id, tasks, first_key, newest_key }: SessionRow,
): SessionSummary {
  const { open } = sql.one<{ open: number }>(
    'select count(*) as open from tasks where tenant = ? and session_id = ? and ended_at is null',
    [tenant, session_id],
  )
  const taskOf = (key: number): TaskRow => sql.one<TaskRow>('select * from tasks where task_key = ?', [key])
  const [first, last] = [taskOf(first_key), taskOf(newest_key)]
  return {
    session_id,
    tenant,
    user_id,
    title: first.title,
    text: first.text === null ? null : clip(first.text, titleCharsMax),
    tasks,
    open,
    began_at: first.submitted_at,
    last_at: last.ended_at ?? last.last_event_at,
    last_task_id: last.task_id,
    last_status: statusOf(last),
  }
}

function turnOf(row: TaskRow): SessionTurn {
  return {
    task_id: row.task_id,
    title: row.title,
    status: statusOf(row),
    workflow: row.workflow,
    retry_of: row.retry_of,
    text: row.text === null ? null : clip(row.text, turnCharsMax),
    text_chars: row.text?.length ?? 0,
    answer: row.final_output === null ? null : clip(row.final_output, turnCharsMax),
    answer_chars: row.final_output?.length ?? 0,
    failure: failureView(row),
    simulated: truth(row.simulated),
    submitted_at: row.submitted_at,
    ended_at: row.ended_at,
  }
}

type SessionName = Pick<QueryRead<'session'>, 'session_id' | 'tenant' | 'user_id'>

/** @throws {BeaverError} `not_found` if no session fits, `invalid_arguments` if several fit */
function findSession(sql: Sql, { session_id: id, tenant, user_id }: SessionName): SessionRow {
  const [user, values] = ofUser(user_id, 4)
  const select = 'select * from sessions where'
  const within = `(?2 is null or tenant = ?2) ${user} order by`
  const parameters = [id, tenant ?? null, namedInErrorMax + 1, ...values]
  const like = (which: string): SessionRow[] => sql.all<SessionRow>(`${select} ${which} limit ?3`, parameters)
  const exact = like(`session_id = ?1 and ${within} tenant`)
  const fitting =
    exact.length > 0
      ? exact
      : id === latest
        ? like(`${within} newest_key desc`).slice(0, 1)
        : like(`session_id >= ?1 and session_id < ?1 || char(1114111) and ${within} session_id, tenant`)
  const [only, ...others] = fitting
  if (only === undefined)
    throw new BeaverError('not_found', `There is no session ${JSON.stringify(id)} in the read model.`)
  if (others.length === 0) return only
  const sameId = others.some((other) => other.session_id === only.session_id)
  const names = fitting
    .slice(0, namedInErrorMax)
    .map((each) => (sameId ? `${each.tenant}/${each.session_id}` : each.session_id))
  const message = `${JSON.stringify(id)} may mean several sessions: ${names.join(', ')}${fitting.length > namedInErrorMax ? ', …' : ''}. ${sameId ? 'Name the tenant.' : 'Give more of the id.'}`
  throw new BeaverError('invalid_arguments', message, { problems: [{ path: 'session_id', message }] })
}
