// Which tasks a list or a count means. Each filter is a condition on a row of `tasks`, and most have a source:
// an index that gives the keys of the tasks in question, newest first. Of the sources, the one with the fewest
// tasks is read, and the other filters are judged for each task that it gives. So one filter is fast however
// many tasks there are. Several filters may go past many tasks, and the caller bounds how many are looked at.
// A source for a user gives tasks of that user only, so that the tasks of others have no part in the answer.
import type { QueryRead } from '@beaver/contracts'
import type { PriceTable } from '@beaver/core/cost'
import { timeOf } from './in-time.ts'
import { somethingWaits } from './approvals.ts'
import { somethingAsks } from './asked-questions.ts'
import { patternOf } from './failure-pattern.ts'
import { matching, wordsOf } from './search-words.ts'
import { knownCostOf } from './usage.ts'
import { hourOf, type TaskNameKind, type TaskRow } from '../store/schema.ts'
import type { Sql, SqlValue } from '../store/sql.ts'
import { searchedText, unindexedTasksOf } from '../store/text-index.ts'

type Filter = QueryRead<'task_count'>

/** SQL with its values. */
interface Part {
  readonly text: string
  readonly values: readonly SqlValue[]
}

/** Gives keys of tasks in order. Several arms are merged. */
interface Source {
  /** `from` with its condition, such as `tasks where status = ?`. */
  readonly arms: readonly Part[]
  /** The column with the key. */
  readonly key: 'task_key' | 'rowid'
}

interface OneFilter {
  /** Absent: the source gives no other tasks, or `judge` decides. */
  readonly condition?: Part
  readonly source?: Source
  /** Whether the source alone decides, so that the condition is not asked of the tasks that it gives. */
  readonly exact?: boolean
  /** For what SQL cannot say. It is not asked either if the source alone decides. */
  readonly judge?: (row: TaskRow) => boolean
}

/** A task that was looked at. */
export interface Looked {
  readonly key: number
  /** `null`: it does not fit. */
  readonly row: TaskRow | null
}

export interface FilteredTasks {
  /** Whether tasks have to be read whole to judge them, which takes longer. */
  readonly isSlow: boolean
  /** The tasks that were looked at, newest first, at most `looksMax`. */
  looked(looksMax: number): Iterable<Looked>
  /**
   * The tasks that were looked at with some of their columns, newest first. `fits` is 1 for those that fit.
   * Only for filters that are not slow.
   */
  columns<Row>(
    names: readonly (keyof TaskRow)[],
    looksMax: number,
  ): Iterable<Row & { readonly fits: number | null }>
  /** How many tasks were looked at, and how many of them fit. */
  counted(looksMax: number): { readonly looked: number; readonly fits: number }
  /** The key of the newest task that is looked at, whether it fits or not. `null`: there is none. */
  newest(): number | null
}

export interface FilterOptions {
  /** Only tasks with a smaller key. */
  readonly before?: number | undefined
  /** Only tasks that ended with a failure. */
  readonly hasFailed?: true
  readonly prices: PriceTable
}

