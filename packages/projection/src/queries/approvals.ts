// The calls that people are asked about: calls that wait, and calls that were decided. Only a run that has
// not ended, in a task that has not ended, has calls that wait.
import type { AskedCallAnswer } from '@beaver/contracts'
import { type OfUser, ofUser } from './of-user.ts'
import type { CallRow, TaskRow } from '../store/schema.ts'
import type { Sql } from '../store/sql.ts'
import { clip, excerpt } from '@beaver/core/task-view'

/** A call that a person was asked about, with the ids of its task and its session. */
export interface AskedRow extends CallRow, Pick<TaskRow, 'task_id' | 'session_id'> {
  readonly agent_name: string | null
  readonly team_run_id: string | null
  readonly node_id: string | null
  readonly approval: string
  readonly approval_requested_taskseq: number
  readonly waits: number
}

const subjectCharsMax = 2_000
const argumentsCharsShort = 300
/** In a list of calls that wait. */
export const argumentsCharsMax = 4_000
const textCharsMax = 300

/** Core's `callWaits` in SQL, for a run and a task that have not ended. A test compares the two. */
const waits = `(approval = 'requested' and tool_calls.ended_at is null and runs.ended_at is null and tasks.ended_at is null)`
const columns = `tool_calls.*, tasks.task_id, tasks.session_id, runs.agent_name, runs.team_run_id, runs.node_id, coalesce(${waits}, 0) as waits`
const from =
  'tool_calls join tasks using (task_key) left join runs on runs.task_key = tool_calls.task_key and runs.run_id = tool_calls.run_id'

/**
 * The calls that wait, of one task or of all, oldest first. If there are more than `limit`, one row more is
 * returned.
 */
export function waitingCalls(
  sql: Sql,
  scope: { taskKey: number | null; tenant: string | null; session: string | null; user: OfUser },
  limit: number,
): AskedRow[] {
  const [user, values] = ofUser(scope.user, 5)
  return sql.all<AskedRow>(
    `select ${columns} from ${from} where tool_calls.ended_at is null and (?1 is null or tool_calls.task_key = ?1) and (?2 is null or tenant = ?2) and (?4 is null or session_id = ?4) and ${waits} ${user}
     order by tool_calls.task_key, approval_requested_taskseq limit ?3`,
    [scope.taskKey, scope.tenant, limit + 1, scope.session, ...values],
  )
}

/** A row that waits for a person, and the event with which it began to wait. */
export interface WaitingKey {
  /** The `rowid` in the table of its kind. */
  readonly row: number
  readonly task_key: number
  readonly taskseq: number
  /** The sequence number of the message that has the event. */
  readonly sequence: number
  readonly asked_at: string
}

/** What narrows a list of everything that waits. */
export interface WaitingScope {
  readonly tenant: string | null
  readonly user: OfUser
  /** The key of a task. `null`: those of all tasks. */
  readonly task: number | null
}

/** Every call that waits, without what it is, because nobody reads all of them at once. */
export function waitingCallKeys(sql: Sql, scope: WaitingScope): WaitingKey[] {
  const [user, values] = ofUser(scope.user, 3)
  return sql.all<WaitingKey>(
    `select tool_calls.rowid as row, tool_calls.task_key, events.taskseq, events.sequence, events.time as asked_at
     from ${from} join events on events.task_key = tool_calls.task_key and events.taskseq = approval_requested_taskseq
     where tool_calls.ended_at is null and (?1 is null or tenant = ?1) and (?2 is null or tool_calls.task_key = ?2) and ${waits} ${user}`,
    [scope.tenant, scope.task, ...values],
  )
}

/** A call, by its key. */
export const callAt = (sql: Sql, { row }: WaitingKey): AskedRow =>
  sql.one<AskedRow>(`select ${columns} from ${from} where tool_calls.rowid = ?`, [row])

/** Every call of a task that a person was asked about. Those that wait come first. */
export function approvalsOf(sql: Sql, taskKey: number, limit: number): AskedCallAnswer[] {
  const rows = sql.all<AskedRow>(
    `select ${columns} from ${from} where tool_calls.task_key = ? and approval is not null order by waits desc, approval_requested_taskseq limit ?`,
    [taskKey, limit],
  )
  return rows.map((row) => callView(row, argumentsCharsShort))
}

/** How many calls of a task wait, and the first of them. */
export function waitingOf(
  sql: Sql,
  taskKey: number,
): { readonly count: number; readonly first: AskedCallAnswer | null } {
  const { n } = sql.one<{ n: number }>(
    `select count(*) as n from ${from} where tool_calls.task_key = ? and tool_calls.ended_at is null and ${waits}`,
    [taskKey],
  )
  const first =
    n === 0 ? undefined : waitingCalls(sql, { taskKey, tenant: null, session: null, user: undefined }, 1)[0]
  return { count: n, first: first === undefined ? null : callView(first, argumentsCharsShort) }
}

/** The condition for tasks in which a call waits. */
export const somethingWaits = `exists (select 1 from tool_calls join runs using (task_key, run_id) where task_key = tasks.task_key and ${waits})`

export function callView(row: AskedRow, argumentsCharsMax: number): AskedCallAnswer {
  return {
    task_id: row.task_id,
    session_id: row.session_id,
    run_id: row.run_id,
    agent_name: row.team_run_id === null ? 'Root agent' : row.agent_name,
    node_id: row.node_id,
    call_id: row.call_id,
    tool: row.tool,
    subject: clip(row.approval_subject ?? '', subjectCharsMax),
    rule: row.approval_rule === null ? null : excerpt(row.approval_rule),
    call_hash: row.approval_hash,
    preview:
      row.approval_preview === null ? null : (JSON.parse(row.approval_preview) as AskedCallAnswer['preview']),
    arguments: row.arguments === null ? null : clip(row.arguments, argumentsCharsMax),
    ...(row.approval_arguments === null
      ? {}
      : { arguments_approved: clip(row.approval_arguments, argumentsCharsMax) }),
    state: row.waits === 1 ? 'waiting' : row.approval === 'requested' ? 'left' : row.approval,
    requested_at: row.approval_requested_at,
    taskseq: row.approval_requested_taskseq,
    by: row.approval_by === null ? null : excerpt(row.approval_by),
    user_id: row.approval_user === null ? null : excerpt(row.approval_user),
    reason: row.approval_reason === null ? null : clip(row.approval_reason, textCharsMax),
    decided_at: row.approval_decided_at,
  }
}
