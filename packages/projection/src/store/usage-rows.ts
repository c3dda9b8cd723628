// The rows of the tables of usage, by model and by day, as row-types.ts has the others. They mirror
// usage-tables.ts, and a test compares them.
import { type UsagePart, usageParts } from '@beaver/core'

/** A row of `model_usage`. */
export interface UsageRow extends Record<UsagePart, number> {
  task_key: number
  run_id: string
  provider: string
  model: string
  input_tokens: number
  output_tokens: number
  calls: number
}

/** A row of `usage_by_day`. */
export interface DayUsageRow extends Record<UsagePart, number> {
  /** YYYY-MM-DD, UTC. */
  day: string
  tenant: string
  /** '': no user. */
  user_id: string
  provider: string
  model: string
  input_tokens: number
  output_tokens: number
  calls: number
}

export const usageCounts = ['input_tokens', 'output_tokens', 'calls', ...usageParts] as const
/** A usage of nothing. */
export const noCounts: Readonly<Record<(typeof usageCounts)[number], number>> = {
  ...{ input_tokens: 0, output_tokens: 0, calls: 0 },
  ...{
    cached_input_tokens: 0,
    cache_write_tokens: 0,
    reasoning_tokens: 0,
    audio_input_tokens: 0,
    audio_output_tokens: 0,
    unknown_calls: 0,
  },
}
export const usageColumns = [
  'task_key',
  'run_id',
  'provider',
  'model',
  ...usageCounts,
] as const satisfies readonly (keyof UsageRow)[]

export const dayUsageKeys = [
  'day',
  'tenant',
  'user_id',
  'provider',
  'model',
] as const satisfies readonly (keyof DayUsageRow)[]
export const dayUsageColumns = [
  ...dayUsageKeys,
  ...usageCounts,
] as const satisfies readonly (keyof DayUsageRow)[]
