// The usage of each model by task or by run, and the parts of a run's first prompt.
import type { ModelUsage } from '@beaver/contracts'
import { partsOfUsage } from '@beaver/core'
import { usageCounts } from '../store/schema.ts'
import type { Sql, SqlValue } from '../store/sql.ts'

/** Absent counts are zero: a row of the table has all of them, an item of an answer those that are not. */
type Counts = Omit<ModelUsage, 'provider' | 'model' | 'since'>

interface UsageRow extends Counts {
  readonly run_id: string
  readonly provider: string | null
  readonly model: string | null
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

export function usageOfTask(sql: Sql, taskKey: number): ModelUsage[] {
  const rows = sql.all<UsageRow>(
    `select '' as run_id, provider, model, ${summedColumns}
     from model_usage where task_key = ? group by provider, model order by min(rowid)`,
    [taskKey],
  )
  return boundedUsage(rows)
}

export const usageOfRun = (sql: Sql, taskKey: number, runId: string): ModelUsage[] =>
  boundedUsage(
    sql.all<UsageRow>(
      `select run_id, provider, model, ${usageCounts.join(', ')} from model_usage where task_key = ? and run_id = ? order by rowid`,
      [taskKey, runId],
    ),
  )

/** The usage of each run. */
export function usageOfRuns(sql: Sql, taskKey: number): (runId: string) => ModelUsage[] {
  const byRun = new Map<string, UsageRow[]>()
  for (const row of sql.each<UsageRow>(
    `select run_id, provider, model, ${usageCounts.join(', ')} from model_usage where task_key = ? order by rowid`,
    [taskKey],
  )) {
    const rows = byRun.get(row.run_id)
    if (rows === undefined) byRun.set(row.run_id, [row])
    else rows.push(row)
  }
  return (runId) => boundedUsage(byRun.get(runId) ?? [])
}

/** Some models by name, and the others together. */
export function boundedUsage(
  rows: readonly (Omit<UsageRow, 'run_id'> & { readonly since?: string | null })[],
): ModelUsage[] {
  const rest = rows.slice(modelsMax)
  const named = rows.slice(0, modelsMax).map((row) => ({
    provider: row.provider,
    model: row.model,
    ...sumOfUsage([row]),
    ...(row.since ? { since: row.since } : {}),
  }))
  return [...named, ...(rest.length === 0 ? [] : [{ provider: null, model: null, ...sumOfUsage(rest) }])]
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
