// Shortens ids for a narrow screen. Every command accepts the beginning of an id in place of the id, also
// with the number of a retry behind it.

const madeByBeaver = /^[a-z]+_[0-9a-z]{26}$/
/** The characters of `task_` and of the time in the id, and a few more. */
const madeCharsMin = 17
/** An id that a person chose has a meaning, and many such ids may begin alike, so more of it is shown. */
const chosenCharsMin = 24

/** Returns a function that shortens long ids, but only so far that all of `ids` stay different. */
export function briefIds(ids: readonly string[]): (id: string) => string {
  const { made = [], chosen = [] } = Object.groupBy(new Set(ids.map((id) => partsOf(id).id)), kindOf)
  const chars = { made: charsOf(made, madeCharsMin), chosen: charsOf(chosen, chosenCharsMin) }
  return (whole) => {
    const { id, retry } = partsOf(whole)
    return id.slice(0, chars[kindOf(id)]) + retry
  }
}

const kindOf = (id: string): 'made' | 'chosen' => (madeByBeaver.test(id) ? 'made' : 'chosen')

function partsOf(whole: string): { readonly id: string; readonly retry: string } {
  const [, id = whole, retry = ''] = /^(.+?)(\.retry-\d+)?$/s.exec(whole) ?? []
  return { id, retry }
}

/** The smallest number of characters, at least `min`, with which all ids stay different. */
function charsOf(ids: readonly string[], min: number): number {
  let chars = min
  while (new Set(ids.map((id) => id.slice(0, chars))).size < ids.length) chars++
  return chars
}
