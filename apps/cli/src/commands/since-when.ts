// Reads a time that a person gives as a span before now, such as `2h`, or as a date. The table of commands reads the
// options `--since` and `--until` with it, so that a wrong time is refused before a system is asked.
import { UsageError } from '../failures.ts'

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/**
 * The time in RFC 3339, in UTC.
 *
 * @param option the name of the option, for the error message
 * @throws {UsageError}
 */
export function sinceWhen(text: string, nowMs: number, option = '--since'): string {
  const ago = /^(\d{1,6})([smhd])$/.exec(text.trim())
  if (ago !== null)
    return new Date(nowMs - Number(ago[1]) * unitMs[ago[2] as keyof typeof unitMs]).toISOString()
  const at = /^\d{4}-\d{2}-\d{2}/.test(text.trim()) ? Date.parse(text.trim()) : Number.NaN
  if (Number.isNaN(at))
    throw new UsageError(
      `${option} ${JSON.stringify(text)} is not a time. Write "30m", "2h", "7d", or a time such as "2026-11-23T08:00:00Z".`,
    )
  return new Date(at).toISOString()
}

/**
 * Checks that something can lie between `--since` and `--until`.
 *
 * @param options `isWholeDays`: both days count. Default: `until` itself does not count
 * @throws {UsageError}
 */
export function mustSpan(
  { since, until }: { readonly since?: string | undefined; readonly until?: string | undefined },
  { isWholeDays = false }: { readonly isWholeDays?: boolean } = {},
): void {
  if (since === undefined || until === undefined) return
  if (since < until || (isWholeDays && since === until)) return
  throw new UsageError(
    `Nothing can be between --since (${since}) and --until (${until}). Give an earlier time to --since.`,
  )
}
