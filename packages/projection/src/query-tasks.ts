// `tasks`: what was asked of the system, newest first. And the view of one task that other answers show too.
import type { JsonObject } from '@beaver/core'
import { z } from 'zod'
import { somethingWaits, waitingOf } from './approvals.ts'
import { page } from './page.ts'
import { cursor, limitOf, query } from './query.ts'
import { type Sql, truth } from './sql.ts'
import { clip, millisBetween } from './text.ts'
import { usageOfTask } from './usage.ts'

/** `waiting_for_approval`: running, and a call of it waits for a person. */
const taskStatus = z.enum(['submitted', 'running', 'waiting_for_approval', 'completed', 'incomplete', 'failed', 'cancelled'])

export interface TaskRow {
  readonly task_key: number
  readonly tenant: string
  readonly session_id: string
  readonly task_id: string
  readonly status: string
  readonly text: string | null
  readonly skill: string | null
  readonly workspace: string | null
  readonly source: string | null
  readonly workflow: string | null
  readonly profile: string | null
  readonly previous_task_id: string | null
  readonly submitted_at: string | null
  readonly started_at: string | null
  readonly ended_at: string | null
  readonly last_event_at: string | null
  readonly daemon: string | null
  readonly claims: number
  readonly cancel_reason: string | null
  readonly dead_lettered: number
  readonly agents: number
  readonly input_tokens: number
  readonly output_tokens: number
  readonly calls: number
  readonly provider: string | null
  readonly model: string | null
  readonly simulated: number | null
  readonly failure_class: string | null
  readonly failure_message: string | null
  readonly final_output: string | null
  readonly outputs: string | null
  readonly root_run_id: string | null
  readonly epoch: number
  readonly last_taskseq: number
  readonly head_hash: string
  readonly chain_ok: number
}

/** Newest first. `before` is the `next` of the page before. */
export const tasks = query(
  z.strictObject({
    tenant: z.string().max(128).optional(),
    session: z.string().max(128).optional(),
    status: taskStatus.optional(),
    limit: limitOf({ usual: 20, max: 200 }),
    before: cursor.optional(),
  }),
  (sql, { tenant = null, session = null, status = null, limit, before = null }) => {
    const where: string[] = []
    const values: (string | number)[] = []
    const only = (condition: string, value: string | number | null): void => {
      if (value === null) return
      where.push(condition)
      values.push(value)
    }
    only('tenant = ?', tenant)
    only('session_id = ?', session)
    if (status === 'waiting_for_approval') where.push(somethingWaits)
    else only('status = ?', status)
    only('task_key < ?', before)
    const filter = where.length === 0 ? '' : `where ${where.join(' and ')}`
    const rows = sql.each<TaskRow>(`select * from tasks ${filter} order by task_key desc limit ?`, [...values, limit + 1])
    const { items, more, next } = page(rows, limit, { item: (row) => taskSummary(sql, row), cursor: (row) => row.task_key })
    return { tasks: items, more, next }
  },
)

const textCharsMax = 200
const failureCharsMax = 1000

/**
 * One task in a list. `elapsed_ms` is from its submission to its end, or to the last thing known of it. `simulated` is null until it
 * ends. `waiting`: how many of its calls wait for a person; `waits_for`: the first of them.
 */
export function taskSummary(sql: Sql, row: TaskRow, charsMax: number = textCharsMax): JsonObject {
  const waiting = row.ended_at === null ? waitingOf(sql, row.task_key) : { count: 0, first: null }
  return {
    task_id: row.task_id,
    session_id: row.session_id,
    tenant: row.tenant,
    status: row.status,
    text: row.text === null ? null : clip(row.text, charsMax),
    skill: row.skill,
    submitted_at: row.submitted_at,
    started_at: row.started_at,
    ended_at: row.ended_at,
    elapsed_ms: millisBetween(row.submitted_at, row.ended_at ?? row.last_event_at),
    agents: row.agents,
    input_tokens: row.input_tokens,
    output_tokens: row.output_tokens,
    calls: row.calls,
    usage_by_model: usageOfTask(sql, row.task_key),
    waiting: waiting.count,
    waits_for: waiting.first,
    provider: row.provider,
    model: row.model,
    simulated: truth(row.simulated),
    failure: failureView(row),
    chain_ok: row.chain_ok === 1,
  }
}

export function failureView(row: { failure_class: string | null; failure_message: string | null }): JsonObject | null {
  return row.failure_class === null ? null : { class: row.failure_class, message: clip(row.failure_message ?? '', failureCharsMax) }
}
