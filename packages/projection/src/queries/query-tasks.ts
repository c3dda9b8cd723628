// `tasks`: the submitted tasks, newest first. The view of one task is here too, because other answers show
// it.
import type { TaskSummary } from '@beaver/contracts'
import type { DataOf } from '@beaver/core'
import { usdUnits } from '@beaver/core/budget'
import { type PriceTable, usdOf } from '@beaver/core/cost'
import type { Failure } from '@beaver/core/supervision'
import { clip } from '@beaver/core/task-view'
import { waitingOf } from './approvals.ts'
import { page } from './page.ts'
import type { Query } from './query.ts'
import { budgetsOf } from '../fold/fold-budgets.ts'
import type { RunRow, TaskRow } from '../store/schema.ts'
import { type Sql, truth } from '../store/sql.ts'
import { millisBetween } from './millis-between.ts'
import { filteredTasks } from './task-filter.ts'
import { usageOfRun, usageOfTask, usageView } from './usage.ts'

/** How many tasks one answer looks at. A count reads only their keys, or their rows without long texts. */
const looksMax = { list: 5_000, count: 100_000 }

/** Newest first. `before` is the `next` of the page before. */
export const tasks: Query<'tasks'> = (sql, { limit, before, ...filter }, { prices }) => {
  const filtered = filteredTasks(sql, filter, { before, prices })
  const at = { looked: 0, key: 0 }
  const fitting = function* (): Generator<TaskRow> {
    for (const { key, row } of filtered.looked(looksMax.list)) {
      at.looked++
      at.key = key
      if (row !== null) yield row
    }
  }
  const { items, more, next } = page(fitting(), limit, {
    item: (row) => taskSummary(sql, row, prices),
    cursor: (row) => row.task_key,
  })
  if (more || at.looked < looksMax.list) return { tasks: items, more, next }
  return { tasks: items, more: true, next: at.key }
}

/** At most `looksMax.count` tasks are counted. */
export const taskCount: Query<'task_count'> = (sql, { before, ...filter }, { prices }) => {
  const filtered = filteredTasks(sql, filter, { before, prices })
  const max = filtered.isSlow ? looksMax.list : looksMax.count
  const { looked, fits } = filtered.counted(max + 1)
  return { tasks: Math.min(fits, max), at_least: looked > max, before: (filtered.newest() ?? -1) + 1 }
}

const textCharsMax = 200
const failureCharsMax = 1000

/**
 * One task in a list. `elapsed_ms` is the time from its submission to its end, or to its last known event.
 * `simulated` is null until the task ends. `waiting`: how many of its calls wait for a person; `waits_for`:
 * the first of them. `wait`: what the task itself waits for without a daemon.
 */
export function taskSummary(
  sql: Sql,
  row: TaskRow,
  prices: PriceTable,
  charsMax: number = textCharsMax,
): TaskSummary {
  const waiting = row.ended_at === null ? waitingOf(sql, row.task_key) : { count: 0, first: null }
  const workflows = workflowsOf(sql, row.task_key)
  return {
    task_id: row.task_id,
    session_id: row.session_id,
    tenant: row.tenant,
    status: statusOf(row),
    wait:
      row.waits_for === null
        ? null
        : { for: row.waits_for, until: row.wake_at, reason: clip(row.wait_reason ?? '', failureCharsMax) },
    text: row.text === null ? null : clip(row.text, charsMax),
    title: row.title,
    user_id: row.user_id,
    workflow: row.workflow,
    ...(workflows.length === 0 ? {} : { workflows }),
    skill: row.skill,
    profile: row.profile,
    previous_task_id: row.previous_task_id,
    retry_of: row.retry_of,
    submitted_at: row.submitted_at,
    started_at: row.started_at,
    ended_at: row.ended_at,
    elapsed_ms: millisBetween(row.submitted_at, row.ended_at ?? row.last_event_at),
    agents: row.agents,
    ...usageOf(sql, row, prices),
    input_tokens: row.input_tokens,
    output_tokens: row.output_tokens,
    calls: row.calls,
    ...budgetUse(sql, row, prices),
    waiting: waiting.count,
    waits_for: waiting.first,
    provider: row.provider,
    model: row.model,
    simulated: truth(row.simulated),
    failure: failureView(row),
    last_taskseq: row.last_taskseq,
    chain_ok: row.chain_ok === 1,
    ...(row.archived_events === 0 ? {} : { archived_events: row.archived_events }),
  }
}

