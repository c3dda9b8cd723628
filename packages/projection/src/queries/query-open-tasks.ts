// `open_tasks`: the open tasks of a tenant, for the daemons' sweep. The task that was quiet for longest comes
// first. The cost depends on the number of tasks in the answer, not on the number of tasks that exist. The
// answer is as old as `applied_sequence`, so a daemon that acts on it reads the task's log first.
import { page } from './page.ts'
import type { Query } from './query.ts'
import type { TaskRow } from '../store/schema.ts'
import type { SqlValue } from '../store/sql.ts'

type OpenRow = Pick<
  TaskRow,
  | 'task_id'
  | 'session_id'
  | 'daemon'
  | 'epoch'
  | 'last_taskseq'
  | 'status'
  | 'waits_for'
  | 'wake_at'
  | 'previous_task_id'
> & {
  readonly last_event_at: string
}

const aheadMsMax = 60_000
/**
 * The record of the task is intact, and the task has a daemon; or it has none, was quiet for long enough, and
 * waits neither for its alarm nor for the task before it.
 */
const forsaken = `(chain_ok = 1 and (daemon is not null or (
  (last_event_at <= ? or last_event_at > ?)
  and (waits_for is null or wake_at <= ?)
  and not exists (
    select 1 from tasks as earlier
    where tasks.claims = 0 and earlier.tenant = tasks.tenant and earlier.session_id = tasks.session_id
      and earlier.task_id = tasks.previous_task_id and earlier.ended_at is null and earlier.chain_ok = 1))))`

/**
 * `owner`: only tasks that this daemon owns. `idle_ms_min`: only tasks whose last event is at least this old.
 * `needs_daemon`: only tasks that have a daemon in any state, and tasks without a daemon that wait for
 * nothing. In this case `idle_ms_min` applies to the latter.
 */
export const openTasks: Query<'open_tasks'> = (
  sql,
  { tenant, owner, idle_ms_min, needs_daemon, limit },
  { now },
) => {
  const where = ['tenant = ?', 'ended_at is null', 'last_event_at is not null']
  const values: SqlValue[] = [tenant]
  if (owner !== undefined) {
    where.push('daemon = ?')
    values.push(owner)
  }
  const quietSince = new Date(now() - (idle_ms_min ?? 0)).toISOString()
  if (needs_daemon) {
    where.push(forsaken)
    // A time ahead of this clock comes from a wrong clock, so it proves nothing.
    values.push(quietSince, new Date(now() + aheadMsMax).toISOString(), quietSince)
  } else if (idle_ms_min !== undefined) {
    where.push('last_event_at <= ?')
    values.push(quietSince)
  }
  const index = owner === undefined ? 'tasks_open' : 'tasks_open_by_owner'
  const rows = sql.each<OpenRow>(
    `select task_id, session_id, daemon, epoch, last_taskseq, last_event_at, status, waits_for, wake_at, previous_task_id
       from tasks indexed by ${index} where ${where.join(' and ')} order by last_event_at limit ?`,
    [...values, limit + 1],
  )
  const { items, more } = page(rows, limit, {
    item: ({ daemon, last_taskseq, ...row }) => ({ ...row, owner: daemon, taskseq: last_taskseq }),
    cursor: () => 0,
  })
  return {
    tasks: items,
    more,
    applied_sequence: sql.get<{ sequence: number }>('select sequence from checkpoint')?.sequence ?? 0,
  }
}
