// `spans`: when each call of a model, each call of a tool and each wait began and ended. Several tables know
// them; each is read in the order of its places in the log, and all are merged. A page looks at a bounded part
// of the log, so it costs the same however long the log is and however few spans fit.
import type { QueryOutput, QueryRead, Span } from '@beaver/contracts'
import { findTask, type FoundTask } from './find-task.ts'
import { page } from './page.ts'
import type { Query } from './query.ts'
import { archiveOf } from './redactions.ts'
import { type Sql, type SqlValue, truth } from '../store/sql.ts'

/** How many places of the log a page looks at. */
const placesReadMax = 20_000

/** Several spans may begin at one place of the log: a model, the pause after it, and the calls of its answer. */
const spansPerPlace = 1_000

interface Placed {
  readonly place: number
  readonly span: Span
}

export const spans: Query<'spans'> = (sql, input) => {
  const found = findTask(sql, input)
  const range = rangeOf(sql, found, input)
  const fits = fitsIn(found, input)
  const rows = merged(sourcesOf(sql, found.task_key, range))
  const { items, more, next } = page(fitting(rows, { after: input.after, fits }), input.limit, {
    item: (row) => row.span,
    cursor: (row) => row.place,
  })
  return {
    task_id: found.task_id,
    session_id: found.session_id,
    tenant: found.tenant,
    submitted_at: found.submitted_at,
    spans: items,
    ...archiveOf(sql, found.task_key),
    ...(more || range.to >= range.last
      ? { more, next }
      : { more: true, next: (range.to + 1) * spansPerPlace - 1 }),
  } satisfies QueryOutput<'spans'>
}

/** The part of the log that a page looks at: from and to a taskseq. */
interface Range {
  readonly from: number
  readonly to: number
  /** The end of the log. */
  readonly last: number
  /** The ids of the runs as JSON. `null`: all. */
  readonly runs: string | null
}

function rangeOf(sql: Sql, { task_key: key }: FoundTask, { after, run_ids: ids }: QueryRead<'spans'>): Range {
  const { last } = sql.one<{ last: number }>(
    'select coalesce(max(taskseq), 0) as last from events where task_key = ?',
    [key],
  )
  const runs = ids === undefined ? null : JSON.stringify(ids)
  const begun =
    runs === null
      ? 0
      : (sql.one<{ first: number | null }>(
          'select min(started_taskseq) as first from runs where task_key = ? and run_id in (select value from json_each(?))',
          [key, runs],
        ).first ?? last)
  const from = Math.max(Math.trunc(after / spansPerPlace), begun)
  return { from, to: from + placesReadMax - 1, last, runs }
}

/** Whether a span is at least partly in the window. */
function fitsIn(
  { submitted_at }: FoundTask,
  { from_ms, to_ms }: Pick<QueryRead<'spans'>, 'from_ms' | 'to_ms'>,
): (span: Span) => boolean {
  if ((from_ms === undefined && to_ms === undefined) || submitted_at === null) return () => true
  const zero = Date.parse(submitted_at)
  const [from, to] = [zero + (from_ms ?? -Infinity), zero + (to_ms ?? Infinity)]
  return ({ started_at, ended_at }) => {
    const begins = started_at ?? ended_at
    return (begins === null || Date.parse(begins) < to) && (ended_at === null || Date.parse(ended_at) > from)
  }
}

function* fitting(
  rows: Iterable<Placed>,
  { after, fits }: { readonly after: number; readonly fits: (span: Span) => boolean },
): Generator<Placed> {
  for (const row of rows) if (row.place > after && fits(row.span)) yield row
}

/** The rows of several sources in the order of their places. Each source is in this order. */
function* merged(sources: readonly Iterable<Placed>[]): Generator<Placed> {
  const readers = sources.map((source) => source[Symbol.iterator]())
  try {
    const heads = readers.map((reader) => reader.next())
    for (;;) {
      let first = -1
      for (const [i, head] of heads.entries()) {
        const least = heads[first]
        if (
          head.done !== true &&
          (least === undefined || least.done === true || head.value.place < least.value.place)
        )
          first = i
      }
      const [head, reader] = [heads[first], readers[first]]
      if (head === undefined || head.done === true || reader === undefined) return
      yield head.value
      heads[first] = reader.next()
    }
  } finally {
    for (const reader of readers) reader.return?.()
  }
}

