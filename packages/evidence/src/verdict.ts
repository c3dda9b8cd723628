// The outcome of a check, and the parts of its detail: one sentence of bounded length.

export interface Verdict {
  readonly passed: boolean
  readonly detail: string
  /** The `taskseq` of each event; 0 for an event that does not exist. */
  readonly restsOn: readonly number[]
}

const shownMax = 5
const shownCharsMax = 80

export const times = (n: number): string => (n === 1 ? 'once' : `${n} times`)

const clipped = (text: string): string =>
  text.length > shownCharsMax ? `${text.slice(0, shownCharsMax).toWellFormed()}…` : text

export const quoted = (text: string): string => JSON.stringify(clipped(text))

/** A JSON value in few characters. */
export const shownValue = (value: unknown): string =>
  typeof value === 'string' ? quoted(value) : clipped(JSON.stringify(value))

/** A list for people: `a, b and 3 more` */
export function listed(parts: readonly string[]): string {
  const shown = parts.slice(0, shownMax).join(', ')
  return parts.length <= shownMax ? shown : `${shown} and ${parts.length - shownMax} more`
}
