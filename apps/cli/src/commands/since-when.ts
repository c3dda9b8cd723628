// Reads a time that a person gives as a span before now, such as `2h`, or as a date. The table of commands reads the
// options `--since` and `--until` with it, so that a wrong time is refused before a system is asked.
import { UsageError } from '../failures.ts'

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

const written =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})?)?$/i

/**
 * The time in RFC 3339, in UTC. A day begins in UTC; a time without a zone is that of this machine.
 *
 * @param option the name of the option, for the error message
 * @throws {UsageError}
 */
export function sinceWhen(text: string, nowMs: number, option = '--since'): string {
  const at = timeOf(text.trim(), nowMs)
  // Another year has no four digits, and no place in RFC 3339.
  const time = Number.isNaN(at) ? '' : new Date(at).toISOString()
  if (/^\d{4}-/.test(time)) return time
  throw new UsageError(
    `${option} ${JSON.stringify(text)} is not a time. Write "30m", "2h", "7d", or a time such as "2026-11-23T08:00:00Z".`,
  )
}

/** Milliseconds since 1970. NaN: the text is no time. */
function timeOf(text: string, nowMs: number): number {
  const ago = /^(\d{1,6})([smhd])$/.exec(text)
  if (ago !== null) return nowMs - Number(ago[1]) * unitMs[ago[2] as keyof typeof unitMs]
  const [whole, year, month, day] = written.exec(text) ?? []
  if (whole === undefined) return Number.NaN
  // Without this, the 30th of February is in March.
  const named = new Date(`${year}-${month}-01T00:00:00Z`)
  named.setUTCDate(Number(day))
  return named.getUTCMonth() + 1 === Number(month) ? Date.parse(whole.replace(' ', 'T')) : Number.NaN
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
