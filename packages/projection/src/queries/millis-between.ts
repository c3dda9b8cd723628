// Measures the time between two events.

/** Milliseconds from one RFC 3339 time to another. `null` if either is missing or is no time. */
export function millisBetween(from: string | null, to: string | null): number | null {
  if (from === null || to === null) return null
  const span = Date.parse(to) - Date.parse(from)
  return Number.isNaN(span) ? null : span
}