function sourcesOf(sql: Sql, key: number, range: Range): readonly Iterable<Placed>[] {
  const values: SqlValue[] = [key, range.from, range.to, ...(range.runs === null ? [] : [range.runs])]
  /** `place`: the column with the place in the log. The table has `task_key` and `run_id`. */
  const read = <Row>(columns: string, table: string, place: string, order = place): Iterable<Row> =>
    sql.each<Row>(
      `select ${columns}, ${table}.run_id, runs.node_id, runs.ended_at as run_ended_at
       from ${table} left join runs on runs.task_key = ${table}.task_key and runs.run_id = ${table}.run_id
       where ${table}.task_key = ?1 and ${place} between ?2 and ?3 ${range.runs === null ? '' : `and ${table}.run_id in (select value from json_each(?4))`}
       order by ${order}`,
      values,
    )
  return [
    modelSpans(read),
    toolSpans(read),
    approvalSpans(read),
    questionSpans(read),
    ...(mayWait(sql, key) ? [waitSpans(sql, key, read)] : []),
  ]
}

type Read = <Row>(columns: string, table: string, place: string, order?: string) => Iterable<Row>

interface OfRun {
  readonly taskseq: number
  readonly run_id: string | null
  readonly node_id: string | null
  readonly run_ended_at: string | null
}

const nothing = { call_id: null, started_at: null, ended_at: null, ok: null, tries: null, tokens: null }

const spanOf = (
  { taskseq, run_id, node_id }: OfRun,
  kind: Span['kind'],
  more: Pick<Span, 'name'> & Partial<Span>,
): Span => ({ taskseq, run_id, node_id, kind, ...nothing, ...more })

/** The time so many milliseconds after another one. */
const later = (time: string, ms: number): string => {
  const at = Date.parse(time) + ms
  return Number.isFinite(at) && Math.abs(at) <= 8.64e15 ? new Date(at).toISOString() : time
}

interface ModelRow extends OfRun {
  readonly name: string
  readonly time: string
  readonly success: number
  readonly duration_ms: number | null
  readonly tries: number | null
  readonly retry_in_ms: number | null
  readonly tokens: number | null
}

/** Calls of models, and after a failed one the pause before the next try. */
function* modelSpans(read: Read): Generator<Placed> {
  // The row of a failed call does not say how long it took.
  const duration = `case when success = 1 then duration_ms else (select cast(json_extract(data, '$.duration_ms') as integer) from events
    where events.task_key = provider_calls.task_key and events.taskseq = provider_calls.taskseq) end`
  const columns = `provider_calls.taskseq, coalesce(provider_calls.model, provider_calls.provider, '') as name, time, success, tries, retry_in_ms,
    ${duration} as duration_ms, provider_calls.input_tokens + provider_calls.output_tokens as tokens`
  for (const row of read<ModelRow>(columns, 'provider_calls', 'provider_calls.taskseq')) {
    const { taskseq, time, tries, retry_in_ms: pause } = row
    yield {
      place: taskseq * spansPerPlace,
      span: spanOf(row, 'model', {
        name: row.name,
        started_at: row.duration_ms === null ? null : later(time, -row.duration_ms),
        ended_at: time,
        ok: row.success === 1,
        tries,
        tokens: row.tokens,
      }),
    }
    if (pause === null || pause === 0) continue
    yield {
      place: taskseq * spansPerPlace + 1,
      span: spanOf(row, 'wait', { name: 'retry', started_at: time, ended_at: later(time, pause), tries }),
    }
  }
}

interface CallRow extends OfRun {
  readonly call_index: number
  readonly call_id: string
  readonly tool: string
  readonly started_at: string | null
  readonly ended_at: string | null
  readonly success: number | null
  readonly starts: number
}

function* toolSpans(read: Read): Generator<Placed> {
  const columns =
    'asked_taskseq as taskseq, call_index, call_id, tool, tool_calls.started_at, tool_calls.ended_at, success, starts'
  for (const row of read<CallRow>(columns, 'tool_calls', 'asked_taskseq', 'asked_taskseq, call_index')) {
    const { call_id, started_at, starts } = row
    yield {
      place: row.taskseq * spansPerPlace + Math.min(row.call_index + 2, spansPerPlace - 1),
      span: spanOf(row, 'tool', {
        name: row.tool,
        call_id,
        started_at,
        // A run may end while a call of it is under way.
        ended_at: row.ended_at ?? row.run_ended_at,
        ok: truth(row.success),
        tries: starts,
      }),
    }
  }
}