export function filteredTasks(
  sql: Sql,
  filter: Filter,
  { before, hasFailed, prices }: FilterOptions,
): FilteredTasks {
  const filters = [
    ...filtersOf(sql, filter, prices),
    ...(hasFailed === undefined ? [] : [withFailure(filter.user_id)]),
  ]
  const range = keyRange(sql, filter, before)
  const chosen = smallest(
    sql,
    filters.filter(({ source }) => source !== undefined),
    range,
  )
  const source = chosen?.source ?? { arms: [one('tasks where true')], key: 'task_key' }
  const others = filters.filter((each) => each !== chosen || each.exact !== true)
  const conditions = others.flatMap(({ condition }) => condition ?? [])
  const judges = others.flatMap(({ judge }) => judge ?? [])
  const keys = keysIn(source, range)
  const fitting = conditions.length === 0 ? '1' : conditions.map(({ text }) => `(${text})`).join(' and ')
  const judgedWith = (columns: readonly (keyof TaskRow)[]): Part => ({
    text: `select tasks.task_key as key, ${fitting} as fits ${columns.map((name) => `, tasks.${name}`).join('')}
      from (${keys.text} limit ?) as looked cross join tasks on tasks.task_key = looked.task_key`,
    values: [...conditions.flatMap(({ values }) => values), ...keys.values],
  })
  const judged = judgedWith([])
  const looked = function* (looksMax: number): Generator<Looked> {
    for (const { key, fits } of sql.each<{ key: number; fits: number | null }>(judged.text, [
      ...judged.values,
      looksMax,
    ])) {
      const row = fits === 1 ? sql.one<TaskRow>('select * from tasks where task_key = ?', [key]) : null
      yield { key, row: row !== null && judges.every((judge) => judge(row)) ? row : null }
    }
  }
  return {
    isSlow: judges.length > 0,
    looked,
    columns(names, looksMax) {
      const { text, values } = judgedWith(names)
      return sql.each(text, [...values, looksMax])
    },
    newest: () => sql.get<{ task_key: number }>(`${keys.text} limit 1`, keys.values)?.task_key ?? null,
    counted(looksMax) {
      if (judges.length > 0) {
        const counts = { looked: 0, fits: 0 }
        for (const { row } of looked(looksMax)) {
          counts.looked++
          if (row !== null) counts.fits++
        }
        return counts
      }
      const from = conditions.length === 0 ? `select 1 as fits from (${keys.text} limit ?)` : judged.text
      return sql.one<{ looked: number; fits: number }>(
        `select count(*) as looked, coalesce(sum(fits), 0) as fits from (${from})`,
        [...(conditions.length === 0 ? keys.values : judged.values), looksMax],
      )
    },
  }
}

const one = (text: string, ...values: readonly SqlValue[]): Part => ({ text, values })
const from = (text: string, ...values: readonly SqlValue[]): Source => ({
  arms: [one(text, ...values)],
  key: 'task_key',
})

interface KeyRange {
  readonly first: number
  readonly last: number
}

/** The keys of a source within a range, the highest first. */
function keysIn({ arms, key }: Source, { first, last }: KeyRange): Part {
  return {
    text: `${arms.map(({ text }) => `select ${key} as task_key from ${text} and ${key} between ? and ?`).join(' union ')} order by 1 desc`,
    values: arms.flatMap(({ values }) => [...values, first, last]),
  }
}

const comparedMax = 5_000

/** The filter whose source has the fewest tasks; it is enough to know that a source has many. */
function smallest(sql: Sql, filters: readonly OneFilter[], range: KeyRange): OneFilter | undefined {
  if (filters.length < 2) return filters[0]
  let best: { readonly filter: OneFilter; readonly n: number } | undefined
  for (const filter of filters) {
    if (filter.source === undefined) continue
    const { text, values } = keysIn(filter.source, range)
    const { n } = sql.one<{ n: number }>(`select count(*) as n from (${text} limit ?)`, [
      ...values,
      comparedMax,
    ])
    if (best === undefined || n < best.n) best = { filter, n }
  }
  return best?.filter
}

/** The keys between which the tasks of a time are. */
function keyRange(
  sql: Sql,
  { submitted_since: since, submitted_before: until }: Filter,
  before?: number,
): KeyRange {
  const last = before === undefined ? Number.MAX_SAFE_INTEGER : before - 1
  if (since === undefined && until === undefined) return { first: 0, last }
  const hours = sql.one<{ first: number | null; last: number | null }>(
    'select min(first_key) as first, max(last_key) as last from task_hours where hour >= ? and hour <= ?',
    [hourOf(since === undefined ? '' : timeOf(since)), until === undefined ? '~' : hourOf(timeOf(until))],
  )
  return { first: hours.first ?? 1, last: Math.min(last, hours.last ?? 0) }
}

