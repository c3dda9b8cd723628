// `inbox`: everything in which tasks wait for a person, oldest first. The order is that of the journal, so a
// page goes on at the right place although entries come and go. Calls and questions have rows; which runs wait
// for more in a budget follows from their events.
import type { BudgetAskAnswer, InboxEntry } from '@beaver/contracts'
import type { DomainEvent } from '@beaver/core'
import { type BudgetAsk, budgetAsksIn, clip } from '@beaver/core/task-view'
import type { TaskRow } from '../store/schema.ts'
import type { Sql } from '../store/sql.ts'
import {
  argumentsCharsMax,
  callAt,
  callView,
  waitingCallKeys,
  type WaitingKey,
  type WaitingScope,
} from './approvals.ts'
import { questionAt, questionView, waitingQuestionKeys } from './asked-questions.ts'
import { findTask } from './find-task.ts'
import { ofUser } from './of-user.ts'
import { page } from './page.ts'
import type { Query } from './query.ts'

const textCharsMax = 200
const runIdsMax = 100

type Waiting =
  | (WaitingKey & { readonly kind: 'approval' | 'question' })
  | (Omit<WaitingKey, 'row'> & { readonly kind: 'budget'; readonly ask: BudgetAsk })

export const inbox: Query<'inbox'> = (sql, { task_id, tenant = null, user_id: user, limit, after }) => {
  const named = { tenant: tenant ?? undefined, user_id: user }
  const task = task_id === undefined ? null : findTask(sql, { task_id, ...named }).task_key
  const scope = { tenant, user, task }
  const all: Waiting[] = [
    ...waitingCallKeys(sql, scope).map((key) => ({ kind: 'approval' as const, ...key })),
    ...waitingQuestionKeys(sql, scope).map((key) => ({ kind: 'question' as const, ...key })),
    ...budgetsAsked(sql, scope),
  ].toSorted((a, b) => a.sequence - b.sequence || a.taskseq - b.taskseq)
  const [sequence = 0, taskseq = 0] = (after ?? '').split('.').map(Number)
  const isAfter = (each: Waiting): boolean =>
    each.sequence > sequence || (each.sequence === sequence && each.taskseq > taskseq)
  const { items, more, next } = page(all.filter(isAfter), limit, {
    item: (waiting) => entryOf(sql, waiting, scope),
    cursor: (waiting) => `${waiting.sequence}.${waiting.taskseq}`,
  })
  return { entries: items, waiting: all.length, more, next }
}

function entryOf(sql: Sql, waiting: Waiting, scope: WaitingScope): InboxEntry {
  const task = sql.one<TaskRow>('select * from tasks where task_key = ?', [waiting.task_key])
  const fields = {
    task_id: task.task_id,
    session_id: task.session_id,
    tenant: task.tenant,
    title: task.title,
    text: task.text === null ? null : clip(task.text, textCharsMax),
    task_user_id: task.user_id,
    asked_at: waiting.asked_at,
  }
  switch (waiting.kind) {
    case 'approval':
      return { kind: waiting.kind, ...fields, call: callView(callAt(sql, waiting), argumentsCharsMax) }
    case 'question':
      return { kind: waiting.kind, ...fields, question: questionView(questionAt(sql, waiting)) }
    case 'budget':
      return { kind: waiting.kind, ...fields, budget: budgetView(waiting, scope) }
    default:
      return waiting satisfies never
  }
}

function budgetView(
  { ask, asked_at: at, taskseq }: Extract<Waiting, { kind: 'budget' }>,
  { user }: WaitingScope,
): BudgetAskAnswer {
  const { budget, measure, limit, used, needed, spent_by: spentBy, wait_ms: waitMs } = ask.exceeded
  return {
    ...{ budget, measure, limit, used, needed, reason: ask.reason, shared: ask.shared },
    node_id: ask.nodeId ?? null,
    // Tasks that share a budget may belong to other users.
    spent_by: (ask.shared && user !== undefined ? [] : spentBy).map((each) => ({
      agent_name: each.agent_name ?? null,
      node_id: each.node_id,
      task_id: each.task_id ?? null,
      used: each.used,
    })),
    run_ids: ask.runIds.slice(0, runIdsMax),
    expires_at: new Date(Date.parse(at) + (waitMs ?? 0)).toISOString(),
    taskseq,
  }
}

