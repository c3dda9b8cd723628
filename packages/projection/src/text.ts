// Cuts texts to a bound, and measures the time between two events.

/** At most `charsMax` UTF-16 units of a text, never half a character. */
export function clip(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text
  const last = text.charCodeAt(charsMax - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? charsMax - 1 : charsMax)
}

/** The text on one line, with `…` where it was cut. */
export function excerpt(text: string, charsMax = 120): string {
  const line = clip(text, charsMax * 4)
    .replace(/\s+/g, ' ')
    .trim()
  return line.length <= charsMax && text.length <= charsMax * 4 ? line : `${clip(line, charsMax - 1)}…`
}

/** Milliseconds from one RFC 3339 time to another. `null` if either is missing or is no time. */
export function millisBetween(from: string | null, to: string | null): number | null {
  if (from === null || to === null) return null
  const span = Date.parse(to) - Date.parse(from)
  return Number.isNaN(span) ? null : span
}

/** For example `1 node`, `2,000 nodes`. */
export const counted = (n: number, noun: string): string => `${String(n).replaceAll(/\B(?=(\d{3})+$)/g, ',')} ${noun}${n === 1 ? '' : 's'}`

/** For example `350 ms`, `3.2 s`. */
export const spanOf = (ms: number): string => (ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`)
