// What happened within a time, for queries that may be narrowed to one.
import type { SqlValue } from '../store/sql.ts'

/** A time as the journal has it, so that the texts can be compared. */
export const timeOf = (time: string): string => new Date(time).toISOString()

/** A condition for a column with a time, to be joined with `and`, and its values in their order. */
export function inTime(
  column: string,
  { since, until }: { readonly since?: string | undefined; readonly until?: string | undefined },
): readonly [condition: string, values: readonly SqlValue[]] {
  const parts = [
    ...(since === undefined ? [] : [[`and ${column} >= ?`, timeOf(since)] as const]),
    ...(until === undefined ? [] : [[`and ${column} < ?`, timeOf(until)] as const]),
  ]
  return [parts.map(([condition]) => condition).join(' '), parts.map(([, value]) => value)]
}
