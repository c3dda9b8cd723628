// `run`: one run. What it was given, what it returned, and its calls in the order of the log. `node`: the same
// of a node of a team, with what the graph says of the node. Long texts are cut, and their full length is given
// beside them. The whole text is in `events`.
import type { RunDetail } from '@beaver/contracts'
import { BeaverError, type JsonValue, partsOfUsage } from '@beaver/core'
import { costOfUsage, type PriceTable, type UsageCost } from '@beaver/core/cost'
import type { FailureClass } from '@beaver/core/supervision'
import { clip } from '@beaver/core/task-view'
import { findTask, type FoundTask } from './find-task.ts'
import { noSuchNode, refusal } from './of-node.ts'
import { page } from './page.ts'
import type { Query } from './query.ts'
import { failureView } from './query-tasks.ts'
import { nodeOfTeam, oneRun } from './run-tree.ts'
import { parsedOrNull } from './usage.ts'
import { type Sql, truth } from '../store/sql.ts'

const textCharsMax = 20_000
const callCharsMax = 2_000
const teamsNamedMax = 20

export const run: Query<'run'> = (sql, input, { prices }) => {
  const found = findTask(sql, input)
  const view = oneRun(sql, found.task_key, { runId: input.run_id, prices })
  if (view === undefined) throw noSuchRun(found.task_id, input.run_id)
  return {
    task_id: found.task_id,
    session_id: found.session_id,
    tenant: found.tenant,
    run: view,
    ...workOf(sql, found.task_key, view.run_id, { ...input, prices }),
  }
}

export const noSuchRun = (taskId: string, runId: string): BeaverError =>
  new BeaverError('not_found', `The task ${taskId} has no run ${JSON.stringify(runId)}.`)

export const node: Query<'node'> = (sql, input, { prices }) => {
  const found = findTask(sql, input)
  const { chosen, others } = teamsWith(sql, found, input)
  const view = nodeOfTeam(sql, found.task_key, { ...chosen, prices })
  if (view === undefined) throw noSuchNode(sql, found.task_key, found.task_id, input.node_id)
  return {
    task_id: found.task_id,
    session_id: found.session_id,
    tenant: found.tenant,
    team_run_id: chosen.team_run_id,
    other_team_run_ids: others,
    workflow: chosen.workflow,
    node: view,
    instruction: cut(chosen.instruction, callCharsMax),
    arguments:
      chosen.arguments === null || chosen.arguments.length > textCharsMax
        ? null
        : (JSON.parse(chosen.arguments) as JsonValue),
    ...workOf(sql, found.task_key, view.run_id, { ...input, prices }),
    ...(view.kind === 'code' ? outputOf(chosen.output) : {}),
  }
}

type Work = Omit<RunDetail, 'task_id' | 'session_id' | 'tenant' | 'run'>

/** @param runId `null`: there is no run */
function workOf(
  sql: Sql,
  key: number,
  runId: string | null,
  range: { readonly after: number; readonly limit: number; readonly prices: PriceTable },
): Work {
  const row = sql.get<{ output: string | null }>(
    'select output from runs where task_key = ? and run_id = ?',
    [key, runId],
  )
  const message = runId === null ? null : messageOf(sql, key, runId)
  const { items: calls, more, next } = callsOf(sql, key, runId, range)
  return {
    input: cut(message, textCharsMax),
    input_chars: message?.length ?? 0,
    ...outputOf(row?.output ?? null),
    calls,
    more,
    next,
  }
}

const outputOf = (output: string | null): Pick<Work, 'output' | 'output_chars'> => ({
  output: cut(output, textCharsMax),
  output_chars: output?.length ?? 0,
})

const cut = (text: string | null, charsMax: number): string | null =>
  text === null ? null : clip(text, charsMax)

interface ChosenRow {
  readonly team_run_id: string
  readonly node_id: string
  readonly workflow: string
  readonly instruction: string | null
  readonly arguments: string | null
  readonly output: string | null
}

/**
 * The node in the named team run or in the newest one, and the other team runs that have a node with this id.
 */
function teamsWith(
  sql: Sql,
  { task_key: key, task_id }: FoundTask,
  { node_id, team_run_id: team }: { node_id: string; team_run_id?: string | undefined },
): { chosen: ChosenRow; others: string[] } {
  const rows = sql.all<ChosenRow>(
    `select team_nodes.team_run_id, node_id, teams.workflow, instruction, arguments, team_nodes.output
     from team_nodes join teams using (task_key, team_run_id) where task_key = ? and node_id = ? order by started_taskseq desc limit ?`,
    [key, node_id, teamsNamedMax + 1],
  )
  const chosen = rows.find((row) => team === undefined || row.team_run_id === team)
  if (rows.length === 0) throw noSuchNode(sql, key, task_id, node_id)
  if (chosen === undefined) {
    const known = rows.map((row) => row.team_run_id).join(', ')
    throw refusal(
      'team_run_id',
      `The team run ${JSON.stringify(team)} has no node ${JSON.stringify(node_id)}. These team runs have one: ${known}.`,
    )
  }
  return { chosen, others: rows.filter((row) => row !== chosen).map((row) => row.team_run_id) }
}

/** The message that the run was given. */
const messageOf = (sql: Sql, key: number, runId: string): string | null =>
  sql.get<{ content: string | null }>(
    `select json_extract(data, '$.content') as content from events where task_key = ? and run_id = ? and type = 'user_message_added' order by taskseq limit 1`,
    [key, runId],
  )?.content ?? null

type CallOfRun = RunDetail['calls'][number]