function filtersOf(sql: Sql, filter: Filter, prices: PriceTable): OneFilter[] {
  const { user_id: user, tokens_min: tokens, cost_usd_min: cost, retried } = filter
  const when = <Value>(value: Value | undefined, make: (value: Value) => OneFilter): OneFilter[] =>
    value === undefined ? [] : [make(value)]
  const named = (kind: TaskNameKind, name: string | undefined): OneFilter[] =>
    when(name, (value) => ({ ...byName(kind, value, user), exact: true }))
  return [
    ...when(filter.task_ids, byIds),
    ...byText(sql, filter),
    ...when(filter.session_id, (id) => ({
      condition: one('session_id = ?', id),
      source: from('tasks indexed by tasks_by_session where session_id = ?', id),
      exact: true,
    })),
    ...when(user, ofUser),
    ...named('profile', filter.profile),
    ...named('failure', filter.failure_class),
    ...when(filter.failure_pattern, (pattern) => withPattern(pattern, user)),
    ...named('skill', filter.skill),
    ...named('workflow', filter.uses_workflow),
    ...named('model', filter.model),
    ...when(filter.workflow, (name) => ofWorkflow(name, user)),
    ...when(filter.status, (status) => inStatus(typeof status === 'string' ? [status] : status, user)),
    ...when(filter.tenant, (tenant) => ({ condition: one('tenant = ?', tenant) })),
    ...when(filter.submitted_since, (time) => ({ condition: one('submitted_at >= ?', timeOf(time)) })),
    ...when(filter.submitted_before, (time) => ({ condition: one('submitted_at < ?', timeOf(time)) })),
    ...when(filter.ended_since, (time) => ({ condition: one('ended_at >= ?', timeOf(time)) })),
    ...when(retried, (is) => ({ condition: one(`${is ? '' : 'not '}${hasRetry}`) })),
    ...when(tokens, (min) => ({ condition: one('input_tokens + output_tokens >= ?', min) })),
    ...when(cost, (min) => ({
      condition: one('calls > 0 or ? = 0', min),
      judge: (row) => knownCostOf(sql, row, prices) >= min,
    })),
  ]
}

const hasRetry =
  'exists (select 1 from tasks as retry where retry.retry_of = tasks.task_id and retry.tenant = tasks.tenant)'

function byIds(ids: readonly string[]): OneFilter {
  const listed = one('task_id in (select value from json_each(?))', JSON.stringify(ids))
  return {
    condition: listed,
    source: from(`tasks indexed by tasks_by_id where ${listed.text}`, ...listed.values),
    exact: true,
  }
}

const ofUser = (user: string | null): OneFilter =>
  user === null
    ? { condition: one('user_id is null') }
    : {
        condition: one('user_id = ?', user),
        source: from('tasks indexed by tasks_by_user where user_id = ?', user),
        exact: true,
      }

const withFailure = (user: string | null | undefined): OneFilter => ({
  condition: one('failure_class is not null'),
  source:
    typeof user === 'string'
      ? from('tasks indexed by tasks_failed_by_user where failure_class is not null and user_id = ?', user)
      : from('tasks indexed by tasks_failed where failure_class is not null'),
  exact: true,
})

/** SQL cannot make a pattern, so each failed task is judged, and the caller bounds how many. */
const withPattern = (pattern: string, user: string | null | undefined): OneFilter => ({
  ...withFailure(user),
  exact: false,
  judge: ({ failure_message: message }) => patternOf(message ?? '') === pattern,
})

/** @param user whose tasks the source gives. `null` or `undefined`: those of all users */
function byName(kind: TaskNameKind, name: string, user: string | null | undefined): OneFilter {
  return {
    condition: one(
      'exists (select 1 from task_names where task_key = tasks.task_key and kind = ? and name = ?)',
      kind,
      name,
    ),
    source:
      typeof user === 'string'
        ? from(
            'task_names indexed by task_names_by_user where user_id = ? and kind = ? and name = ?',
            user,
            kind,
            name,
          )
        : from('task_names indexed by task_names_by_name where kind = ? and name = ?', kind, name),
  }
}