interface AskedRow extends OfRun {
  readonly call_id: string
  readonly began: string | null
  readonly ended: string | null
  readonly outcome: string | null
}

const askedSpan = (row: AskedRow, name: string, ok: boolean | null): Placed => ({
  place: row.taskseq * spansPerPlace,
  span: spanOf(row, 'wait', {
    name,
    call_id: row.call_id,
    started_at: row.began,
    ended_at: row.ended ?? row.run_ended_at,
    ok,
  }),
})

function* approvalSpans(read: Read): Generator<Placed> {
  const columns =
    'approval_requested_taskseq as taskseq, call_id, approval_requested_at as began, coalesce(approval_decided_at, tool_calls.ended_at) as ended, approval as outcome'
  const place = 'tool_calls.approval is not null and approval_requested_taskseq'
  for (const row of read<AskedRow>(columns, 'tool_calls', place, 'approval_requested_taskseq'))
    yield askedSpan(row, 'approval', row.outcome === 'requested' ? null : row.outcome === 'granted')
}

function* questionSpans(read: Read): Generator<Placed> {
  const columns = 'questions.taskseq, call_id, asked_at as began, answered_at as ended, action as outcome'
  for (const row of read<AskedRow>(columns, 'questions', 'questions.taskseq'))
    yield askedSpan(row, 'question', row.outcome === null ? null : row.outcome === 'accept')
}

interface WaitRow extends OfRun {
  readonly type: string
  readonly time: string
  readonly waits_for: string | null
  readonly wait_ms: number | null
}

/**
 * Whether the task may have waited for a budget, or without a daemon. If not, its events are not searched. Who
 * goes on with a task that waited claims it again.
 */
const mayWait = (sql: Sql, key: number): boolean =>
  sql.get(
    'select 1 from tasks where task_key = ? and (claims > 1 or waits_for is not null or budgets is not null)',
    [key],
  ) !== undefined

/** The waits for a budget, and those of a task that no daemon holds meanwhile. */
function* waitSpans(sql: Sql, key: number, read: Read): Generator<Placed> {
  const columns = `events.taskseq, type, time, json_extract(data, '$.waits_for') as waits_for, json_extract(data, '$.wait_ms') as wait_ms`
  const place = "type in ('task_suspended', 'budget_exceeded') and events.taskseq"
  for (const row of read<WaitRow>(columns, 'events', place, 'events.taskseq')) {
    if (row.type === 'task_suspended') {
      const next = sql.get<{ time: string }>(
        'select time from events where task_key = ? and taskseq > ? order by taskseq limit 1',
        [key, row.taskseq],
      )
      yield {
        place: row.taskseq * spansPerPlace,
        span: spanOf(row, 'wait', {
          name: row.waits_for ?? '',
          started_at: row.time,
          ended_at: next?.time ?? null,
        }),
      }
    } else if (row.wait_ms !== null) {
      const end = endOfBudgetWait(sql, key, row)
      yield {
        place: row.taskseq * spansPerPlace,
        span: spanOf(row, 'wait', { name: 'budget', started_at: row.time, ...end }),
      }
    }
  }
}

/** How far the end of a wait is looked for. */
const eventsLookedAtMax = 5_000

/** A run that waits for a budget goes on with a call, or ends. */
function endOfBudgetWait(sql: Sql, key: number, row: WaitRow): Pick<Span, 'ended_at' | 'ok'> {
  const next = sql.get<{ type: string; time: string }>(
    `select type, time from events where task_key = ? and taskseq between ? and ? and run_id = ?
       and type in ('model_call_reserved', 'tool_call_started', 'run_completed', 'run_failed', 'run_cancelled') order by taskseq limit 1`,
    [key, row.taskseq + 1, row.taskseq + eventsLookedAtMax, row.run_id],
  )
  if (next === undefined) return { ended_at: row.run_ended_at, ok: null }
  return { ended_at: next.time, ok: !next.type.startsWith('run_') }
}