interface CallRow {
  readonly place: number
  readonly taskseq: number
  readonly tool: string | null
  readonly waits_for: string | null
  /** Whether the call that it waits for is with the client. */
  readonly at_client: number
  readonly call_id: string
  readonly arguments: string | null
  readonly result: string | null
  readonly result_taskseq: number | null
  readonly error: string | null
  readonly success: number | null
  readonly at: string | null
  readonly duration_ms: number | null
  readonly purpose: string
  readonly provider: string | null
  readonly model: string | null
  readonly finish_reason: string | null
  readonly input_tokens: number | null
  readonly output_tokens: number | null
  readonly text: string | null
  /** The usage of a call as JSON. */
  readonly usage: string | null
  readonly failure_class: FailureClass | null
  readonly failure_message: string | null
}

/**
 * An answer of a model comes before the calls that it requests: a place is the taskseq and the number of the
 * call in its answer.
 */
const placesPerEvent = 1_000

/**
 * The call that a call waits for: core's `callWaits`, `callAtClient` and `heldBy` in SQL, for a run that has not ended. A
 * test compares them.
 */
export const waitsFor = `case
  when ended_at is not null or exists (
    select 1 from runs where runs.task_key = tool_calls.task_key and runs.run_id = tool_calls.run_id and runs.ended_at is not null) then null
  when approval = 'requested' or asking_taskseq is not null or client_taskseq is not null then call_id
  when approval is null and starts = 0 then (
    select call_id from tool_calls as earlier
    where earlier.task_key = tool_calls.task_key and earlier.run_id = tool_calls.run_id and earlier.asked_taskseq = tool_calls.asked_taskseq
      and earlier.call_index < tool_calls.call_index and earlier.ended_at is null
      and (earlier.approval = 'requested' or earlier.asking_taskseq is not null or earlier.client_taskseq is not null)
    order by earlier.call_index desc limit 1)
  end`

function callsOf(
  sql: Sql,
  key: number,
  runId: string | null,
  { after, limit, prices }: { readonly after: number; readonly limit: number; readonly prices: PriceTable },
) {
  const rows = sql.each<CallRow>(
    `select *, exists (
       select 1 from tool_calls as other
       where other.task_key = ?1 and other.run_id = ?2 and other.call_id = waits_for and other.client_taskseq is not null) as at_client
     from (
       select taskseq * ${placesPerEvent} as place, taskseq, null as tool, null as waits_for, '' as call_id, null as arguments, null as result, null as result_taskseq, null as error,
         success, time as at, duration_ms, purpose, provider, model, finish_reason, input_tokens, output_tokens,
         (select json_extract(data, '$.content') from events where events.task_key = provider_calls.task_key and events.taskseq = provider_calls.taskseq) as text,
         (select json_extract(data, '$.usage') from events where events.task_key = provider_calls.task_key and events.taskseq = provider_calls.taskseq) as usage,
         failure_class, failure_message
       from provider_calls where task_key = ?1 and run_id = ?2
       union all
       select asked_taskseq * ${placesPerEvent} + min(call_index, ${placesPerEvent - 2}) + 1, asked_taskseq, tool, ${waitsFor}, call_id, arguments, result, result_taskseq, error,
         success, started_at, duration_ms, '', null, null, null, null, null, null, null, null, null
       from tool_calls where task_key = ?1 and run_id = ?2)
     where place > ?3 order by place limit ?4`,
    [key, runId, after, limit + 1],
  )
  return page(rows, limit, { item: (row) => callView(row, prices), cursor: (row) => row.place })
}

/** The parts of a recorded usage. */
function partsIn(json: string | null): ReturnType<typeof partsOfUsage> {
  const usage = parsedOrNull<ReturnType<typeof partsOfUsage>>(json) ?? {}
  return partsOfUsage((part) => usage[part] ?? 0)
}

/** A call without counts from the provider has no known cost. */
const costOfCall = (
  { provider, model, input_tokens, output_tokens, at }: CallRow,
  parts: ReturnType<typeof partsOfUsage>,
  prices: PriceTable,
): UsageCost =>
  costOfUsage(
    [
      {
        ...{ provider, model, calls: 1, ...parts },
        ...{ input_tokens: input_tokens ?? 0, output_tokens: output_tokens ?? 0 },
      },
    ],
    prices,
    at,
  )

function callView(row: CallRow, prices: PriceTable): CallOfRun {
  if (row.tool === null) {
    const parts = partsIn(row.usage)
    return {
      kind: 'model',
      taskseq: row.taskseq,
      purpose: row.purpose,
      at: row.at ?? '',
      success: row.success === 1,
      provider: row.provider,
      model: row.model,
      finish_reason: row.finish_reason,
      duration_ms: row.duration_ms,
      input_tokens: row.input_tokens,
      output_tokens: row.output_tokens,
      ...parts,
      ...costOfCall(row, parts, prices),
      text: cut(row.text, callCharsMax),
      failure: failureView(row),
    }
  }
  return {
    kind: 'tool',
    taskseq: row.taskseq,
    call_id: row.call_id,
    tool: row.tool,
    arguments: cut(row.arguments, callCharsMax),
    started_at: row.at,
    ...(row.waits_for === null ? {} : { waits_for_call_id: row.waits_for }),
    ...(row.waits_for !== null && row.at_client === 1 ? { waits_for_client: true as const } : {}),
    duration_ms: row.duration_ms,
    success: truth(row.success),
    error: row.error,
    result: cut(row.result, callCharsMax),
    result_chars: row.result?.length ?? 0,
    result_taskseq: row.result_taskseq,
  }
}
