// Names for labels from closed sets. A name in the journal may come from a model, a server or a stranger, and
// each new value of a label is a series that Prometheus keeps for ever: only names of the configuration count.
import { otherValue } from './metrics.ts'

/** The value for a name that the journal does not have. */
const unknownValue = 'unknown'
/** How many answers are remembered. */
const keptMax = 1_000

/**
 * Gives the configured name for a name of the journal: itself, or the longest configured name with which it
 * begins, because a provider answers with the version of a model. Any other name is `other`.
 *
 * @example
 * const nameOf = closedNames(['gpt-5-mini', 'gpt-5'])
 * nameOf('gpt-5-mini-2025-08-07') // => 'gpt-5-mini'
 * nameOf('made-up') // => 'other'
 * nameOf(null) // => 'unknown'
 */
export function closedNames(configured: Iterable<string>): (name: string | null | undefined) => string {
  const names = [...new Set(configured)].filter((name) => name !== '')
  const longestFirst = names.toSorted((a, b) => b.length - a.length)
  const kept = new Map<string, string>(names.map((name) => [name, name]))
  return (name) => {
    if (name === null || name === undefined || name === '') return unknownValue
    const there = kept.get(name)
    if (there !== undefined) return there
    const found = longestFirst.find((each) => name.startsWith(each)) ?? otherValue
    if (kept.size < keptMax) kept.set(name, found)
    return found
  }
}
