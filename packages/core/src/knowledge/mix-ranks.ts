// Mixes rankings of different kinds into one by reciprocal rank fusion: their scores need not be comparable.
// Pure.

/** The usual constant: it decides how much more the first places count than the later ones. */
const rankOffset = 60

/**
 * The items of all rankings, best first. An item gains `1 / (60 + place)` in each ranking that has it. Of
 * equal items the one of the earlier ranking comes first.
 *
 * @param rankings each is a list without duplicates, best first
 * @example mixRanks([['a', 'b', 'c'], ['c', 'a']]) // => ['a', 'c', 'b']
 */
export function mixRanks<Item>(rankings: readonly (readonly Item[])[]): Item[] {
  const scores = new Map<Item, number>()
  for (const ranking of rankings)
    for (const [place, item] of ranking.entries())
      scores.set(item, (scores.get(item) ?? 0) + 1 / (rankOffset + place + 1))
  return [...scores].toSorted(([, a], [, b]) => b - a).map(([item]) => item)
}
