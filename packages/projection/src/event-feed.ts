// The stored events in the order of the journal, for a reader that follows all tasks. The rows were written in
// that order, so their row numbers are in it, too, and no index is needed.
import type { LogId, SessionId, TaskId } from '@beaver/core'
import type { Sql } from './store/sql.ts'

/** A stored event. `data` is JSON; `null`: its blob is missing, or was removed. */
export interface StoredEvent {
  /** The number of its row. */
  readonly place: number
  readonly taskKey: number
  readonly taskseq: number
  readonly type: string
  readonly runId: string | null
  readonly time: string
  readonly data: string | null
  /** The number of its message in the journal. */
  readonly sequence: number
}

const columns = 'rowid as place, task_key as taskKey, taskseq, type, run_id as runId, time, data, sequence'

/** At most `limit` events after a place, oldest first. Place 0 is before all. */
export const eventsAfter = (sql: Sql, place: number, limit: number): StoredEvent[] =>
  sql.all(`select ${columns} from events where rowid > ? order by rowid limit ?`, [place, limit])

/** The first events of a task, up to a place in its log, oldest first. */
export const eventsOfTask = (sql: Sql, taskKey: number, toTaskseq: number): Iterable<StoredEvent> =>
  sql.each(`select ${columns} from events where task_key = ? and taskseq <= ? order by taskseq`, [
    taskKey,
    toTaskseq,
  ])

/** The place of the last event. 0: there is none. */
export const lastPlace = (sql: Sql): number =>
  sql.one<{ last: number }>('select coalesce(max(rowid), 0) as last from events').last

/** The place of the last event that came with the message `sequence` of the journal or before. 0: none did. */
export function placeInFeed(sql: Sql, sequence: number): number {
  let [low, high] = [0, lastPlace(sql)]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const next = sql.get<{ place: number; sequence: number }>(
      'select rowid as place, sequence from events where rowid > ? order by rowid limit 1',
      [middle],
    )
    if (next !== undefined && next.sequence <= sequence) low = next.place
    else high = middle
  }
  return low
}

/** The log of a task. `null`: no task has this key. */
export function logOfTask(sql: Sql, taskKey: number): LogId | null {
  const row = sql.get<{ tenant: string; session_id: string; task_id: string }>(
    'select tenant, session_id, task_id from tasks where task_key = ?',
    [taskKey],
  )
  if (row === undefined) return null
  return { tenant: row.tenant, session: row.session_id as SessionId, task: row.task_id as TaskId }
}

/** The key of the task that another one of the same tenant retries. `null`: it is not here. */
export const keyOfRetried = (sql: Sql, tenant: string, taskId: string): number | null =>
  sql.get<{ task_key: number }>('select task_key from tasks where task_id = ? and tenant = ?', [
    taskId,
    tenant,
  ])?.task_key ?? null
