// `task`: one whole task. What was requested, who did what, what the result is, what failed, and whether the
// record is intact. Long texts are cut, and their full length is given beside them. The whole text is in
// `events`. The answer fits one message, whatever the task: a tree that is too large has fewer nodes and
// `more`.
import type { TaskAnswer } from '@beaver/contracts'
import type { EventType } from '@beaver/core'
import type { PriceTable } from '@beaver/core/cost'
import type { FailureClass } from '@beaver/core/supervision'
import { clip } from '@beaver/core/task-view'
import type { CheckRow, TaskRow } from '../store/schema.ts'
import type { Sql } from '../store/sql.ts'
import { approvalsOf } from './approvals.ts'
import { questionsOf } from './asked-questions.ts'
import { findTask } from './find-task.ts'
import { findingsOf } from './query-audit.ts'
import { failureMessage, taskSummary } from './query-tasks.ts'
import type { Query } from './query.ts'
import { archiveOf, archivesOfTask, redactionsOfTask } from './redactions.ts'
import { checkView, type RunTree, runTree } from './run-tree.ts'

const textCharsMax = 10_000
const finalOutputCharsMax = 40_000
/** The outputs share this evenly. */
const outputsCharsMax = 40_000
const failuresMax = 30
const approvalsMax = 50
const findingsMax = 20
const runsBytesMax = 400 * 1024

/** `limit`: the nodes of all teams together. */
export const task: Query<'task'> = (sql, input, { prices }) => {
  const { task_key: key } = findTask(sql, input)
  const row = sql.one<TaskRow>('select * from tasks where task_key = ?', [key])
  const tree = boundedTree(sql, key, input, prices)
  const findings = findingsOf(sql, { taskKey: key, after: 0, limit: findingsMax })
  const lost = lostCallsOf(sql, key, row.claims)
  return {
    task: taskDetail(sql, row, prices),
    runs: tree.runs,
    teams: tree.teams,
    more: tree.more,
    next: tree.next,
    questions: questionsOf(sql, key, approvalsMax),
    approvals: approvalsOf(sql, key, approvalsMax),
    steers: steersOf(sql, key),
    final_output: row.final_output === null ? null : clip(row.final_output, finalOutputCharsMax),
    final_output_chars: row.final_output?.length ?? 0,
    ...unfitOf(sql, row),
    outputs: outputsOf(row),
    ...evidenceOf(sql, key),
    ...failuresOf(sql, row),
    chain_ok: row.chain_ok === 1,
    unsigned: row.unsigned,
    findings: findings.items,
    more_findings: findings.more,
    redactions: redactionsOfTask(sql, key),
    archives: archivesOfTask(sql, row),
    ...archiveOf(sql, key),
    ...(lost === 0 ? {} : { calls_lost: lost }),
  }
}

function boundedTree(
  sql: Sql,
  key: number,
  { limit, after }: { readonly limit: number; readonly after: number },
  prices: PriceTable,
): RunTree {
  for (let nodesMax = limit; ; nodesMax = Math.ceil(nodesMax / 2)) {
    const tree = runTree(sql, key, { nodesMax, after, prices })
    if (nodesMax === 1 || Buffer.byteLength(JSON.stringify([tree.runs, tree.teams])) <= runsBytesMax)
      return tree
  }
}

function taskDetail(sql: Sql, row: TaskRow, prices: PriceTable): TaskAnswer['task'] {
  return {
    ...taskSummary(sql, row, prices, textCharsMax),
    workspace: row.workspace,
    source: row.source,
    submitted_by: row.submitted_by,
    workflow: row.workflow,
    profile: row.profile,
    previous_task_id: row.previous_task_id,
    root_run_id: row.root_run_id,
    daemon: row.daemon,
    claims: row.claims,
    cancel_reason: row.cancel_reason,
    dead_lettered: row.dead_lettered === 1,
    epoch: row.epoch,
    last_taskseq: row.last_taskseq,
    head_hash: row.head_hash,
  }
}

function outputsOf(row: TaskRow): TaskAnswer['outputs'] {
  const outputs =
    row.outputs === null ? [] : (JSON.parse(row.outputs) as { node_id: string; output: string }[])
  const charsMax = Math.max(100, Math.floor(outputsCharsMax / Math.max(1, outputs.length)))
  return outputs.map(({ node_id, output }) => ({
    node_id,
    output: clip(output, charsMax),
    output_chars: output.length,
  }))
}

/** The verdicts on the final text. */
/** The text for which a task failed. Only its last event has it. */
function unfitOf(sql: Sql, { task_key: key, status }: TaskRow): Pick<TaskAnswer, 'unfit_output'> {
  if (status !== 'failed') return {}
  const row = sql.get<{ text: string | null }>(
    "select json_extract(data, '$.unfit_output') as text from events where task_key = ? and type = 'task_failed' order by taskseq desc limit 1",
    [key],
  )
  return typeof row?.text === 'string' ? { unfit_output: clip(row.text, finalOutputCharsMax) } : {}
}

function evidenceOf(sql: Sql, key: number): Pick<TaskAnswer, 'evidence'> {
  const rows = sql.all<CheckRow>(
    "select * from evidence_checks where task_key = ? and team_run_id = '' order by check_index",
    [key],
  )
  return rows.length === 0 ? {} : { evidence: rows.map(checkView) }
}

