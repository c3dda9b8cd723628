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

export const quoted = (text: string): string => JSON.stringify(text.length > shownCharsMax ? `${text.slice(0, shownCharsMax).toWellFormed()}…` : text)

/** A list for people: `a, b and 3 more` */
export function listed(parts: readonly string[]): string {
  const shown = parts.slice(0, shownMax).join(', ')
  return parts.length <= shownMax ? shown : `${shown} and ${parts.length - shownMax} more`
}