const workflowsMax = 20

const workflowsOf = (sql: Sql, taskKey: number): string[] =>
  sql
    .all<{ name: string }>(
      "select name from task_names where task_key = ? and kind = 'workflow' order by name limit ?",
      [taskKey, workflowsMax],
    )
    .map(({ name }) => name)

/** What the calls of an archived task cost is not known: the rows are those of its first and last entry. */
function usageOf(sql: Sql, row: TaskRow, prices: PriceTable) {
  const used = usageView(usageOfTask(sql, row.task_key), { prices, day: row.started_at })
  return row.archived_events === 0 ? used : { ...used, cost_usd: null }
}

const nodesMax = 20

/** What bounds the task, and what it uses of that beside the usage of models. */
function budgetUse(
  sql: Sql,
  row: TaskRow,
  prices: PriceTable,
): Pick<TaskSummary, 'budgets' | 'tool_calls' | 'reserved' | 'node_uses'> {
  const budgets = budgetsOf(row.budgets)
  const boundsTools = budgets.some(({ limits }) => limits.tool_calls !== undefined)
  const used = (runId: string | null): Pick<TaskSummary, 'tool_calls' | 'reserved'> => ({
    ...(boundsTools ? { tool_calls: toolCallsOf(sql, row, runId) } : {}),
    ...(row.ended_at === null ? reservedOf(sql, row.task_key, runId) : {}),
  })
  const nodes =
    row.ended_at !== null || !budgets.some(({ of }) => of === 'node')
      ? []
      : sql.all<Pick<RunRow, 'run_id'> & { readonly node_id: string }>(
          'select run_id, node_id from runs where task_key = ? and node_id is not null and ended_at is null order by started_taskseq limit ?',
          [row.task_key, nodesMax],
        )
  return {
    budgets,
    ...used(null),
    ...(nodes.length === 0
      ? {}
      : {
          node_uses: nodes.map(({ run_id, node_id }) => {
            const view = usageView(usageOfRun(sql, row.task_key, run_id), { prices, day: row.started_at })
            return { node_id, run_id, ...view, ...used(run_id) }
          }),
        }),
  }
}

/** Those that began, without the copies of a retry. `runId`: `null`: of all runs. */
const toolCallsOf = (sql: Sql, { task_key, copied_to }: TaskRow, runId: string | null): number =>
  sql.one<{ n: number }>(
    'select coalesce(sum(starts), 0) as n from tool_calls where task_key = ?1 and asked_taskseq > ?2 and (?3 is null or run_id = ?3)',
    [task_key, copied_to, runId],
  ).n

/** `runId`: `null`: of all runs. */
function reservedOf(sql: Sql, taskKey: number, runId: string | null): Pick<TaskSummary, 'reserved'> {
  const calls = sql
    .all<{ data: string | null }>(
      `select events.data from runs join events on events.task_key = runs.task_key and events.taskseq = runs.reserved_taskseq
       where runs.task_key = ?1 and runs.reserved_taskseq is not null and (?2 is null or runs.run_id = ?2)`,
      [taskKey, runId],
    )
    .flatMap(({ data }) => (data === null ? [] : [JSON.parse(data) as DataOf<'model_call_reserved'>]))
  if (calls.length === 0) return {}
  return {
    reserved: {
      usd: usdOf(calls.reduce((sum, { usd_max: usd }) => sum + usdUnits(usd), 0n)),
      tokens: calls.reduce((sum, each) => sum + each.input_tokens_max + each.output_tokens_max, 0),
      ...{ model_calls: calls.length, tool_calls: 0 },
    },
  }
}

/** The status shows what a task without a daemon waits for, such as `waiting_for_provider`. */
export const statusOf = (row: TaskRow): string =>
  row.ended_at === null && row.chain_ok === 1 && row.waits_for !== null
    ? `waiting_for_${row.waits_for}`
    : row.status

export function failureView(row: Pick<TaskRow, 'failure_class' | 'failure_message'>): Failure | null {
  return row.failure_class === null ? null : { class: row.failure_class, message: failureMessage(row) }
}

export const failureMessage = (row: Pick<TaskRow, 'failure_message'>): string =>
  clip(row.failure_message ?? '', failureCharsMax)
