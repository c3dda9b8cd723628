// The usage of each model by task or by run, and the parts of a run's first prompt.
import type { ModelUsage } from '@beaver/contracts'
import { partsOfUsage } from '@beaver/core'
import { costOfUsage, type PriceTable, type UsageCost } from '@beaver/core/cost'
import { type TaskRow, usageCounts } from '../store/schema.ts'
import type { Sql, SqlValue } from '../store/sql.ts'

/** Absent counts are zero: a row of the table has all of them, an item of an answer those that are not. */
type Counts = Omit<ModelUsage, 'provider' | 'model' | 'since' | keyof UsageCost>

/** What was used of one model. */
export interface UsedOfModel extends Counts {
  readonly provider: string | null
  readonly model: string | null
  /** The day whose prices count. Absent: that of the whole. */
  readonly day?: string
  /** The first day of the period, if the query asks for periods. */
  readonly since?: string | null
}

interface UsageRow extends UsedOfModel {
  readonly run_id: string
}

/**
 * How many models are named. One more item without a name has the usage of all others, so that the sum is
 * complete.
 */
const modelsMax = 12

const summedColumn = (column: string): string =>
  `cast(min(total(${column}), ${Number.MAX_SAFE_INTEGER}) as integer) as ${column}`
/**
 * The sums of a group of rows in SQL. They stay integers that JavaScript can read, even of a forged journal.
 */
export const summedColumns = usageCounts.map(summedColumn).join(', ')

export const usageOfTask = (sql: Sql, taskKey: number): UsedOfModel[] =>
  sql.all<UsedOfModel>(
    `select provider, model, ${summedColumns}
     from model_usage where task_key = ? group by provider, model order by min(rowid)`,
    [taskKey],
  )

export const usageOfRun = (sql: Sql, taskKey: number, runId: string): UsedOfModel[] =>
  sql.all<UsedOfModel>(
    `select provider, model, ${usageCounts.join(', ')} from model_usage where task_key = ? and run_id = ? order by rowid`,
    [taskKey, runId],
  )

/** The usage of each run. */
export function usageOfRuns(sql: Sql, taskKey: number): (runId: string) => UsedOfModel[] {
  const byRun = new Map<string, UsageRow[]>()
  for (const row of sql.each<UsageRow>(
    `select run_id, provider, model, ${usageCounts.join(', ')} from model_usage where task_key = ? order by rowid`,
    [taskKey],
  )) {
    const rows = byRun.get(row.run_id)
    if (rows === undefined) byRun.set(row.run_id, [row])
    else rows.push(row)
  }
  return (runId) => byRun.get(runId) ?? []
}

/** The prices that count for a usage. */
export interface Priced {
  readonly prices: PriceTable
  /** The day whose prices count (RFC 3339 or YYYY-MM-DD). `null`: the newest prices count. */
  readonly day: string | null
}

/** The sums of some rows with what they cost, in all and for each model. */
export const usageView = (rows: readonly UsedOfModel[], priced: Priced) => ({
  ...costed(rows, priced),
  usage_by_model: boundedUsage(rows, priced),
})

const costed = (rows: readonly UsedOfModel[], { prices, day }: Priced): Counts & UsageCost => ({
  ...sumOfUsage(rows),
  ...costOfUsage(rows, prices, day),
})

/** The known part of what a task cost, in US dollars. */
export function knownCostOf(
  sql: Sql,
  { task_key, started_at }: Pick<TaskRow, 'task_key' | 'started_at'>,
  prices: PriceTable,
): number {
  const { cost_usd: whole, cost_usd_known: part = 0 } = costOfUsage(
    usageOfTask(sql, task_key),
    prices,
    started_at,
  )
  return whole ?? part
}

/** Some models by name, and the others together. */
function boundedUsage(rows: readonly UsedOfModel[], priced: Priced): ModelUsage[] {
  const models = [
    ...Map.groupBy(rows, ({ provider, model, since }) => JSON.stringify([provider, model, since])).values(),
  ]
  const rest = models.slice(modelsMax).flat()
  const named = models.slice(0, modelsMax).map((all) => ({
    provider: all[0]?.provider ?? null,
    model: all[0]?.model ?? null,
    ...costed(all, priced),
    ...(all[0]?.since ? { since: all[0].since } : {}),
  }))
  return [...named, ...(rest.length === 0 ? [] : [{ provider: null, model: null, ...costed(rest, priced) }])]
}

/**
 * The sums of some rows. They stay integers that JavaScript can read, even of a forged journal. Parts that
 * are zero are left out.
 */
export function sumOfUsage(rows: readonly Counts[]): Counts {
  const sum = (count: (typeof usageCounts)[number]): number =>
    Math.min(
      rows.reduce((total, row) => total + (row[count] ?? 0), 0),
      Number.MAX_SAFE_INTEGER,
    )
  return {
    input_tokens: sum('input_tokens'),
    output_tokens: sum('output_tokens'),
    calls: sum('calls'),
    ...partsOfUsage(sum),
  }
}

/** What the provider counted for the first call of each run that it answered. */
export function firstCallTokens(sql: Sql, taskKey: number): ReadonlyMap<SqlValue, number> {
  const rows = sql.all<{ run_id: string | null; input_tokens: number | null; first: number }>(
    "select run_id, input_tokens, min(taskseq) as first from provider_calls where task_key = ? and success = 1 and purpose = 'answer' group by run_id",
    [taskKey],
  )
  return new Map(
    rows.flatMap((row) => (row.input_tokens === null ? [] : [[row.run_id, row.input_tokens] as const])),
  )
}

/** A column that contains JSON which the fold of this package wrote. */
export const parsedOrNull = <T>(text: string | null): T | null =>
  text === null ? null : (JSON.parse(text) as T)
