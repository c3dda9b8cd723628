// How long tasks wait now, for those who watch the system: each answer is bounded, because it is asked for again
// and again.
import type { DataOf } from '@beaver/core'
import type { Sql } from '../store/sql.ts'

/** What suspended tasks wait for, as the journal names it. */
export const waitReasons = ['person', 'provider', 'limit', 'client'] as const satisfies readonly WaitReason[]
export type WaitReason = DataOf<'task_suspended'>['waits_for']

/** How many waiting tasks are counted, the oldest first. */
const countedMax = 10_000

export interface WaitsNow {
  /** When the oldest task was accepted that some daemon should have claimed by now. RFC 3339; `null`: none. */
  readonly queuedSince: string | null
  /** The suspended tasks: how many, and when the last event of the one that waits the longest was. */
  readonly waiting: Readonly<Record<WaitReason, { readonly tasks: number; readonly since: string | null }>>
}

/**
 * How long tasks wait. A task that follows another one of its session waits for that, and not in the queue.
 *
 * @example waitsNow(model.sql).waiting.person.tasks
 */
export function waitsNow(sql: Sql): WaitsNow {
  const queued = sql.get<{ submitted_at: string | null }>(
    `select submitted_at from (select * from tasks where status = 'submitted' order by task_key limit ?) as queued
     where not exists (
       select 1 from tasks as earlier
       where earlier.task_id = queued.previous_task_id and earlier.tenant = queued.tenant and earlier.ended_at is null
     ) limit 1`,
    [countedMax],
  )
  const rows = sql.all<{ waits_for: string; tasks: number; since: string | null }>(
    `select waits_for, count(*) as tasks, min(last_event_at) as since
     from (select waits_for, last_event_at from tasks where waits_for is not null order by task_key limit ?)
     group by waits_for`,
    [countedMax],
  )
  const of = (reason: WaitReason): WaitsNow['waiting'][WaitReason] => {
    const row = rows.find(({ waits_for: waits }) => waits === reason)
    return { tasks: row?.tasks ?? 0, since: row?.since ?? null }
  }
  return {
    queuedSince: queued?.submitted_at ?? null,
    waiting: { person: of('person'), provider: of('provider'), limit: of('limit'), client: of('client') },
  }
}

/** How many of the newest tasks are looked at. */
const looksMax = 10_000
const examplesMax = 5

/** The tasks that ended since a time (RFC 3339): how many count, how many of them failed, and some of those. */
export interface EndedSince {
  readonly tasks: number
  readonly failed: number
  /** The newest ones that failed. */
  readonly examples: readonly string[]
}

/** Of the newest tasks, those that ended since then. A cancelled task counts for nothing. */
export function endedSince(sql: Sql, since: string): EndedSince {
  const rows = sql.all<{ task_id: string; status: string }>(
    `select task_id, status from (select task_id, status, ended_at from tasks order by task_key desc limit ?)
     where ended_at >= ? and status <> 'cancelled'`,
    [looksMax, since],
  )
  const failed = rows.filter(({ status }) => status !== 'completed')
  return {
    tasks: rows.length,
    failed: failed.length,
    examples: failed.slice(0, examplesMax).map(({ task_id: id }) => id),
  }
}

/** The tasks that wait for a person the longest. */
export const longestWaiting = (sql: Sql): readonly string[] =>
  sql
    .all<{ task_id: string }>(
      `select task_id from (
         select task_id, waits_for, last_event_at from tasks where waits_for is not null order by task_key limit ?
       ) where waits_for = 'person' order by last_event_at limit ?`,
      [looksMax, examplesMax],
    )
    .map(({ task_id: id }) => id)