/** A run that may wait for more in a budget. Such a wait began after the event at `since`. */
interface Candidate {
  readonly task_key: number
  readonly run_id: string
  readonly copied_to: number
  readonly since: number
}

/**
 * The runs of open tasks that have no call of a model under way, and that have either no open call of a tool or
 * one that has not begun. A run whose calls have all begun waits for them and not for a budget, so the events
 * of a large team are not read for the run that called it.
 */
const openCalls = `tool_calls where tool_calls.task_key = runs.task_key and tool_calls.run_id = runs.run_id`
const candidates = `select runs.task_key, runs.run_id, copied_to,
    max(started_taskseq, coalesce(output_taskseq, 0), iif(
      exists (select 1 from ${openCalls} and tool_calls.ended_at is null), 0,
      coalesce((select max(result_taskseq) from ${openCalls}), 0))) as since
  from tasks indexed by tasks_open_newest cross join runs using (task_key)
  where tasks.ended_at is null and tasks.budgets is not null and runs.ended_at is null and runs.reserved_taskseq is null
    and coalesce((select min(starts) from ${openCalls} and tool_calls.ended_at is null), 0) = 0`

/** The types of events from which core's fold knows what waits for a budget. */
const ofWaits = `('budget_exceeded', 'budget_raised', 'model_call_reserved', 'tool_call_started', 'run_completed', 'run_failed', 'run_cancelled')`

interface EventRow {
  readonly taskseq: number
  readonly type: string
  readonly run_id: string | null
  readonly data: string
  readonly sequence: number
  readonly time: string
}

/** What tasks ask people for in budgets: core's `budgetAsks`, of the events since the first wait. */
function* budgetsAsked(sql: Sql, { tenant, user, task }: WaitingScope): Iterable<Waiting> {
  const [only, values] = ofUser(user, 3)
  const found = sql.all<Candidate>(
    `${candidates} and (?1 is null or tenant = ?1) and (?2 is null or task_key = ?2) ${only}`,
    [tenant, task, ...values],
  )
  for (const [taskKey, runs] of Map.groupBy(found, ({ task_key }) => task_key)) {
    const begun = runs.flatMap(({ run_id, since, copied_to }) => {
      const asked = sql.get<{ taskseq: number }>(
        `select taskseq from events where task_key = ? and taskseq > ? and type = 'budget_exceeded' and run_id = ? order by taskseq desc limit 1`,
        [taskKey, Math.max(since, copied_to), run_id],
      )
      return asked === undefined ? [] : [asked.taskseq]
    })
    if (begun.length > 0) yield* asksSince(sql, taskKey, Math.min(...begun))
  }
}

function asksSince(sql: Sql, taskKey: number, taskseq: number): Waiting[] {
  const rows = sql.all<EventRow>(
    `select taskseq, type, run_id, data, sequence, time from events where task_key = ? and taskseq >= ? and data is not null and type in ${ofWaits} order by taskseq`,
    [taskKey, taskseq],
  )
  const events = rows.map(({ type, run_id: runId, data, taskseq: at }) => {
    const event = { type, data: JSON.parse(data) as unknown, ...(runId === null ? {} : { runId }) }
    return { ...(event as DomainEvent), taskseq: at }
  })
  const at = new Map(rows.map((row) => [row.taskseq, row]))
  return budgetAsksIn(events).flatMap((ask): Waiting[] => {
    const row = at.get(ask.taskseq)
    if (row === undefined) return []
    const { sequence, time: asked_at } = row
    return [{ kind: 'budget', ask, task_key: taskKey, taskseq: ask.taskseq, sequence, asked_at }]
  })
}