function ofWorkflow(name: string | null, user: string | null | undefined): OneFilter {
  const condition = one('workflow is ?', name)
  if (typeof user === 'string')
    return name === null ? { condition } : { ...byName('workflow', name, user), condition }
  return {
    condition,
    source: from('tasks indexed by tasks_by_workflow where workflow is ?', name),
    exact: true,
  }
}

type Status = Extract<Filter['status'], string>

/** A source for each state; the condition decides. */
function inStatus(statuses: readonly Status[], user: string | null | undefined): OneFilter {
  const conditions = statuses.map(statusCondition)
  const arms = new Map(
    statuses.map((status): [string, Part] => {
      const arm = typeof user === 'string' ? armOfUser(status, user) : armOfAll(status)
      return [arm.text + (unstored.has(status) ? '' : status), arm]
    }),
  )
  return {
    condition: {
      text: conditions.map(({ text }) => `(${text})`).join(' or '),
      values: conditions.flatMap(({ values }) => values),
    },
    source: { arms: [...arms.values()], key: 'task_key' },
    exact: statuses.every((status) => !unstored.has(status) && status !== 'running'),
  }
}

function armOfAll(status: Status): Part {
  if (suspendedStates.has(status)) return one('tasks indexed by tasks_waiting where waits_for is not null')
  if (unstored.has(status)) return one('tasks indexed by tasks_open_newest where ended_at is null')
  return one('tasks indexed by tasks_by_status where status = ?', status)
}

const armOfUser = (status: Status, user: string): Part =>
  unstored.has(status)
    ? one('tasks indexed by tasks_open_by_user where user_id = ? and ended_at is null', user)
    : one('tasks indexed by tasks_by_user_status where user_id = ? and status = ?', user, status)

/** The states that are not in the column `status`. */
const unstored: ReadonlySet<Status> = new Set([
  'open',
  'waiting',
  'waiting_for_person',
  'waiting_for_approval',
  'waiting_for_answer',
  'waiting_for_provider',
  'waiting_for_limit',
  'waiting_for_client',
])

/** Those in which no daemon drives the task. */
const suspendedStates: ReadonlySet<Status> = new Set(['waiting', 'waiting_for_provider', 'waiting_for_limit'])

function statusCondition(status: Status): Part {
  if (status === 'open') return one('ended_at is null and chain_ok = 1')
  if (status === 'waiting_for_person')
    return one(`(waits_for = 'person' or ${somethingWaits} or ${somethingAsks})`)
  if (status === 'waiting_for_approval') return one(somethingWaits)
  if (status === 'waiting_for_answer') return one(somethingAsks)
  if (status === 'waiting_for_provider') return one("waits_for = 'provider'")
  if (status === 'waiting_for_limit') return one("waits_for = 'limit'")
  if (status === 'waiting_for_client')
    return one(
      "(waits_for = 'client' or exists (select 1 from runs where runs.task_key = tasks.task_key and runs.run_id = tasks.root_run_id and runs.status = 'waiting_for_client'))",
    )
  if (status === 'waiting') return one('waits_for is not null')
  return one(status === 'running' ? 'waits_for is null and status = ?' : 'status = ?', status)
}

/**
 * The index finds words of three characters and more. If a word is shorter, or the index lacks a task, or
 * another source is read, the words of each task are read.
 */
function byText(sql: Sql, { text, user_id: user }: Filter): OneFilter[] {
  const { all, long, short } = wordsOf(text ?? '')
  if (all.length === 0) return []
  const lower = all.map((word) => word.toLowerCase())
  const judge = (row: TaskRow): boolean => {
    const searched = searchedText(row).toLowerCase()
    return lower.every((word) => searched.includes(word))
  }
  if (long.length === 0 || unindexedTasksOf(sql, 1) > 0) return [{ judge }]
  const found = one('tasks_fts where tasks_fts match ?', matching(sql, long, user))
  return [{ judge, source: { arms: [found], key: 'rowid' }, exact: short.length === 0 }]
}