interface FailureRow {
  readonly scope: string
  readonly id: string
  readonly name: string
  readonly failure_class: FailureClass
  readonly failure_message: string | null
}

/** What failed, from the inside out: runs, nodes, the task. The failure of the task is never left out. */
function failuresOf(sql: Sql, row: TaskRow): Pick<TaskAnswer, 'failures' | 'more_failures'> {
  const rows = sql.all<FailureRow>(
    `select 'run' as scope, run_id as id, agent_name as name, failure_class, failure_message, 0 as rank, started_taskseq as place
       from runs where task_key = ?1 and failure_class is not null
     union all
     select 'node', node_id, node_id, failure_class, failure_message, 1, declared_index from team_nodes where task_key = ?1 and failure_class is not null
     order by rank, place, id limit ?2`,
    [row.task_key, failuresMax + 1],
  )
  const ofTask =
    row.failure_class === null
      ? []
      : [{ ...row, failure_class: row.failure_class, scope: 'task', id: row.task_id, name: row.task_id }]
  const shown = rows.slice(0, failuresMax - ofTask.length)
  const failures = [...shown, ...ofTask].map((failed) => ({
    scope: failed.scope,
    id: failed.id,
    name: failed.name,
    class: failed.failure_class,
    message: failureMessage(failed),
  }))
  return { failures, more_failures: rows.length > shown.length }
}

// The texts with which a task was steered, for the query `task`.

const steerCharsMax = 1_000

function steersOf(sql: Sql, taskKey: number): TaskAnswer['steers'] {
  const rows = sql.all<{
    taskseq: number
    request_id: string
    given_taskseq: number | null
    time: string
    data: string | null
  }>(
    `select steers.taskseq, steers.request_id, steers.given_taskseq, events.time, events.data from steers
       join events on events.task_key = steers.task_key and events.taskseq = steers.taskseq where steers.task_key = ? order by steers.taskseq`,
    [taskKey],
  )
  return rows.map(({ data, time, ...row }) => {
    const {
      text,
      by = null,
      user_id = null,
    } = JSON.parse(data ?? '{"text":""}') as { text: string; by?: string; user_id?: string }
    return { ...row, text: clip(text, steerCharsMax), text_chars: text.length, by, user_id, at: time }
  })
}

// Calls of models whose answers were lost with who had asked: a daemon that died or was stopped, or a worker
// thread. If nothing bounds a task, the journal has no event of a call before its answer, so that nobody knows
// whether such a call was made, and what it used. Calls that a budget reserved are not counted here:
// `model_call_lost` has them, and so has the usage.

/** An event, as far as it says who works and who waits for what. */
interface WorkEvent {
  readonly type: EventType
  readonly runId: string | null
}

/** After these events, a run does not ask its model, or only when its calls of tools have results. */
const asksNobody: ReadonlySet<EventType> = new Set<EventType>([
  'assistant_message_added',
  'run_completed',
  'run_failed',
  'run_cancelled',
])
/** The writer of one of these released the task, so no call was under way. */
const letGo: ReadonlySet<EventType> = new Set<EventType>(['task_released', 'task_suspended'])

/**
 * How many calls may have been made and lost, from the events of a task in their order.
 *
 * @param events those of the task itself, and those of its runs
 */
export function lostCalls(events: Iterable<WorkEvent>): number {
  /** For each run that is at work: how many calls of tools it waits for. `null`: it asks nobody. */
  const runs = new Map<string, number | null>()
  const reserve = new Set<string>()
  let lost = 0
  let owned = false
  for (const { type, runId } of events) {
    if (type === 'task_claimed') {
      if (owned) lost += [...runs].filter(([id, tools]) => tools === 0 && !reserve.has(id)).length
      owned = true
    }
    if (letGo.has(type)) owned = false
    if (runId === null) continue
    const tools = runs.get(runId) ?? 0
    if (type === 'model_call_reserved') reserve.add(runId)
    if (type === 'run_restarted' && runs.get(runId) === 0 && !reserve.has(runId)) lost++
    if (type === 'tool_call_requested') runs.set(runId, tools + 1)
    else if (type === 'tool_result_recorded') runs.set(runId, Math.max(0, tools - 1))
    else if (asksNobody.has(type)) runs.set(runId, null)
    else if (runs.get(runId) === undefined) runs.set(runId, 0)
  }
  return lost
}

/** Only a task that was claimed twice, or a run that was started again, can have lost a call. */
function lostCallsOf(sql: Sql, key: number, claims: number): number {
  if (
    claims < 2 &&
    sql.get('select 1 from runs where task_key = ? and restarts > 0 limit 1', [key]) === undefined
  )
    return 0
  return lostCalls(eventsOf(sql, key))
}

function* eventsOf(sql: Sql, key: number): Generator<WorkEvent> {
  const rows = sql.each<{ type: EventType; run_id: string | null }>(
    'select type, run_id from events where task_key = ? order by taskseq',
    [key],
  )
  for (const { type, run_id: runId } of rows) yield { type, runId }
}
